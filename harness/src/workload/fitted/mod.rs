//! A workload that is like a trace and holds nothing of it: what `harness dataset fit` makes of one.
//!
//! ```text
//!              starts                      a source: one copy of the traced program
//!                |
//!                v       until_rearm
//!  +--------> armed ----------------> armed, in this class of delays or another
//!  | period     |  \   until_cancel
//!  |            |   `---------------> cancelled --- some are cancelled again: a miss
//!  |            | delay
//!  |            v
//!  +-------- expired ---------------- some are cancelled now: a miss
//! ```
//!
//! Timers fall into classes by their delay. Each class has a rate of starts, the shape of the gaps between
//! them, and chances of what becomes of an arm. n is the number of timers armed in the steady state: as many
//! sources run side by side as that takes, each with starts of its own, so the mix and the delays are those of
//! the trace at every n, and the clock is as fine. A stream begins in the steady state with n timers, and ends
//! after `arms * n` arms.
//!
//! The clock moves where something expires, as late as the trace's did; all that is due by then expires with it.
//! A tick is a nanosecond. Chances and distributions are tables ([`spread`]), so no function is needed that
//! machines may round differently.

mod fit;
mod run;
mod spread;

use serde::{Deserialize, Serialize};

pub use fit::{Fit, fit};

use self::run::{Asked, Laying, simulate};
use self::spread::Spread;
use super::builder::{ALL, Builder};
use super::model::{Extent, Model, Random};
use crate::stream::Point;

/// The parameters; the head of each file that `harness dataset fit` writes explains them.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Fitted {
    granule_ns: u64,
    arms: f64,
    lateness_ns: Spread,
    classes: Vec<Class>,
}

/// Timers of one delay, or of delays near each other.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
struct Class {
    delay_ns: Spread,
    periodic: bool,
    starts_per_s: f64,
    gaps: Spread,
    rearmed: Vec<f64>,
    cancelled: f64,
    expired: f64,
    until_rearm: Spread,
    until_cancel: Spread,
    misses_per_expiry: f64,
    misses_per_cancel: f64,
}

impl Default for Fitted {
    fn default() -> Self {
        Self { granule_ns: 1, arms: 20.0, lateness_ns: Spread::default(), classes: Vec::new() }
    }
}

/// Nothing is due later than this: some 36 years, so that no sum leaves the clock's range.
const DELAY_MOST: f64 = (1_u64 << 60) as f64;

impl Class {
    /// Chances of all that can become of an arm; they add up to 1 but for rounding.
    fn chances(&self) -> f64 {
        self.rearmed.iter().sum::<f64>() + self.cancelled + self.expired
    }

    /// For how long an arm is armed, on average, in nanoseconds.
    fn held(&self) -> f64 {
        let rearmed: f64 = self.rearmed.iter().sum();
        let part =
            rearmed * self.until_rearm.mean() + self.cancelled * self.until_cancel.mean() + self.expired;
        self.delay_ns.mean() * part / self.chances()
    }

    /// Chance that an arm goes over into one of class `to`; `own` says whether that is this class.
    fn goes_to(&self, to: usize, own: bool) -> f64 {
        let again = if own && self.periodic { self.expired } else { 0.0 };
        (self.rearmed.get(to).copied().unwrap_or(0.0) + again) / self.chances()
    }

    fn fault(&self, classes: usize) -> Option<String> {
        let chances = [self.cancelled, self.expired].into_iter().chain(self.rearmed.iter().copied());
        let is_chance = |chance: f64| (0.0..=1.0).contains(&chance);
        let rates = [self.starts_per_s, self.misses_per_expiry, self.misses_per_cancel];
        if !chances.clone().all(is_chance) || (self.chances() - 1.0).abs() > 0.01 {
            return Some("`rearmed`, `cancelled` and `expired` are chances that add up to 1".to_owned());
        }
        if self.rearmed.len() > classes {
            return Some(format!("`rearmed` has a chance for each of the {classes} classes and no more"));
        }
        if !rates.iter().all(|rate| (0.0..=1e9).contains(rate)) {
            return Some("`starts_per_s` and the misses are from 0 to 1,000,000,000".to_owned());
        }
        if self.starts_per_s > 0.0 && self.gaps.mean() <= 0.0 {
            return Some("`gaps` are not all 0".to_owned());
        }
        let spreads = [
            ("delay_ns", &self.delay_ns, DELAY_MOST),
            ("gaps", &self.gaps, 1e9),
            ("until_rearm", &self.until_rearm, 1.0),
            ("until_cancel", &self.until_cancel, 1.0),
        ];
        let fault =
            |(key, spread, most): (&str, &Spread, f64)| Some(format!("`{key}` {}", spread.fault(most)?));
        spreads.into_iter().find_map(fault)
    }
}

impl Fitted {
    /// Timers of each class that one source has armed in the steady state, or `None` if some chain of re-arms
    /// never ends.
    ///
    /// Arms per second are the starts, those that starts become, those that these become, and so on.
    fn steady(&self) -> Option<Vec<f64>> {
        let mut step: Vec<f64> = self.classes.iter().map(|class| class.starts_per_s).collect();
        let mut arms = step.clone();
        for _ in 0..200_000 {
            let into = |to: usize| {
                let from = self.classes.iter().enumerate().zip(&step);
                from.map(|((at, class), rate)| rate * class.goes_to(to, at == to)).sum()
            };
            step = (0..self.classes.len()).map(into).collect();
            arms.iter_mut().zip(&step).for_each(|(sum, more)| *sum += more);
            if step.iter().sum::<f64>() <= 1e-9 * arms.iter().sum::<f64>() {
                let held = arms.iter().zip(&self.classes).map(|(rate, class)| rate * class.held() / 1e9);
                return Some(held.collect());
            }
        }
        None
    }

    /// Arms in a stream for `n` timers.
    fn arms(&self, n: u64) -> u64 {
        (n as f64 * self.arms).ceil() as u64
    }
}

impl Model for Fitted {
    fn extent(&self, n: u64) -> Extent {
        let arms = self.arms(n);
        let misses = self.classes.iter().map(|class| class.misses_per_cancel + class.misses_per_expiry);
        let misses = misses.fold(0.0, f64::max).ceil() as u64;
        // An arm is an operation, and its end a cancel, or the three of a sweep, and misses; n more were armed before.
        let each = 4_u64.saturating_add(misses);
        let ends = n.saturating_add(arms).saturating_mul(each);
        Extent { timers: n.saturating_add(arms), operations: ends.saturating_add(n).saturating_add(16) }
    }

    fn impossible(&self) -> Option<(&'static str, String)> {
        if self.classes.is_empty() || self.classes.len() > usize::from(u8::MAX) {
            return Some(("classes", "are 1 to 255; `harness dataset fit` makes them of a trace".to_owned()));
        }
        if !(self.arms > 0.0 && self.arms <= 1e9) {
            return Some((
                "arms",
                "is the number of arms for each of the n timers; give more than 0".to_owned(),
            ));
        }
        if self.granule_ns == 0 || self.granule_ns as f64 > DELAY_MOST {
            return Some(("granule_ns", "is what due times are multiples of; give 1 or more".to_owned()));
        }
        if let Some(fault) = self.lateness_ns.fault(DELAY_MOST) {
            return Some(("lateness_ns", fault));
        }
        let count = self.classes.len();
        let fault =
            |(at, class): (usize, &Class)| Some(format!("number {}: {}", at + 1, class.fault(count)?));
        if let Some(fault) = self.classes.iter().enumerate().find_map(fault) {
            return Some(("classes", fault));
        }
        match self.steady() {
            None => Some(("classes", "have re-arms or periods that never end".to_owned())),
            Some(armed) if armed.iter().sum::<f64>() <= 0.0 => {
                Some(("classes", "hold no timers: there are no starts, or no delays".to_owned()))
            }
            Some(_) => None,
        }
    }

    fn generate(&self, n: u64, random: &mut Random, out: &mut Builder) {
        out.phase("fill");
        let mut laying = Laying::new(out);
        simulate(self, n, random, &mut laying);
        laying.steady();
        // All is dispatched at last, so that the digest tells whether the order survived.
        out.phase("drain");
        out.sweep(ALL, out.queued());
        out.sample(Point::Drained);
    }
}

#[cfg(test)]
mod tests;
