//! How cost grows with size: a line for each structure over logarithmic axes, with the interval of the median.

use itertools::Itertools;

use super::axis::Axis;
use super::canvas::Page;
use super::panel::{Line, Panel};
use super::{Measured, Plots, Words, Y_LABELS, x_labels};
use crate::error::Error;
use crate::inference::median_interval;
use crate::record::row;
use crate::report::figure::{Figure, slug};
use crate::study::metric::named;
use crate::study::{Metric, Series};

/// Confidence of the bands.
const CONFIDENCE: f64 = 0.95;

/// Panels of one figure, the whole workload first.
const PANELS: usize = 9;

row! {
    /// A point of a scaling curve.
    ScalingRow {
        /// Name of the workload
        workload: String,
        /// The phase; null for the whole workload
        phase: Option<String>,
        /// The operation
        operation: Option<String>,
        /// The metric, whose unit is in its name
        metric: String,
        /// The structure, with parameters
        structure: String,
        /// What each timer carries
        payload: String,
        /// The allocator that served
        allocator: String,
        /// Timers asked for
        size: u64,
        /// Blocks
        blocks: u64,
        /// The median over the blocks, in the metric's unit
        median: Option<f64>,
        /// Low end of its interval
        median_low: Option<f64>,
        /// High end of its interval
        median_high: Option<f64>,
    }
}

/// A figure for each workload that was run at several sizes.
pub fn figures(plots: &Plots<'_>) -> Result<Vec<Figure>, Error> {
    let several = plots.workloads().into_iter().filter(|workload| workload.sizes.len() > 1);
    several.filter_map(|workload| figure(plots, &workload).transpose()).collect()
}

fn figure(plots: &Plots<'_>, workload: &Measured) -> Result<Option<Figure>, Error> {
    let parts = parts(plots, workload);
    if parts.is_empty() {
        return Ok(None);
    }
    let rows: Vec<ScalingRow> = parts.iter().flatten().map(point).collect();
    let passes: Vec<&str> = parts.iter().flatten().map(|series| series.pass.as_str()).unique().collect();
    let words = Words {
        name: format!("scaling-{}", slug(&workload.workload)),
        title: format!("How cost grows with size: {}", workload.workload),
        caption: vec![
            "Median over the blocks; the band is its 95 % interval of order statistics, and is missing where there are too few blocks for one. Both axes are logarithmic: a straight line that rises as fast as it goes right is cost in proportion to n, a level one is constant cost.".into(),
            plots.facts(&workload.workload, &workload.sizes, &passes),
        ],
    };
    let legend = plots.legend(parts.iter().flatten().map(|series| series.structure.as_str()));
    let figure = plots
        .paneled(words, legend, &rows, |page| parts.iter().map(|part| panel(plots, part, page)).collect());
    figure.map(Some)
}

/// The series of each panel: those of the whole workload, then of each operation at several sizes.
fn parts(plots: &Plots<'_>, workload: &Measured) -> Vec<Vec<Series>> {
    let of = |metric: &'static Metric| {
        let series = plots.study.series(metric).into_iter();
        series
            .filter(|series| series.place.workload == workload.workload && series.median() > Some(0.0))
            .collect_vec()
    };
    let whole = of(named("time_ns_per_enqueued"));
    let mut operations = of(named("time_ns_per_timer"));
    if operations.is_empty() {
        operations = of(named("latency_ns_p50"));
    }
    let key = |series: &Series| (series.metric.name, series.place.part());
    let series = whole.into_iter().chain(operations).collect_vec();
    let keys = series.iter().map(key).unique().collect_vec();
    let parts = keys
        .iter()
        .map(|wanted| series.iter().filter(|series| key(series) == *wanted).cloned().collect_vec());
    let several = |part: &Vec<Series>| part.iter().map(|series| series.place.size).unique().count() > 1;
    parts.filter(several).take(PANELS).collect()
}

fn point(series: &Series) -> ScalingRow {
    let estimate = median_interval(&series.numbers(), CONFIDENCE);
    let interval = estimate.and_then(|estimate| estimate.interval);
    ScalingRow {
        workload: series.place.workload.clone(),
        phase: series.place.phase.clone(),
        operation: series.place.operation.clone(),
        metric: series.metric.name.into(),
        structure: series.structure.clone(),
        payload: series.place.payload.clone(),
        allocator: series.place.allocator.clone(),
        size: series.place.size,
        blocks: series.values.len() as u64,
        median: series.median(),
        median_low: interval.map(|interval| interval.low),
        median_high: interval.map(|interval| interval.high),
    }
}

fn panel(plots: &Plots<'_>, part: &[Series], page: Page) -> Panel {
    let points = part.iter().map(point).collect_vec();
    let values =
        points.iter().flat_map(|point| [point.median, point.median_low, point.median_high]).flatten();
    let of = |structure: &str, allocator: &str| {
        let here = points.iter().filter(|point| point.structure == structure && point.allocator == allocator);
        let here = here.sorted_by_key(|point| point.size).collect_vec();
        Line {
            style: plots.style(structure),
            points: here.iter().filter_map(|point| Some((point.size as f64, point.median?))).collect(),
            band: here
                .iter()
                .filter_map(|point| Some((point.size as f64, point.median_low?, point.median_high?)))
                .collect(),
            marks: true,
            faint: false,
        }
    };
    let lines = points.iter().map(|point| (point.structure.clone(), point.allocator.clone())).unique();
    let (unit, title) = match part.first() {
        Some(series) if series.metric.name == "time_ns_per_enqueued" => {
            ("ns per timer enqueued", "whole workload".into())
        }
        Some(series) if series.metric.quantile.is_some() => ("ns per call, p50", series.place.part()),
        Some(series) => ("ns per timer", series.place.part()),
        None => ("", String::new()),
    };
    Panel {
        title,
        x: Axis::log("timers (n)", points.iter().map(|point| point.size as f64), x_labels(page)),
        y: Axis::log(unit, values, Y_LABELS),
        layers: Vec::new(),
        lines: lines.map(|(structure, allocator)| of(&structure, &allocator)).collect(),
    }
}
