//! Timers at chosen places of the clock, and a clock that steps, jumps, or is set back.

use rand::RngExt;
use serde::{Deserialize, Serialize};

use super::builder::{ALL, Builder};
use super::draw::draws;
use super::model::{Extent, Model, Random};
use super::order::Arrangement;
use crate::stream::Point;

/// The parameters; `datasets/workloads/clusters.toml` explains them.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Place {
    start: u64,
    top: bool,
    gap: u64,
    cluster: u32,
    spread: u64,
    order: Arrangement,
    step: u64,
    jump: u64,
    jump_every: u32,
    back: u64,
}

impl Default for Place {
    fn default() -> Self {
        Self {
            start: 0,
            top: false,
            gap: 1000,
            cluster: 1,
            spread: 0,
            order: Arrangement::default(),
            step: 1000,
            jump: 100_000,
            jump_every: 0,
            back: 0,
        }
    }
}

impl Place {
    /// Ticks from the first place to the last.
    fn span(&self, n: u64) -> u64 {
        (n.saturating_sub(1) / u64::from(self.cluster.max(1)))
            .saturating_mul(self.gap)
            .saturating_add(self.spread)
    }

    /// The first place.
    fn first(&self, n: u64) -> u64 {
        if self.top { ALL - self.span(n) } else { self.start }
    }

    /// Where the clock stands before the drain.
    fn clock(&self, n: u64) -> u64 {
        if self.top { self.first(n).saturating_sub(1) } else { 0 }
    }

    /// In order of expiry.
    fn expiries(&self, n: u64, random: &mut Random) -> Vec<u64> {
        let mut expiries = draws(random, n as usize, |random| random.random_range(0..=self.spread));
        let places = (0..).map(|index| self.first(n) + index / u64::from(self.cluster) * self.gap);
        expiries.iter_mut().zip(places).for_each(|(expiry, place)| *expiry += place);
        expiries.sort_unstable();
        expiries
    }

    /// The clock goes on until nothing is left; `expiries` are in order.
    fn drain(&self, expiries: &[u64], out: &mut Builder) {
        let (mut now, mut done) = (self.clock(expiries.len() as u64), 0);
        for round in 1.. {
            let jumps = self.jump_every > 0 && round % self.jump_every == 0;
            now = now.saturating_add(if jumps { self.jump } else { self.step });
            let taken = expiries[done..].partition_point(|expiry| *expiry <= now);
            out.next_expiry();
            out.sweep(now, taken as u64);
            done += taken;
            if jumps && self.back > 0 {
                out.next_expiry();
                out.sweep(now.saturating_sub(self.back), 0);
                now = now.saturating_sub(self.back);
            }
            if out.queued() == 0 {
                break;
            }
        }
    }
}

impl Model for Place {
    fn extent(&self, n: u64) -> Extent {
        let ticks = self.first(n) - self.clock(n);
        let ticks = ticks.saturating_add(self.span(n));
        // What is set back is gone over again, and a jump goes on by at least a tick more than it is set back.
        let slowest = if self.jump_every > 0 { self.step.min(self.jump - self.back) } else { self.step };
        let rounds = (ticks / slowest.max(1)).saturating_add(2).saturating_mul(2);
        Extent { timers: n, operations: n.saturating_add(rounds.saturating_mul(4)).saturating_add(16) }
    }

    fn impossible(&self) -> Option<(&'static str, String)> {
        let is = |key, what: &str| Some((key, format!("is the number of {what}; give 1 or more")));
        match self {
            Self { cluster: 0, .. } => is("cluster", "timers at each place"),
            Self { step: 0, .. } => is("step", "ticks between two rounds"),
            Self { jump, back, jump_every: 1.., .. } if back >= jump => {
                Some(("back", "is how far the clock is set back after a jump; give less than `jump`".into()))
            }
            Self { start, .. } if *start > 1 << 62 => Some((
                "start",
                "is a number of ticks from 0 to 2^62; for the end of the clock set `top`".into(),
            )),
            Self { gap, .. } => {
                super::too_large("gap", *gap).or_else(|| super::too_large("spread", self.spread))
            }
        }
    }

    fn generate(&self, n: u64, random: &mut Random, out: &mut Builder) {
        out.phase("fill");
        let expiries = self.expiries(n, random);
        let mut arrivals = expiries.clone();
        self.order.arrange(&mut arrivals, random);
        arrivals.iter().for_each(|expiry| _ = out.enqueue(*expiry));
        out.sample(Point::Filled);
        out.phase("drain");
        self.drain(&expiries, out);
        out.sample(Point::Drained);
    }
}
