//! Timers of a server: armed, re-armed while they run, cancelled, or left to expire.
//!
//! ```text
//! source 0   arm ---> re-arm ---> re-arm ---> cancel, arm ---> ...       each goes on by itself
//! source 1     arm ----------------------> due | arm ---> re-arm ---> ...
//! the clock  |      |      |      |      |     |      |                  polls: all that is due is dispatched
//!            start                             the first poll at or after the expiry
//! ```
//!
//! There are n sources with one timer each, and whatever ends is followed by a new timer at once, so n are armed
//! all the time but while a poll hands them over. A timer is of one of several kinds. When it is armed it is
//! drawn how long nothing happens to it (`gap`) and what would happen then: a re-arm (the same kind, drawn
//! anew) or a cancel. When the gap is longer than the delay, or nothing was to happen, it expires. So what
//! the queue gives is known beforehand, and a heap of what comes next of each source is all the bookkeeping.
//!
//! The fill is the steady state already, not a crowd that starts together: see [`Steady::fill`].

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rand::RngExt;
use serde::{Deserialize, Serialize};

use super::builder::Builder;
use super::distribution::Distribution;
use super::draw::draws_at;
use super::model::{Extent, Model, Random};
use crate::stream::Point;

/// The parameters; `datasets/workloads/tcp.toml` explains them.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Server {
    operations: u64,
    poll: u64,
    gap: Distribution,
    rearmed: f64,
    cancelled: f64,
    missed: f64,
    absorb: u64,
    jitter: f64,
    kinds: Vec<Kind>,
}

/// A kind of timer. What it does not say is as for all.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Kind {
    share: f64,
    delay: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gap: Option<Distribution>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rearmed: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cancelled: Option<f64>,
}

impl Default for Server {
    fn default() -> Self {
        let kind = Kind { share: 1.0, delay: 30_000, to: None, gap: None, rearmed: None, cancelled: None };
        Self {
            operations: 200_000,
            poll: 10,
            gap: "exponential(mean=1000)".parse().expect("this is how one is written"),
            rearmed: 0.5,
            cancelled: 0.4,
            missed: 0.0,
            absorb: 0,
            jitter: 0.0,
            kinds: vec![kind],
        }
    }
}

/// No delay is longer, in ticks: 50 days of microseconds.
const DELAY_MOST: u64 = 1 << 42;

/// Arms of each kind from which its mean life is told, and the steady state made.
const SAMPLE: usize = 1 << 16;

/// Arms that are drawn at once, at first and at most: as many again as before each time.
const DRAWN: (usize, usize) = (1 << 10, 1 << 20);

/// What comes next of a timer that was armed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Rearm,
    Cancel,
    Expire,
}

/// One arm of a timer.
#[derive(Clone, Copy, Debug)]
struct Arm {
    delay: u64,
    /// Ticks until what comes next.
    after: u64,
    next: Next,
    /// Whether the gap was within the delay, also when nothing was to happen.
    in_time: bool,
}

/// A kind with what all say, and the arms of it that were drawn.
struct Pool<'a> {
    kind: &'a Kind,
    gap: &'a Distribution,
    /// Below the first a re-arm, below the second a cancel.
    until: [f64; 2],
    jitter: f64,
    drawn: std::vec::IntoIter<Arm>,
    /// How many were drawn so far, and how many are drawn next.
    count: u64,
    size: usize,
}

impl<'a> Pool<'a> {
    fn new(server: &'a Server, kind: &'a Kind) -> Self {
        let [rearmed, cancelled] = server.fates(kind);
        Self {
            kind,
            gap: kind.gap.as_ref().unwrap_or(&server.gap),
            until: [rearmed, rearmed + cancelled],
            jitter: server.jitter,
            drawn: Vec::new().into_iter(),
            count: 0,
            size: DRAWN.0,
        }
    }

    fn arm(&self, index: u64, random: &mut Random) -> Arm {
        let mut delay = random.random_range(self.kind.delay..=self.kind.to.unwrap_or(self.kind.delay));
        if self.jitter > 0.0 {
            let factor = 1.0 + self.jitter * (2.0 * random.random::<f64>() - 1.0);
            delay = ((delay as f64 * factor) as u64).max(1);
        }
        let gap = self.gap.ticks(1.0, index, random).max(1);
        let (fate, in_time) = (random.random::<f64>(), gap <= delay);
        let next = match self.until.iter().position(|until| fate < *until) {
            Some(0) if in_time => Next::Rearm,
            Some(_) if in_time => Next::Cancel,
            _ => Next::Expire,
        };
        Arm { delay, after: if next == Next::Expire { delay } else { gap }, next, in_time }
    }

    fn draw(&mut self, count: usize, random: &mut Random) -> Vec<Arm> {
        let first = self.count;
        self.count += count as u64;
        draws_at(random, count, |index, random| self.arm(first + index as u64, random))
    }

    fn next(&mut self, random: &mut Random) -> Arm {
        loop {
            if let Some(arm) = self.drawn.next() {
                return arm;
            }
            self.drawn = self.draw(self.size, random).into_iter();
            self.size = (2 * self.size).min(DRAWN.1);
        }
    }
}

/// A source, and its timer.
#[derive(Clone, Copy, Debug)]
struct Source {
    kind: u32,
    next: Next,
    due: u64,
    /// The how-manieth arm it was: ties leave in this order.
    arrival: u64,
}

/// When something comes next, of which arrival, and of which source.
type Event = Reverse<(u64, u64, u32)>;

/// The server while its stream is laid down.
struct Steady<'a> {
    server: &'a Server,
    pools: Vec<Pool<'a>>,
    /// For a timer that is no re-arm: weight of its kind and of those before it.
    fresh: Vec<f64>,
    sources: Vec<Source>,
    arrivals: u64,
    /// Arms, re-arms and cancels so far.
    asked: u64,
    random: &'a mut Random,
    out: &'a mut Builder,
}

impl<'a> Steady<'a> {
    fn new(server: &'a Server, random: &'a mut Random, out: &'a mut Builder) -> Self {
        let pools = server.kinds.iter().map(|kind| Pool::new(server, kind)).collect();
        let (fresh, sources) = (Vec::new(), Vec::new());
        Self { server, pools, fresh, sources, arrivals: 0, asked: 0, random, out }
    }

    /// Queues n timers in the order in which they would have been armed, each with what is left of its delay.
    ///
    /// ```text
    /// |---arm---|-arm-|--------arm--------|-arm-| ...      arms of each kind end to end, as long as they last
    ///      ^         ^         ^         ^                 n marks at equal distances: timers armed now, and
    ///  -age-                                               how long ago each was armed
    /// ```
    ///
    /// An arm is met as often as it is long, which is what makes this the steady state. Gives the clock.
    fn fill(&mut self, n: u64, heap: &mut BinaryHeap<Event>) -> u64 {
        let samples: Vec<Vec<Arm>> =
            self.pools.iter_mut().map(|pool| pool.draw(SAMPLE, self.random)).collect();
        self.fresh = fresh(self.server, &samples);
        let mut armed = armed(self.server, &samples, n, self.random);
        // Stable, so that ties stand in the order of kinds and draws on every machine.
        armed.sort_by_key(|(_, age, _)| Reverse(*age));
        let now = armed.first().map_or(0, |(_, age, _)| *age);
        for (kind, age, arm) in armed {
            self.out.clock(now - age);
            let id = self.out.enqueue(now - age + arm.delay);
            let source = Source { kind, next: arm.next, due: now - age + arm.delay, arrival: self.arrivals };
            self.arrivals += 1;
            self.sources.push(source);
            heap.push(Reverse((now - age + arm.after, source.arrival, id)));
        }
        now
    }

    /// Arms the timer of a source that has none, or whose timer runs.
    fn arm(&mut self, id: u32, now: u64, rearm: bool) -> Event {
        let kind = if rearm { self.sources[id as usize].kind } else { self.fresh_kind() };
        let arm = self.pools[kind as usize].next(self.random);
        let due = now.saturating_add(arm.delay);
        let old = self.sources[id as usize];
        if rearm && due.abs_diff(old.due) < self.server.absorb {
            self.sources[id as usize].next = arm.next;
            return self.absorbed(id, now.saturating_add(arm.after));
        }
        self.out.clock(now);
        match rearm {
            true => self.out.rearm(id, due, true),
            false => self.out.enqueue_again(id, due),
        }
        self.asked += 1;
        let arrival = self.arrivals;
        self.arrivals += 1;
        self.sources[id as usize] = Source { kind, next: arm.next, due, arrival };
        Reverse((now.saturating_add(arm.after), arrival, id))
    }

    /// A re-arm that was left out: the timer runs on, and may expire before what was to come next.
    fn absorbed(&mut self, id: u32, next: u64) -> Event {
        let source = &mut self.sources[id as usize];
        if next > source.due {
            source.next = Next::Expire;
        }
        let when = if source.next == Next::Expire { source.due } else { next };
        Reverse((when, source.arrival, id))
    }

    fn fresh_kind(&mut self) -> u32 {
        let last = self.fresh.len() - 1;
        let at = self.random.random::<f64>() * self.fresh[last];
        self.fresh.partition_point(|until| *until <= at).min(last) as u32
    }

    fn cancel(&mut self, id: u32, found: bool) {
        self.out.cancel(id, found);
        self.asked += 1;
    }

    /// Goes on until enough was asked. The clock moves to the next poll at which anything has happened.
    fn run(&mut self, heap: &mut BinaryHeap<Event>) {
        let (poll, mut due) = (self.server.poll, Vec::new());
        while self.asked < self.server.operations {
            let Some(Reverse((next, ..))) = heap.peek() else { break };
            let now = next.div_ceil(poll).saturating_mul(poll);
            self.until(now, heap, &mut due);
            self.poll(now, heap, &mut due);
        }
    }

    /// What sources do by `now`. Those whose timers are due then are put into `due`, in order.
    fn until(&mut self, now: u64, heap: &mut BinaryHeap<Event>, due: &mut Vec<u32>) {
        while let Some(mut first) = heap.peek_mut()
            && first.0.0 <= now
        {
            let Reverse((when, _, id)) = *first;
            match self.sources[id as usize].next {
                Next::Rearm => *first = self.arm(id, when, true),
                Next::Cancel => {
                    self.cancel(id, true);
                    *first = self.arm(id, when, false);
                }
                Next::Expire => {
                    std::collections::binary_heap::PeekMut::pop(first);
                    due.push(id);
                }
            }
        }
    }

    /// Dispatches what is due; each of those sources may cancel what has fired, and arms its next timer.
    fn poll(&mut self, now: u64, heap: &mut BinaryHeap<Event>, due: &mut Vec<u32>) {
        self.out.sweep(now, due.len() as u64);
        for id in due.drain(..) {
            if self.server.missed > 0.0 && self.random.random::<f64>() < self.server.missed {
                self.cancel(id, false);
            }
            let event = self.arm(id, now, false);
            heap.push(event);
        }
    }
}

/// Weights with which a timer that is no re-arm is of each kind, summed up: a kind that is re-armed r times of
/// each arm needs 1 - r of them only.
fn fresh(server: &Server, samples: &[Vec<Arm>]) -> Vec<f64> {
    let weight = |(kind, sample): (&Kind, &Vec<Arm>)| {
        let in_time = sample.iter().filter(|arm| arm.in_time).count() as f64 / SAMPLE as f64;
        kind.share * (1.0 - server.fates(kind)[0] * in_time).max(1.0 / SAMPLE as f64)
    };
    let sum = |sum: &mut f64, weight: f64| {
        *sum += weight;
        Some(*sum)
    };
    server.kinds.iter().zip(samples).map(weight).scan(0.0, sum).collect()
}

/// The timers that are armed at one moment: kind, age, and arm. See [`Steady::fill`].
fn armed(server: &Server, samples: &[Vec<Arm>], n: u64, random: &mut Random) -> Vec<(u32, u64, Arm)> {
    let arms = || {
        let kinds = (0..).zip(server.kinds.iter().zip(samples));
        kinds.flat_map(|(at, (kind, sample))| sample.iter().map(move |arm| (at, kind.share, *arm)))
    };
    let total: f64 = arms().map(|(_, share, arm)| share * arm.after as f64).sum();
    let (step, first) = (total / n as f64, random.random::<f64>());
    let mark = |index: usize| (index as f64 + first) * step;
    let (mut found, mut start) = (Vec::with_capacity(n as usize), 0.0);
    for (kind, share, arm) in arms() {
        let end = start + share * arm.after as f64;
        while found.len() < n as usize && mark(found.len()) < end {
            let age = ((mark(found.len()) - start) / share) as u64;
            found.push((kind, age.min(arm.after - 1), arm));
        }
        start = end;
    }
    // A sum of floating numbers may end short of the last mark.
    let last = arms().last();
    found
        .extend(last.map(|(kind, _, arm)| (kind, 0, arm)).into_iter().cycle().take(n as usize - found.len()));
    found
}

impl Server {
    /// Which part of the arms of a kind is to be re-armed, and which cancelled.
    fn fates(&self, kind: &Kind) -> [f64; 2] {
        [kind.rearmed.unwrap_or(self.rearmed), kind.cancelled.unwrap_or(self.cancelled)]
    }

    fn impossible_kind(&self, kind: &Kind) -> Option<String> {
        let [rearmed, cancelled] = self.fates(kind);
        let parts = [rearmed, cancelled, rearmed + cancelled];
        if !(kind.share > 0.0 && kind.share.is_finite()) {
            return Some(format!("have a share each, of any unit, above 0; not {}", kind.share));
        }
        if kind.delay == 0 || kind.delay > DELAY_MOST {
            return Some(format!("have a delay each, from 1 to {DELAY_MOST} ticks; not {}", kind.delay));
        }
        if let Some(to) = kind.to.filter(|to| *to < kind.delay || *to > DELAY_MOST) {
            let delay = kind.delay;
            return Some(format!("may have delays from `delay` `to` a longer one; not {delay} to {to}"));
        }
        let fits = parts.iter().all(|part| (0.0..=1.000_001).contains(part));
        (!fits).then(|| {
            format!("have parts `rearmed` and `cancelled` of 0 to 1 together; not {rearmed} and {cancelled}")
        })
    }
}

impl Model for Server {
    fn extent(&self, n: u64) -> Extent {
        // Each poll has something to do, and the last one may find all n timers due.
        let asked = self.operations.saturating_add(n.saturating_mul(2));
        let operations = n.saturating_add(asked.saturating_mul(4)).saturating_add(64);
        Extent { timers: n, operations }
    }

    fn impossible(&self) -> Option<(&'static str, String)> {
        let part = |key, value: f64| {
            let impossible = !(0.0..=1.0).contains(&value);
            impossible.then(|| (key, format!("is a part, from 0 to 1; not {value}")))
        };
        if self.poll == 0 || self.poll > DELAY_MOST {
            let range = format!("is the number of ticks between two polls, from 1 to {DELAY_MOST}");
            return Some(("poll", range));
        }
        if self.operations > u64::from(u32::MAX) {
            return Some(("operations", format!("is a number from 0 to {}", u32::MAX)));
        }
        if self.kinds.is_empty() {
            return Some(("kinds", "lists the kinds of timers; give one or more".into()));
        }
        part("rearmed", self.rearmed)
            .or_else(|| part("cancelled", self.cancelled))
            .or_else(|| part("missed", self.missed))
            .or_else(|| part("jitter", self.jitter))
            .or_else(|| {
                self.kinds.iter().find_map(|kind| self.impossible_kind(kind)).map(|text| ("kinds", text))
            })
    }

    fn generate(&self, n: u64, random: &mut Random, out: &mut Builder) {
        let mut steady = Steady::new(self, random, out);
        let mut heap = BinaryHeap::with_capacity(n as usize);
        steady.out.phase("fill");
        steady.fill(n, &mut heap);
        steady.out.sample(Point::Filled);
        steady.out.phase("steady");
        steady.run(&mut heap);
        let due = steady.sources.iter().map(|source| source.due).collect();
        out.phase("drain");
        out.drain(due);
        out.sample(Point::Drained);
    }
}
