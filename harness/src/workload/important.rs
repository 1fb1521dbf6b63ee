//! An important timer behind idle ones: it falls due while the first of a batch of slow handlers runs.
//!
//! ```text
//! taken      idle idle idle ... idle               the important one comes while they are out
//! pass = 1   idle | important | idle ... idle      the window closes, the rest is merged behind it
//! pass = 0   idle idle idle ... idle | important   the whole generation runs first
//! ```

use serde::{Deserialize, Serialize};

use super::builder::{ALL, Builder};
use super::model::{Extent, Model, Random};
use crate::stream::Point;

/// The parameters; `datasets/workloads/tcl-important.toml` explains them.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Important {
    pass: u32,
    handler_ticks: u64,
    delay: u64,
    rounds: u32,
}

impl Default for Important {
    fn default() -> Self {
        Self { pass: 1, handler_ticks: 30_000, delay: 1000, rounds: 1000 }
    }
}

impl Important {
    fn window(&self) -> u64 {
        match self.pass {
            0 => ALL,
            pass => u64::from(pass) * self.handler_ticks,
        }
    }

    /// One round that begins at `start`; gives when it is over.
    fn round(&self, n: u64, start: u64, out: &mut Builder) -> u64 {
        let important = start + self.delay;
        // Idle timers give way to all others, which in one order by expiry means that they are due later.
        let idle = important + 1;
        (0..n).for_each(|_| _ = out.enqueue(idle));
        out.next_expiry();
        out.take(idle, ALL, 0, 0, n);
        out.enqueue(important);
        let handled = out.room(self.window(), n);
        out.dispatch(idle, self.window(), 0);
        out.requeue(0, n - handled);
        let now = idle + handled * self.handler_ticks;
        let left = n - handled + 1;
        out.sweep(now, left);
        now + left * self.handler_ticks
    }
}

impl Model for Important {
    fn extent(&self, n: u64) -> Extent {
        let a_round = n.saturating_add(1);
        let rounds = u64::from(self.rounds);
        let operations = rounds.saturating_mul(a_round.saturating_add(7)).saturating_add(16);
        Extent { timers: rounds.saturating_mul(a_round), operations }
    }

    fn impossible(&self) -> Option<(&'static str, String)> {
        let most = 1 << 20;
        match self {
            Self { rounds: 0, .. } => Some(("rounds", "is the number of rounds; give 1 or more".into())),
            Self { handler_ticks, .. } if !(1..=most).contains(handler_ticks) => {
                Some(("handler_ticks", format!("is what a handler costs, from 1 to {most} ticks")))
            }
            Self { delay, .. } => super::too_large("delay", *delay),
        }
    }

    fn generate(&self, n: u64, _random: &mut Random, out: &mut Builder) {
        out.handler_ticks(self.handler_ticks);
        out.phase("rounds");
        (0..self.rounds).fold(0, |start, _| self.round(n, start, out));
        out.sample(Point::Drained);
    }
}
