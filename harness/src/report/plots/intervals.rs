//! The first figure of a comparison as a picture: each ratio with its interval, around the line of "equal".

use itertools::Itertools;
use plotters::style::text_anchor::HPos;

use super::axis::Axis;
use super::canvas::{Ink, Page, draw};
use super::rows::{filled, fitting, line, marked, room, words};
use super::{Measured, Plots, Words};
use crate::error::Error;
use crate::record::row;
use crate::report::figure::Figure;
use crate::select::thousands;
use crate::study::compare::{self, Comparison, Settings, comparisons};
use crate::study::delta;
use crate::study::metric::named;

row! {
    /// One ratio.
    IntervalRow {
        /// Name of the workload
        workload: String,
        /// Timers asked for
        size: u64,
        /// The phase
        phase: Option<String>,
        /// The operation
        operation: Option<String>,
        /// The allocator
        allocator: String,
        /// The structure, with parameters
        structure: String,
        /// The structure that it is compared with
        baseline: String,
        /// Median over the blocks of the time over the baseline's
        ratio: Option<f64>,
        /// Lower end of its 95 % interval
        ratio_low: Option<f64>,
        /// Upper end of its 95 % interval
        ratio_high: Option<f64>,
        /// Relative differences up to this one are practically none
        delta: Option<f64>,
        /// What it comes to
        verdict: String,
    }
}

const ROW: f64 = 15.0;
const GAP: f64 = 10.0;
const FOOT: f64 = 40.0;

/// A figure for each workload, at its largest size.
pub fn figures(plots: &Plots<'_>) -> Result<Vec<Figure>, Error> {
    let machine = &plots.study.manifest.machine;
    let series = plots.study.series(named("time_ns_per_timer"));
    let all = comparisons(&series, &Settings::default(), |place, metric| delta(machine, place, metric));
    let figure = |measured: Measured| {
        let here =
            |c: &&Comparison| c.place.workload == measured.workload && c.place.size == measured.largest();
        let some =
            all.iter().filter(here).filter(|c| c.rows.iter().any(|row| row.ratio.is_some())).collect_vec();
        (!some.is_empty()).then(|| one(plots, &measured, &some))
    };
    plots.workloads().into_iter().filter_map(figure).collect()
}

fn one(plots: &Plots<'_>, measured: &Measured, here: &[&Comparison]) -> Result<Figure, Error> {
    let rows = here.iter().flat_map(|comparison| rows(comparison)).collect_vec();
    let baseline = here.first().map_or_else(String::new, |comparison| comparison.baseline.clone());
    let title = Words {
        name: format!("ratios-{}", crate::report::figure::slug(&measured.workload)),
        title: format!(
            "{}, n = {}: time over that of {baseline}",
            measured.workload,
            thousands(measured.largest())
        ),
        caption: vec![
            format!(
                "Median over the blocks of the ratio to {baseline}, for each timer handled, with its 95 % interval (order statistics). Left of 1 is faster. The grey band is what counts as the same."
            ),
            plots.facts(&measured.workload, &[measured.largest()], &["time"]),
        ],
    };
    let legend = plots.legend(rows.iter().map(|row| row.structure.as_str()));
    plots.figure(title, legend, &rows, |page| drawn(plots, &rows, page))
}

fn rows(comparison: &Comparison) -> Vec<IntervalRow> {
    let place = &comparison.place;
    let row = |row: &compare::Compared| {
        let against = row.ratio.as_ref()?;
        Some(IntervalRow {
            workload: place.workload.clone(),
            size: place.size,
            phase: place.phase.clone(),
            operation: place.operation.clone(),
            allocator: place.allocator.clone(),
            structure: row.series.structure.clone(),
            baseline: comparison.baseline.clone(),
            ratio: Some(against.estimate),
            ratio_low: against.interval.map(|interval| interval.low),
            ratio_high: against.interval.map(|interval| interval.high),
            delta: Some(comparison.delta),
            verdict: compare::words(against.verdict, comparison.metric).into(),
        })
    };
    comparison.rows.iter().filter_map(row).collect()
}

fn part(row: &IntervalRow) -> String {
    [&row.phase, &row.operation].into_iter().flatten().join(" ").replace('_', " ")
}

fn drawn(plots: &Plots<'_>, rows: &[IntervalRow], page: Page) -> Result<String, Error> {
    let groups = rows
        .iter()
        .chunk_by(|row| part(row))
        .into_iter()
        .map(|(name, some)| (name, some.collect_vec()))
        .collect_vec();
    let names = room(groups.iter().map(|(name, _)| name.as_str())).min(f64::from(page.width()) * 0.4);
    let ends = rows.iter().flat_map(|row| [row.ratio, row.ratio_low, row.ratio_high]).flatten();
    let axis = Axis::log(
        "times the baseline",
        ends.chain([0.9, 1.1]).collect_vec().into_iter(),
        if page == Page::Wide { 9 } else { 5 },
    );
    let (from, width) = (names + 6.0, f64::from(page.width()) - names - 30.0);
    let x = |value: f64| {
        from + (axis.at(value) - axis.at(axis.low)) / (axis.at(axis.high) - axis.at(axis.low)) * width
    };
    let body = groups.iter().map(|(_, some)| ROW * some.len() as f64 + GAP).sum::<f64>();
    draw((page.width(), (body + FOOT) as u32), |area| {
        let delta = rows.iter().filter_map(|row| row.delta).fold(0.0, f64::max);
        filled(area, (x(1.0 / (1.0 + delta)), 0.0), (x(1.0 + delta), body), Ink::Grid, 1.0)?;
        for (value, label) in &axis.ticks {
            line(area, (x(*value), 0.0), (x(*value), body), Ink::Grid, 1.0)?;
            words(area, (x(*value), body + 10.0), HPos::Center, Ink::Muted, false, label)?;
        }
        line(area, (x(1.0), 0.0), (x(1.0), body), Ink::Rule, 1.5)?;
        words(area, (from + width, body + 28.0), HPos::Right, Ink::Muted, false, &axis.label)?;
        let mut top = GAP / 2.0;
        for (name, some) in &groups {
            let middle = top + ROW * some.len() as f64 / 2.0;
            words(area, (4.0, middle), HPos::Left, Ink::Text, false, &fitting(name, names))?;
            for row in some {
                let style = plots.style(&row.structure);
                let y = top + ROW / 2.0;
                if let (Some(low), Some(high)) = (row.ratio_low, row.ratio_high) {
                    line(area, (x(low), y), (x(high), y), Ink::Style(style), 2.0)?;
                }
                if let Some(ratio) = row.ratio {
                    marked(area, (x(ratio), y), style)?;
                }
                top += ROW;
            }
            top += GAP;
        }
        Ok(())
    })
}
