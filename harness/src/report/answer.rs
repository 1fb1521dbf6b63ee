//! The answer in sentences, made from verdicts: who takes least time, whose slow calls are bounded, who keeps
//! memory.

use itertools::Itertools;

use crate::format::{fixed, memory_unit};
use crate::inference::{Interval, Verdict};
use crate::select::thousands;
use crate::study::compare::{Compared, Comparison, Settings, comparisons};
use crate::study::grids::{ratio_text, unit_of};
use crate::study::metric::{Metric, named};
use crate::study::{Series, Study, delta};

/// Sentences under a heading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// What they are about.
    pub heading: String,
    /// The sentences.
    pub sentences: Vec<String>,
}

/// The answers of a run: for each workload at its largest size, and each allocator.
pub fn answers(study: &Study) -> Vec<Answer> {
    let keys = study.tables.measurements.iter().map(|row| &row.key);
    let of = |(workload, allocator): (&String, &String)| answer(study, workload, allocator);
    let places =
        keys.filter(|key| key.allocator != "dhat").map(|key| (&key.workload, &key.allocator)).unique();
    places.filter_map(of).collect()
}

fn answer(study: &Study, workload: &str, allocator: &str) -> Option<Answer> {
    let keys = || study.tables.measurements.iter().map(|row| &row.key).filter(|key| key.workload == workload);
    let size = keys().map(|key| key.size).max()?;
    let here = Here { study, workload, allocator, size };
    let sentences = [here.time(), here.tail(), here.held()].into_iter().flatten().collect_vec();
    let several = study
        .tables
        .measurements
        .iter()
        .map(|row| &row.key.allocator)
        .filter(|name| *name != "dhat")
        .unique()
        .count()
        > 1;
    let with = if several { format!(", {allocator}") } else { String::new() };
    (!sentences.is_empty())
        .then(|| Answer { heading: format!("{workload}, n = {}{with}", thousands(size)), sentences })
}

struct Here<'a> {
    study: &'a Study,
    workload: &'a str,
    allocator: &'a str,
    size: u64,
}

impl Here<'_> {
    fn series(&self, metric: &'static Metric) -> Vec<Series> {
        let here = |series: &Series| {
            let place = &series.place;
            place.workload == self.workload
                && place.size == self.size
                && [self.allocator, "dhat"].contains(&place.allocator.as_str())
        };
        self.study.series(metric).into_iter().filter(here).collect()
    }

    /// The comparison of a metric at the only place of some series, with the least median as baseline.
    fn against_least(&self, series: &[Series]) -> Option<Comparison> {
        let (least, _) = least(series)?;
        let settings = Settings { baseline: Some(least.structure.clone()), ..Settings::default() };
        let machine = &self.study.manifest.machine;
        comparisons(series, &settings, |place, metric| delta(machine, place, metric)).into_iter().next()
    }

    /// Time of the whole workload.
    fn time(&self) -> Option<String> {
        let found = self.against_least(&self.series(named("time_ns_per_enqueued")))?;
        let head = |least: &str, figure: &str| {
            format!("`{least}` takes the least time over all operations, {figure} for each timer enqueued")
        };
        Some(sentence(&found, head, "faster", "as fast"))
    }

    /// The quantile furthest out that all structures have, of the operation with most calls.
    fn tail(&self) -> Option<String> {
        let of = |(name, words): (&str, &'static str)| {
            let series = self.series(named(name));
            let places = series.iter().map(|series| &series.place).unique();
            let all = self.study.structures().len();
            let complete =
                places.filter(|place| series.iter().filter(|series| series.place == **place).count() == all);
            let calls = |place: &&crate::study::Place| {
                series.iter().filter(|series| series.place == **place).filter_map(|series| series.calls).min()
            };
            let place = complete.max_by_key(calls)?.clone();
            let some = series.iter().filter(|series| series.place == place).cloned().collect_vec();
            Some((self.against_least(&some)?, words, place.part()))
        };
        let quantiles =
            [("latency_ns_p999", "one call in a thousand"), ("latency_ns_p99", "one call in a hundred")];
        let (found, words, part) = quantiles.into_iter().find_map(of)?;
        let head = |least: &str, figure: &str| {
            format!("Of `{part}`, {words} takes {figure} or more on `{least}`, which is the least")
        };
        Some(sentence(&found, head, "shorter", "as short"))
    }

    /// Memory with little left.
    fn held(&self) -> Option<String> {
        let series = [named("held_live_bytes"), named("held_container_bytes")]
            .into_iter()
            .map(|metric| self.series(metric));
        let series = series.into_iter().find(|series| !series.is_empty())?;
        let (least, low) = least(&series)?;
        let (most, high) = series
            .iter()
            .filter_map(|series| Some((series, series.median()?)))
            .max_by(|a, b| a.1.total_cmp(&b.1))?;
        if least.structure == most.structure || high <= low {
            return Some(format!("After it all structures hold the same: {}.", bytes(low)));
        }
        let times = if low > 0.0 { format!(", {} times as much", times(high / low)) } else { String::new() };
        Some(format!(
            "After it `{}` still holds {}, and `{}` {}{times}.",
            least.structure,
            bytes(low),
            most.structure,
            bytes(high)
        ))
    }
}

fn least(series: &[Series]) -> Option<(&Series, f64)> {
    let medians = series.iter().filter_map(|series| Some((series, series.median()?)));
    medians.min_by(|a, b| a.1.total_cmp(&b.1))
}

fn bytes(amount: f64) -> String {
    let (unit, size) = memory_unit(&[Some(amount)]);
    format!("{} {unit}", fixed(amount / size, usize::from(unit != "B")))
}

/// A ratio without more digits than it deserves.
fn times(ratio: f64) -> String {
    if ratio >= 100.0 { fixed(ratio, 0) } else { ratio_text(ratio) }
}

/// What is said of the least, and then of all others by what separates them from it.
fn sentence(
    found: &Comparison,
    head: impl Fn(&str, &str) -> String,
    comparative: &str,
    equal: &str,
) -> String {
    let baseline = found.rows.iter().find(|row| row.series.structure == found.baseline);
    let median = baseline.and_then(|row| row.series.median());
    let (unit, size) = unit_of(found.metric, &[median]);
    let figure = median.map_or_else(String::new, |median| {
        let scaled = median / size;
        format!("{} {unit}", fixed(scaled, if scaled < 10.0 { 1 } else { 0 }))
    });
    let mut text = head(&found.baseline, &figure);
    let mut parts = Vec::new();
    let slower = others(found, &[Verdict::Slower, Verdict::DiffersALittle, Verdict::Faster]);
    if !slower.is_empty() {
        let each = slower.iter().filter_map(|row| ratio(row)).join(", ");
        parts.push(format!("{comparative} than {each}"));
    }
    let same = names(&others(found, &[Verdict::Same]));
    if !same.is_empty() {
        parts.push(format!("{same} {equal} within {} %", fixed(found.delta * 100.0, 1)));
    }
    let open = names(&others(found, &[Verdict::NotSeparated]));
    if !open.is_empty() {
        parts.push(format!("not separated from {open}"));
    }
    let unstable = names(&others(found, &[Verdict::Unstable]));
    if !unstable.is_empty() {
        parts.push(format!("no verdict on {unstable}, whose blocks do not agree"));
    }
    if !parts.is_empty() {
        text.push_str(": ");
        text.push_str(&parts.join("; "));
    }
    text + "."
}

fn others<'a>(found: &'a Comparison, verdicts: &[Verdict]) -> Vec<&'a Compared> {
    let of = |row: &&Compared| row.ratio.as_ref().is_some_and(|against| verdicts.contains(&against.verdict));
    found.rows.iter().filter(of).sorted_by(|a, b| estimate(a).total_cmp(&estimate(b))).collect()
}

fn estimate(row: &Compared) -> f64 {
    row.ratio.as_ref().map_or(1.0, |against| against.estimate)
}

fn names(rows: &[&Compared]) -> String {
    rows.iter().map(|row| format!("`{}`", row.series.structure)).join(", ")
}

/// `array` 1.24x (1.20 to 1.31)
fn ratio(row: &Compared) -> Option<String> {
    let against = row.ratio.as_ref()?;
    let interval =
        against.interval.map(|Interval { low, high, .. }| format!(" ({} to {})", times(low), times(high)));
    Some(format!("`{}` {}x{}", row.series.structure, times(against.estimate), interval.unwrap_or_default()))
}
