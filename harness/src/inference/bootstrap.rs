//! Blocks drawn anew, again and again: what a figure would have been in other runs like this one.
//!
//! A draw is how often each block was drawn. All numbers of a block are drawn together, so what they share
//! (the machine's state, the stream) stays shared; the median under a draw is read off in sorted order, without sorting
//! again.

use itertools::Itertools;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::interval::Interval;

/// How often blocks are drawn anew.
pub const DRAWS: usize = 9_999;

/// One number a block.
pub(super) struct Blocks {
    /// Block and number, the least number first.
    sorted: Vec<(usize, f64)>,
}

impl Blocks {
    pub(super) fn new(numbers: impl IntoIterator<Item = f64>) -> Self {
        let sorted = numbers.into_iter().enumerate().sorted_by(|a, b| a.1.total_cmp(&b.1)).collect();
        Self { sorted }
    }

    pub(super) fn len(&self) -> usize {
        self.sorted.len()
    }

    /// The median of what was drawn; NaN when there is nothing. Cost: O(blocks).
    pub(super) fn median(&self, draw: &[usize]) -> f64 {
        let drawn = |block: &usize| draw.get(*block).copied().unwrap_or(0);
        let total: usize = self.sorted.iter().map(|(block, _)| drawn(block)).sum();
        let (mut seen, mut lower) = (0, None);
        for (block, number) in &self.sorted {
            seen += drawn(block);
            if seen > total / 2 {
                return f64::midpoint(lower.unwrap_or(*number), *number);
            }
            // An even number of them, and this is the lower of the two in the middle.
            if 2 * seen == total && lower.is_none() {
                lower = Some(*number);
            }
        }
        f64::NAN
    }
}

/// The percentile interval of a figure over [`DRAWS`] draws of `blocks` blocks. `None` with fewer than two blocks,
/// or when the figure of some draw is NaN.
pub(super) fn interval(
    blocks: usize,
    confidence: f64,
    seed: u64,
    mut figure: impl FnMut(&[usize]) -> f64,
) -> Option<Interval> {
    if blocks < 2 {
        return None;
    }
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut draw = vec![0; blocks];
    let mut figures = Vec::with_capacity(DRAWS);
    for _ in 0..DRAWS {
        draw.fill(0);
        (0..blocks).for_each(|_| draw[random.random_range(0..blocks)] += 1);
        figures.push(figure(&draw));
    }
    percentiles(figures, confidence)
}

/// The middle part of the figures. With 9,999 of them and 95 % its ends are the 250th and the 9,750th.
fn percentiles(mut figures: Vec<f64>, confidence: f64) -> Option<Interval> {
    if figures.iter().any(|figure| figure.is_nan()) {
        return None;
    }
    figures.sort_unstable_by(f64::total_cmp);
    let rank = ((figures.len() + 1) as f64 * (1.0 - confidence) / 2.0).round().max(1.0) as usize;
    let (low, high) = (figures.get(rank - 1)?, figures.get(figures.len().checked_sub(rank)?)?);
    (low <= high).then_some(Interval { low: *low, high: *high, confidence })
}
