//! The same cells in two runs, before and after: what has become dearer, what cheaper, what is missing.
//!
//! Two runs are paired block by block where both asked the same of the queue (same stream in each block), which
//! takes the workload's chance out. Nothing takes out that the machine was another at another time.

use itertools::Itertools;

use super::Study;
use super::compare::{ERROR, exact, is_unstable, judged, ratio_flags};
use super::filter::Filter;
use super::metric::{Better, Metric};
use super::series::{Place, Series};
use super::unpaired::ratio_of_medians;
use crate::inference::{Flag, Interval, Verdict, benjamini_hochberg, mann_whitney, paired_ratio, stability};
use crate::machine::{Build, Machine};
use crate::spec::AllocatorKind;

/// What has become of one figure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// Dearer, by more than what is practically none.
    Regression,
    /// Cheaper, likewise.
    Improvement,
    /// Another number of what is neither good nor bad.
    Other,
    /// Equal within what is practically none.
    Same,
    /// A difference, and perhaps a small one.
    DiffersALittle,
    /// Neither a difference nor equality is shown.
    NotSeparated,
    /// The blocks of a run are of several kinds.
    Unstable,
    /// The second run does not have it; with the reason if it failed there.
    NotInB(Option<String>),
    /// The first run does not have it.
    NotInA(Option<String>),
}

impl Finding {
    /// It in words.
    pub fn words(&self) -> String {
        let failed = |run: &str, why: &Option<String>| match why {
            Some(why) => format!("failed in {run}: {why}"),
            None => format!("not in {run}"),
        };
        match self {
            Self::Regression => "regression".into(),
            Self::Improvement => "improvement".into(),
            Self::Other => "another number".into(),
            Self::Same => "same".into(),
            Self::DiffersALittle => "differs a little".into(),
            Self::NotSeparated => "not separated".into(),
            Self::Unstable => "unstable".into(),
            Self::NotInB(why) => failed("B", why),
            Self::NotInA(why) => failed("A", why),
        }
    }
}

/// One figure in both runs.
#[derive(Clone, Debug)]
pub struct Change {
    /// The metric.
    pub metric: &'static Metric,
    /// The structure, with parameters.
    pub structure: String,
    /// The place.
    pub place: Place,
    /// The first run's values.
    pub a: Option<Series>,
    /// The second's.
    pub b: Option<Series>,
    /// The second's over the first's.
    pub ratio: Option<f64>,
    /// The interval of that; the range of the repeats for what is exact.
    pub interval: Option<Interval>,
    /// p of the sign test where blocks are paired, else of Mann and Whitney's; none for what is exact.
    pub p: Option<f64>,
    /// The same, adjusted over all changes (Benjamini and Hochberg).
    pub adjusted: Option<f64>,
    /// Whether blocks were paired.
    pub paired: bool,
    /// Relative differences up to this one are practically none.
    pub delta: f64,
    /// Whether a stability check failed in either run.
    pub unstable: bool,
    /// What it comes to.
    pub finding: Finding,
}

/// Confidence of each interval.
const CONFIDENCE: f64 = 0.95;

/// Every figure of some metrics that either run has.
pub fn changes(
    a: &Study,
    b: &Study,
    metrics: &[&'static Metric],
    filter: &Filter,
    delta: impl Fn(&Place, &Metric) -> f64,
) -> Vec<Change> {
    let single = allocators(a).len() <= 1 && allocators(b).len() <= 1;
    let mut all = Vec::new();
    for metric in metrics {
        let of = |study: &Study| {
            let kept = study.series(metric).into_iter().filter(|series| filter.keeps(series));
            kept.map(|series| (key(&series, single), series)).collect::<Vec<_>>()
        };
        let (from, to) = (of(a), of(b));
        let keys: Vec<_> = from.iter().chain(&to).map(|(key, _)| key.clone()).unique().collect();
        let find = |side: &[(Key, Series)], key: &Key| {
            side.iter().find(|(known, _)| known == key).map(|(_, series)| series.clone())
        };
        all.extend(keys.iter().map(|key| {
            let delta = delta(&key.1, metric);
            change(metric, key, [find(&from, key), find(&to, key)], [a, b], delta)
        }));
    }
    adjust(&mut all);
    all
}

/// A structure at a place.
type Key = (String, Place);

/// The allocator is left out where each run has one alone: that it is another is said once, for the run.
fn key(series: &Series, single: bool) -> Key {
    let mut place = series.place.clone();
    if single {
        place.allocator.clear();
    }
    (series.structure.clone(), place)
}

/// Allocators of a run, without dhat.
pub fn allocators(study: &Study) -> Vec<String> {
    let rows = study.tables.measurements.iter().map(|row| row.key.allocator.clone());
    let dhat = crate::record::word(&AllocatorKind::Dhat);
    rows.filter(|name| *name != dhat).unique().sorted().collect()
}

fn change(
    metric: &'static Metric,
    key: &Key,
    [a, b]: [Option<Series>; 2],
    studies: [&Study; 2],
    delta: f64,
) -> Change {
    let mut change = Change {
        metric,
        structure: key.0.clone(),
        place: key.1.clone(),
        ratio: None,
        interval: None,
        p: None,
        adjusted: None,
        paired: false,
        delta,
        unstable: false,
        finding: Finding::NotSeparated,
        a,
        b,
    };
    match (&change.a, &change.b) {
        (Some(a), Some(b)) => {
            let (a, b) = (a.clone(), b.clone());
            compare(&mut change, &a, &b);
        }
        (Some(_), None) => change.finding = Finding::NotInB(why(studies[1], key, metric)),
        _ => change.finding = Finding::NotInA(why(studies[0], key, metric)),
    }
    change
}

/// Why a run has no figures of a structure, if it tried.
fn why(study: &Study, (structure, place): &Key, metric: &Metric) -> Option<String> {
    let failed = study.failures().into_iter().find(|failure| {
        (&failure.structure, &failure.workload, failure.size) == (structure, &place.workload, place.size)
            && metric.passes.contains(&failure.pass.as_str())
    })?;
    Some(failed.status)
}

fn compare(change: &mut Change, a: &Series, b: &Series) {
    if change.metric.exact {
        let found = exact(a, b);
        change.ratio = found.as_ref().map(|found| found.estimate);
        change.interval = found.and_then(|found| found.interval);
        return;
    }
    change.paired = a.is_same_stream(b);
    if change.paired {
        let pairs = a.pairs(b);
        let range = pairs.iter().map(|(from, to)| to / from).minmax().into_option();
        change.unstable = is_unstable(&ratio_flags(&pairs), range, change.delta);
        let Some(found) = paired_ratio(&pairs, CONFIDENCE, 1) else { return };
        (change.ratio, change.interval, change.p) = (Some(found.estimate), found.interval, Some(found.p));
    } else {
        let failed = |series: &Series| stability(&series.numbers()).iter().any(Flag::is_failure);
        let apart = a.range().zip(b.range()).is_some_and(|(a, b)| a.1 < b.0 || b.1 < a.0);
        change.unstable = (failed(a) || failed(b)) && !apart;
        let Some((ratio, interval)) = ratio_of_medians(&a.numbers(), &b.numbers(), CONFIDENCE, 1) else {
            return;
        };
        (change.ratio, change.interval) = (Some(ratio), interval);
        change.p = mann_whitney(&a.numbers(), &b.numbers()).map(|found| found.p);
    }
}

fn adjust(all: &mut [Change]) {
    let adjusted = benjamini_hochberg(&all.iter().filter_map(|change| change.p).collect::<Vec<_>>());
    for (change, adjusted) in all.iter_mut().filter(|change| change.p.is_some()).zip(adjusted) {
        change.adjusted = Some(adjusted);
    }
    all.iter_mut().filter(|change| change.a.is_some() && change.b.is_some()).for_each(judge);
}

/// A difference is one only if it survives the adjustment.
fn judge(change: &mut Change) {
    let survives = change.adjusted.is_none_or(|p| p <= ERROR);
    let neither = change.metric.better == Better::Neither;
    change.finding = match judged(change.interval, change.delta, change.unstable, survives) {
        Verdict::Faster | Verdict::Slower if neither => Finding::Other,
        Verdict::Faster => Finding::Improvement,
        Verdict::Slower => Finding::Regression,
        Verdict::Same => Finding::Same,
        Verdict::DiffersALittle => Finding::DiffersALittle,
        Verdict::NotSeparated => Finding::NotSeparated,
        Verdict::Unstable => Finding::Unstable,
    };
}

/// What speaks against comparing two runs, in words.
pub fn warnings(a: &Study, b: &Study) -> Vec<String> {
    let (one, other) = (&a.manifest, &b.manifest);
    let mut words = Vec::new();
    let mut differ = |what: &str, left: String, right: String| {
        if left != right {
            words.push(format!("other {what}: {left} in A, {right} in B"));
        }
    };
    differ("machine", cpu(&one.machine), cpu(&other.machine));
    differ("kernel", known(one.machine.kernel.as_ref()), known(other.machine.kernel.as_ref()));
    differ("build", build(&one.build), build(&other.build));
    differ("allocator", allocators(a).join(" and "), allocators(b).join(" and "));
    differ(
        "clock",
        format!("{:?}", one.plan.clock).to_lowercase(),
        format!("{:?}", other.plan.clock).to_lowercase(),
    );
    for (name, study) in [("A", a), ("B", b)] {
        if study.manifest.revision.as_ref().is_some_and(|revision| revision.dirty) {
            words.push(format!("{name} was built from a tree with changes that are in no commit"));
        }
        if !study.manifest.complete {
            words.push(format!("{name} was interrupted and is not complete"));
        }
    }
    words
}

fn known(text: Option<&String>) -> String {
    text.map_or_else(|| "unknown".into(), Clone::clone)
}

fn cpu(machine: &Machine) -> String {
    let processors = machine.cpu_count.map_or_else(|| "?".into(), |count| count.to_string());
    format!("{processors} x {}", known(machine.cpu_model.as_ref()))
}

fn build(build: &Build) -> String {
    let assertions = if build.assertions { " with assertions" } else { "" };
    format!("level {}{assertions} by {}", build.level, known(build.rustc.as_ref()))
}

/// Many changes to one side and none to the other: rather the machine than the code. How many findings it
/// takes, by the chance of as many one-sided coin tosses: 6 are 3 in 100.
const ONE_SIDED: usize = 6;

/// The words of an alarm when all that changed changed to one side.
pub fn one_sided(changes: &[Change]) -> Option<String> {
    let timed = changes.iter().filter(|change| !change.metric.exact);
    let counts = timed.counts_by(|change| change.finding.words());
    let count = |finding: &Finding| counts.get(&finding.words()).copied().unwrap_or(0);
    let (worse, better) = (count(&Finding::Regression), count(&Finding::Improvement));
    let (many, what) = if worse > 0 {
        (worse, "regressions and no improvement")
    } else {
        (better, "improvements and no regression")
    };
    (many >= ONE_SIDED && worse.min(better) == 0).then(|| {
        format!("{many} {what} among timed figures: suspect the machine first; measure both again, one after the other")
    })
}
