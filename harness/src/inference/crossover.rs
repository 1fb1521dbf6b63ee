//! The size at which two structures cost the same: below it one is cheaper, above it the other.

use itertools::Itertools;

use super::bootstrap::{self, Blocks};
use super::interval::Interval;

/// What a structure costs at one size.
#[derive(Clone, Debug, PartialEq)]
pub struct Costs {
    /// Timers.
    pub size: f64,
    /// One number a block, in the order of the blocks.
    pub blocks: Vec<f64>,
}

/// Where two curves of cost cross.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Crossover {
    /// The size, in timers.
    pub size: f64,
    /// Its interval, blocks drawn anew. An end that is 0 or infinite lies outside of the sizes that were measured.
    pub interval: Option<Interval>,
    /// Whether it is the first structure that is cheaper beyond it.
    pub first_wins_beyond: bool,
    /// How often the curves cross. With more than once, `size` is the last: beyond it the order stays.
    pub crossings: usize,
}

/// The size at which the curves of `a` and `b` cross, on straight lines between the logarithms of their median costs at
/// the sizes that both have. Its interval comes from drawing blocks anew, the same ones at all sizes and of both.
///
/// `None` when they do not cross within the sizes, fewer than two sizes are common, or a median is not
/// above 0 and finite. Sizes in any order. Cost: [`super::DRAWS`] times blocks times sizes.
pub fn crossover(a: &[Costs], b: &[Costs], confidence: f64, seed: u64) -> Option<Crossover> {
    let common = common(a, b);
    let blocks = common.iter().flat_map(|(_, a, b)| [a.len(), b.len()]).max()?;
    let all = last_crossing(&lead(&common, &vec![1; blocks])?)?;
    let interval = bootstrap::interval(blocks, confidence, seed, |draw| {
        lead(&common, draw).map_or(f64::NAN, |lead| crossing_or_side(&lead, all.first_wins_beyond))
    });
    Some(Crossover { interval, ..all })
}

/// Sizes that both have, smallest first, with the costs of each.
fn common(a: &[Costs], b: &[Costs]) -> Vec<(f64, Blocks, Blocks)> {
    let blocks = |costs: &Costs| Blocks::new(costs.blocks.iter().copied());
    let pair = |first: &Costs| {
        let second = b.iter().find(|second| second.size == first.size)?;
        (first.size > 0.0 && first.size.is_finite()).then(|| (first.size, blocks(first), blocks(second)))
    };
    a.iter().filter_map(pair).sorted_by(|x, y| x.0.total_cmp(&y.0)).collect()
}

/// Logarithms of the size and of second over first, at each size.
fn lead(common: &[(f64, Blocks, Blocks)], draw: &[usize]) -> Option<Vec<(f64, f64)>> {
    let point = |(size, a, b): &(f64, Blocks, Blocks)| {
        let lead = b.median(draw).ln() - a.median(draw).ln();
        lead.is_finite().then(|| (size.ln(), lead))
    };
    common.iter().map(point).collect()
}

fn last_crossing(lead: &[(f64, f64)]) -> Option<Crossover> {
    // A size at which both cost the same is a crossing only if the signs around it differ.
    let decided: Vec<_> = lead.iter().filter(|(_, lead)| *lead != 0.0).collect();
    let crosses = |(from, to): &(&&(f64, f64), &&(f64, f64))| (from.1 > 0.0) != (to.1 > 0.0);
    let crossings: Vec<_> = decided.iter().tuple_windows().filter(crosses).collect();
    let (from, to) = crossings.last()?;
    let part = from.1 / (from.1 - to.1);
    let size = (from.0 + part * (to.0 - from.0)).exp();
    Some(Crossover { size, interval: None, first_wins_beyond: to.1 > 0.0, crossings: crossings.len() })
}

/// The crossing in the same direction; 0 when the winner beyond it wins at all sizes, infinity when it does not win at
/// the largest.
fn crossing_or_side(lead: &[(f64, f64)], first_wins_beyond: bool) -> f64 {
    let wins = lead.last().is_some_and(|(_, lead)| (*lead > 0.0) == first_wins_beyond);
    match last_crossing(lead) {
        Some(crossover) if wins => crossover.size,
        None if wins => 0.0,
        _ => f64::INFINITY,
    }
}
