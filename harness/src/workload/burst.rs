//! A burst: everything is queued, dispatched in rounds with a window, and memory is looked at afterwards.

use serde::{Deserialize, Serialize};

use super::builder::{ALL, Builder};
use super::model::{Extent, Model, Random};
use crate::stream::Point;

/// The parameters; `datasets/workloads/burst.toml` explains them.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Burst {
    gap: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<u64>,
    window: f64,
    keep: u32,
    handler_ticks: u64,
    idle_ms: u64,
}

impl Default for Burst {
    fn default() -> Self {
        Self { gap: 1, step: None, window: 0.9, keep: 10, handler_ticks: 1, idle_ms: 1000 }
    }
}

impl Burst {
    /// A burst of a model that has several of them.
    pub(super) fn with(gap: u64, window: f64, keep: u32, handler_ticks: u64) -> Self {
        Self { gap, window, keep, handler_ticks, ..Self::default() }
    }

    fn step(&self, n: u64) -> u64 {
        self.step.unwrap_or(n.saturating_mul(self.gap) / 100).max(1)
    }

    /// The window in ticks: there is always room for one handler, or the drain would not end.
    fn window(&self, step: u64) -> u64 {
        ((step as f64 * self.window) as u64).max(1)
    }

    /// Rounds from `now` on until `keep` are left of what is queued; `expiries` are its, in order. Gives the time
    /// of the last round.
    pub(super) fn drain(&self, expiries: &[u64], mut now: u64, out: &mut Builder) -> u64 {
        let (step, keep) = (self.step(expiries.len() as u64), u64::from(self.keep));
        let (mut due, mut done) = (0, 0);
        while out.queued() > keep {
            now += step;
            due += expiries[due..].partition_point(|expiry| *expiry <= now);
            let taken = (due as u64 - done).min(out.queued() - keep);
            out.next_expiry();
            out.take(now, ALL, self.keep, 0, taken);
            let handled = out.room(self.window(step), taken);
            out.dispatch(now, self.window(step), 0);
            out.requeue(0, taken - handled);
            done += handled;
        }
        now
    }
}

impl Model for Burst {
    fn extent(&self, n: u64) -> Extent {
        let step = self.step(n);
        let a_round = self.window(step).div_ceil(self.handler_ticks.max(1)).max(1);
        let rounds = (n.saturating_mul(2 * self.gap) / step).saturating_add(n / a_round).saturating_add(2);
        Extent { timers: n, operations: n.saturating_add(rounds.saturating_mul(4)).saturating_add(16) }
    }

    fn impossible(&self) -> Option<(&'static str, String)> {
        if self.step == Some(0) {
            return Some(("step", "is the number of ticks between two rounds; give 1 or more".into()));
        }
        if !(self.window > 0.0 && self.window <= 1.0) {
            return Some((
                "window",
                "is the part of a step that may be used; give more than 0 and at most 1".into(),
            ));
        }
        super::too_large("gap", self.gap)
    }

    fn generate(&self, n: u64, random: &mut Random, out: &mut Builder) {
        out.handler_ticks(self.handler_ticks);
        out.phase("fill");
        let expiries = super::in_order(n, self.gap, random);
        expiries.iter().for_each(|expiry| _ = out.enqueue(*expiry));
        out.sample(Point::Filled);
        out.phase("drain");
        self.drain(&expiries, 0, out);
        out.sample(Point::Drained);
        out.idle(self.idle_ms);
        out.sample(Point::Idle);
        out.give_back();
    }
}
