//! Single calls: by percentile, and as the share of calls that take longer. Buckets are pooled over the blocks.

use std::collections::BTreeMap;

use itertools::Itertools;

use super::axis::Axis;
use super::canvas::Page;
use super::panel::{Line, Panel};
use super::{Measured, Plots, Words, Y_LABELS, x_labels};
use crate::error::Error;
use crate::record::row;
use crate::report::figure::{Figure, slug};
use crate::study::structure;

/// Panels of one figure: the operations that take most time.
const PANELS: usize = 6;

/// Fewer calls than these are no curve.
const CALLS: u64 = 1_000;

row! {
    /// A point of a latency curve: a bucket's upper end.
    LatencyRow {
        /// Name of the workload
        workload: String,
        /// Timers asked for
        size: u64,
        /// The phase
        phase: String,
        /// The operation
        operation: String,
        /// The structure, with parameters
        structure: String,
        /// Calls of all blocks together
        calls: u64,
        /// Calls in the bucket
        calls_in_bucket: u64,
        /// The longest time of the bucket in nanoseconds
        latency_ns: u64,
        /// Share of calls that took no longer
        share_within: Option<f64>,
        /// Share of calls that took longer
        share_above: Option<f64>,
    }
}

/// One curve: calls of one structure by the longest time of their bucket.
#[derive(Clone, Debug, Default)]
struct Curve {
    part: (String, String),
    structure: String,
    buckets: BTreeMap<u64, u64>,
}

impl Curve {
    fn calls(&self) -> u64 {
        self.buckets.values().sum()
    }

    /// Nanoseconds of all calls together, as far as buckets tell.
    fn total(&self) -> f64 {
        self.buckets.iter().map(|(ns, calls)| *ns as f64 * *calls as f64).sum()
    }

    /// At the end of each bucket: nanoseconds, calls in it, calls up to it.
    fn steps(&self) -> impl Iterator<Item = (u64, u64, u64)> {
        self.buckets.iter().scan(0, |sum, (ns, calls)| {
            *sum += calls;
            Some((*ns, *calls, *sum))
        })
    }
}

/// The two figures of each workload at its largest size.
pub fn figures(plots: &Plots<'_>) -> Result<Vec<Figure>, Error> {
    let workloads = plots.workloads();
    let both = workloads.iter().map(|workload| both(plots, workload));
    Ok(both.collect::<Result<Vec<_>, _>>()?.concat())
}

fn both(plots: &Plots<'_>, workload: &Measured) -> Result<Vec<Figure>, Error> {
    let parts = parts(plots, workload);
    if parts.is_empty() {
        return Ok(Vec::new());
    }
    let rows = parts.iter().flatten().flat_map(|curve| rows(curve, workload)).collect_vec();
    let legend = plots.legend(parts.iter().flatten().map(|curve| curve.structure.as_str()));
    let facts = plots.facts(&workload.workload, &[workload.largest()], &["latency"]);
    let pooled = format!(
        "Every call timed singly, the clock's own cost in it; calls of all blocks pooled, buckets two digits wide. Operations with fewer than {} calls have no curve; of more than {PANELS} those are shown that take most time.",
        crate::select::thousands(CALLS)
    );
    let words = |kind: &str, title: &str, how: &str| Words {
        name: format!("{kind}-{}", slug(&workload.workload)),
        title: format!("{title}: {}", workload.workload),
        caption: vec![format!("{how} {pooled}"), facts.clone()],
    };
    let percentiles = plots.paneled(
        words("percentiles", "Single calls by percentile", "Each nine takes as much room as the one before."),
        legend.clone(),
        &rows,
        |page| parts.iter().map(|part| percentile_panel(plots, part, page)).collect(),
    )?;
    let above = plots.paneled(
        words("ccdf", "How many calls take longer", "The share of calls (CCDF) that take longer than the time below; lower and further left is better."),
        legend.clone(),
        &rows,
        |page| parts.iter().map(|part| above_panel(plots, part, page)).collect(),
    )?;
    Ok(vec![percentiles, above])
}

fn parts(plots: &Plots<'_>, workload: &Measured) -> Vec<Vec<Curve>> {
    let rows = plots.study.tables.latency.iter();
    let here = rows.filter(|row| row.key.workload == workload.workload && row.key.size == workload.largest());
    let mut curves: Vec<Curve> = Vec::new();
    for row in here {
        let part = (row.own.phase.clone(), row.own.operation.clone());
        let structure = structure(&row.key);
        let found = curves.iter().position(|curve| curve.part == part && curve.structure == structure);
        let place = found.unwrap_or_else(|| {
            curves.push(Curve { part, structure, ..Curve::default() });
            curves.len() - 1
        });
        *curves[place].buckets.entry(row.own.latency_ns_to).or_default() += row.own.calls;
    }
    curves.retain(|curve| curve.calls() >= CALLS);
    let names = curves.iter().map(|curve| curve.part.clone()).unique().collect_vec();
    let parts =
        names.iter().map(|part| curves.iter().filter(|curve| curve.part == *part).cloned().collect_vec());
    let total = |part: &Vec<Curve>| part.iter().map(Curve::total).sum::<f64>();
    let mut parts = parts.collect_vec();
    let kept = parts.iter().map(total).sorted_by(|a, b| b.total_cmp(a)).nth(PANELS - 1).unwrap_or(0.0);
    parts.retain(|part| total(part) >= kept);
    parts
}

fn rows(curve: &Curve, workload: &Measured) -> Vec<LatencyRow> {
    let calls = curve.calls();
    let row = |(ns, inside, within): (u64, u64, u64)| LatencyRow {
        workload: workload.workload.clone(),
        size: workload.largest(),
        phase: curve.part.0.clone(),
        operation: curve.part.1.clone(),
        structure: curve.structure.clone(),
        calls,
        calls_in_bucket: inside,
        latency_ns: ns,
        share_within: Some(within as f64 / calls as f64),
        share_above: Some((calls - within) as f64 / calls as f64),
    };
    curve.steps().map(row).collect()
}

fn title(part: &[Curve]) -> String {
    part.first()
        .map_or_else(String::new, |curve| format!("{} {}", curve.part.0, curve.part.1.replace('_', " ")))
}

fn times(part: &[Curve]) -> impl Iterator<Item = f64> {
    part.iter().flat_map(|curve| curve.buckets.keys().map(|ns| *ns as f64))
}

fn most_calls(part: &[Curve]) -> f64 {
    part.iter().map(|curve| curve.calls() as f64).fold(0.0, f64::max)
}

fn percentile_panel(plots: &Plots<'_>, part: &[Curve], _: Page) -> Panel {
    let line = |curve: &Curve| {
        let calls = curve.calls() as f64;
        let last = 1.0 - 1.0 / calls;
        // A quantile is the value of a step, so the curve goes up where the step before it ends.
        let mut points = Vec::new();
        let mut from = 0.0;
        for (ns, _, within) in curve.steps() {
            let to = (within as f64 / calls).min(last);
            points.extend([(from, ns as f64), (to, ns as f64)]);
            from = to;
        }
        Line { style: plots.style(&curve.structure), points, ..Line::default() }
    };
    Panel {
        title: title(part),
        x: Axis::nines("percentile of calls", most_calls(part)),
        y: Axis::log("ns per call", times(part), Y_LABELS),
        layers: Vec::new(),
        lines: part.iter().map(line).collect(),
    }
}

fn above_panel(plots: &Plots<'_>, part: &[Curve], page: Page) -> Panel {
    let line = |curve: &Curve| {
        let calls = curve.calls();
        let mut share = 1.0;
        let mut points = Vec::new();
        for (ns, _, within) in curve.steps() {
            points.push((ns as f64, share));
            if within < calls {
                share = (calls - within) as f64 / calls as f64;
                points.push((ns as f64, share));
            }
        }
        Line { style: plots.style(&curve.structure), points, ..Line::default() }
    };
    Panel {
        title: title(part),
        x: Axis::log("ns per call", times(part), x_labels(page)),
        y: Axis::log(
            "share of calls that take longer",
            [1.0 / most_calls(part).max(1.0), 0.99].into_iter(),
            Y_LABELS,
        ),
        layers: Vec::new(),
        lines: part.iter().map(line).collect(),
    }
}
