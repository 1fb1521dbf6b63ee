//! Cancels: everything that is queued is cancelled, in some order.

use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use super::builder::Builder;
use super::model::{Extent, Model, Random};
use crate::stream::Point;

/// The parameters; `datasets/workloads/cancel-in-order.toml` explains them.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Cancel {
    order: Sequence,
    gap: u64,
}

/// In which order timers are cancelled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Sequence {
    /// The first to expire first.
    #[default]
    InOrder,
    /// The last to expire first.
    Reverse,
    Random,
}

impl Default for Cancel {
    fn default() -> Self {
        Self { order: Sequence::default(), gap: 1 }
    }
}

impl Model for Cancel {
    fn extent(&self, n: u64) -> Extent {
        Extent { timers: n, operations: n.saturating_mul(2).saturating_add(16) }
    }

    fn impossible(&self) -> Option<(&'static str, String)> {
        super::too_large("gap", self.gap)
    }

    fn generate(&self, n: u64, random: &mut Random, out: &mut Builder) {
        out.phase("fill");
        let expiries = super::in_order(n, self.gap, random);
        let mut timers: Vec<u32> = expiries.into_iter().map(|expiry| out.enqueue(expiry)).collect();
        out.sample(Point::Filled);
        match self.order {
            Sequence::InOrder => {}
            Sequence::Reverse => timers.reverse(),
            Sequence::Random => timers.shuffle(random),
        }
        out.phase("cancel");
        timers.into_iter().for_each(|timer| out.cancel(timer, true));
        out.sample(Point::Drained);
    }
}
