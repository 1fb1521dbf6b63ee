//! `pareto`: two metrics at once, and the structures that none beats in both.

use clap::Args;
use itertools::Itertools;

use super::chosen::Chosen;
use super::output::Output;
use super::print;
use crate::error::{Error, Exit};
use crate::format::{decimals, fixed};
use crate::grid::Grid;
use crate::record::row;
use crate::select::thousands;
use crate::study::filter::Filter;
use crate::study::grids::unit_of;
use crate::study::metric::{self, Better, Metric, Scope};
use crate::study::pareto::{Point, points};
use crate::study::{Series, Study};

/// Options of `pareto`.
#[derive(Args, Clone, Debug)]
pub struct ParetoArgs {
    /// The run: a folder, a name under results/, or `latest`
    #[arg(value_name = "RUN", default_value = "latest")]
    pub run: String,
    /// One metric; of one that is of operations, name one with --operation
    #[arg(long, value_name = "METRIC", default_value = "time_ns_per_enqueued")]
    pub x: String,
    /// The other
    #[arg(long, value_name = "METRIC", default_value = "live_bytes_per_timer")]
    pub y: String,
    /// What is looked at
    #[command(flatten)]
    pub chosen: Chosen,
    /// How it is printed
    #[command(flatten)]
    pub output: Output,
}

row! {
    /// A structure with two figures.
    ParetoRow {
        /// Name of the run
        run: String,
        /// Name of the workload
        workload: String,
        /// Timers asked for
        size: u64,
        /// The structure, with parameters
        structure: String,
        /// The first metric
        x_metric: String,
        /// Its median, in the metric's unit
        x: Option<f64>,
        /// The second metric
        y_metric: String,
        /// Its median, in the metric's unit
        y: Option<f64>,
        /// `best` for those that none beats in both, else `dominated`
        verdict: String,
        /// Structures that are at least as good in both and better in one
        dominated_by: String,
    }
}

/// Prints the structures with the non-dominated set marked.
pub fn pareto(args: &ParetoArgs) -> Result<Exit, Error> {
    args.output.can_print()?;
    let studies = [Study::read(&args.run)?];
    let filter = args.chosen.filter(&studies)?;
    let [study] = &studies;
    let xs = axis(study, &args.x, &filter, args)?;
    let ys = axis(study, &args.y, &filter, args)?;
    let (mut rows, mut grids) = (Vec::new(), Vec::new());
    let place = |series: &Series| (series.place.workload.clone(), series.place.size);
    for key in xs.iter().map(place).unique() {
        let at =
            |all: &[Series]| all.iter().filter(|series| place(series) == key).cloned().collect::<Vec<_>>();
        let found = points(&at(&xs), &at(&ys));
        grids.push(grid(&found, &key, [xs[0].metric, ys[0].metric], &at(&xs)));
        rows.extend(found.iter().map(|point| row(study, &key, [xs[0].metric, ys[0].metric], point)));
    }
    print(&args.output.text(|| grids, &rows)?)?;
    Ok(Exit::Done)
}

/// One figure of each structure at each workload and size.
fn axis(study: &Study, name: &str, filter: &Filter, args: &ParetoArgs) -> Result<Vec<Series>, Error> {
    let metric = metric::find(name)?;
    if metric.better == Better::Neither {
        return Err(Error::usage(format!("of {} neither more nor less is better", metric.name))
            .mend("name a time or memory, as time_ns_per_enqueued or live_bytes_per_timer"));
    }
    let all: Vec<Series> = study.series(metric).into_iter().filter(|series| filter.keeps(series)).collect();
    if all.is_empty() {
        return Err(
            Error::failed(format!("nothing that was chosen has {}", metric.name)).mend(metric.how_to_get())
        );
    }
    if metric.scope == Scope::Cell {
        return Ok(all);
    }
    one_part(metric, all, args)
}

/// A metric of operations or points needs one of them.
fn one_part(metric: &Metric, all: Vec<Series>, args: &ParetoArgs) -> Result<Vec<Series>, Error> {
    let parts: Vec<String> = all.iter().map(|series| series.place.part()).unique().collect();
    if parts.len() == 1 {
        return Ok(all);
    }
    let flag = if args.chosen.operation.is_empty() { "name one" } else { "name one of those chosen" };
    Err(Error::usage(format!("{} has a figure for each of {}", metric.name, parts.join(", ")))
        .mend(format!("{flag}, as --operation {}", parts[0].replace(' ', "-"))))
}

fn row(study: &Study, (workload, size): &(String, u64), [x, y]: [&Metric; 2], point: &Point) -> ParetoRow {
    ParetoRow {
        run: study.name().to_owned(),
        workload: workload.clone(),
        size: *size,
        structure: point.structure.clone(),
        x_metric: x.name.into(),
        x: Some(point.x),
        y_metric: y.name.into(),
        y: Some(point.y),
        verdict: verdict(point).into(),
        dominated_by: point.dominated_by.join(", "),
    }
}

fn verdict(point: &Point) -> &'static str {
    if point.dominated_by.is_empty() { "best" } else { "dominated" }
}

fn grid(points: &[Point], (workload, size): &(String, u64), [x, y]: [&Metric; 2], xs: &[Series]) -> Grid {
    let title = format!("{} against {} on {workload}, n = {}", x.name, y.name, thousands(*size));
    let mut grid = Grid { title, ..Grid::default() };
    grid.name_column("structure", points.iter().map(|point| point.structure.clone()).collect());
    for (metric, pick) in [(x, (|point| point.x) as fn(&Point) -> f64), (y, |point| point.y)] {
        let values: Vec<_> = points.iter().map(|point| Some(pick(point))).collect();
        let (unit, size) = unit_of(metric, &values);
        let digits =
            decimals(&values.iter().map(|value| value.map(|value| value / size)).collect::<Vec<_>>());
        let texts =
            values.iter().flatten().map(|value| fixed(value / size, digits.max(usize::from(size > 1.0))));
        grid.column(&format!("{}\n{unit}", metric.name), texts.collect());
    }
    let words = |point: &Point| match point.dominated_by.is_empty() {
        true => "best: none is better in both".to_owned(),
        false => format!("dominated by {}", point.dominated_by.join(", ")),
    };
    grid.word_column("", points.iter().map(words).collect());
    let without = xs.iter().filter(|series| points.iter().all(|point| point.structure != series.structure));
    let without = without.map(|series| series.structure.clone()).join(", ");
    if !without.is_empty() {
        grid.notes.push(format!("Left out, as they have no {}: {without}.", y.name));
    }
    grid.notes.push(
        "Medians over the blocks. Structures whose figures are not separated may change places: `harness cmp` has the intervals.".into(),
    );
    grid
}
