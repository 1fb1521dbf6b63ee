//! The cycle: what is due is taken, none or a part of it is dispatched, and the rest is put back, again and
//! again, with a long queue behind it.

use serde::{Deserialize, Serialize};

use super::builder::{ALL, Builder};
use super::model::{Extent, Model, Random};
use crate::stream::Point;

/// The parameters; `datasets/workloads/cycle.toml` explains them.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Cycle {
    due: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    done: Option<u32>,
    behind: Behind,
    rounds: u32,
    batches: u8,
    put_back: PutBack,
    gap: u64,
}

/// When the timers are due that a round does not take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Behind {
    /// After the round, so that the clock bounds the batch.
    #[default]
    Later,
    /// By now, so that nothing but the limit bounds the batch.
    Due,
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
        Self {
            due: 1000,
            done: None,
            behind: Behind::default(),
            rounds: 1000,
            batches: 1,
            put_back: PutBack::default(),
            gap: 1,
        }
    }
}

impl Cycle {
    /// Timers that are dispatched, and replaced at the rear, in each round.
    fn turnover(&self) -> u64 {
        self.done.map_or(0, u64::from)
    }

    /// Expiries of all timers there will ever be. Where a round ends its batch, what follows starts a tick
    /// later, so that just `due` timers are due in each round.
    fn expiries(&self, n: u64, random: &mut Random) -> Vec<u64> {
        let (due, turnover) = (u64::from(self.due), self.turnover());
        let arrivals = u64::from(self.rounds) * turnover;
        let mut expiries = super::in_order(n + due + arrivals, self.gap, random);
        for (index, expiry) in (0..).zip(&mut expiries) {
            *expiry += match u64::checked_sub(index, due) {
                None => 0,
                Some(beyond) => 1 + beyond.checked_div(turnover).unwrap_or(0),
            };
        }
        expiries
    }

    /// Takes what is due in equal parts, dispatches `done` timers of it, and puts the rest back.
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
        if self.done.is_some() {
            self.dispatch(now, &mut sizes, out);
        }
        if self.put_back == PutBack::LastFirst {
            sizes.reverse();
        }
        sizes.into_iter().for_each(|(batch, size)| out.requeue(batch, size));
    }

    /// One window that the batches share, the earliest first; a handler costs a tick.
    fn dispatch(&self, now: u64, sizes: &mut [(u8, u64)], out: &mut Builder) {
        let mut window = self.turnover();
        for (batch, size) in sizes {
            out.dispatch(now, window, *batch);
            let handled = out.room(window, *size);
            *size -= handled;
            window -= handled;
        }
    }

    fn rounds(&self, n: u64, expiries: &[u64], out: &mut Builder) {
        let turnover = self.turnover() as usize;
        let (mut last_due, mut arrived) = (self.due as usize - 1, n as usize + self.due as usize);
        for _ in 0..self.rounds {
            let bound = if self.behind == Behind::Due { arrived - 1 } else { last_due };
            self.round(expiries[bound], out);
            expiries[arrived..arrived + turnover].iter().for_each(|expiry| _ = out.enqueue(*expiry));
            last_due += turnover;
            arrived += turnover;
        }
    }
}

impl Model for Cycle {
    fn extent(&self, n: u64) -> Extent {
        let arrivals = u64::from(self.rounds) * self.turnover();
        let timers = n.saturating_add(u64::from(self.due)).saturating_add(arrivals);
        let calls = if self.done.is_some() { 3 } else { 2 };
        let rounds = u64::from(self.rounds) * u64::from(self.batches) * calls;
        Extent { timers, operations: timers.saturating_add(rounds).saturating_add(16) }
    }

    fn impossible(&self) -> Option<(&'static str, String)> {
        let is = |key, what: &str| Some((key, format!("is the number of {what}; give 1 or more")));
        match self {
            Self { due: 0, .. } => is("due", "timers that are due in each round"),
            Self { rounds: 0, .. } => is("rounds", "rounds"),
            Self { batches: 0, .. } => is("batches", "batches out at once"),
            Self { done: Some(done), due, .. } if done > due => {
                Some(("done", format!("is the number of timers dispatched of the {due} due; give no more")))
            }
            Self { gap, .. } => super::too_large("gap", *gap),
        }
    }

    fn generate(&self, n: u64, random: &mut Random, out: &mut Builder) {
        if self.done.is_some() {
            out.handler_ticks(1);
        }
        out.phase("fill");
        let expiries = self.expiries(n, random);
        let filled = n as usize + self.due as usize;
        expiries[..filled].iter().for_each(|expiry| _ = out.enqueue(*expiry));
        out.sample(Point::Filled);
        out.phase("cycle");
        self.rounds(n, &expiries, out);
        // All is dispatched at last, so that the digest tells whether the order survived.
        out.phase("drain");
        out.sweep(ALL, out.queued());
        out.sample(Point::Drained);
    }
}
