//! Periodic timers, each a one-shot timer that its handler arms again, with jitter.
//!
//! ```text
//! run            check               run
//!  |--- minimum ---|------ rest ------|        minimum = period * (1 - jitter), rest = 0 to 2 * period * jitter
//! ```
//!
//! A timer is armed for its minimum first. When that expires, the time of the next run is looked at, and what
//! remains until then is armed. Without jitter there is nothing left, and every expiry is a run.

use rand::RngExt;
use serde::{Deserialize, Serialize};

use super::builder::{ALL, Builder, Recorder};
use super::model::{Extent, Model, Random};
use crate::stream::Point;

/// The parameters; `datasets/workloads/periodic.toml` explains them.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Periodic {
    period: u64,
    jitter: f64,
    duration: u64,
    granule: u64,
}

impl Default for Periodic {
    fn default() -> Self {
        Self { period: 10_000, jitter: 0.25, duration: 1_000_000, granule: 1000 }
    }
}

/// The event loop while it is laid down.
struct Loop<'a, 'b> {
    periodic: &'a Periodic,
    queue: Recorder<'b>,
    random: &'a mut Random,
    /// By timer: when it runs next.
    runs: Vec<u64>,
}

impl Loop<'_, '_> {
    fn next_run(&mut self, now: u64) -> u64 {
        let minimum = self.periodic.minimum();
        now + minimum + self.random.random_range(0..=2 * (self.periodic.period - minimum))
    }

    /// Timers are started one a tick.
    fn start(&mut self, n: u64) {
        for now in 0..n {
            let run = self.next_run(now);
            self.runs.push(run);
            self.queue.enqueue(now + self.periodic.minimum());
        }
    }

    /// The loop sleeps until the first expiry, rounded up to what it can wait for, and handles what is due.
    fn until(&mut self, end: u64) {
        while let Some(next) = self.queue.expiry(0) {
            let now = next.next_multiple_of(self.periodic.granule);
            if now > end {
                break;
            }
            self.queue.builder.next_expiry();
            let mut due = Vec::new();
            self.queue.sweep(now, |timer| due.push(timer));
            due.into_iter().for_each(|timer| self.handle(timer, now));
        }
    }

    fn handle(&mut self, timer: u32, now: u64) {
        let run = self.runs[timer as usize];
        if now < run {
            return self.queue.enqueue_again(timer, run);
        }
        self.runs[timer as usize] = self.next_run(now);
        self.queue.enqueue_again(timer, now + self.periodic.minimum());
    }
}

impl Periodic {
    fn minimum(&self) -> u64 {
        (self.period as f64 * (1.0 - self.jitter)) as u64
    }
}

impl Model for Periodic {
    fn extent(&self, n: u64) -> Extent {
        let time = self.duration.saturating_add(n);
        // At most two expiries a run, and a run no sooner than the minimum after the last.
        let expiries = n.saturating_mul(2).saturating_mul(time / self.minimum().max(1) + 1);
        let wakes = expiries.min(time / self.granule.max(1) + 1);
        let operations = n.saturating_add(expiries).saturating_add(wakes.saturating_mul(4));
        Extent { timers: n, operations: operations.saturating_add(16) }
    }

    fn impossible(&self) -> Option<(&'static str, String)> {
        let most = 1 << 40;
        let ticks = |key, what: &str| Some((key, format!("is {what} in ticks, from 1 to {most}")));
        let possible = 1..=most;
        if !possible.contains(&self.period) {
            return ticks("period", "the time between two runs");
        }
        if !possible.contains(&self.duration) {
            return ticks("duration", "how long the timers run");
        }
        if !possible.contains(&self.granule) {
            return ticks("granule", "the shortest time that the loop can sleep");
        }
        if !(self.jitter >= 0.0 && self.jitter < 1.0 && self.minimum() > 0) {
            let what = "is the part of a period by which a run may be early or late; give 0 or more, and less than 1";
            return Some(("jitter", what.into()));
        }
        None
    }

    fn generate(&self, n: u64, random: &mut Random, out: &mut Builder) {
        out.phase("start");
        let mut events = Loop { periodic: self, queue: Recorder::new(out), random, runs: Vec::new() };
        events.start(n);
        events.queue.builder.sample(Point::Filled);
        events.queue.builder.phase("run");
        events.until(n + self.duration);
        // What is pending at the end is handed to its handler once more, which is told that it was aborted.
        events.queue.builder.phase("abort");
        events.queue.sweep(ALL, |_| ());
        events.queue.builder.sample(Point::Drained);
    }
}
