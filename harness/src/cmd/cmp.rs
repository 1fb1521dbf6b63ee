//! `cmp`: the structures of a run, or of several, against each other.

use clap::Args;
use itertools::Itertools;

use super::chosen::Chosen;
use super::output::{Output, rows_text};
use super::print;
use super::run::say;
use crate::cli::Format;
use crate::error::{Error, Exit};
use crate::grid::Grid;
use crate::select::thousands;
use crate::study::compare::{Comparison, Settings, comparisons};
use crate::study::filter::Filter;
use crate::study::grids::{self, TooFew};
use crate::study::metric::{self, Metric, Scope};
use crate::study::pivot::{self, Axis, Stat};
use crate::study::{Series, Study, Together, delta, diff, scaling, together, whole_run};

/// Options of `cmp`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "A ratio is a structure's figure over the baseline's: below 1 is faster, or less.")]
pub struct CmpArgs {
    /// Runs: folders, names under results/, or `latest`
    #[arg(value_name = "RUN", default_value = "latest")]
    pub runs: Vec<String>,
    /// What the rows are; with --cols a plain table of two axes is printed
    #[arg(long, value_name = "AXIS")]
    pub rows: Option<Axis>,
    /// What the columns are
    #[arg(long, value_name = "AXIS")]
    pub cols: Option<Axis>,
    /// Metrics: columns of the tables, or short names such as time, p99, live, held (default: those six that
    /// answer most questions)
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub metric: Vec<String>,
    /// What of the blocks a table of two axes shows
    #[arg(long, default_value = "median")]
    pub stat: Stat,
    /// The structure that the others are compared with (default: the run's first)
    #[arg(long, value_name = "STRUCTURE")]
    pub baseline: Option<String>,
    /// What is looked at
    #[command(flatten)]
    pub chosen: Chosen,
    /// Also Welch's t test on the CPU seconds of whole runs, and Mann and Whitney's U
    #[arg(long)]
    pub tests: bool,
    /// Adjust over all comparisons at once (Benjamini-Hochberg), not for each operation alone (Holm); this is so
    /// by itself with several metrics or a glob of workloads
    #[arg(long)]
    pub sweep: bool,
    /// How cost grows with the size, and from which size on another structure is cheaper; takes three sizes
    #[arg(long, conflicts_with_all = ["rows", "cols", "tests", "sweep", "baseline"])]
    pub growth: bool,
    /// How it is printed
    #[command(flatten)]
    pub output: Output,
}

/// What is compared unless metrics are named.
const DEFAULT: [&str; 6] = [
    "time_ns_per_timer",
    "time_ns_per_enqueued",
    "latency_ns_p99",
    "live_bytes_per_timer",
    "resident_bytes_per_timer",
    "held_live_bytes",
];

/// Prints the comparison.
pub fn cmp(args: &CmpArgs) -> Result<Exit, Error> {
    args.output.can_print()?;
    let studies: Vec<Study> = args.runs.iter().map(|run| Study::read(run)).collect::<Result<_, _>>()?;
    let filter = args.chosen.filter(&studies)?;
    is_baseline(args, &studies)?;
    warn(&studies);
    let names =
        if args.metric.is_empty() { DEFAULT.map(str::to_owned).to_vec() } else { args.metric.clone() };
    let metrics: Vec<_> = names.iter().map(|name| metric::find(name)).collect::<Result<_, _>>()?;
    let series = collected(&studies, &metrics, &filter, !args.metric.is_empty())?;
    if args.growth {
        return growth(&series, args);
    }
    let settings = Settings {
        baseline: args.baseline.clone(),
        sweep: args.sweep || args.metric.len() > 1 || filter.is_sweep(),
        ..Settings::default()
    };
    let machine = &studies[0].manifest.machine;
    let all = comparisons(&series, &settings, |place, metric| delta(machine, place, metric));
    let text = match (args.output.format, args.rows, args.cols) {
        (Format::Csv | Format::Json, ..) => rows_text(&grids::rows(&all), args.output.format)?,
        (_, None, None) => {
            args.output.grids(&usual(&all, &studies, &filter, args.tests, args.baseline.as_deref()))
        }
        (_, rows, columns) => args.output.grids(&of_two_axes(&all, rows, columns, args.stat)?),
    };
    print(&text)?;
    Ok(Exit::Done)
}

fn growth(series: &[Series], args: &CmpArgs) -> Result<Exit, Error> {
    let curves = scaling::curves(series);
    if curves.is_empty() {
        let what = format!("nothing that was chosen has {} sizes or more", scaling::FEWEST);
        return Err(Error::failed(what).mend("measure several: `harness --workload NAME --n 1k,10k,100k`"));
    }
    print(&args.output.text(|| scaling::grids(&curves), &scaling::rows(&curves))?)?;
    Ok(Exit::Done)
}

/// The tables that are printed unless something else is asked for. None when nothing has a figure.
pub fn tables(studies: &[Study]) -> Result<Vec<Grid>, Error> {
    let filter = Filter::new(&[], &[], &[], &[])?;
    let Some(first) = studies.first() else { return Ok(Vec::new()) };
    let metrics = DEFAULT.iter().map(|name| metric::named(name));
    let of = |metric| together(studies).iter().flat_map(|study| study.series(metric)).collect::<Vec<_>>();
    let series: Vec<Series> = metrics.flat_map(of).collect();
    let machine = &first.manifest.machine;
    let all = comparisons(&series, &Settings::default(), |place, metric| delta(machine, place, metric));
    Ok([usual(&all, studies, &filter, false, None), scaling::grids(&scaling::curves(&series))].concat())
}

fn is_baseline(args: &CmpArgs, studies: &[Study]) -> Result<(), Error> {
    let Some(name) = &args.baseline else { return Ok(()) };
    let known: Vec<String> = together(studies).iter().flat_map(Together::structures).collect();
    if known.contains(name) {
        return Ok(());
    }
    let hint = crate::suggest::did_you_mean(name, known.iter().map(String::as_str));
    Err(Error::usage(format!("no structure here is called `{name}`{hint}"))
        .mend(format!("--baseline takes one of {}", known.join(", "))))
}

/// Says what speaks against rows of several runs in one table, and which cells failed.
fn warn(studies: &[Study]) {
    let Some((first, rest)) = studies.split_first() else { return };
    for other in rest {
        for words in diff::warnings(first, other) {
            say(Some(format!("warning: A is {}, B is {}: {words}", first.name(), other.name())));
        }
    }
    for study in studies {
        say(study.manifest.build.warning());
        for failure in study.failures() {
            say(Some(format!(
                "warning: {}: {} cells of {} on {}, n = {}, {}, are `{}`: {}",
                study.name(),
                failure.cells,
                failure.structure,
                failure.workload,
                thousands(failure.size),
                failure.pass,
                failure.status,
                failure.detail
            )));
        }
    }
}

/// The series of all metrics. One that nobody measured is passed over, or an error if it was asked for.
fn collected(
    studies: &[Study],
    metrics: &[&'static Metric],
    filter: &Filter,
    asked: bool,
) -> Result<Vec<Series>, Error> {
    let mut all = Vec::new();
    for metric in metrics {
        let found: Vec<_> = together(studies)
            .iter()
            .flat_map(|study| study.series(metric))
            .filter(|s| filter.keeps(s))
            .collect();
        if found.is_empty() && asked {
            return Err(Error::failed(format!("nothing here has {}", metric.name)).mend(metric.how_to_get()));
        }
        if found.is_empty() {
            say(Some(format!("note: nothing here has {}: {}", metric.name, metric.how_to_get())));
        }
        all.extend(found);
    }
    match all.is_empty() {
        true => {
            Err(Error::failed("nothing that was chosen has a figure").mend("choose less with fewer flags"))
        }
        false => Ok(all),
    }
}

/// The tables of each workload and size: one for each metric that is tested, and one of memory.
fn usual(
    all: &[Comparison],
    studies: &[Study],
    filter: &Filter,
    tests: bool,
    baseline: Option<&str>,
) -> Vec<Grid> {
    let place = |comparison: &Comparison| {
        let place = &comparison.place;
        (place.workload.clone(), place.size, place.payload.clone())
    };
    let mut grids = Vec::new();
    for key in all.iter().map(place).unique() {
        let here: Vec<&Comparison> = all.iter().filter(|comparison| place(comparison) == key).collect();
        let mut some = of_a_workload(&here, studies, filter);
        let (workload, size, payload) = &key;
        if let Some(first) = some.first_mut() {
            let head = format!("{workload}, n = {}, payload {payload}", thousands(*size));
            first.title = format!("{head}\n\n{}", first.title);
        }
        grids.append(&mut some);
        if tests {
            grids.extend(whole_run::grid(&together(studies), workload, *size, baseline));
        }
    }
    grids
}

fn of_a_workload(here: &[&Comparison], studies: &[Study], filter: &Filter) -> Vec<Grid> {
    let tested: Vec<&'static Metric> =
        here.iter().map(|c| c.metric).filter(|m| !m.exact).unique_by(|m| m.name).collect();
    let mut grids = Vec::new();
    for metric in tested {
        let of: Vec<&Comparison> = here.iter().copied().filter(|c| c.metric == metric).collect();
        grids.push(grids::tested(&of, &too_few(&of, studies, filter)));
    }
    // How to read them is said once.
    if let Some((_, but_last)) = grids.split_last_mut() {
        but_last.iter_mut().for_each(|grid| grid.notes.retain(|note| !grids::is_common(note)));
    }
    let exact: Vec<&Comparison> = here.iter().copied().filter(|comparison| comparison.metric.exact).collect();
    if !exact.is_empty() {
        grids.push(grids::exact(&exact));
    }
    grids
}

/// Operations that were called, but not often enough for the quantile.
fn too_few(here: &[&Comparison], studies: &[Study], filter: &Filter) -> TooFew {
    let Some(first) = here.first().filter(|first| first.metric.quantile.is_some()) else { return Vec::new() };
    let called = together(studies)
        .iter()
        .flat_map(|study| study.series(metric::named("latency_ns_max")))
        .collect::<Vec<_>>();
    let told = |series: &Series| {
        here.iter().any(|c| {
            c.place == series.place && c.rows.iter().any(|row| row.series.structure == series.structure)
        })
    };
    let same = |series: &&Series| {
        let (place, of) = (&series.place, &first.place);
        (&place.workload, place.size, &place.payload) == (&of.workload, of.size, &of.payload)
            && first.metric.scope == Scope::Operation
            && filter.keeps(series)
    };
    let all = called.iter().filter(same).map(|series| &series.structure).unique().count();
    let short = called.iter().filter(same).filter(|series| !told(series));
    let by_part = short.map(|series| (series.place.part(), series.structure.clone())).into_group_map();
    let names = |names: Vec<String>| if names.len() == all { "(all)".to_owned() } else { names.join(", ") };
    by_part.into_iter().sorted().map(|(part, structures)| (part, names(structures))).collect()
}

fn of_two_axes(
    all: &[Comparison],
    rows: Option<Axis>,
    columns: Option<Axis>,
    stat: Stat,
) -> Result<Vec<Grid>, Error> {
    let rows =
        rows.unwrap_or(if columns == Some(Axis::Operation) { Axis::Structure } else { Axis::Operation });
    let columns = columns.unwrap_or(if rows == Axis::Structure { Axis::Operation } else { Axis::Structure });
    if rows == columns {
        return Err(Error::usage(format!("--rows and --cols are both {}", rows.word()))
            .mend("name two axes, as --rows workload --cols structure"));
    }
    Ok(pivot::tables(all, rows, columns, stat))
}
