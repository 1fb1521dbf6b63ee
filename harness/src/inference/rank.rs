//! One number over many workloads: the geometric mean of ratios to a baseline (Fleming and Wallace 1986).
//!
//! It hides which workload decided; that is what the leave-one-out range is for. Only ratios of one metric, and only
//! workloads that all structures can do, may go in.

use itertools::Itertools;

use super::bootstrap::{self, Blocks};
use super::interval::Interval;
use crate::format::median;

/// A structure's ratio to the baseline over all workloads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rank {
    /// The geometric mean, over workloads, of the median of the blocks' ratios.
    pub estimate: f64,
    /// Its interval, blocks drawn anew; `None` with fewer than two blocks.
    pub interval: Option<Interval>,
    /// Least and greatest it becomes when one workload is left out; `None` with a single workload.
    pub leave_one_out: Option<(f64, f64)>,
    /// Workloads in it.
    pub workloads: usize,
}

/// The geometric mean over workloads, each with its ratios (other to baseline) in the order of the blocks. Each
/// workload weighs the same. Blocks are drawn together for all workloads: what ran in one block shares the machine's
/// state.
///
/// `None` without workloads, with one that has no ratio, or with a ratio that is not above 0 and finite. Where
/// workloads differ in their number of blocks, the interval rests on those that all have.
pub fn geometric_mean(workloads: &[Vec<f64>], confidence: f64, seed: u64) -> Option<Rank> {
    let log = |ratio: &f64| Some(ratio.ln()).filter(|log| log.is_finite());
    let logs: Vec<Vec<f64>> =
        workloads.iter().map(|ratios| ratios.iter().map(log).collect()).collect::<Option<_>>()?;
    let medians: Vec<f64> = logs.iter().map(|logs| median(logs)).collect::<Option<_>>()?;
    let blocks = logs.iter().map(Vec::len).min()?;
    let sides: Vec<Blocks> = logs.iter().map(|logs| Blocks::new(logs[..blocks].iter().copied())).collect();
    let interval = bootstrap::interval(blocks, confidence, seed, |draw| {
        (sides.iter().map(|side| side.median(draw)).sum::<f64>() / sides.len() as f64).exp()
    });
    let estimate = (medians.iter().sum::<f64>() / medians.len() as f64).exp();
    Some(Rank { estimate, interval, leave_one_out: leave_one_out(&medians), workloads: medians.len() })
}

fn leave_one_out(medians: &[f64]) -> Option<(f64, f64)> {
    let all: f64 = medians.iter().sum();
    let others = (medians.len() > 1).then(|| (medians.len() - 1) as f64)?;
    medians.iter().map(|one| ((all - one) / others).exp()).minmax().into_option()
}
