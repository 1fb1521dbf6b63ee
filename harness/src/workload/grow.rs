//! Growth: timers are queued in some order; when all are there, they are dispatched in batches or let go.

use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use super::builder::{ALL, Builder};
use super::model::{Extent, Model, Random};
use crate::stream::Point;

/// The parameters; `datasets/workloads/grow-*.toml` explain them.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Grow {
    order: Sequence,
    gap: u64,
    end: End,
    drain_step: u64,
    free_step: u64,
}

/// In which order of expiry timers arrive. The expiries themselves are the same, but for ties.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Sequence {
    #[default]
    InOrder,
    Reverse,
    Random,
    Ties,
}

/// What becomes of the timers when all are there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
enum End {
    /// They are dispatched, in batches.
    #[default]
    Dispatch,
    /// The queue is dropped with them, in one call.
    Drop,
    /// They are cut off in batches of a limited size, and each batch is dropped.
    DropInSteps,
}

impl Default for Grow {
    fn default() -> Self {
        Self { order: Sequence::default(), gap: 1, end: End::default(), drain_step: 1000, free_step: 1000 }
    }
}

impl Grow {
    fn expiries(&self, n: u64, random: &mut Random) -> Vec<u64> {
        let mut expiries = super::in_order(n, self.gap, random);
        match self.order {
            Sequence::InOrder => {}
            Sequence::Reverse => expiries.reverse(),
            Sequence::Random => expiries.shuffle(random),
            Sequence::Ties => expiries.fill(n.saturating_mul(self.gap)),
        }
        expiries
    }

    fn drain(&self, mut expiries: Vec<u64>, out: &mut Builder) {
        expiries.sort_unstable();
        let (mut now, mut done) = (0, 0);
        while out.queued() > 0 {
            now += self.drain_step;
            let taken = expiries[done..].partition_point(|expiry| *expiry <= now);
            out.sweep(now, taken as u64);
            done += taken;
        }
    }

    fn drop_in_steps(&self, out: &mut Builder) {
        while out.queued() > 0 {
            out.take(ALL, self.free_step, 0, 0, self.free_step.min(out.queued()));
            out.drop_batch(0);
        }
    }
}

impl Model for Grow {
    fn extent(&self, n: u64) -> Extent {
        let rounds = match self.end {
            End::Dispatch => n.saturating_mul(2 * self.gap) / self.drain_step.max(1),
            End::Drop => 0,
            End::DropInSteps => n / self.free_step.max(1) + 1,
        };
        Extent { timers: n, operations: n.saturating_add(rounds.saturating_mul(3)).saturating_add(16) }
    }

    fn impossible(&self) -> Option<(&'static str, String)> {
        if self.drain_step == 0 {
            return Some(("drain_step", "is the number of ticks between two batches; give 1 or more".into()));
        }
        if self.free_step == 0 {
            return Some((
                "free_step",
                "is the number of timers that are let go at once; give 1 or more".into(),
            ));
        }
        super::too_large("gap", self.gap)
    }

    fn generate(&self, n: u64, random: &mut Random, out: &mut Builder) {
        out.phase("fill");
        let expiries = self.expiries(n, random);
        expiries.iter().for_each(|expiry| _ = out.enqueue(*expiry));
        out.sample(Point::Filled);
        if self.end == End::Dispatch {
            out.phase("drain");
            self.drain(expiries, out);
            return out.sample(Point::Drained);
        }
        out.phase("free");
        match self.end {
            End::DropInSteps => self.drop_in_steps(out),
            _ => out.drop_queue(),
        }
        out.sample(Point::Dropped);
    }
}
