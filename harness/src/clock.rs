//! The clocks of single calls, segments and phases, and what reading them costs.

use nix::time::{ClockId, clock_gettime};

use crate::spec::{ClockFigures, ClockKind};

/// A clock that is read in ticks of its own.
#[derive(Clone, Debug)]
pub struct Clock {
    source: Source,
    tick_ns: f64,
}

#[derive(Clone, Debug)]
enum Source {
    Counter(quanta::Clock),
    Monotonic,
    ThreadCpu,
}

/// Empty pairs that are read to say what a reading costs.
const EMPTY_PAIRS: usize = 100_000;

/// Reading empty pairs ends after this time: a clock that is read by a system call is slow.
const EMPTY_NS_MOST: u64 = 30_000_000;

impl Clock {
    /// The clock of this kind, or what comes nearest to it on this machine.
    ///
    /// A time-stamp counter is set against the monotonic clock first, which takes up to 200 ms.
    pub fn new(kind: ClockKind) -> Self {
        match kind {
            ClockKind::Tsc => Self::counter(),
            ClockKind::Wall => Self { source: Source::Monotonic, tick_ns: 1.0 },
            ClockKind::Cpu => Self { source: Source::ThreadCpu, tick_ns: 1.0 },
        }
    }

    fn counter() -> Self {
        const TICKS: u64 = 1 << 40;
        let clock = quanta::Clock::new();
        let tick_ns = clock.delta_as_nanos(0, TICKS) as f64 / TICKS as f64;
        // quanta does not say whether it found an invariant counter. Where it did not, its ticks are
        // nanoseconds; a counter that was set against another clock never comes out at exactly 1.
        let source = if tick_ns == 1.0 { Source::Monotonic } else { Source::Counter(clock) };
        Self { source, tick_ns }
    }

    /// What it turned out to be: `tsc`, `monotonic` or `thread-cpu`.
    pub fn name(&self) -> &'static str {
        match self.source {
            Source::Counter(_) => "tsc",
            Source::Monotonic => "monotonic",
            Source::ThreadCpu => "thread-cpu",
        }
    }

    /// A reading, in ticks.
    #[inline]
    pub fn read(&self) -> u64 {
        match &self.source {
            Source::Counter(clock) => clock.raw(),
            Source::Monotonic => system_ns(ClockId::CLOCK_MONOTONIC),
            Source::ThreadCpu => thread_cpu_ns(),
        }
    }

    /// Nanoseconds of a tick.
    pub fn tick_ns(&self) -> f64 {
        self.tick_ns
    }

    /// Whole nanoseconds of a span of ticks.
    pub fn nanos(&self, ticks: u64) -> u64 {
        (ticks as f64 * self.tick_ns).round() as u64
    }

    /// What it is, and what pairs of readings with nothing between them amount to.
    pub fn figures(&self) -> ClockFigures {
        let mut pairs = self.empty_pairs();
        pairs.sort_unstable();
        let ns = |per_mille| nearest_rank(&pairs, per_mille).map_or(0.0, |ticks| ticks as f64 * self.tick_ns);
        ClockFigures {
            name: self.name().to_owned(),
            tick_ns: self.tick_ns,
            empty_ns: [pairs.len() as f64, ns(500), ns(990), ns(999), ns(1000)],
        }
    }

    fn empty_pairs(&self) -> Vec<u64> {
        let mut pairs = Vec::with_capacity(EMPTY_PAIRS);
        let until = monotonic_ns() + EMPTY_NS_MOST;
        while pairs.len() < EMPTY_PAIRS && (pairs.len() % 100 != 0 || monotonic_ns() < until) {
            let first = self.read();
            pairs.push(self.read().saturating_sub(first));
        }
        pairs
    }
}

/// The sample at a rank of `per_mille` thousandths, by nearest rank: the smallest sample that so many
/// of all are not greater than. `None` where there are no samples.
pub fn nearest_rank(sorted: &[u64], per_mille: usize) -> Option<u64> {
    let rank = (sorted.len() * per_mille).div_ceil(1000).max(1);
    sorted.get(rank - 1).copied()
}

/// `CLOCK_MONOTONIC`.
pub fn monotonic_ns() -> u64 {
    system_ns(ClockId::CLOCK_MONOTONIC)
}

/// CPU time of the calling thread.
pub fn thread_cpu_ns() -> u64 {
    system_ns(ClockId::CLOCK_THREAD_CPUTIME_ID)
}

fn system_ns(id: ClockId) -> u64 {
    let time = clock_gettime(id).expect("Linux has had this clock since 2.6.12");
    time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_of_nearest_rank() {
        let samples: Vec<u64> = (1..=20).collect();
        assert_eq!([500, 950, 1000, 0].map(|rank| nearest_rank(&samples, rank)), [10, 19, 20, 1].map(Some));
        assert_eq!(nearest_rank(&[], 500), None);
    }

    #[test]
    fn all_clocks_agree_on_a_busy_stretch() {
        for kind in [ClockKind::Tsc, ClockKind::Wall, ClockKind::Cpu] {
            let clock = Clock::new(kind);
            let (first, wall) = (clock.read(), monotonic_ns());
            let cpu = thread_cpu_ns();
            while thread_cpu_ns() - cpu < 20_000_000 {}
            let ns = clock.nanos(clock.read() - first) as f64;
            let wall = (monotonic_ns() - wall) as f64;
            // The thread may have waited, which its CPU time does not show.
            assert!(ns > 19e6 && ns < wall * 1.01, "{}: {ns} of {wall}", clock.name());
        }
    }

    #[test]
    fn an_empty_pair_costs_something_and_its_quantiles_never_fall() {
        let figures = Clock::new(ClockKind::Wall).figures();
        assert_eq!(figures.name, "monotonic");
        let [samples, quantiles @ ..] = figures.empty_ns;
        assert!(samples >= 100.0 && quantiles[3] > 0.0);
        assert!(quantiles.is_sorted(), "{quantiles:?}");
    }
}
