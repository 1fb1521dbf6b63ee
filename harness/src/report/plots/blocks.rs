//! Each block's figure against the structure's own median: drift, outliers and two levels are seen at once.

use itertools::Itertools;

use super::axis::Axis;
use super::panel::{Line, Panel};
use super::{Measured, Plots, Words, Y_LABELS, x_labels};
use crate::error::Error;
use crate::record::row;
use crate::report::figure::Figure;
use crate::study::Series;
use crate::study::metric::named;

row! {
    /// The figure of one block.
    BlockRow {
        /// Name of the workload
        workload: String,
        /// Timers asked for
        size: u64,
        /// The phase; null for the whole workload
        phase: Option<String>,
        /// The operation
        operation: Option<String>,
        /// The metric, whose unit is in its name
        metric: String,
        /// The structure, with parameters
        structure: String,
        /// The block, from 1
        block: u64,
        /// Its figure, in the metric's unit
        value: Option<f64>,
        /// The same over the median of the structure's blocks
        value_over_median: Option<f64>,
    }
}

/// One figure with a panel for each workload at its largest size.
pub fn figures(plots: &Plots<'_>) -> Result<Vec<Figure>, Error> {
    let workloads = plots.workloads();
    let parts = workloads
        .iter()
        .map(|workload| series(plots, workload))
        .filter(|part| !part.is_empty())
        .collect_vec();
    if parts.is_empty() {
        return Ok(Vec::new());
    }
    let rows = parts.iter().flatten().flat_map(rows).collect_vec();
    let sizes = parts.iter().flatten().map(|series| series.place.size).unique().sorted().collect_vec();
    let passes = parts.iter().flatten().map(|series| series.pass.as_str()).unique().collect_vec();
    let words = Words {
        name: "blocks".into(),
        title: "Block by block".into(),
        caption: vec![
            "Each block's figure over the median of the structure's own blocks: 1 is the median. A slope is drift, a jump that all structures make together is the machine's, a single point far off is an outlier; none is left out.".into(),
            plots.facts("", &sizes, &passes),
        ],
    };
    let legend = plots.legend(parts.iter().flatten().map(|series| series.structure.as_str()));
    let figure = plots.paneled(words, legend, &rows, |page| {
        parts.iter().map(|part| panel(plots, part, x_labels(page))).collect()
    });
    Ok(vec![figure?])
}

/// The time of the whole workload, or else of the call that is made most.
fn series(plots: &Plots<'_>, workload: &Measured) -> Vec<Series> {
    let here = |series: &Series| {
        series.place.workload == workload.workload && series.place.size == workload.largest()
    };
    let whole = plots.study.series(named("time_ns_per_enqueued")).into_iter().filter(here).collect_vec();
    if !whole.is_empty() {
        return whole;
    }
    let calls = plots.study.series(named("latency_ns_p50")).into_iter().filter(here).collect_vec();
    let most = calls.iter().max_by_key(|series| series.calls).map(|series| series.place.clone());
    calls.into_iter().filter(|series| Some(&series.place) == most.as_ref()).collect()
}

fn rows(series: &Series) -> Vec<BlockRow> {
    let middle = series.median().filter(|middle| *middle > 0.0);
    let row = |(block, value): &(u64, f64)| BlockRow {
        workload: series.place.workload.clone(),
        size: series.place.size,
        phase: series.place.phase.clone(),
        operation: series.place.operation.clone(),
        metric: series.metric.name.into(),
        structure: series.structure.clone(),
        block: *block,
        value: Some(*value),
        value_over_median: middle.map(|middle| value / middle),
    };
    series.values.iter().map(row).collect()
}

fn panel(plots: &Plots<'_>, part: &[Series], labels: usize) -> Panel {
    let line = |series: &Series| {
        let points =
            rows(series).into_iter().filter_map(|row| Some((row.block as f64, row.value_over_median?)));
        Line {
            style: plots.style(&series.structure),
            points: points.collect(),
            marks: true,
            faint: true,
            ..Line::default()
        }
    };
    let lines = part.iter().map(line).collect_vec();
    let ys = lines.iter().flat_map(|line| line.points.iter().map(|(_, y)| *y)).chain([0.97, 1.03]);
    let blocks = part.iter().flat_map(|series| series.values.iter().map(|(block, _)| *block as f64));
    let mut x = Axis::between("block", blocks, labels * 2);
    x.ticks.retain(|(value, _)| value.fract() == 0.0);
    let title = part.first().map_or_else(String::new, |series| {
        let part = series.place.part();
        if part.is_empty() {
            series.place.workload.clone()
        } else {
            format!("{}, {part}", series.place.workload)
        }
    });
    Panel {
        title,
        x,
        y: Axis::between("times the median", ys.collect_vec().into_iter(), Y_LABELS),
        layers: Vec::new(),
        lines,
    }
}
