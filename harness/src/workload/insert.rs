//! Enqueues out of order: timers go to uniform places of a queue that stands at its size.

use rand::RngExt;
use serde::{Deserialize, Serialize};

use super::builder::{ALL, Builder};
use super::model::{Extent, Model, Random};
use crate::stream::Point;

/// The parameters; `datasets/workloads/enqueue-out-of-order.toml` explains them.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Insert {
    inserts: u32,
    rounds: u32,
    gap: u64,
}

impl Default for Insert {
    fn default() -> Self {
        Self { inserts: 100, rounds: 20, gap: 1 }
    }
}

impl Insert {
    /// Timers queued before each round, so that `n` are queued half-way through it.
    fn standing(&self, n: u64) -> u64 {
        n.saturating_sub(u64::from(self.inserts / 2)).max(1)
    }

    fn round(&self, latest: u64, random: &mut Random, out: &mut Builder) -> Vec<u32> {
        let inserts = self.inserts as usize;
        let expiries = super::draw::draws(random, inserts, |random| random.random_range(0..=latest));
        expiries.into_iter().map(|expiry| out.enqueue(expiry)).collect()
    }
}

impl Model for Insert {
    fn extent(&self, n: u64) -> Extent {
        let inserts = u64::from(self.inserts) * u64::from(self.rounds);
        let timers = self.standing(n).saturating_add(inserts);
        Extent { timers, operations: timers.saturating_add(inserts).saturating_add(16) }
    }

    fn impossible(&self) -> Option<(&'static str, String)> {
        let is = |key, what: &str| Some((key, format!("is the number of {what}; give 1 or more")));
        match self {
            Self { inserts: 0, .. } => is("inserts", "timers that come out of order in each round"),
            Self { rounds: 0, .. } => is("rounds", "rounds"),
            Self { gap, .. } => super::too_large("gap", *gap),
        }
    }

    fn generate(&self, n: u64, random: &mut Random, out: &mut Builder) {
        out.phase("fill");
        let expiries = super::in_order(self.standing(n), self.gap, random);
        expiries.iter().for_each(|expiry| _ = out.enqueue(*expiry));
        out.sample(Point::Filled);
        out.phase("insert");
        let latest = expiries.last().copied().unwrap_or(0);
        let mut inserted = self.round(latest, random, out);
        for _ in 1..self.rounds {
            inserted.iter().for_each(|id| out.cancel(*id, true));
            inserted = self.round(latest, random, out);
        }
        // The timers of the last round are dispatched with the rest, so that the digest has their places.
        out.phase("drain");
        out.sweep(ALL, out.queued());
        out.sample(Point::Drained);
    }
}
