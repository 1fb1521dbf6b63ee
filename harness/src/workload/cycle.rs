//! The cycle: what is due is taken and put back whole, again and again, with a long queue behind it.

use serde::{Deserialize, Serialize};

use super::builder::{ALL, Builder};
use super::model::{Extent, Model, Random};
use crate::stream::Point;

/// The parameters; `datasets/workloads/cycle.toml` explains them.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Cycle {
    due: u32,
    rounds: u32,
    batches: u8,
    put_back: PutBack,
    gap: u64,
}

/// Which of the batches that are out together is put back first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
enum PutBack {
    /// Each goes in front.
    #[default]
    LastFirst,
    /// Each but the first is merged behind what was put back before it.
    FirstFirst,
}

impl Default for Cycle {
    fn default() -> Self {
        Self { due: 1000, rounds: 1000, batches: 1, put_back: PutBack::default(), gap: 1 }
    }
}

impl Cycle {
    /// Takes what is due in equal parts and puts all of it back.
    fn round(&self, now: u64, out: &mut Builder) {
        let part = self.due.div_ceil(u32::from(self.batches));
        let mut left = self.due;
        let mut sizes = Vec::with_capacity(usize::from(self.batches));
        for batch in 0..self.batches {
            let taken = part.min(left);
            out.take(now, u64::from(part), 0, batch, u64::from(taken));
            sizes.push((batch, u64::from(taken)));
            left -= taken;
        }
        if self.put_back == PutBack::LastFirst {
            sizes.reverse();
        }
        sizes.into_iter().for_each(|(batch, size)| out.requeue(batch, size));
    }
}

impl Model for Cycle {
    fn extent(&self, n: u64) -> Extent {
        let timers = n.saturating_add(u64::from(self.due));
        let rounds = u64::from(self.rounds) * u64::from(self.batches) * 2;
        Extent { timers, operations: timers.saturating_add(rounds).saturating_add(16) }
    }

    fn impossible(&self) -> Option<(&'static str, String)> {
        let is = |key, what: &str| Some((key, format!("is the number of {what}; give 1 or more")));
        match self {
            Self { due: 0, .. } => is("due", "timers that are due in each round"),
            Self { rounds: 0, .. } => is("rounds", "rounds"),
            Self { batches: 0, .. } => is("batches", "batches out at once"),
            Self { gap, .. } => super::too_large("gap", *gap),
        }
    }

    fn generate(&self, n: u64, random: &mut Random, out: &mut Builder) {
        out.phase("fill");
        let expiries = super::in_order(n + u64::from(self.due), self.gap, random);
        let now = expiries[self.due as usize - 1];
        // What stands behind starts a tick later, so that just `due` timers are due.
        let behind =
            expiries.iter().enumerate().map(|(i, expiry)| expiry + u64::from(i >= self.due as usize));
        behind.for_each(|expiry| _ = out.enqueue(expiry));
        out.sample(Point::Filled);
        out.phase("cycle");
        (0..self.rounds).for_each(|_| self.round(now, out));
        // All is dispatched at last, so that the digest tells whether the order survived.
        out.phase("drain");
        out.sweep(ALL, out.queued());
        out.sample(Point::Drained);
    }
}
