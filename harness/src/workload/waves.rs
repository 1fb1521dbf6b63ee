//! Waves: timers are queued, some are cancelled long before they are due, the rest is dispatched; again and again.

use serde::{Deserialize, Serialize};

use super::builder::{ALL, Builder};
use super::model::{Extent, Model, Random};
use super::order::Arrangement;
use crate::stream::Point;

/// The parameters; `datasets/workloads/cancel-storm-97.toml` explains them.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Waves {
    waves: u32,
    delay: u64,
    gap: u64,
    order: Arrangement,
    cancelled: f64,
    cancel_order: Arrangement,
    rounds: u32,
    keep: u32,
}

impl Default for Waves {
    fn default() -> Self {
        Self {
            waves: 4,
            delay: 30_000_000,
            gap: 1000,
            order: Arrangement::InOrder,
            cancelled: 0.97,
            cancel_order: Arrangement::Random,
            rounds: 100,
            keep: 0,
        }
    }
}

/// The waves while they are laid down.
struct Sea<'a> {
    waves: &'a Waves,
    now: u64,
    /// What is queued, in order.
    queued: Vec<u64>,
    out: &'a mut Builder,
}

impl Sea<'_> {
    /// Queues a wave and cancels a part of it. What is still there from earlier waves is due before it.
    fn rise(&mut self, n: u64, is_first: bool, random: &mut Random) {
        let mut wave: Vec<(u64, u32)> = super::in_order(n, self.waves.gap, random)
            .into_iter()
            .map(|after| (self.now.saturating_add(self.waves.delay).saturating_add(after), 0))
            .collect();
        self.waves.order.arrange(&mut wave, random);
        wave.iter_mut().for_each(|(expiry, id)| *id = self.out.enqueue(*expiry));
        if is_first {
            self.out.sample(Point::Filled);
        }
        let cancelled = (n as f64 * self.waves.cancelled).round() as usize;
        Arrangement::Random.arrange(&mut wave, random);
        let mut left = wave.split_off(cancelled);
        wave.sort_unstable_by_key(|(_, id)| *id);
        self.waves.cancel_order.arrange(&mut wave, random);
        wave.iter().for_each(|(_, id)| self.out.cancel(*id, true));
        left.sort_unstable();
        self.queued.extend(left.iter().map(|(expiry, _)| expiry));
    }

    /// The clock passes a wave in equal rounds.
    fn fall(&mut self, n: u64) {
        self.now = self.now.saturating_add(self.waves.delay);
        let step = n.saturating_mul(2 * self.waves.gap).div_ceil(u64::from(self.waves.rounds)).max(1);
        let mut done = 0;
        for _ in 0..self.waves.rounds {
            self.now = self.now.saturating_add(step);
            let due = self.queued[done..].partition_point(|expiry| *expiry <= self.now);
            let most = self.out.queued().saturating_sub(u64::from(self.waves.keep));
            let taken = most.min(due as u64);
            self.out.next_expiry();
            self.out.take(self.now, ALL, self.waves.keep, 0, taken);
            self.out.dispatch(self.now, ALL, 0);
            self.out.drop_batch(0);
            done += taken as usize;
        }
        self.queued.drain(..done);
    }
}

impl Model for Waves {
    fn extent(&self, n: u64) -> Extent {
        let waves = u64::from(self.waves);
        let timers = n.saturating_mul(waves);
        let rounds = waves * u64::from(self.rounds);
        let operations = timers.saturating_mul(2).saturating_add(rounds.saturating_mul(4)).saturating_add(16);
        Extent { timers, operations }
    }

    fn impossible(&self) -> Option<(&'static str, String)> {
        let is = |key, what: &str| Some((key, format!("is the number of {what}; give 1 or more")));
        match self {
            Self { waves: 0, .. } => is("waves", "waves"),
            Self { rounds: 0, .. } => is("rounds", "rounds in which the clock passes a wave"),
            Self { cancelled, .. } if !(0.0..=1.0).contains(cancelled) => {
                Some(("cancelled", "is the part of a wave that is cancelled; give 0 to 1".into()))
            }
            Self { delay, .. } if *delay > 1 << 31 => {
                Some(("delay", format!("is a number of ticks from 0 to {}", 1_u64 << 31)))
            }
            Self { gap, .. } => super::too_large("gap", *gap),
        }
    }

    fn generate(&self, n: u64, random: &mut Random, out: &mut Builder) {
        out.phase("waves");
        let mut sea = Sea { waves: self, now: 0, queued: Vec::new(), out };
        for wave in 0..self.waves {
            sea.rise(n, wave == 0, random);
            sea.fall(n);
        }
        out.sample(Point::Drained);
        out.give_back();
    }
}
