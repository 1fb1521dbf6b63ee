//! Many comparisons at once.

use itertools::Itertools;

/// The confidence that each of `family` intervals needs so that all of them hold together with `confidence`
/// (Bonferroni): 99.5 % each for ten at 95 %.
pub fn simultaneous(confidence: f64, family: usize) -> f64 {
    1.0 - (1.0 - confidence) / family.max(1) as f64
}

/// p values adjusted so that the chance of any false finding stays below the level (Holm 1979): for comparisons
/// that were stated before the run. In the order of the input; NaN counts as 1. Cost: O(n log n).
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut adjusted = vec![1.0; p.len()];
    let mut most: f64 = 0.0;
    for (rank, (place, p)) in sorted(p).enumerate() {
        most = most.max((p * (adjusted.len() - rank) as f64).min(1.0));
        adjusted[place] = most;
    }
    adjusted
}

/// p values adjusted so that the expected share of false ones among the findings stays below the level (Benjamini
/// and Hochberg 1995): for a sweep that explores. In the order of the input; NaN counts as 1. Cost: O(n log n).
pub fn benjamini_hochberg(p: &[f64]) -> Vec<f64> {
    let mut adjusted = vec![1.0; p.len()];
    let mut least: f64 = 1.0;
    for (rank, (place, p)) in sorted(p).enumerate().rev() {
        least = least.min(p * adjusted.len() as f64 / (rank + 1) as f64);
        adjusted[place] = least;
    }
    adjusted
}

/// Places and values, the smallest first.
fn sorted(p: &[f64]) -> std::vec::IntoIter<(usize, f64)> {
    let known = |p: &f64| if p.is_nan() { 1.0 } else { *p };
    p.iter().map(known).enumerate().sorted_by(|a, b| a.1.total_cmp(&b.1))
}
