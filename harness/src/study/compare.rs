//! One metric of several structures at one place, each against a baseline.
//!
//! The unit is the process: a block gives one value of each structure, and values of a block are compared as a
//! pair. Counts and memory are close to deterministic: no test is made of them, and their interval is the range
//! that their repeats span.

use itertools::Itertools;

use super::metric::{Better, Metric};
use super::series::{Place, Series};
use super::unpaired::ratio_of_medians;
use crate::inference::{
    Estimate, Flag, Interval, Ratio, Verdict, benjamini_hochberg, holm, mann_whitney, median_interval,
    pair_stability, paired_ratio, simultaneous, stability, verdict,
};

/// How structures are compared.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The structure that the others are compared with; the first at each place when not named.
    pub baseline: Option<String>,
    /// Confidence of a stated comparison as a whole, and of each interval of a sweep.
    pub confidence: f64,
    /// Whether all comparisons are one exploring sweep (Benjamini-Hochberg), not one stated comparison a place
    /// (Holm).
    pub sweep: bool,
    /// Seed of the bootstrap.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { baseline: None, confidence: 0.95, sweep: false, seed: 1 }
    }
}

/// The comparisons that a p-value is adjusted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Family {
    /// How many there are.
    pub size: usize,
    /// Whether they are a sweep.
    pub sweep: bool,
}

impl Family {
    /// The adjustment's name.
    pub fn adjustment(self) -> &'static str {
        if self.sweep { "Benjamini-Hochberg" } else { "Holm" }
    }
}

/// How a structure stands among all at its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The least, and separated from the next.
    Best,
    /// The least or not separated from it.
    Tied,
    /// Neither.
    Behind,
}

impl Standing {
    /// In a word; nothing for one that is behind.
    pub fn word(self) -> &'static str {
        match self {
            Self::Best => "best",
            Self::Tied => "tied",
            Self::Behind => "",
        }
    }
}

/// One metric at one place.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The metric.
    pub metric: &'static Metric,
    /// The place.
    pub place: Place,
    /// The structure that the others are compared with.
    pub baseline: String,
    /// Relative differences up to this one are practically none.
    pub delta: f64,
    /// What p-values are adjusted for.
    pub family: Family,
    /// One for each structure, the baseline among them.
    pub rows: Vec<Compared>,
}

/// One structure in a comparison.
#[derive(Clone, Debug)]
pub struct Compared {
    /// Its values.
    pub series: Series,
    /// The median, and the interval of order statistics around it.
    pub estimate: Option<Estimate>,
    /// Its value over the baseline's; none for the baseline.
    pub ratio: Option<Against>,
    /// What the stability checks found.
    pub flags: Vec<Flag>,
    /// How it stands among all.
    pub standing: Standing,
}

/// A structure against the baseline.
#[derive(Clone, Debug)]
pub struct Against {
    /// Its value over the baseline's.
    pub estimate: f64,
    /// The interval of this comparison alone; the range of the repeats for what is exact.
    pub interval: Option<Interval>,
    /// The interval that holds together with those of the whole family.
    pub simultaneous: Option<Interval>,
    /// The bootstrap's interval of the ratio of medians.
    pub bootstrap: Option<Interval>,
    /// p of the sign test; none for what is exact.
    pub p: Option<f64>,
    /// The same, adjusted for the family.
    pub adjusted: Option<f64>,
    /// Blocks that both have.
    pub pairs: usize,
    /// Blocks in which both are equal.
    pub ties: usize,
    /// What the stability checks of the blocks' ratios found.
    pub flags: Vec<Flag>,
    /// Least and greatest of the blocks' ratios; none for blocks that are not paired.
    pub range: Option<(f64, f64)>,
    /// What it comes to.
    pub verdict: Verdict,
}

/// Compares the structures at every place of some series, which may be of several metrics. `delta` gives the
/// practical threshold of a metric at a place.
pub fn comparisons(
    series: &[Series],
    settings: &Settings,
    delta: impl Fn(&Place, &Metric) -> f64,
) -> Vec<Comparison> {
    let place = |series: &Series| (series.metric.name, series.place.clone());
    let places = series.iter().map(place).unique();
    let at = |(name, place): (&str, Place)| {
        let here = series.iter().filter(|series| series.metric.name == name && series.place == place);
        here.cloned().collect::<Vec<_>>()
    };
    let mut all: Vec<Comparison> = places.map(at).filter_map(|here| draft(here, settings, &delta)).collect();
    adjust(&mut all, settings);
    all.iter_mut().for_each(judge);
    all
}

/// The comparison before p-values are adjusted.
fn draft(
    here: Vec<Series>,
    settings: &Settings,
    delta: &impl Fn(&Place, &Metric) -> f64,
) -> Option<Comparison> {
    let first = here.first()?;
    let (metric, place) = (first.metric, first.place.clone());
    let named = settings.baseline.as_ref();
    let baseline = match named {
        Some(name) => here.iter().find(|series| is_called(series, name)),
        None => Some(first),
    };
    let family = family_of_a_place(&here, baseline);
    let name = baseline.map_or_else(|| named.cloned().unwrap_or_default(), |series| series.structure.clone());
    let confidence =
        if settings.sweep { None } else { Some(simultaneous(settings.confidence, family.max(1))) };
    let row = |series: &Series| {
        let against = baseline.filter(|baseline| *baseline != series);
        Compared {
            series: series.clone(),
            estimate: median_interval(&series.numbers(), settings.confidence),
            ratio: against.and_then(|baseline| ratio(baseline, series, settings, confidence)),
            flags: if metric.exact { Vec::new() } else { stability(&series.numbers()) },
            standing: Standing::Behind,
        }
    };
    let mut rows: Vec<Compared> = here.iter().map(row).collect();
    stand(&mut rows, metric, settings);
    let delta = delta(&place, metric);
    let family = Family { size: family, sweep: settings.sweep };
    Some(Comparison { metric, place, baseline: name, delta, family, rows })
}

fn is_called(series: &Series, name: &str) -> bool {
    series.structure == *name
}

/// Comparisons with the baseline that a test is made of.
fn family_of_a_place(here: &[Series], baseline: Option<&Series>) -> usize {
    let Some(baseline) = baseline.filter(|baseline| !baseline.metric.exact) else { return 0 };
    here.iter().filter(|series| *series != baseline && !baseline.pairs(series).is_empty()).count()
}

/// A structure against the baseline; `together` is the confidence of the family's intervals.
fn ratio(baseline: &Series, other: &Series, settings: &Settings, together: Option<f64>) -> Option<Against> {
    if baseline.metric.exact {
        return exact(baseline, other);
    }
    if baseline.run != other.run && !baseline.is_same_stream(other) {
        return unpaired(baseline, other, settings, together);
    }
    let pairs = baseline.pairs(other);
    let Ratio { estimate, interval, bootstrap, p, pairs: count, ties } =
        paired_ratio(&pairs, settings.confidence, settings.seed)?;
    let simultaneous = match together {
        Some(confidence) => paired_ratio(&pairs, confidence, settings.seed)?.interval,
        None => interval,
    };
    Some(Against {
        estimate,
        interval,
        simultaneous,
        bootstrap,
        p: Some(p),
        adjusted: None,
        pairs: count,
        ties,
        flags: ratio_flags(&pairs),
        range: pairs.iter().map(|(from, to)| to / from).minmax().into_option(),
        verdict: Verdict::NotSeparated,
    })
}

/// What the stability checks of the blocks' ratios find: that both sides drift together is no fault of theirs.
pub(super) fn ratio_flags(pairs: &[(f64, f64)]) -> Vec<Flag> {
    let ratios: Vec<f64> = pairs.iter().map(|(from, to)| to / from).collect();
    [stability(&ratios), pair_stability(pairs)].concat()
}

/// Of two runs whose blocks have nothing in common: the ratio of medians, and Mann and Whitney's p.
fn unpaired(
    baseline: &Series,
    other: &Series,
    settings: &Settings,
    together: Option<f64>,
) -> Option<Against> {
    let (from, to) = (baseline.numbers(), other.numbers());
    let (estimate, interval) = ratio_of_medians(&from, &to, settings.confidence, settings.seed)?;
    let simultaneous = match together {
        Some(confidence) => ratio_of_medians(&from, &to, confidence, settings.seed)?.1,
        None => interval,
    };
    Some(Against {
        estimate,
        interval,
        simultaneous,
        bootstrap: interval,
        p: mann_whitney(&from, &to).map(|found| found.p),
        adjusted: None,
        pairs: from.len().min(to.len()),
        ties: 0,
        flags: Vec::new(),
        range: None,
        verdict: Verdict::NotSeparated,
    })
}

/// Of what is exact: the ratio, with the range that repeats span. There is none over nothing.
pub(super) fn exact(baseline: &Series, other: &Series) -> Option<Against> {
    let (from, to) = (baseline.median()?, other.median()?);
    let ((low, high), (least, most)) = (baseline.range()?, other.range()?);
    let of = |numerator: f64, denominator: f64| match denominator > 0.0 {
        true => Some(numerator / denominator),
        false => (numerator == denominator).then_some(1.0),
    };
    let range = of(least, high).zip(of(most, low));
    let interval = range.map(|(low, high)| Interval { low, high, confidence: 1.0 });
    Some(Against {
        estimate: of(to, from)?,
        interval,
        simultaneous: interval,
        bootstrap: None,
        p: None,
        adjusted: None,
        pairs: baseline.values.len().min(other.values.len()),
        ties: 0,
        flags: Vec::new(),
        range: None,
        verdict: Verdict::NotSeparated,
    })
}

/// Marks the least, and those that are not separated from it.
fn stand(rows: &mut [Compared], metric: &Metric, settings: &Settings) {
    if metric.better == Better::Neither || rows.len() < 2 {
        return;
    }
    let median = |row: &Compared| row.series.median().unwrap_or(f64::INFINITY);
    let Some(best) = rows.iter().min_by(|a, b| median(a).total_cmp(&median(b))) else { return };
    let best = best.series.clone();
    // Which is the least is found out by looking at all, so its lead has to hold against all at once.
    let together = (!settings.sweep).then(|| simultaneous(settings.confidence, rows.len() - 1));
    let apart = |row: &Compared| {
        let against = ratio(&best, &row.series, settings, together);
        against.and_then(|against| against.simultaneous).is_some_and(|interval| interval.low > 1.0)
    };
    let behind: Vec<bool> = rows.iter().map(|row| row.series != best && apart(row)).collect();
    let alone = behind.iter().filter(|behind| !**behind).count() == 1;
    for (row, behind) in rows.iter_mut().zip(behind) {
        row.standing = match (behind, alone) {
            (true, _) => Standing::Behind,
            (false, true) => Standing::Best,
            (false, false) => Standing::Tied,
        };
    }
}

/// Adjusts p-values within each comparison, or over all of them.
fn adjust(all: &mut [Comparison], settings: &Settings) {
    if settings.sweep {
        let size = all.iter().map(|comparison| comparison.family.size).sum();
        let found = all.iter_mut().flat_map(|comparison| {
            comparison.family.size = size;
            against(comparison)
        });
        set_adjusted(found.collect(), benjamini_hochberg);
    } else {
        all.iter_mut().for_each(|comparison| set_adjusted(against(comparison), holm));
    }
}

fn against(comparison: &mut Comparison) -> Vec<&mut Against> {
    let ratios = comparison.rows.iter_mut().filter_map(|row| row.ratio.as_mut());
    ratios.filter(|against| against.p.is_some()).collect()
}

fn set_adjusted(found: Vec<&mut Against>, adjust: impl Fn(&[f64]) -> Vec<f64>) {
    let adjusted = adjust(&found.iter().filter_map(|against| against.p).collect::<Vec<_>>());
    for (against, adjusted) in found.into_iter().zip(adjusted) {
        against.adjusted = Some(adjusted);
    }
}

/// What each ratio comes to. In a sweep a difference is one only if it survives the adjustment.
fn judge(comparison: &mut Comparison) {
    let (delta, sweep) = (comparison.delta, comparison.family.sweep);
    for against in comparison.rows.iter_mut().filter_map(|row| row.ratio.as_mut()) {
        let survives = !sweep || against.adjusted.is_none_or(|p| p <= ERROR);
        let shaky = is_unstable(&against.flags, against.range, delta);
        against.verdict = judged(against.simultaneous, delta, shaky, survives);
    }
}

/// Share of false findings that a sweep is allowed.
pub(super) const ERROR: f64 = 0.05;

/// The verdict on an interval. What is not separated claims nothing, so nothing is unstable about it; and what
/// does not survive an adjustment is not separated.
pub(super) fn judged(interval: Option<Interval>, delta: f64, shaky: bool, survives: bool) -> Verdict {
    match verdict(interval, delta, false) {
        Verdict::Faster | Verdict::Slower | Verdict::DiffersALittle if !survives => Verdict::NotSeparated,
        Verdict::NotSeparated => Verdict::NotSeparated,
        _ if shaky => Verdict::Unstable,
        found => found,
    }
}

/// Whether a verdict cannot stand on blocks whose ratios bear these flags and have this range: a check failed,
/// and the blocks do not all say the same.
pub(super) fn is_unstable(flags: &[Flag], range: Option<(f64, f64)>, delta: f64) -> bool {
    let (least, most) = (1.0 / (1.0 + delta), 1.0 + delta);
    let agree = range.is_some_and(|(low, high)| high < least || low > most || (low >= least && high <= most));
    flags.iter().any(Flag::is_failure) && !agree
}

/// A verdict in the words of a metric: memory is not fast.
pub fn words(verdict: Verdict, metric: &Metric) -> &'static str {
    match verdict {
        Verdict::Faster if !metric.is_time() => "less",
        Verdict::Slower if !metric.is_time() => "more",
        verdict => verdict.words(),
    }
}
