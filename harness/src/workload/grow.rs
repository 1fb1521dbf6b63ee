//! Growth: timers are queued in some order, and dispatched in batches when all are there.

use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use super::builder::Builder;
use super::model::{Extent, Model, Random};
use crate::stream::Point;

/// The parameters; `datasets/workloads/grow-*.toml` explain them.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Grow {
    order: Order,
    gap: u64,
    drain_step: u64,
}

/// In which order of expiry timers arrive. The expiries themselves are the same, but for ties.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Order {
    #[default]
    InOrder,
    Reverse,
    Random,
    Ties,
}

impl Default for Grow {
    fn default() -> Self {
        Self { order: Order::default(), gap: 1, drain_step: 1000 }
    }
}

impl Grow {
    fn expiries(&self, n: u64, random: &mut Random) -> Vec<u64> {
        let mut expiries = super::in_order(n, self.gap, random);
        match self.order {
            Order::InOrder => {}
            Order::Reverse => expiries.reverse(),
            Order::Random => expiries.shuffle(random),
            Order::Ties => expiries.fill(n.saturating_mul(self.gap)),
        }
        expiries
    }
}

impl Model for Grow {
    fn extent(&self, n: u64) -> Extent {
        let rounds = n.saturating_mul(2 * self.gap) / self.drain_step.max(1);
        Extent { timers: n, operations: n.saturating_add(rounds.saturating_mul(3)).saturating_add(16) }
    }

    fn impossible(&self) -> Option<(&'static str, String)> {
        if self.drain_step == 0 {
            return Some(("drain_step", "is the number of ticks between two batches; give 1 or more".into()));
        }
        super::too_large("gap", self.gap)
    }

    fn generate(&self, n: u64, random: &mut Random, out: &mut Builder) {
        out.phase("fill");
        let mut expiries = self.expiries(n, random);
        expiries.iter().for_each(|expiry| _ = out.enqueue(*expiry));
        out.sample(Point::Filled);
        out.phase("drain");
        expiries.sort_unstable();
        let (mut now, mut done) = (0, 0);
        while out.queued() > 0 {
            now += self.drain_step;
            let taken = expiries[done..].partition_point(|expiry| *expiry <= now);
            out.sweep(now, taken as u64);
            done += taken;
        }
        out.sample(Point::Drained);
    }
}
