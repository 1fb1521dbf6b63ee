//! From a trace to the parameters of [`Fitted`], and how well the two match.
//!
//! ```text
//! rows --> delays that lie close together are one class
//!      --> arms: armed when, in which class, and what became of them --> chances and tables of each class
//! ```
//!
//! What is still armed at the end, or lost in a gap, counts as cancelled then, so every arm has an end and the
//! number armed is kept. A re-arm of a timer whose arming was not seen counts as a start.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

use rand_xoshiro::rand_core::SeedableRng;

use super::run::simulate;
use super::spread::rounded;
use super::{Class, Fitted, Model, Random, Spread};
use crate::select::thousands;
use crate::statistics::{Statistics, Tally, span};
use crate::trace::{Op, Row, Trace, TraceError, event};
use crate::workload::WorkloadError;

/// Classes at most, that of the rest among them.
const CLASSES: usize = 8;

/// Delays with a smaller part of the arms do not have a class of their own.
const LEAST: f64 = 0.005;

/// A workload that is like a trace.
#[derive(Clone, Debug)]
pub struct Fit {
    /// The definition, as it is written to a file.
    pub toml: String,
    /// The trace.
    pub trace: Statistics,
    /// The workload: as many timers in the steady state as the trace has on average, and as many arms.
    pub made: Statistics,
    /// Timers in the steady state of that.
    pub n: u64,
}

/// Makes a workload of a trace, and counts what it would ask with this seed.
pub fn fit(trace: &Trace, seed: u64) -> Result<Fit, WorkloadError> {
    let mut tally = Tally::new(trace.metadata.granularity_ns());
    trace.rows.iter().for_each(|row| tally.event(&event(row)));
    let found = tally.finish();
    let none = |what: &str| {
        let mend = "a workload is made of arms and the time between them; record for longer";
        WorkloadError::from(TraceError::whole(&trace.name, what, mend))
    };
    if found.delays.is_empty() {
        return Err(none("there is no start or re-arm with a due time in it"));
    }
    if found.duration == 0 {
        return Err(none("all of it happens at one moment"));
    }
    let fitted = Collected::of(trace).fitted(trace, &found);
    if let Some((key, fault)) = fitted.impossible() {
        return Err(none(&format!("it cannot be made a workload: `{key}` {fault}")));
    }
    let toml = definition(&fitted, &found);
    let n = (found.armed_mean.round() as u64).max(1);
    let arms = found.arms() as f64 / n as f64;
    let made = counted(&Fitted { arms, ..fitted }, n, seed);
    Ok(Fit { toml, trace: found, made, n })
}

/// What a stream for `n` timers asks.
pub(super) fn counted(fitted: &Fitted, n: u64, seed: u64) -> Statistics {
    let mut tally = Tally::new(fitted.granule_ns);
    simulate(fitted, n, &mut Random::seed_from_u64(seed), &mut tally);
    tally.finish()
}

/// An arm whose end has not been read.
#[derive(Clone, Copy, Debug)]
struct Open {
    class: usize,
    /// When it was armed; none if that was not seen.
    since: Option<u64>,
    due: Option<i128>,
    period: u64,
}

/// How a timer ended last.
#[derive(Clone, Copy, Debug)]
enum Ended {
    Cancelled(usize),
    Expired(usize),
}

/// What was read of one class.
#[derive(Clone, Debug, Default)]
struct Seen {
    delays: Vec<f64>,
    starts: Vec<u64>,
    rearmed: BTreeMap<usize, u64>,
    cancelled: u64,
    expired: u64,
    until_rearm: Vec<f64>,
    until_cancel: Vec<f64>,
    ends: [u64; 2],
    misses: [u64; 2],
}

/// A delay, and whether it comes again by itself.
type Delay = (bool, u64);

struct Collected {
    granule: u64,
    /// The class of each delay.
    class_of: HashMap<Delay, usize>,
    seen: Vec<Seen>,
    open: HashMap<u64, Open>,
    ended: HashMap<u64, Ended>,
    lateness: Vec<f64>,
}

impl Collected {
    fn of(trace: &Trace) -> Self {
        let granule = trace.metadata.granularity_ns().max(1);
        let class_of = classes(&delays(trace, granule), granule);
        let count = class_of.values().max().map_or(0, |last| last + 1);
        let mut collected = Self {
            granule,
            class_of,
            seen: vec![Seen::default(); count],
            open: HashMap::new(),
            ended: HashMap::new(),
            lateness: Vec::new(),
        };
        trace.rows.iter().for_each(|row| collected.row(row));
        collected.lost(trace.rows.last().map_or(0, |row| row.time_ns));
        collected
    }

    fn row(&mut self, row: &Row) {
        let Some(timer) = row.timer_id else {
            if row.op == Op::Gap {
                self.lost(row.time_ns);
            }
            return;
        };
        match row.op {
            Op::Start | Op::Rearm => self.arm(row, timer),
            Op::Present => {
                let open = Open { class: 0, since: None, due: row.due_ns, period: row.period_ns };
                self.open.insert(timer, open);
            }
            Op::Cancel => {
                if let Some(open) = self.open.remove(&timer) {
                    self.cancelled(&open, row.time_ns);
                    self.ended.insert(timer, Ended::Cancelled(open.class));
                }
            }
            Op::Expire | Op::Done => self.expired(row, timer),
            Op::Miss => match self.ended.get(&timer) {
                Some(Ended::Cancelled(class)) => self.seen[*class].misses[0] += 1,
                Some(Ended::Expired(class)) => self.seen[*class].misses[1] += 1,
                None => {}
            },
            _ => {}
        }
    }

    fn arm(&mut self, row: &Row, timer: u64) {
        let before = self.open.remove(&timer);
        let Some((delay, class)) =
            delay(row, self.granule).and_then(|key| Some((key.1, *self.class_of.get(&key)?)))
        else {
            return;
        };
        self.seen[class].delays.push(delay as f64);
        match before.filter(|open| open.since.is_some()) {
            Some(open) => {
                *self.seen[open.class].rearmed.entry(class).or_default() += 1;
                let part = part(&open, row.time_ns);
                self.seen[open.class].until_rearm.extend(part);
            }
            None => self.seen[class].starts.push(row.time_ns),
        }
        let open = Open { class, since: Some(row.time_ns), due: row.due_ns, period: row.period_ns };
        self.open.insert(timer, open);
    }

    fn cancelled(&mut self, open: &Open, now: u64) {
        let Some(part) = part(open, now) else { return };
        let seen = &mut self.seen[open.class];
        seen.cancelled += 1;
        seen.ends[0] += 1;
        seen.until_cancel.push(part);
    }

    fn expired(&mut self, row: &Row, timer: u64) {
        let Some(open) = self.open.remove(&timer) else { return };
        if let Some(due) = open.due {
            self.lateness.push((i128::from(row.time_ns) - due).max(0) as f64);
        }
        if open.since.is_some() {
            self.seen[open.class].expired += 1;
            self.seen[open.class].ends[1] += 1;
        }
        if open.period == 0 {
            self.ended.insert(timer, Ended::Expired(open.class));
            return;
        }
        // It is armed again by itself, which is an arm of the class of its period.
        let class = self.class_of.get(&(true, self.up(open.period))).copied().unwrap_or(open.class);
        self.seen[class].delays.push(open.period as f64);
        let due = open.due.map(|due| due + i128::from(open.period));
        self.open.insert(timer, Open { class, since: Some(row.time_ns), due, ..open });
    }

    /// Nothing is known to be armed any more.
    fn lost(&mut self, now: u64) {
        let mut left: Vec<(u64, Open)> = self.open.drain().collect();
        left.sort_by_key(|(timer, _)| *timer);
        left.iter().for_each(|(_, open)| self.cancelled(open, now));
    }

    fn up(&self, delay: u64) -> u64 {
        delay.checked_next_multiple_of(self.granule).unwrap_or(delay)
    }

    fn fitted(self, trace: &Trace, found: &Statistics) -> Fitted {
        let seconds = found.duration as f64 / 1e9;
        let count = self.seen.len();
        let periodic =
            |at: usize| self.class_of.iter().any(|((periodic, _), class)| *class == at && *periodic);
        let of = |(at, seen): (usize, &Seen)| seen.class(count, periodic(at), seconds);
        Fitted {
            granule_ns: if on_grid(trace, self.granule) { self.granule } else { 1 },
            lateness_ns: Spread::of(self.lateness.clone(), 0.0),
            classes: self.seen.iter().enumerate().map(of).collect(),
            ..Fitted::default()
        }
    }
}

impl Seen {
    fn class(&self, classes: usize, periodic: bool, seconds: f64) -> Class {
        let rearmed: u64 = self.rearmed.values().sum();
        let arms = (rearmed + self.cancelled + self.expired).max(1) as f64;
        let to = |to: usize| share(self.rearmed.get(&to).copied().unwrap_or(0), arms);
        let mut shares: Vec<f64> = (0..classes).map(to).collect();
        shares.truncate(shares.iter().rposition(|share| *share > 0.0).map_or(0, |last| last + 1));
        let gaps: Vec<f64> =
            self.starts.windows(2).map(|pair| (pair[1] - pair[0].min(pair[1])) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len().max(1) as f64;
        let gaps = if mean > 0.0 { gaps.iter().map(|gap| gap / mean).collect() } else { Vec::new() };
        let misses = |ended: usize| rounded(self.misses[ended] as f64 / self.ends[ended].max(1) as f64);
        Class {
            delay_ns: delay_spread(self.delays.clone()),
            periodic,
            starts_per_s: rounded(self.starts.len() as f64 / seconds),
            gaps: Spread::of(gaps, 1.0),
            rearmed: shares,
            cancelled: share(self.cancelled, arms),
            expired: share(self.expired, arms),
            until_rearm: Spread::of(self.until_rearm.clone(), 0.0),
            until_cancel: Spread::of(self.until_cancel.clone(), 0.0),
            misses_per_cancel: misses(0),
            misses_per_expiry: misses(1),
        }
    }
}

/// To six decimals, so that many small ones still add up to 1.
fn share(part: u64, all: f64) -> f64 {
    (part as f64 / all * 1e6).round() / 1e6
}

/// A delay that nearly all have is the only one: the others differ by when a clock was read.
fn delay_spread(mut delays: Vec<f64>) -> Spread {
    delays.sort_by(f64::total_cmp);
    let middle = delays[delays.len() / 2];
    let same = delays.iter().filter(|delay| **delay == middle).count();
    if same * 100 >= delays.len() * 98 { Spread::Same(middle) } else { Spread::of(delays, 0.0) }
}

/// Which part of its time had passed.
fn part(open: &Open, now: u64) -> Option<f64> {
    let since = open.since?;
    let whole = open.due.map_or(0, |due| due - i128::from(since)).max(0) as f64;
    let passed = now.saturating_sub(since) as f64;
    Some(if whole > 0.0 { (passed / whole).min(1.0) } else { 0.0 })
}

/// The delay of an arm, rounded up, as [`Statistics::delays`] has it.
fn delay(row: &Row, granule: u64) -> Option<Delay> {
    let delay = u64::try_from((row.due_ns? - i128::from(row.time_ns)).max(0)).unwrap_or(u64::MAX);
    Some((row.period_ns > 0, delay.checked_next_multiple_of(granule).unwrap_or(delay)))
}

/// How many arms have each delay, those of a period that comes again among them.
fn delays(trace: &Trace, granule: u64) -> BTreeMap<Delay, u64> {
    let mut found = BTreeMap::new();
    let armed = trace.rows.iter().filter(|row| matches!(row.op, Op::Start | Op::Rearm));
    let mut count = |delay: Delay| *found.entry(delay).or_default() += 1;
    for row in armed {
        if let Some(delay) = delay(row, granule) {
            count(delay);
            if delay.0 {
                count((true, row.period_ns.checked_next_multiple_of(granule).unwrap_or(row.period_ns)));
            }
        }
    }
    found
}

/// The class of each delay: delays less than a granule or 1/500 apart are one class; the most common have one
/// of their own, the others share one, and so do those of periods.
fn classes(delays: &BTreeMap<Delay, u64>, granule: u64) -> HashMap<Delay, usize> {
    let near = |a: Delay, b: Delay| a.0 == b.0 && b.1 - a.1 <= granule.max(a.1 / 500);
    let mut runs: Vec<(u64, Vec<Delay>)> = Vec::new();
    for (&delay, &arms) in delays {
        match runs.last_mut() {
            Some((sum, run)) if near(run[run.len() - 1], delay) => {
                *sum += arms;
                run.push(delay);
            }
            _ => runs.push((arms, vec![delay])),
        }
    }
    let least = delays.values().sum::<u64>() as f64 * LEAST;
    // The most common first; of two, the shorter.
    runs.sort_by_key(|(arms, run)| (Reverse(*arms), run[0]));
    let own = runs.iter().take(CLASSES - 2).take_while(|(arms, _)| *arms as f64 >= least).count();
    let (mut class_of, mut rest) = (HashMap::new(), BTreeMap::new());
    for (at, (_, run)) in runs.iter().enumerate() {
        let after = own + rest.len();
        let class = if at < own { at } else { *rest.entry(run[0].0).or_insert(after) };
        class_of.extend(run.iter().map(|delay| (*delay, class)));
    }
    class_of
}

/// Whether all due times lie a whole number of granules apart.
fn on_grid(trace: &Trace, granule: u64) -> bool {
    let mut dues = trace.rows.iter().filter_map(|row| row.due_ns);
    let granule = i128::from(granule);
    dues.next().is_some_and(|first| dues.all(|due| (due - first) % granule == 0))
}

/// The text of the file.
fn definition(fitted: &Fitted, found: &Statistics) -> String {
    let percent = |part: u64| part as f64 / found.arms().max(1) as f64 * 100.0;
    let (rearmed, cancelled, expired) =
        (percent(found.rearms), percent(found.cancels), percent(found.expiries));
    let handles = rearmed + cancelled > 50.0;
    let (favours, hurts) = match handles {
        true => (
            "structures that re-arm and cancel cheaply",
            "structures that search for the timer that is moved or cancelled",
        ),
        false => {
            ("structures that take what is due cheaply", "structures that keep order at a price on each arm")
        }
    };
    let summary = format!(
        "like a recorded program: of 100 arms {rearmed:.0} are re-arms, {cancelled:.0} are cancelled, {expired:.0} expire"
    );
    let source = format!(
        "fitted to a trace of {} with {} arms, {} armed on average",
        span(found.duration as f64),
        thousands(found.arms()),
        thousands(found.armed_mean.round() as u64)
    );
    let mut text = HEAD.to_owned();
    for (key, value) in
        [("summary", summary.as_str()), ("favours", favours), ("hurts", hurts), ("source", &source)]
    {
        _ = writeln!(text, "{key} = {value:?}");
    }
    _ = writeln!(text, "n = [2_000]\npayload = \"16\"\n\n[parameters]");
    for (meaning, key, value) in [
        ("Due times are multiples of it.", "granule_ns", fitted.granule_ns.to_string()),
        (
            "Arms (starts and re-arms) of a stream, for each of its n timers.",
            "arms",
            format!("{:?}", fitted.arms),
        ),
        ("How late the clock comes for a timer that expires.", "lateness_ns", listed(&fitted.lateness_ns)),
    ] {
        _ = writeln!(text, "# {meaning}\n{key} = {value}");
    }
    _ = writeln!(text, "\n# Classes of timers, by their delay; what each key says stands above.");
    let armed = fitted.steady().unwrap_or_default();
    let all: f64 = armed.iter().sum();
    for (class, armed) in fitted.classes.iter().zip(armed) {
        described(&mut text, class, armed / all);
    }
    let end = text.trim_end().len() + 1;
    text.truncate(end);
    text
}

fn described(text: &mut String, class: &Class, armed: f64) {
    let delay = match &class.delay_ns {
        Spread::Same(delay) => span(*delay),
        Spread::Levels(levels) => format!("{} to {}", span(levels[0]), span(class.delay_ns.max())),
    };
    let period = if class.periodic { ", again and again" } else { "" };
    _ = writeln!(text, "[[parameters.classes]]");
    _ = writeln!(text, "# {delay}{period}: {:.1} % of the timers that are armed.", armed * 100.0);
    _ = writeln!(text, "delay_ns = {}", listed(&class.delay_ns));
    if class.periodic {
        _ = writeln!(text, "periodic = true");
    }
    _ = writeln!(text, "starts_per_s = {:?}\ngaps = {}", class.starts_per_s, listed(&class.gaps));
    _ = writeln!(
        text,
        "rearmed = {:?}\ncancelled = {:?}\nexpired = {:?}",
        class.rearmed, class.cancelled, class.expired
    );
    _ = writeln!(
        text,
        "until_rearm = {}\nuntil_cancel = {}",
        listed(&class.until_rearm),
        listed(&class.until_cancel)
    );
    _ = writeln!(
        text,
        "misses_per_cancel = {:?}\nmisses_per_expiry = {:?}\n",
        class.misses_per_cancel, class.misses_per_expiry
    );
}

/// As TOML has it.
fn listed(spread: &Spread) -> String {
    match spread {
        Spread::Same(value) => format!("{value:?}"),
        Spread::Levels(levels) => format!("{levels:?}"),
    }
}

const HEAD: &str = "\
# Like the timers of a recorded program, with nothing of the recording in it: no names, no times, no order. Made
# by `harness dataset fit`, which also says how well the two match.
#
#   fill    n timers, armed as they stand in the steady state of as many copies of the program as that takes
#   run     all copies go on side by side until there were `arms` arms for each of the n timers
#   drain   what is left is dispatched, so that the digest tells whether the order survived
#
# A tick is a nanosecond. A distribution is a number, or a list of quantiles: the values that 0, 0.1, 0.5, 1, 2, 5,
# 10, 15, ... 95, 98, 99, 99.9 and 100 % do not exceed, with straight lines between them.
#
# For each class of timers
#
#   delay_ns           from arming to due
#   periodic           whether it is armed again by itself when it expires
#   starts_per_s       starts a second of one copy
#   gaps               between the starts of one copy; only their shape counts
#   rearmed            chances that an arm ends by a re-arm into the first class, the second, and so on
#   cancelled, expired chances that it ends so
#   until_rearm, until_cancel   the part of the delay that has passed by then
#   misses_per_cancel, misses_per_expiry   cancels that miss, after each
model = \"fitted\"
";
