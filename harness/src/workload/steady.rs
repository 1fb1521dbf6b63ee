//! The steady state: a timer is queued behind all others, and the first one is dispatched.

use serde::{Deserialize, Serialize};

use super::builder::{ALL, Builder};
use super::model::{Extent, Model, Random};
use crate::stream::Point;

/// The parameters; `datasets/workloads/steady-enqueue-dispatch.toml` explains them.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Steady {
    calls: u32,
    gap: u64,
}

impl Default for Steady {
    fn default() -> Self {
        Self { calls: 50_000, gap: 1 }
    }
}

impl Model for Steady {
    fn extent(&self, n: u64) -> Extent {
        let calls = u64::from(self.calls);
        let timers = n.saturating_add(calls);
        Extent { timers, operations: timers.saturating_add(3 * calls).saturating_add(16) }
    }

    fn impossible(&self) -> Option<(&'static str, String)> {
        if self.calls == 0 {
            return Some(("calls", "is the number of timers that come and go; give 1 or more".into()));
        }
        super::too_large("gap", self.gap)
    }

    fn generate(&self, n: u64, random: &mut Random, out: &mut Builder) {
        out.phase("fill");
        // No two are due together, so each take gives one timer without a limit.
        let expiries = super::distinct(n + u64::from(self.calls), self.gap, random);
        let (first, coming) = expiries.split_at(n as usize);
        first.iter().for_each(|expiry| _ = out.enqueue(*expiry));
        out.sample(Point::Filled);
        out.phase("steady");
        for (expiry, now) in coming.iter().zip(&expiries) {
            out.enqueue(*expiry);
            out.sweep(*now, 1);
        }
        out.phase("drain");
        out.sweep(ALL, out.queued());
        out.sample(Point::Drained);
    }
}
