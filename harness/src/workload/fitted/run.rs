//! The timers of all sources, one happening after the other.
//!
//! ```text
//! agenda     (when, what)      a source starts a timer; a timer is re-armed or cancelled; the clock moves
//! expiring   (due, timer)      those that nothing happens to before they are due
//! ```
//!
//! What becomes of an arm is drawn when it is armed, and a re-arm or cancel comes by its due time at the latest. So
//! when the clock moves, just those of `expiring` that are due by then are queued and due.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rand::RngExt;

use super::super::builder::Builder;
use super::super::model::Random;
use super::{Class, Fitted};
use crate::statistics::{Arm, Event, Tally, What};
use crate::stream::Point;

/// Who is told what happens, in order.
pub(super) trait Asked {
    /// A timer is armed from the start.
    fn present(&mut self, id: u32, now: u64, arm: Timed);
    /// All that is armed from the start is.
    fn steady(&mut self) {}
    /// A timer is started.
    fn start(&mut self, id: u32, now: u64, arm: Timed);
    /// An armed timer is re-armed.
    fn rearm(&mut self, id: u32, now: u64, arm: Timed);
    /// A timer is cancelled, and was armed or not.
    fn cancel(&mut self, id: u32, now: u64, found: bool);
    /// The clock moves, and these expire.
    fn sweep(&mut self, now: u64, ids: &[u32]);
    /// A timer with a period is armed again by itself.
    fn again(&mut self, id: u32, due: u64);
}

/// When an armed timer is due.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timed {
    due: u64,
    /// 0, or what its due time goes up by.
    period: u64,
}

/// Lays a stream down.
pub(super) struct Laying<'a> {
    out: &'a mut Builder,
    runs: bool,
}

impl<'a> Laying<'a> {
    pub(super) fn new(out: &'a mut Builder) -> Self {
        Self { out, runs: false }
    }
}

impl Asked for Laying<'_> {
    fn present(&mut self, id: u32, _: u64, arm: Timed) {
        let laid = self.out.enqueue(arm.due);
        debug_assert_eq!(laid, id);
    }

    fn steady(&mut self) {
        if !std::mem::replace(&mut self.runs, true) {
            self.out.sample(Point::Filled);
            self.out.phase("run");
        }
    }

    fn start(&mut self, id: u32, now: u64, arm: Timed) {
        self.present(id, now, arm);
    }

    fn rearm(&mut self, id: u32, _: u64, arm: Timed) {
        self.out.rearm(id, arm.due, true);
    }

    fn cancel(&mut self, id: u32, _: u64, found: bool) {
        self.out.cancel(id, found);
    }

    fn sweep(&mut self, now: u64, ids: &[u32]) {
        self.out.sweep(now, ids.len() as u64);
    }

    fn again(&mut self, id: u32, due: u64) {
        self.out.enqueue_again(id, due);
    }
}

fn event(id: u32, time: u64, what: What) -> Event {
    Event { time, what, timer: Some(u64::from(id)), owner: None }
}

impl From<Timed> for Arm {
    fn from(timed: Timed) -> Self {
        Self { due: Some(i128::from(timed.due)), period: timed.period }
    }
}

/// Counts what a stream would ask.
impl Asked for Tally {
    fn present(&mut self, id: u32, now: u64, arm: Timed) {
        self.event(&event(id, now, What::Present(arm.into())));
    }

    fn start(&mut self, id: u32, now: u64, arm: Timed) {
        self.event(&event(id, now, What::Start(arm.into())));
    }

    fn rearm(&mut self, id: u32, now: u64, arm: Timed) {
        self.event(&event(id, now, What::Rearm(arm.into())));
    }

    fn cancel(&mut self, id: u32, now: u64, found: bool) {
        self.event(&event(id, now, if found { What::Cancel } else { What::Miss }));
    }

    fn sweep(&mut self, now: u64, ids: &[u32]) {
        ids.iter().for_each(|id| self.event(&event(*id, now, What::Expire(None))));
    }

    // A tally adds the period by itself.
    fn again(&mut self, _: u32, _: u64) {}
}

/// What is to happen. In this order at one time: what is due by then must have been moved or cancelled before
/// the clock comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Next {
    Rearm { to: u8 },
    Cancel { class: u8 },
    Start { source: u32, class: u8 },
    Clock,
}

/// When, then what in its order, then as it was entered.
type Entry = Reverse<(u64, Next, u64, u32)>;

/// A timer that will expire: due, the order of its arming, its id, class and period.
type Expiring = Reverse<(u64, u64, u32, u8, u64)>;

struct Run<'a, A> {
    fitted: &'a Fitted,
    random: &'a mut Random,
    asked: &'a mut A,
    agenda: BinaryHeap<Entry>,
    expiring: BinaryHeap<Expiring>,
    /// Mean gap of a source's starts over the mean of its class's table.
    gap_units: Vec<f64>,
    entered: u64,
    now: u64,
    timers: u32,
    arms_left: u64,
    swept: Vec<u32>,
}

/// Has n timers in the steady state and goes on until there were as many arms as a stream has.
pub(super) fn simulate(fitted: &Fitted, n: u64, random: &mut Random, asked: &mut impl Asked) {
    let armed = fitted.steady().expect("what cannot be was refused");
    let one_source: f64 = armed.iter().sum();
    let sources = ((n as f64 / one_source).round() as u64).clamp(1, u64::from(u32::MAX)) as u32;
    // Sources come whole; the rest is made up by their pace.
    let pace = n as f64 / one_source / f64::from(sources);
    let unit = |class: &Class| 1e9 / (class.starts_per_s * pace * class.gaps.mean());
    let mut run = Run {
        fitted,
        gap_units: fitted.classes.iter().map(unit).collect(),
        random,
        asked,
        agenda: BinaryHeap::new(),
        expiring: BinaryHeap::new(),
        entered: 0,
        now: 0,
        timers: 0,
        arms_left: fitted.arms(n),
        swept: Vec::new(),
    };
    let longest = fitted.classes.iter().map(|class| class.delay_ns.max()).fold(0.0, f64::max) as u64;
    let begin = (longest + fitted.granule_ns).next_multiple_of(fitted.granule_ns);
    run.now = begin;
    run.fill(n, &armed, begin);
    run.asked.steady();
    run.sources(sources, begin);
    run.all();
}

/// What becomes of an arm.
#[derive(Clone, Copy, Debug)]
enum Fate {
    /// After a part of its time, into this class.
    Rearm(u8, f64),
    Cancel(f64),
    Expire,
}

/// An arm that was drawn: its delay and its fate.
type Drawn = (u64, Fate);

fn drawn(class: &Class, granule: u64, random: &mut Random) -> Drawn {
    let granules = (class.delay_ns.draw(random) / granule as f64).round() as u64;
    let mut chance = random.random::<f64>() * class.chances();
    let into = class.rearmed.iter().position(|share| {
        let found = chance < *share;
        chance -= if found { 0.0 } else { *share };
        found
    });
    let fate = match into {
        Some(to) => Fate::Rearm(to as u8, class.until_rearm.draw(random)),
        None if chance < class.cancelled || class.expired == 0.0 => {
            Fate::Cancel(class.until_cancel.draw(random))
        }
        None => Fate::Expire,
    };
    (granules * granule, fate)
}

/// For how long an arm is armed.
fn held((delay, fate): &Drawn) -> f64 {
    let part = match fate {
        Fate::Rearm(_, part) | Fate::Cancel(part) => *part,
        Fate::Expire => 1.0,
    };
    *delay as f64 * part
}

/// `count` of those that go on at some moment, with the time since they began: long ones go on at more moments.
///
/// ```text
/// |--------|--|-----|---|----------|     many drawn one behind the other
///    ^        ^         ^        ^       points at equal distances
/// ```
fn going_on<T: Copy>(
    count: usize,
    random: &mut Random,
    draw: impl Fn(&mut Random) -> T,
    length: impl Fn(&T) -> f64,
) -> Vec<(T, f64)> {
    let many: Vec<T> = (0..count.clamp(4096, 1 << 16)).map(|_| draw(random)).collect();
    let total: f64 = many.iter().map(&length).sum();
    let step = total / count as f64;
    let mut next = step * random.random::<f64>();
    let mut found = Vec::with_capacity(count);
    let mut begun = 0.0;
    for one in &many {
        let ends = begun + length(one);
        while next < ends && found.len() < count {
            found.push((*one, next - begun));
            next += step;
        }
        begun = ends;
    }
    // A last point may be lost to rounding.
    found.resize(count, (many[0], 0.0));
    found
}

impl<A: Asked> Run<'_, A> {
    /// Timers as they stand in the steady state, in the order in which they were armed.
    fn fill(&mut self, n: u64, armed: &[f64], begin: u64) {
        let (fitted, granule) = (self.fitted, self.fitted.granule_ns);
        let whole: f64 = armed.iter().sum();
        let (mut share, mut before) = (0.0, 0);
        let mut all: Vec<(u64, u8, Drawn)> = Vec::with_capacity(n as usize);
        for (at, class) in fitted.classes.iter().enumerate() {
            share += armed[at] / whole;
            let upto =
                if at + 1 == armed.len() { n } else { (n as f64 * share).round().min(n as f64) as u64 };
            let count = upto.saturating_sub(before) as usize;
            before = upto.max(before);
            let points = going_on(count, self.random, |random| drawn(class, granule, random), held);
            all.extend(
                points.into_iter().map(|(arm, age)| (begin.saturating_sub(age as u64), at as u8, arm)),
            );
        }
        all.sort_by_key(|(since, ..)| *since);
        for (since, class, arm) in all {
            let id = self.name();
            let timed = self.enter(id, class, since, arm);
            self.asked.present(id, begin, timed);
        }
    }

    /// The first start of every source in every class.
    fn sources(&mut self, sources: u32, begin: u64) {
        for (at, class) in
            self.fitted.classes.iter().enumerate().filter(|(_, class)| class.starts_per_s > 0.0)
        {
            let unit = self.gap_units[at];
            let draw = |random: &mut Random| class.gaps.draw(random);
            let gaps = going_on(sources as usize, self.random, draw, |gap| *gap);
            for (source, (gap, age)) in (0..).zip(gaps) {
                let when = begin.saturating_add(((gap - age) * unit) as u64);
                self.schedule(when, Next::Start { source, class: at as u8 }, 0);
            }
        }
    }

    fn all(&mut self) {
        while self.arms_left > 0
            && let Some(Reverse((now, next, _, id))) = self.agenda.pop()
        {
            self.now = now;
            match next {
                Next::Rearm { to } => {
                    let timed = self.arm(id, to, now);
                    self.asked.rearm(id, now, timed);
                }
                Next::Cancel { class } => {
                    self.asked.cancel(id, now, true);
                    let misses = self.fitted.classes[usize::from(class)].misses_per_cancel;
                    self.miss(id, now, misses);
                }
                Next::Start { source, class } => self.start(source, class, now),
                Next::Clock => self.clock(now),
            }
        }
    }

    fn start(&mut self, source: u32, class: u8, now: u64) {
        let at = usize::from(class);
        let id = self.name();
        let timed = self.arm(id, class, now);
        self.asked.start(id, now, timed);
        let gap = self.fitted.classes[at].gaps.draw(self.random) * self.gap_units[at];
        self.schedule(now.saturating_add(gap as u64), Next::Start { source, class }, 0);
    }

    /// The clock moves, unless all that it would move for has expired already.
    fn clock(&mut self, now: u64) {
        let mut swept = std::mem::take(&mut self.swept);
        let mut again = Vec::new();
        while let Some(Reverse((due, _, id, class, period))) = self.expiring.peek().copied()
            && due <= now
        {
            self.expiring.pop();
            swept.push(id);
            again.push((id, class, due, period));
        }
        if !swept.is_empty() {
            self.asked.sweep(now, &swept);
        }
        for (id, class, due, period) in again {
            if period > 0 {
                self.again(id, class, due, period, now);
            } else {
                self.miss(id, now, self.fitted.classes[usize::from(class)].misses_per_expiry);
            }
        }
        swept.clear();
        self.swept = swept;
    }

    /// A timer with a period goes on: due a period after it was due, and its fate is drawn anew.
    fn again(&mut self, id: u32, class: u8, due: u64, period: u64, now: u64) {
        self.arms_left = self.arms_left.saturating_sub(1);
        let (_, fate) = drawn(&self.fitted.classes[usize::from(class)], self.fitted.granule_ns, self.random);
        let timed = Timed { due: due.saturating_add(period), period };
        self.fate(id, class, now, timed, fate);
        self.asked.again(id, timed.due);
    }

    fn arm(&mut self, id: u32, class: u8, now: u64) -> Timed {
        self.arms_left -= 1;
        let arm = drawn(&self.fitted.classes[usize::from(class)], self.fitted.granule_ns, self.random);
        self.enter(id, class, now, arm)
    }

    /// A timer is armed `since`, due so long after the granule in which that was.
    fn enter(&mut self, id: u32, class: u8, since: u64, (delay, fate): Drawn) -> Timed {
        let due = since / self.fitted.granule_ns * self.fitted.granule_ns + delay;
        let period = if self.fitted.classes[usize::from(class)].periodic { delay.max(1) } else { 0 };
        let timed = Timed { due, period };
        self.fate(id, class, since, timed, fate);
        timed
    }

    fn fate(&mut self, id: u32, class: u8, since: u64, timed: Timed, fate: Fate) {
        let now = self.now;
        let after = |part: f64| (since + (timed.due.saturating_sub(since) as f64 * part) as u64).max(now);
        match fate {
            Fate::Rearm(to, part) => self.schedule(after(part), Next::Rearm { to }, id),
            Fate::Cancel(part) => self.schedule(after(part), Next::Cancel { class }, id),
            Fate::Expire => {
                self.expiring.push(Reverse((timed.due, self.entered, id, class, timed.period)));
                let late = self.fitted.lateness_ns.draw(self.random) as u64;
                self.schedule(timed.due.saturating_add(late).max(now), Next::Clock, id);
            }
        }
    }

    fn miss(&mut self, id: u32, now: u64, mean: f64) {
        if mean > 0.0 {
            let more = u64::from(self.random.random::<f64>() < mean.fract());
            (0..mean as u64 + more).for_each(|_| self.asked.cancel(id, now, false));
        }
    }

    fn name(&mut self) -> u32 {
        self.timers += 1;
        self.timers - 1
    }

    fn schedule(&mut self, when: u64, next: Next, id: u32) {
        self.entered += 1;
        self.agenda.push(Reverse((when, next, self.entered, id)));
    }
}
