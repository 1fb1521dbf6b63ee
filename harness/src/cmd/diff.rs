//! `diff`: the same cells in two runs. It ranks nothing.

use clap::Args;
use itertools::Itertools;

use super::chosen::Chosen;
use super::output::Output;
use super::print;
use super::run::say;
use crate::error::{Error, Exit};
use crate::format::numbers;
use crate::grid::Grid;
use crate::record::row;
use crate::select::thousands;
use crate::study::diff::{Change, Finding, changes, one_sided, warnings};
use crate::study::grids::{p_text, ratio_range, ratio_text};
use crate::study::metric::{self, Metric};
use crate::study::{Series, Study, delta};

/// Options of `diff`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "A ratio is B's figure over A's: above 1 is dearer.")]
pub struct DiffArgs {
    /// The run before: a folder, a name under results/, or `latest`
    #[arg(value_name = "A")]
    pub a: String,
    /// The run after
    #[arg(value_name = "B")]
    pub b: String,
    /// Metrics: columns of the tables, or short names such as time, p99, live, held
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "time,p99,live,held")]
    pub metric: Vec<String>,
    /// What is looked at
    #[command(flatten)]
    pub chosen: Chosen,
    /// How it is printed
    #[command(flatten)]
    pub output: Output,
}

row! {
    /// One figure in two runs.
    DiffRow {
        /// Name of the run before
        run_a: String,
        /// Name of the run after
        run_b: String,
        /// Name of the workload
        workload: String,
        /// Timers asked for
        size: u64,
        /// What each timer carries
        payload: String,
        /// The allocator, where a run has several
        allocator: String,
        /// The phase
        phase: Option<String>,
        /// The operation
        operation: Option<String>,
        /// The point of the memory time line
        point: Option<String>,
        /// The metric, whose unit is in its name
        metric: String,
        /// The structure, with parameters
        structure: String,
        /// Blocks of A
        blocks_a: Option<u64>,
        /// Blocks of B
        blocks_b: Option<u64>,
        /// A's median, in the metric's unit
        median_a: Option<f64>,
        /// B's median
        median_b: Option<f64>,
        /// `blocks` where blocks are paired, as both asked the same, else `none`
        pairing: String,
        /// B's figure over A's
        ratio: Option<f64>,
        /// Low end of its interval; the range of the repeats of what is exact
        ratio_low: Option<f64>,
        /// High end of it
        ratio_high: Option<f64>,
        /// p: sign test where blocks are paired, else Mann and Whitney's; null for what is exact
        p: Option<f64>,
        /// The same, adjusted over all rows (Benjamini-Hochberg)
        p_adjusted: Option<f64>,
        /// Relative differences up to this one are practically none
        delta: Option<f64>,
        /// What it comes to
        verdict: String,
    }
}

/// Two runs and what was chosen of them.
pub(super) struct Pair {
    pub(super) studies: [Study; 2],
    pub(super) changes: Vec<Change>,
    pub(super) warnings: Vec<String>,
}

impl Pair {
    /// Reads both, says what speaks against comparing them, and compares.
    pub(super) fn read(a: &str, b: &str, metrics: &[String], chosen: &Chosen) -> Result<Self, Error> {
        let studies = [Study::read(a)?, Study::read(b)?];
        let filter = chosen.filter(&studies)?;
        let metrics: Vec<&'static Metric> =
            metrics.iter().map(|name| metric::find(name)).collect::<Result<_, _>>()?;
        let metrics: Vec<_> = metrics.into_iter().unique_by(|metric| metric.name).collect();
        let machine = &studies[0].manifest.machine;
        let changes = changes(&studies[0], &studies[1], &metrics, &filter, |place, metric| {
            delta(machine, place, metric)
        });
        for metric in &metrics {
            if changes.iter().all(|change| change.metric != *metric) {
                say(Some(format!("note: neither run has {}: {}", metric.name, metric.how_to_get())));
            }
        }
        if changes.is_empty() {
            return Err(Error::failed("neither run has a figure of what was chosen")
                .mend("choose less with fewer flags; `harness list metrics` prints all metrics"));
        }
        let warnings = warnings(&studies[0], &studies[1]);
        warnings.iter().for_each(|words| say(Some(format!("warning: {words}"))));
        Ok(Self { studies, changes, warnings })
    }

    fn row(&self, change: &Change) -> DiffRow {
        let place = change.place.clone();
        let blocks = |side: &Option<Series>| side.as_ref().map(|series| series.values.len() as u64);
        let median = |side: &Option<Series>| side.as_ref().and_then(Series::median);
        DiffRow {
            run_a: self.studies[0].name().into(),
            run_b: self.studies[1].name().into(),
            workload: place.workload,
            size: place.size,
            payload: place.payload,
            allocator: place.allocator,
            phase: place.phase,
            operation: place.operation,
            point: place.point,
            metric: change.metric.name.into(),
            structure: change.structure.clone(),
            blocks_a: blocks(&change.a),
            blocks_b: blocks(&change.b),
            median_a: median(&change.a),
            median_b: median(&change.b),
            pairing: if change.paired { "blocks" } else { "none" }.into(),
            ratio: change.ratio,
            ratio_low: change.interval.map(|interval| interval.low),
            ratio_high: change.interval.map(|interval| interval.high),
            p: change.p,
            p_adjusted: change.adjusted,
            delta: Some(change.delta),
            verdict: change.finding.words(),
        }
    }

    /// A row for each figure, for files.
    pub(super) fn rows(&self) -> Vec<DiffRow> {
        self.changes.iter().map(|change| self.row(change)).collect()
    }

    /// A table for each metric, with one more column of words.
    pub(super) fn grids(&self, heading: &str, words: impl Fn(&Change) -> String) -> Vec<Grid> {
        let both: Vec<&Change> =
            self.changes.iter().filter(|change| change.a.is_some() && change.b.is_some()).collect();
        let metrics = both.iter().map(|change| change.metric.name).unique();
        let grid = |name: &str| {
            let here: Vec<&Change> =
                both.iter().copied().filter(|change| change.metric.name == name).collect();
            let mut grid = grid(&here);
            grid.title = format!(
                "{}: A = {}, B = {}",
                here[0].metric.name,
                self.studies[0].name(),
                self.studies[1].name()
            );
            grid.word_column(heading, here.iter().map(|change| words(change)).collect());
            grid
        };
        let mut grids: Vec<Grid> = metrics.map(grid).chain(missing(&self.changes)).collect();
        if let Some(last) = grids.last_mut() {
            last.notes.push(self.how());
            last.notes.extend(self.warnings.iter().map(|words| format!("Warning: {words}.")));
            last.notes.extend(one_sided(&self.changes).map(|words| format!("Alarm: {words}.")));
        }
        grids
    }

    fn how(&self) -> String {
        let tested = self.changes.iter().filter(|change| change.p.is_some()).count();
        let paired = self.changes.iter().any(|change| change.paired);
        let method = if paired {
            "Blocks are paired, as both runs asked the same: ratio and interval as in `cmp`, p of the sign test"
        } else {
            "Blocks are not paired: ratio of medians, its interval by bootstrap of either side, p of Mann and Whitney's test"
        };
        format!(
            "Ratio: B over A. {method}. p adjusted by Benjamini-Hochberg for {tested} comparisons. Memory and counts are exact: no \
             test, the range of the repeats."
        )
    }
}

/// Prints what has changed.
pub fn diff(args: &DiffArgs) -> Result<Exit, Error> {
    args.output.can_print()?;
    let pair = Pair::read(&args.a, &args.b, &args.metric, &args.chosen)?;
    if let Some(words) = one_sided(&pair.changes) {
        say(Some(format!("warning: {words}")));
    }
    let text = args.output.text(|| pair.grids("verdict", |change| change.finding.words()), &pair.rows())?;
    print(&text)?;
    let count = |finding: &Finding| pair.changes.iter().filter(|change| change.finding == *finding).count();
    say(Some(format!(
        "{} figures: {} regressions, {} improvements, {} the same; `harness gate` makes an exit code of it",
        pair.changes.len(),
        count(&Finding::Regression),
        count(&Finding::Improvement),
        count(&Finding::Same)
    )));
    Ok(Exit::Done)
}

/// What only one of the runs has: a row for each workload, size, structure and metric.
fn missing(changes: &[Change]) -> Option<Grid> {
    let alone = changes.iter().filter(|change| change.a.is_none() || change.b.is_none());
    let line = |change: &Change| {
        let cell = format!("{}, n = {}", change.place.workload, thousands(change.place.size));
        (cell, change.structure.clone(), change.finding.words(), change.metric.name)
    };
    let by_cell =
        alone.map(line).unique().map(|(cell, structure, words, name)| ((cell, structure, words), name));
    type Cell = (String, String, String);
    let mut lines: Vec<(Cell, Vec<&str>)> = Vec::new();
    for (key, name) in by_cell {
        match lines.iter_mut().find(|(known, _)| *known == key) {
            Some((_, names)) => names.push(name),
            None => lines.push((key, vec![name])),
        }
    }
    let mut grid = Grid { title: "Only in one of the runs".into(), ..Grid::default() };
    grid.name_column("workload", lines.iter().map(|((cell, ..), _)| cell.clone()).collect());
    grid.name_column("structure", lines.iter().map(|((_, structure, _), _)| structure.clone()).collect());
    grid.name_column("what", lines.iter().map(|((.., words), _)| words.clone()).collect());
    grid.name_column("metrics", lines.iter().map(|(_, names)| names.join(", ")).collect());
    (!lines.is_empty()).then_some(grid)
}

fn grid(changes: &[&Change]) -> Grid {
    let mut grid = Grid::default();
    let cell = |change: &&Change| format!("{}, n = {}", change.place.workload, thousands(change.place.size));
    grid.name_column("workload", changes.iter().map(cell).collect());
    if changes.iter().any(|change| !change.place.part().is_empty()) {
        grid.name_column("operation", changes.iter().map(|change| change.place.part()).collect());
    }
    grid.name_column("structure", changes.iter().map(|change| change.structure.clone()).collect());
    let sides = |pick: fn(&Change) -> &Option<Series>| {
        changes.iter().map(|change| pick(change).as_ref().and_then(Series::median)).collect::<Vec<_>>()
    };
    let blocks =
        |side: &Option<Series>| side.as_ref().map_or_else(|| "-".into(), |s| s.values.len().to_string());
    let both = |change: &&Change| format!("{}+{}", blocks(&change.a), blocks(&change.b));
    grid.column("blocks", changes.iter().map(both).collect());
    let (a, b) = (sides(|change| &change.a), sides(|change| &change.b));
    let texts = numbers(&[a.clone(), b].concat());
    let unit = changes[0].metric.unit;
    grid.column(&format!("A\n{unit}"), texts[..a.len()].to_vec());
    grid.column(&format!("B\n{unit}"), texts[a.len()..].to_vec());
    let ratio = |change: &&Change| change.ratio.map_or_else(|| "-".into(), ratio_text);
    grid.column("ratio", changes.iter().map(ratio).collect());
    grid.column("ratio\n95 %", changes.iter().map(|change| ratio_range(change.interval)).collect());
    if changes.iter().any(|change| change.p.is_some()) {
        grid.column("p\nadjusted", changes.iter().map(|change| p_text(change.adjusted)).collect());
    }
    grid
}
