//! The median of a few numbers, with an interval from their order.

use itertools::Itertools;
use statrs::distribution::{Binomial, DiscreteCDF};

use crate::format::median;

/// A range that holds the true value with some confidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// The confidence that it has: what was asked for, or more where only some levels can be had.
    pub confidence: f64,
}

impl Interval {
    /// Whether a value lies in it, its ends included.
    pub fn contains(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// Both ends mapped by a function that does not fall.
    pub(super) fn map(self, by: impl Fn(f64) -> f64) -> Self {
        Self { low: by(self.low), high: by(self.high), ..self }
    }
}

/// A median with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The median, in the unit of the numbers.
    pub median: f64,
    /// Its interval; `None` where there are too few numbers for the confidence.
    pub interval: Option<Interval>,
}

/// The median, and the narrowest pair of order statistics with equal ranks from both ends that holds it with at
/// least this confidence. This is the sign test turned round: exact for numbers from any continuous distribution,
/// at least the confidence for others. 95 % needs six numbers, 99.5 % (ten comparisons at once) nine.
///
/// `None` when there are no numbers, one that is NaN, or no middle (half of them -inf and half +inf).
/// All equal: both ends are that number. Cost: O(n log n).
///
/// ```
/// use harness::inference::median_interval;
///
/// let twelve: Vec<f64> = (1..=12).map(f64::from).collect();
/// let interval = median_interval(&twelve, 0.95).unwrap().interval.unwrap();
/// assert_eq!((interval.low, interval.high), (3.0, 10.0));
/// assert!((interval.confidence - 0.9614).abs() < 1e-4);
/// ```
pub fn median_interval(numbers: &[f64], confidence: f64) -> Option<Estimate> {
    if numbers.iter().any(|number| number.is_nan()) {
        return None;
    }
    let sorted: Vec<f64> = numbers.iter().copied().sorted_by(f64::total_cmp).collect();
    let middle = median(&sorted).filter(|middle| !middle.is_nan())?;
    let interval = ends_to_leave(sorted.len(), confidence).map(|(left, confidence)| Interval {
        low: sorted[left],
        high: sorted[sorted.len() - 1 - left],
        confidence,
    });
    Some(Estimate { median: middle, interval })
}

/// How many of `n` sorted numbers can be left out at each end so that the rest holds the median with at least
/// this confidence, and the confidence that it then has.
fn ends_to_leave(n: usize, confidence: f64) -> Option<(usize, f64)> {
    let half = Binomial::new(0.5, n as u64).ok()?;
    // With `left` out at each end the median is missed when at most `left` numbers lie on one side of it.
    let held = |left: usize| (left, 1.0 - 2.0 * half.cdf(left as u64));
    (0..n / 2).map(held).take_while(|(_, held)| *held >= confidence).last()
}
