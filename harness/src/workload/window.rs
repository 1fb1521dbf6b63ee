//! The window cycle: a part of what is due is dispatched and the rest put back, with late arrivals.

use rand::RngExt;
use serde::{Deserialize, Serialize};

use super::builder::{ALL, Builder, Recorder};
use super::model::{Extent, Model, Random};
use crate::stream::Point;

/// The parameters; `datasets/workloads/window.toml` explains them.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Window {
    due: u32,
    done: u32,
    late: u32,
    late_every: u32,
    rounds: u32,
    stall_rounds: u32,
    gap: u64,
}

impl Default for Window {
    fn default() -> Self {
        Self { due: 1000, done: 500, late: 10, late_every: 2, rounds: 200, stall_rounds: 4, gap: 1 }
    }
}

/// The cycle while it is laid down.
struct Cycle<'a, 'b> {
    window: &'a Window,
    queue: Recorder<'b>,
    random: &'a mut Random,
    /// The expiry of the latest timer in order.
    last: u64,
    now: u64,
}

impl Cycle<'_, '_> {
    /// Timers behind all others, as each round brings.
    fn arrive(&mut self, timers: u64) {
        for _ in 0..timers {
            self.last += self.random.random_range(0..=2 * self.window.gap);
            self.queue.enqueue(self.last);
        }
    }

    /// One round: a batch, a window for `done` handlers, late arrivals while it is out, and the put-back.
    fn round(&mut self, index: u32) -> (u64, u64) {
        let Window { due, done, late, late_every, gap, .. } = *self.window;
        self.queue.take(self.now, ALL, 0);
        let handled = self.queue.dispatch(self.now, u64::from(done), 0, |_| ());
        let late = if late_every > 0 && index % late_every == late_every - 1 { late } else { 0 };
        let earliest = self.now.saturating_sub(u64::from(due) * gap);
        for _ in 0..late {
            let expiry = self.random.random_range(earliest..=self.now);
            self.queue.enqueue(expiry);
        }
        self.queue.requeue(0);
        (handled, u64::from(late))
    }

    /// Rounds over a short run at the head. As many timers arrive as were dispatched, and the clock moves
    /// on by as many ticks as they will take, so that the same number is due in every round.
    fn rounds(&mut self) {
        self.now = u64::from(self.window.due) * self.window.gap;
        for index in 0..self.window.rounds {
            let (handled, late) = self.round(index);
            let arriving = handled.saturating_sub(late);
            self.arrive(arriving);
            self.now += arriving * self.window.gap;
        }
    }

    /// The clock has run past everything: each round takes the whole queue and puts nearly all of it back.
    fn stall(&mut self) {
        self.now = self.now.max(self.last);
        for index in 0..self.window.stall_rounds {
            self.round(index);
        }
    }

    /// All is dispatched, so that the digest tells whether the order survived.
    fn drain(&mut self) {
        self.queue.sweep(self.now, |_| ());
    }
}

impl Model for Window {
    fn extent(&self, n: u64) -> Extent {
        let rounds = u64::from(self.rounds) + u64::from(self.stall_rounds);
        let arrivals = rounds * (u64::from(self.done) + u64::from(self.late));
        let timers = n.saturating_add(arrivals);
        Extent { timers, operations: timers.saturating_add(rounds * 3).saturating_add(16) }
    }

    fn impossible(&self) -> Option<(&'static str, String)> {
        let is = |key, what: &str| Some((key, format!("is the number of {what}; give 1 or more")));
        match self {
            Self { due: 0, .. } => is("due", "timers that are due in each round"),
            Self { done: 0, .. } => is("done", "handlers that the window has room for"),
            Self { rounds: 0, .. } => is("rounds", "rounds"),
            Self { gap, .. } => super::too_large("gap", *gap),
        }
    }

    fn generate(&self, n: u64, random: &mut Random, out: &mut Builder) {
        out.handler_ticks(1);
        out.phase("fill");
        let mut cycle = Cycle { window: self, queue: Recorder::new(out), random, last: 0, now: 0 };
        cycle.arrive(n);
        cycle.queue.builder.sample(Point::Filled);
        cycle.queue.builder.phase("cycle");
        cycle.rounds();
        cycle.queue.builder.phase("stall");
        cycle.stall();
        cycle.queue.builder.phase("drain");
        cycle.drain();
        cycle.queue.builder.sample(Point::Drained);
    }
}
