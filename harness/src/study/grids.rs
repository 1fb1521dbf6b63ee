//! Comparisons as tables for people and as rows for files.

use itertools::Itertools;

use super::compare::{Against, Compared, Comparison, words};
use super::metric::Metric;
use crate::format::{decimals, fixed, memory_unit, numbers, whole};
use crate::grid::Grid;
use crate::inference::{Flag, Interval};
use crate::latency::calls_needed;
use crate::record::row;
use crate::select::thousands;

row! {
    /// One structure in a comparison of one metric at one place.
    ComparisonRow {
        /// Name of the run
        run: String,
        /// Name of the workload
        workload: String,
        /// Timers asked for
        size: u64,
        /// What each timer carries
        payload: String,
        /// The allocator that served
        allocator: String,
        /// The phase, of phases and operations
        phase: Option<String>,
        /// The operation
        operation: Option<String>,
        /// The point of the memory time line
        point: Option<String>,
        /// The metric, whose unit is in its name
        metric: String,
        /// The structure, with parameters
        structure: String,
        /// Blocks, or repeats of what is not run once a block
        blocks: u64,
        /// Calls that each block's figure is of
        calls: Option<u64>,
        /// The median over the blocks, in the metric's unit
        median: Option<f64>,
        /// Low end of its interval
        median_low: Option<f64>,
        /// High end of its interval
        median_high: Option<f64>,
        /// The least of the blocks
        min: Option<f64>,
        /// The greatest of the blocks
        max: Option<f64>,
        /// The structure that it is compared with
        baseline: String,
        /// Blocks that both have
        pairs: Option<u64>,
        /// Blocks in which both are equal
        ties: Option<u64>,
        /// Its value over the baseline's: exp of the median of paired log ratios, or the ratio of medians of what is exact
        ratio: Option<f64>,
        /// Low end of the ratio's interval: order statistics, or the range of the repeats of what is exact
        ratio_low: Option<f64>,
        /// High end of it
        ratio_high: Option<f64>,
        /// Low end of the interval that holds together with those of the whole family
        ratio_low_together: Option<f64>,
        /// High end of it
        ratio_high_together: Option<f64>,
        /// Low end of the bootstrap's interval of the ratio of medians
        ratio_bootstrap_low: Option<f64>,
        /// High end of it
        ratio_bootstrap_high: Option<f64>,
        /// p of the sign test; null for what is exact
        p: Option<f64>,
        /// The same, adjusted for the family
        p_adjusted: Option<f64>,
        /// How it was adjusted: `Holm` or `Benjamini-Hochberg`
        adjustment: String,
        /// Comparisons that it was adjusted for
        family: u64,
        /// Relative differences up to this one are practically none
        delta: Option<f64>,
        /// What it comes to; null for the baseline
        verdict: Option<String>,
        /// `best`, `tied` or nothing, among all at this place
        standing: Option<String>,
        /// What the stability checks found, one after the other
        flags: Option<String>,
    }
}

/// The rows of some comparisons.
pub fn rows(comparisons: &[Comparison]) -> Vec<ComparisonRow> {
    let of =
        |comparison: &Comparison| comparison.rows.iter().map(|row| line(comparison, row)).collect::<Vec<_>>();
    comparisons.iter().flat_map(of).collect()
}

fn line(comparison: &Comparison, row: &Compared) -> ComparisonRow {
    let place = comparison.place.clone();
    let against = row.ratio.as_ref();
    let interval = |pick: fn(&Against) -> Option<Interval>| against.and_then(pick);
    let median = row.estimate.as_ref().and_then(|estimate| estimate.interval);
    let text = |word: &str| Some(word.to_owned()).filter(|word| !word.is_empty());
    ComparisonRow {
        run: row.series.run.clone(),
        workload: place.workload,
        size: place.size,
        payload: place.payload,
        allocator: place.allocator,
        phase: place.phase,
        operation: place.operation,
        point: place.point,
        metric: comparison.metric.name.into(),
        structure: row.series.structure.clone(),
        blocks: row.series.values.len() as u64,
        calls: row.series.calls,
        median: row.series.median(),
        median_low: median.map(|interval| interval.low),
        median_high: median.map(|interval| interval.high),
        min: row.series.range().map(|(min, _)| min),
        max: row.series.range().map(|(_, max)| max),
        baseline: comparison.baseline.clone(),
        pairs: against.map(|against| against.pairs as u64),
        ties: against.map(|against| against.ties as u64),
        ratio: against.map(|against| against.estimate),
        ratio_low: interval(|against| against.interval).map(|interval| interval.low),
        ratio_high: interval(|against| against.interval).map(|interval| interval.high),
        ratio_low_together: interval(|against| against.simultaneous).map(|interval| interval.low),
        ratio_high_together: interval(|against| against.simultaneous).map(|interval| interval.high),
        ratio_bootstrap_low: interval(|against| against.bootstrap).map(|interval| interval.low),
        ratio_bootstrap_high: interval(|against| against.bootstrap).map(|interval| interval.high),
        p: against.and_then(|against| against.p),
        p_adjusted: against.and_then(|against| against.adjusted),
        adjustment: comparison.family.adjustment().into(),
        family: comparison.family.size as u64,
        delta: Some(comparison.delta),
        verdict: against.map(|against| words(against.verdict, comparison.metric).to_owned()),
        standing: text(row.standing.word()),
        flags: text(&flag_words(row)),
    }
}

/// What was seen in the blocks of a structure, and in their ratios to the baseline's.
fn flags(row: &Compared) -> Vec<Flag> {
    let of_ratio = row.ratio.iter().flat_map(|against| &against.flags);
    row.flags.iter().chain(of_ratio).unique_by(|flag| flag.words()).copied().collect()
}

fn flag_words(row: &Compared) -> String {
    flags(row).iter().map(Flag::words).join(", ")
}

/// A row of a table: a structure in a comparison, or one that had too few calls for the metric.
struct Line<'a> {
    part: String,
    structure: String,
    found: Option<(&'a Comparison, &'a Compared)>,
}

/// Places and structures that had calls, but too few for a quantile.
pub type TooFew = Vec<(String, String)>;

/// The comparisons of one metric that is tested, at the places of one workload and size: a row for each
/// operation and structure.
pub fn tested(comparisons: &[&Comparison], too_few: &TooFew) -> Grid {
    let Some(first) = comparisons.first() else { return Grid::default() };
    let metric = first.metric;
    let lines = lines(comparisons, too_few);
    let mut grid = Grid { title: title(metric), ..Grid::default() };
    if lines.iter().any(|line| !line.part.is_empty()) {
        grid.name_column("operation", lines.iter().map(|line| line.part.clone()).collect());
    }
    grid.name_column("structure", lines.iter().map(|line| line.structure.clone()).collect());
    value_columns(&mut grid, &lines, metric);
    ratio_columns(&mut grid, &lines, first);
    verdict_columns(&mut grid, &lines, metric);
    grid.notes = notes(comparisons, &lines);
    grid
}

fn title(metric: &Metric) -> String {
    match metric.name {
        "time_ns_per_timer" => "Time for each timer handled, in nanoseconds".into(),
        "time_ns_per_enqueued" => "Time of the whole workload for each timer enqueued, in nanoseconds".into(),
        name if metric.quantile.is_some() => {
            format!("Single calls, {} in nanoseconds ({name})", metric.short)
        }
        name => format!("{name}, in {}", metric.unit),
    }
}

fn lines<'a>(comparisons: &[&'a Comparison], too_few: &TooFew) -> Vec<Line<'a>> {
    let found = |comparison: &&'a Comparison| {
        let comparison: &'a Comparison = comparison;
        let line = move |row: &'a Compared| Line {
            part: comparison.place.part(),
            structure: row.series.structure.clone(),
            found: Some((comparison, row)),
        };
        comparison.rows.iter().map(line).collect::<Vec<_>>()
    };
    let short = too_few.iter().map(|(part, structure)| Line {
        part: part.clone(),
        structure: structure.clone(),
        found: None,
    });
    comparisons.iter().flat_map(found).chain(short).collect()
}

fn value_columns(grid: &mut Grid, lines: &[Line<'_>], metric: &Metric) {
    let row = |line: &Line<'_>| line.found.map(|(_, row)| row.clone());
    let blocks = lines.iter().map(|line| row(line).map(|row| row.series.values.len() as f64));
    grid.column("blocks", whole(&blocks.collect::<Vec<_>>()));
    let calls = lines.iter().map(|line| row(line).and_then(|row| row.series.calls).map(|n| n as f64));
    let calls: Vec<_> = calls.collect();
    if calls.iter().any(Option::is_some) {
        grid.column("calls", whole(&calls));
    }
    let too_few = metric.quantile.map(|quantile| format!("n<{}", thousands(calls_needed(quantile))));
    let medians: Vec<_> = lines.iter().map(|line| row(line).and_then(|row| row.series.median())).collect();
    let mut texts = numbers(&medians);
    for (text, line) in texts.iter_mut().zip(lines).filter(|(_, line)| line.found.is_none()) {
        text.clone_from(too_few.as_ref().unwrap_or(&line.part));
    }
    grid.column("median", texts);
    let intervals = lines.iter().map(|line| row(line)?.estimate?.interval).collect::<Vec<_>>();
    let digits = decimals(&intervals.iter().map(|interval| interval.map(|i| i.low)).collect::<Vec<_>>());
    grid.column("median\n95 %", intervals.iter().map(|interval| range(*interval, digits)).collect());
}

fn ratio_columns(grid: &mut Grid, lines: &[Line<'_>], first: &Comparison) {
    let against = |line: &Line<'_>| line.found.and_then(|(_, row)| row.ratio.clone());
    let over = format!("ratio to\n{}", first.baseline);
    let text = |line: &Line<'_>| match (line.found, against(line)) {
        (Some((comparison, row)), None) if row.series.structure == comparison.baseline => "(baseline)".into(),
        (_, None) => "-".into(),
        (_, Some(against)) => ratio_text(against.estimate),
    };
    grid.column(&over, lines.iter().map(text).collect());
    let intervals = |pick: fn(&Against) -> Option<Interval>| {
        lines.iter().map(|line| ratio_range(against(line).as_ref().and_then(pick))).collect::<Vec<_>>()
    };
    grid.column("ratio\n95 %", intervals(|against| against.interval));
    if first.family.size > 1 && !first.family.sweep {
        let together = format!("ratio, 95 %\nfor all {}", first.family.size);
        grid.column(&together, intervals(|against| against.simultaneous));
    }
    grid.column("ratio, 95 %\nbootstrap", intervals(|against| against.bootstrap));
    let p = |pick: fn(&Against) -> Option<f64>| {
        lines.iter().map(|line| p_text(against(line).as_ref().and_then(pick))).collect::<Vec<_>>()
    };
    grid.column("p", p(|against| against.p));
    grid.column("p\nadjusted", p(|against| against.adjusted));
}

fn verdict_columns(grid: &mut Grid, lines: &[Line<'_>], metric: &Metric) {
    let verdict = |line: &Line<'_>| {
        let against = line.found.and_then(|(_, row)| row.ratio.as_ref());
        against.map_or_else(String::new, |against| words(against.verdict, metric).to_owned())
    };
    let standing = |line: &Line<'_>| line.found.map_or("", |(_, row)| row.standing.word()).to_owned();
    grid.word_column("of its row", lines.iter().map(standing).collect());
    grid.word_column("verdict", lines.iter().map(verdict).collect());
    let flags: Vec<String> =
        lines.iter().map(|line| line.found.map_or(String::new(), |(_, row)| flag_words(row))).collect();
    if flags.iter().any(|flags| !flags.is_empty()) {
        grid.word_column("stability", flags);
    }
}

/// How ratios come about.
const HOW: &str = "Each block is a process of its own. Ratio: exp of the median of the blocks' paired log ratios, its interval \
                   from order statistics; the bootstrap resamples blocks for the ratio of medians.";

/// Whether a note is the same below each table.
pub fn is_common(note: &str) -> bool {
    note == HOW || note.starts_with("p: sign test")
}

fn notes(comparisons: &[&Comparison], lines: &[Line<'_>]) -> Vec<String> {
    let Some(first) = comparisons.first() else { return Vec::new() };
    let deltas: Vec<String> =
        comparisons.iter().map(|comparison| format!("{:.1} %", comparison.delta * 100.0)).unique().collect();
    let family = first.family;
    let scope = if family.sweep { "all of this sweep" } else { "those of one row of operations" };
    let mut notes = vec![
        HOW.to_owned(),
        format!(
            "p: sign test, adjusted by {} for {} comparisons, {scope}. Same: within {}. best: separated from the next; tied: not \
             separated from the least.",
            family.adjustment(),
            family.size,
            deltas.join(" or ")
        ),
    ];
    let without = lines.iter().filter_map(|line| line.found?.1.ratio.as_ref());
    if without.clone().any(|against| against.simultaneous.is_none()) {
        let pairs = without.map(|against| against.pairs).min().unwrap_or(0);
        notes.push(format!(
            "{pairs} blocks are too few for an interval that holds for {} comparisons at once: run more, as with --blocks 12.",
            family.size.max(1)
        ));
    }
    let seen = comparisons.iter().flat_map(|comparison| &comparison.rows).flat_map(flags);
    let remedies = seen.unique_by(|flag| flag.words()).into_group_map_by(|flag| flag.remedy());
    let remedy = |(remedy, flags): (&str, Vec<Flag>)| {
        format!("{}: {remedy}.", flags.iter().map(Flag::words).join(", "))
    };
    notes.extend(remedies.into_iter().map(remedy).sorted());
    notes
}

/// Metrics of whole cells and points that no test is made of, of one workload and size: a row for each metric
/// and structure.
pub fn exact(comparisons: &[&Comparison]) -> Grid {
    let mut grid = Grid { title: "Memory and counts".into(), ..Grid::default() };
    let lines = lines(comparisons, &Vec::new());
    let of = |line: &Line<'_>| line.found.map(|(comparison, row)| (comparison.clone(), row.clone()));
    let name = |line: &Line<'_>| {
        let part = if line.part.is_empty() { String::new() } else { format!(" ({})", line.part) };
        of(line).map_or_else(String::new, |(comparison, _)| format!("{}{part}", comparison.metric.name))
    };
    grid.name_column("metric", lines.iter().map(name).collect());
    grid.name_column("structure", lines.iter().map(|line| line.structure.clone()).collect());
    let (mut medians, mut spans, mut units) = (Vec::new(), Vec::new(), Vec::new());
    for comparison in comparisons {
        let values: Vec<_> = comparison.rows.iter().map(|row| row.series.median()).collect();
        let (unit, size) = unit_of(comparison.metric, &values);
        let scaled: Vec<_> = values.iter().map(|value| value.map(|value| value / size)).collect();
        let digits = decimals(&scaled).max(usize::from(size > 1.0));
        medians.extend(scaled.iter().map(|value| value.map_or("-".into(), |value| fixed(value, digits))));
        spans.extend(comparison.rows.iter().map(|row| span(row.series.range(), size, digits)));
        units.extend(comparison.rows.iter().map(|_| unit.to_owned()));
    }
    grid.column("median", medians);
    grid.column("range of\nrepeats", spans);
    grid.column("unit", units);
    exact_ratios(&mut grid, &lines);
    grid.notes.push(
        "Close to deterministic: no test is made. The ratio's range is what the repeats span; one figure where they are equal.".into(),
    );
    grid
}

fn exact_ratios(grid: &mut Grid, lines: &[Line<'_>]) {
    let against = |line: &Line<'_>| line.found.and_then(|(_, row)| row.ratio.clone());
    let baselines =
        lines.iter().filter_map(|line| line.found).map(|(c, _)| c.baseline.clone()).unique().join("/");
    let text = |line: &Line<'_>| match (line.found, against(line)) {
        (Some((comparison, row)), None) if row.series.structure == comparison.baseline => "(baseline)".into(),
        (_, against) => against.map_or("-".into(), |against| ratio_text(against.estimate)),
    };
    grid.column(&format!("ratio to\n{baselines}"), lines.iter().map(text).collect());
    let ranges = lines.iter().map(|line| match against(line).and_then(|against| against.interval) {
        Some(interval) if interval.low == interval.high => "=".into(),
        interval => ratio_range(interval),
    });
    grid.column("ratio\nrange", ranges.collect());
    let standing = |line: &Line<'_>| line.found.map_or("", |(_, row)| row.standing.word()).to_owned();
    grid.word_column("of its row", lines.iter().map(standing).collect());
    let verdict = |line: &Line<'_>| {
        let metric = line.found.map(|(comparison, _)| comparison.metric);
        let found = against(line).zip(metric);
        found.map_or_else(String::new, |(against, metric)| words(against.verdict, metric).to_owned())
    };
    grid.word_column("verdict", lines.iter().map(verdict).collect());
}

/// The unit in which a metric's figures are shown, and what of the metric's own one of it is.
pub fn unit_of(metric: &Metric, values: &[Option<f64>]) -> (&'static str, f64) {
    match metric.unit {
        "bytes" if metric.name.ends_with("per_timer") => ("bytes a timer", 1.0),
        "bytes" => memory_unit(values),
        unit => (unit, 1.0),
    }
}

fn span(range: Option<(f64, f64)>, size: f64, digits: usize) -> String {
    match range {
        Some((min, max)) if min == max => "=".into(),
        Some((min, max)) => format!("{}..{}", fixed(min / size, digits), fixed(max / size, digits)),
        None => "-".into(),
    }
}

/// A ratio with three digits that count.
pub fn ratio_text(ratio: f64) -> String {
    let digits = match ratio.abs() {
        100.0.. => 0,
        10.0.. => 1,
        0.1.. => 2,
        0.01.. => 3,
        _ => 4,
    };
    fixed(ratio, digits)
}

/// `low..high` of a ratio.
pub fn ratio_range(interval: Option<Interval>) -> String {
    interval.map_or_else(|| "-".into(), |i| format!("{}..{}", ratio_text(i.low), ratio_text(i.high)))
}

fn range(interval: Option<Interval>, digits: usize) -> String {
    interval.map_or_else(|| "-".into(), |i| format!("{}..{}", fixed(i.low, digits), fixed(i.high, digits)))
}

/// A p-value.
pub fn p_text(p: Option<f64>) -> String {
    match p {
        None => "-".into(),
        Some(p) if p < 0.0001 => "<0.0001".into(),
        Some(p) => format!("{p:.4}"),
    }
}
