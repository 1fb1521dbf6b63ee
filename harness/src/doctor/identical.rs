//! A/A: one structure under two names in the same blocks. Whatever is found between them is noise.

use itertools::Itertools;

use crate::calibration::{Calibrations, DELTA_LEAST, Entry};
use crate::folder;
use crate::format::{fixed, median};
use crate::grid::Grid;
use crate::inference::{Interval, Verdict};
use crate::record::row;
use crate::select::Structure;
use crate::study::compare::{Against, Comparison, Settings, comparisons};
use crate::study::metric::{self, Metric};
use crate::study::series::Series;
use crate::study::{Place, Study};

/// What the second of two identical structures is called behind its name: `wheel@b`.
pub const TWIN: &str = "b";

/// The timed metrics that noise is measured of. None follows from another.
pub const METRICS: [&str; 6] = [
    "time_ns_per_call",
    "time_ns_per_timer",
    "latency_ns_p50",
    "latency_ns_p99",
    "latency_ns_p999",
    "latency_ns_max",
];

/// The structures with their twins: `wheel`, `wheel@b`.
pub fn with_twins(structures: &[Structure]) -> Vec<Structure> {
    let twin = |of: &Structure| Structure { alias: Some(TWIN.into()), ..of.clone() };
    structures.iter().flat_map(|structure| [structure.clone(), twin(structure)]).collect()
}

/// All comparisons of an A/A run, each of a structure with its twin. Time per call is left out where there is
/// time per timer, which is the same figure but for a constant.
pub fn pairs(study: &Study, settings: &Settings, delta: impl Fn(&Place, &Metric) -> f64) -> Vec<Comparison> {
    let series: Vec<Series> = METRICS.iter().flat_map(|name| study.series(metric::named(name))).collect();
    let has_timers = |of: &Series| {
        series.iter().any(|other| {
            other.metric.name == "time_ns_per_timer"
                && other.structure == of.structure
                && other.place == of.place
        })
    };
    let kept = series.iter().filter(|of| of.metric.name != "time_ns_per_call" || !has_timers(of));
    let settings = Settings { baseline: Some(ONE.into()), ..settings.clone() };
    let mut all = comparisons(&kept.map(renamed).collect::<Vec<_>>(), &settings, &delta);
    all.retain(|comparison| found(comparison).is_some());
    all
}

/// What every structure is called, so that all comparisons are of one family.
const ONE: &str = "one";

/// The series under the name that all first ones have, or all twins. Which structure it is of becomes a part of its
/// place.
fn renamed(series: &Series) -> Series {
    let (name, parameters) = series.structure.split_once(':').unwrap_or((&series.structure, ""));
    let (name, alias) = name.split_once('@').map_or((name, None), |(name, alias)| (name, Some(alias)));
    let payload = format!("{} {name}:{parameters}", series.place.payload);
    Series {
        structure: alias.map_or_else(|| ONE.to_owned(), |alias| format!("{ONE}@{alias}")),
        place: Place { payload, ..series.place.clone() },
        ..series.clone()
    }
}

/// The twin against its structure.
fn found(comparison: &Comparison) -> Option<&Against> {
    comparison.rows.iter().find_map(|row| row.ratio.as_ref())
}

/// Half the width of an interval of a ratio: 0.02 for one from 0.98 to 1.02.
fn half_width(interval: Interval) -> f64 {
    (interval.high / interval.low).sqrt() - 1.0
}

/// The noise floors that an A/A run shows, one for each workload, size and metric. Needs blocks enough for an
/// interval: six.
pub fn floors(study: &Study, machine: &str) -> Vec<Entry> {
    let all = pairs(study, &Settings::default(), |_, _| DELTA_LEAST);
    let key = |one: &Comparison| (one.place.workload.clone(), one.place.size, one.metric.name);
    let keys = all.iter().map(key).unique().sorted();
    let entry = |(workload, size, metric): (String, u64, &'static str)| {
        let here = all.iter().filter(|one| key(one) == (workload.clone(), size, metric));
        let intervals = here.filter_map(|one| found(one)?.interval).filter(|interval| interval.low > 0.0);
        let widths: Vec<f64> = intervals.map(half_width).filter(|width| width.is_finite()).collect();
        let (floor, floor_max) = (median(&widths)?, widths.iter().copied().fold(0.0, f64::max));
        Some(Entry {
            machine: machine.to_owned(),
            workload,
            size,
            metric: metric.to_owned(),
            floor,
            floor_max,
            comparisons: widths.len() as u64,
            false_verdicts: 0,
            blocks: study.manifest.plan.blocks.into(),
            build_level: study.manifest.build.level.clone(),
            made: folder::now(),
            run: study.manifest.run.clone(),
        })
    };
    let mut entries: Vec<Entry> = keys.filter_map(entry).collect();
    count_false(study, &mut entries);
    entries
}

/// Judges every comparison by the threshold of its entry, and counts the verdicts that are wrong.
fn count_false(study: &Study, entries: &mut [Entry]) {
    let of = |place: &Place, metric: &Metric| {
        let entry = entries.iter().find(|entry| is_of(entry, place, metric));
        entry.map_or(DELTA_LEAST, Entry::delta)
    };
    let judged = pairs(study, &Settings::default(), of);
    let wrong: Vec<&Comparison> =
        judged.iter().filter(|one| found(one).is_some_and(|of| is_false(of.verdict))).collect();
    for entry in entries {
        entry.false_verdicts = wrong.iter().filter(|one| is_of(entry, &one.place, one.metric)).count() as u64;
    }
}

fn is_of(entry: &Entry, place: &Place, metric: &Metric) -> bool {
    entry.workload == place.workload && entry.size == place.size && entry.metric == metric.name
}

/// Whether a verdict claims a difference, where there is none.
pub fn is_false(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Faster | Verdict::Slower | Verdict::DiffersALittle)
}

row! {
    /// How often identical structures get a verdict.
    Tally {
        /// The verdict
        verdict: String,
        /// Comparisons that got it, each judged alone
        alone: u64,
        /// Comparisons that got it in one sweep over all (Benjamini-Hochberg)
        sweep: u64,
    }
}

/// Verdicts of an A/A run, counted, with thresholds of the machine's calibration.
pub fn tally(study: &Study, known: &Calibrations, machine: &str) -> Vec<Tally> {
    let delta = |place: &Place, metric: &Metric| {
        known
            .delta(machine, &place.workload, place.size, metric.name)
            .map_or(DELTA_LEAST, |found| found.delta)
    };
    let alone = verdicts(&pairs(study, &Settings::default(), delta));
    let sweep = verdicts(&pairs(study, &Settings { sweep: true, ..Settings::default() }, delta));
    let count = |all: &[Verdict], of: Verdict| all.iter().filter(|verdict| **verdict == of).count() as u64;
    let row = |verdict: &Verdict| Tally {
        verdict: verdict.words().to_owned(),
        alone: count(&alone, *verdict),
        sweep: count(&sweep, *verdict),
    };
    Verdict::ALL.iter().map(row).collect()
}

fn verdicts(all: &[Comparison]) -> Vec<Verdict> {
    all.iter().filter_map(|one| Some(found(one)?.verdict)).collect()
}

row! {
    /// The noise floor of a metric, in a table.
    Floor {
        /// The machine's key
        machine: String,
        /// The workload
        workload: String,
        /// Timers asked for
        size: u64,
        /// The metric: a column's name
        metric: String,
        /// Structures times operations
        comparisons: u64,
        /// Half the width of the interval of a ratio of identical structures, less 1
        noise_floor: Option<f64>,
        /// The greatest of them
        noise_floor_max: Option<f64>,
        /// The difference that counts: max(0.01, 2 x noise floor)
        delta: Option<f64>,
        /// Comparisons that were said to differ
        false_verdicts: u64,
        /// Blocks
        blocks: u64,
    }
}

/// Noise floors as rows.
pub fn rows(entries: &[Entry]) -> Vec<Floor> {
    let row = |entry: &Entry| Floor {
        machine: entry.machine.clone(),
        workload: entry.workload.clone(),
        size: entry.size,
        metric: entry.metric.clone(),
        comparisons: entry.comparisons,
        noise_floor: Some(entry.floor),
        noise_floor_max: Some(entry.floor_max),
        delta: Some(entry.delta()),
        false_verdicts: entry.false_verdicts,
        blocks: entry.blocks,
    };
    entries.iter().map(row).collect()
}

/// The noise floors as a table.
pub fn floors_grid(entries: &[Entry]) -> Grid {
    let machine = entries.first().map_or("", |entry| entry.machine.as_str());
    let mut grid =
        Grid { title: format!("Noise between identical structures on {machine}"), ..Grid::default() };
    let texts = |text: fn(&Entry) -> String| entries.iter().map(text).collect::<Vec<_>>();
    let percent = |part: f64| fixed(part * 100.0, 1);
    grid.name_column("workload", texts(|entry| entry.workload.clone()));
    grid.name_column("metric", texts(|entry| entry.metric.clone()));
    grid.column("n", texts(|entry| fixed(entry.size as f64, 0)));
    grid.column("comparisons", texts(|entry| entry.comparisons.to_string()));
    grid.column("noise floor\n%", entries.iter().map(|entry| percent(entry.floor)).collect());
    grid.column("greatest\n%", entries.iter().map(|entry| percent(entry.floor_max)).collect());
    grid.column("delta\n%", entries.iter().map(|entry| percent(entry.delta())).collect());
    grid.column("false\nverdicts", texts(|entry| entry.false_verdicts.to_string()));
    let all: u64 = entries.iter().map(|entry| entry.comparisons).sum();
    let wrong: u64 = entries.iter().map(|entry| entry.false_verdicts).sum();
    grid.notes = vec![
        format!("{wrong} of {all} comparisons were said to differ."),
        "Noise floor: half the width of the 95 % interval of the ratio of identical structures, the median over \
         operations and structures. Delta: max(1 %, 2 x floor), the difference that counts."
            .into(),
    ];
    grid
}

/// The counts as a table.
pub fn tally_grid(rows: &[Tally]) -> Grid {
    let mut grid = Grid { title: "Verdicts on identical structures".into(), ..Grid::default() };
    grid.name_column("verdict", rows.iter().map(|row| row.verdict.clone()).collect());
    grid.column("judged alone", rows.iter().map(|row| row.alone.to_string()).collect());
    grid.column("in one sweep", rows.iter().map(|row| row.sweep.to_string()).collect());
    let of = |wanted: fn(Verdict) -> bool, count: fn(&Tally) -> u64| {
        let words: Vec<_> = Verdict::ALL.into_iter().filter(|one| wanted(*one)).map(Verdict::words).collect();
        rows.iter().filter(|row| words.contains(&row.verdict.as_str())).map(count).sum::<u64>()
    };
    let other = |verdict| !matches!(verdict, Verdict::Same | Verdict::NotSeparated);
    let all: u64 = rows.iter().map(|row| row.alone).sum();
    grid.notes = vec![
        format!(
            "Of {all} comparisons {} are judged otherwise than `same` or `not separated` ({} in one sweep): {} ({}) are said to \
             differ, the rest is unstable.",
            of(other, |row| row.alone),
            of(other, |row| row.sweep),
            of(is_false, |row| row.alone),
            of(is_false, |row| row.sweep)
        ),
        "A 95 % interval misses 1 in one of twenty comparisons, judged alone, however good it is.".into(),
    ];
    grid
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::select::structures;

    #[test]
    fn every_structure_has_a_twin_with_its_parameters() {
        let all = with_twins(&structures(&["wheel,heap:arity=8".into()]).unwrap());
        let names: Vec<_> = all.iter().map(Structure::to_string).collect();
        assert_eq!(names, ["wheel", "wheel@b", "heap:arity=8", "heap@b:arity=8"]);
    }

    #[test]
    fn twins_of_all_structures_come_under_two_names_and_stay_apart_by_place() {
        let series = |structure: &str| {
            renamed(&Series {
                metric: metric::named("latency_ns_p50"),
                run: "r".into(),
                structure: structure.into(),
                place: Place { payload: "16".into(), ..Place::default() },
                pass: "latency".into(),
                values: Vec::new(),
                streams: Vec::new(),
                calls: None,
            })
        };
        let (heap, twin) = (series("heap:arity=8"), series("heap@b:arity=8"));
        assert_eq!([heap.structure.as_str(), twin.structure.as_str()], ["one", "one@b"]);
        assert_eq!(heap.place, twin.place);
        assert!(heap.place != series("heap").place && heap.place != series("wheel").place);
    }

    #[test]
    fn an_interval_of_two_per_cent_each_way_is_a_floor_of_two_per_cent() {
        let width = half_width(Interval { low: 1.0 / 1.02, high: 1.02, confidence: 0.96 });
        assert!((width - 0.02).abs() < 1e-12, "{width}");
    }
}
