//! One number for each structure: the geometric mean of its ratios over all workloads that every structure can
//! do (Fleming and Wallace), weights 1.

use itertools::Itertools;

use super::metric::Metric;
use super::series::{Place, Series};
use super::{Study, filter::Filter};
use crate::inference::{Interval, Rank, geometric_mean};

/// A structure's rank.
#[derive(Clone, Debug)]
pub struct Ranked {
    /// The structure, with parameters.
    pub structure: String,
    /// Geometric mean of its ratios to the first of the ranking; 1 for that one.
    pub mean: f64,
    /// Its interval: blocks resampled.
    pub interval: Option<Interval>,
    /// Least and greatest mean with one workload left out; none with one workload.
    pub without_one: Option<(f64, f64)>,
    /// How much the next behind it has more, as a ratio, with its interval; none for the last.
    pub lead: Option<(f64, Option<Interval>)>,
}

impl Ranked {
    /// Whether it is separated from the next.
    pub fn is_ahead(&self) -> bool {
        self.lead.as_ref().and_then(|(_, interval)| *interval).is_some_and(|interval| interval.low > 1.0)
    }
}

/// A ranking.
#[derive(Clone, Debug)]
pub struct Ranking {
    /// The metric.
    pub metric: &'static Metric,
    /// The structures, least first.
    pub ranked: Vec<Ranked>,
    /// The places that count.
    pub places: Vec<Place>,
    /// Places that do not, each with the structures that have no figure there.
    pub left_out: Vec<(Place, Vec<String>)>,
}

/// Ranks the structures of a run by a metric. None when they have no place in common, or when there are fewer
/// than two.
pub fn ranking(study: &Study, metric: &'static Metric, filter: &Filter, confidence: f64) -> Option<Ranking> {
    let all: Vec<Series> = study.series(metric).into_iter().filter(|series| filter.keeps(series)).collect();
    let structures: Vec<String> =
        study.structures().into_iter().filter(|name| filter.keeps_structure(name)).collect();
    let (mut places, mut left_out) = (Vec::new(), Vec::new());
    for place in all.iter().map(|series| series.place.clone()).unique() {
        // A ratio over nothing says nothing.
        let has = |name: &&String| {
            let mut here = all.iter().filter(|series| series.place == place && series.structure == **name);
            here.any(|series| series.values.iter().all(|(_, value)| *value > 0.0))
        };
        let missing: Vec<String> = structures.iter().filter(|name| !has(name)).cloned().collect();
        if missing.is_empty() { places.push(place) } else { left_out.push((place, missing)) }
    }
    let at = |structure: &str| {
        let of = |place: &Place| all.iter().find(|s| s.place == *place && s.structure == structure).cloned();
        places.iter().filter_map(of).collect::<Vec<Series>>()
    };
    let rows: Vec<(String, Vec<Series>)> = structures.iter().map(|name| (name.clone(), at(name))).collect();
    let ranked = ranked(rows, confidence)?;
    Some(Ranking { metric, ranked, places, left_out })
}

/// In order, each against the first and against the next behind it.
fn ranked(mut rows: Vec<(String, Vec<Series>)>, confidence: f64) -> Option<Vec<Ranked>> {
    if rows.len() < 2 || rows[0].1.is_empty() {
        return None;
    }
    let reference = rows[0].1.clone();
    let to_reference =
        |series: &[Series]| mean(&reference, series, confidence).map_or(f64::NAN, |mean| mean.estimate);
    rows.sort_by(|(_, a), (_, b)| to_reference(a).total_cmp(&to_reference(b)));
    let first = &rows[0].1;
    let behind = |i: usize| {
        let (_, next) = rows.get(i + 1)?;
        // Which follows which was found out by looking at all.
        let confidence = 1.0 - (1.0 - confidence) / (rows.len() - 1) as f64;
        mean(&rows[i].1, next, confidence).map(|mean| (mean.estimate, mean.interval))
    };
    let of = |(i, (structure, series)): (usize, &(String, Vec<Series>))| {
        let mean = mean(first, series, confidence)?;
        Some(Ranked {
            structure: structure.clone(),
            mean: mean.estimate,
            interval: mean.interval.filter(|_| i > 0),
            without_one: mean.leave_one_out,
            lead: behind(i),
        })
    };
    rows.iter().enumerate().map(of).collect()
}

/// Geometric mean over the workloads of the ratio of `other` to `baseline`: a list of blocks for each workload,
/// in which sizes, operations and points count alike.
fn mean(baseline: &[Series], other: &[Series], confidence: f64) -> Option<Rank> {
    let workloads: Vec<&String> = baseline.iter().map(|series| &series.place.workload).unique().collect();
    let of = |workload: &&String| {
        let pairs = baseline.iter().zip(other).filter(|(series, _)| series.place.workload == **workload);
        by_block(&pairs.map(|(from, to)| from.pairs(to)).collect::<Vec<_>>())
    };
    geometric_mean(&workloads.iter().map(of).collect::<Vec<_>>(), confidence, 1)
}

/// The geometric mean over some places of the ratio in each block.
fn by_block(places: &[Vec<(f64, f64)>]) -> Vec<f64> {
    let blocks = places.iter().map(Vec::len).min().unwrap_or(0);
    let log = |pairs: &Vec<(f64, f64)>, block: usize| (pairs[block].1 / pairs[block].0).ln();
    let of = |block: usize| {
        let sum: f64 = places.iter().map(|pairs| log(pairs, block)).sum();
        (sum / places.len() as f64).exp()
    };
    (0..blocks).map(of).collect()
}
