//! The kernel's clocks on the time of the trace.
//!
//! ```text
//! time  |          x        x  = an event that says what the clock was
//!       |      x  /            a line of the clock's rate, moved up to the lowest x: the earliest edge,
//!       |     _x_/             since an event is stamped after the clock was read, never before
//!       |   _/                 due = line(expires)
//!       +------------------ clock
//! ```

use super::super::out::{Clock, Out, Scale};

/// Jiffies of the timer wheel.
pub(super) const WHEEL: Clock = Clock(1);
/// `CLOCK_MONOTONIC`, and what is not known to be of another clock.
pub(super) const MONOTONIC: Clock = Clock(2);
const REALTIME: Clock = Clock(3);
const BOOTTIME: Clock = Clock(4);
const TAI: Clock = Clock(5);

/// What kernels are built with.
const USUAL_HZ: [u32; 4] = [100, 250, 300, 1000];

/// 2001 since the epoch, in nanoseconds: no machine has been up for as long.
const EPOCH_NS: i128 = 1_000_000_000_000_000_000;

/// The clock of an hrtimer, by its name if a `hrtimer_setup` was seen, else by how large its times are.
pub(super) fn hrtimer(clockid: Option<Clock>, expires: i128) -> Clock {
    match clockid {
        Some(clock) => clock,
        None if (EPOCH_NS..2 * EPOCH_NS).contains(&expires) => REALTIME,
        None => MONOTONIC,
    }
}

/// The clock that `clockid=` names.
pub(super) fn named(clockid: &str) -> Option<Clock> {
    let name = clockid.strip_prefix("CLOCK_").unwrap_or(clockid);
    match name {
        "MONOTONIC" | "1" => Some(MONOTONIC),
        "REALTIME" | "0" => Some(REALTIME),
        "BOOTTIME" | "7" => Some(BOOTTIME),
        "TAI" | "11" => Some(TAI),
        _ => None,
    }
}

/// Jiffies as they go on where 32 bits of them begin anew.
#[derive(Debug, Default)]
pub(super) struct Jiffies {
    now: Option<i128>,
}

impl Jiffies {
    /// A number of jiffies near the present one. Numbers of more than 32 bits are of a 64-bit kernel, and whole.
    pub(super) fn whole(&self, read: i128) -> i128 {
        match (self.now, u32::try_from(read)) {
            (Some(now), Ok(short)) => now + i128::from(short.wrapping_sub(now as u32) as i32),
            _ => read,
        }
    }

    fn passes(&mut self, now: i128) {
        self.now = Some(self.now.unwrap_or(now).max(now));
    }
}

/// The earliest edge of one clock at one rate.
#[derive(Clone, Copy, Debug)]
struct Edge {
    per_second: u32,
    zero_ns: Option<i128>,
}

impl Edge {
    fn new(per_second: u32) -> Self {
        Self { per_second, zero_ns: None }
    }

    fn sample(&mut self, time_ns: u64, units: i128) {
        let zero = i128::from(time_ns) - (units * 1_000_000_000).div_euclid(i128::from(self.per_second));
        self.zero_ns = Some(self.zero_ns.map_or(zero, |known| known.min(zero)));
    }
}

/// A clock of an hrtimer: by its expiries, or else by its starts.
#[derive(Debug)]
struct Fit {
    clock: Clock,
    edge: Edge,
    /// With this zero no timer was due before it was started.
    starts: Option<i128>,
}

/// Fits every clock as events pass.
#[derive(Debug)]
pub(super) struct Clocks {
    pub(super) jiffies: Jiffies,
    wheel: Vec<Edge>,
    given: Option<u32>,
    first: Option<(u64, i128)>,
    last: Option<(u64, i128)>,
    hrtimers: Vec<Fit>,
}

impl Clocks {
    pub(super) fn new(hz: Option<u32>) -> Self {
        let rates = hz.map_or(USUAL_HZ.to_vec(), |hz| vec![hz]);
        let fit = |clock| Fit { clock, edge: Edge::new(1_000_000_000), starts: None };
        Self {
            jiffies: Jiffies::default(),
            wheel: rates.into_iter().map(Edge::new).collect(),
            given: hz,
            first: None,
            last: None,
            hrtimers: [MONOTONIC, REALTIME, BOOTTIME, TAI].map(fit).into(),
        }
    }

    /// An event says what jiffies were at its time.
    pub(super) fn wheel(&mut self, time_ns: u64, now: i128) {
        let now = self.jiffies.whole(now);
        self.jiffies.passes(now);
        self.wheel.iter_mut().for_each(|edge| edge.sample(time_ns, now));
        self.first.get_or_insert((time_ns, now));
        self.last = Some((time_ns, now));
    }

    /// An expiry says what the clock of its timer was.
    pub(super) fn expiry(&mut self, clock: Clock, time_ns: u64, now: i128) {
        self.fit(clock).edge.sample(time_ns, now);
    }

    /// A timer was started, hence due no earlier.
    pub(super) fn start(&mut self, clock: Clock, time_ns: u64, due: i128) {
        let zero = i128::from(time_ns) - due;
        let starts = &mut self.fit(clock).starts;
        *starts = Some(starts.map_or(zero, |known| known.max(zero)));
    }

    fn fit(&mut self, clock: Clock) -> &mut Fit {
        let at = self.hrtimers.iter().position(|fit| fit.clock == clock).unwrap_or(0);
        &mut self.hrtimers[at]
    }

    /// Jiffies a second: as given, or the usual rate that the slope is nearest to.
    pub(super) fn hz(&self, out: &mut Out) -> u32 {
        if let Some(hz) = self.given {
            return hz;
        }
        let slope = match (self.first, self.last) {
            (Some((t0, j0)), Some((t1, j1))) if t1 > t0 && j1 - j0 > 10 => {
                (j1 - j0) as f64 * 1e9 / (t1 - t0) as f64
            }
            (None, _) => return 250,
            _ => {
                out.note(0, "too short to tell HZ: 250 is assumed, give --hz if it is another");
                return 250;
            }
        };
        let off = |hz: u32| (slope / f64::from(hz)).ln().abs();
        let nearest = USUAL_HZ.into_iter().min_by(|a, b| off(*a).total_cmp(&off(*b))).unwrap_or(250);
        if off(nearest) > 0.02 {
            out.note(0, "jiffies pass at no usual rate: the nearest is assumed, give --hz if it is another");
        }
        nearest
    }

    /// Hands the clocks over.
    pub(super) fn finish(&self, hz: u32, out: &mut Out) {
        let wheel = self.wheel.iter().find(|edge| edge.per_second == hz).and_then(|edge| edge.zero_ns);
        out.scale(WHEEL, Scale { zero_ns: wheel.unwrap_or(0), per_second: hz });
        for fit in &self.hrtimers {
            let zero_ns = fit.edge.zero_ns.or(fit.starts);
            if fit.edge.zero_ns.is_none() && fit.starts.is_some() {
                out.note(
                    0,
                    "a clock of hrtimers is set by their starts alone: none of them was seen to expire",
                );
            }
            out.scale(fit.clock, Scale { zero_ns: zero_ns.unwrap_or(0), per_second: 1_000_000_000 });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jiffies_of_32_bits_go_on_where_they_begin_anew() {
        let mut jiffies = Jiffies::default();
        jiffies.passes(jiffies.whole(0xffff_fffe));
        assert_eq!(jiffies.whole(3), 0x1_0000_0003);
        jiffies.passes(jiffies.whole(3));
        assert_eq!([jiffies.whole(0xffff_ffff), jiffies.whole(100)], [0xffff_ffff, 0x1_0000_0064]);
        let mut wide = Jiffies::default();
        wide.passes(wide.whole(4_295_310_578));
        assert_eq!(wide.whole(4_295_325_578), 4_295_325_578);
    }

    #[test]
    fn the_clock_of_an_hrtimer_is_told_by_name_or_by_size() {
        assert_eq!(named("CLOCK_TAI"), Some(TAI));
        assert_eq!(hrtimer(Some(BOOTTIME), EPOCH_NS), BOOTTIME);
        assert_eq!(hrtimer(None, 1_700_000_000_000_000_000), REALTIME);
        assert_eq!(hrtimer(None, i128::from(i64::MAX)), MONOTONIC, "a timer that never expires");
    }
}
