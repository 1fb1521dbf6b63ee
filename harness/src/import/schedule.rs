//! Cron and interval lists: a schedule run on the virtual clock for a span of time.
//!
//! ```text
//! job,file,kind,spec                            # a crontab is read, too
//! 1,1,interval,"4h"                             30 2 * * 1-5  backup --all
//! 7,1,cron,"0 19 * * *"                         @every 90s    poll
//!
//!       S due 4h, period 4h     E      E      E         interval: the queue arms it again
//! ------|-----------------------|------|------|---->
//!       S due 19:00      E, S due 19:00 of the next day cron: armed again after each run
//! ```
//!
//! | kind               | rows                                                                                  |
//! |--------------------|---------------------------------------------------------------------------------------|
//! | `cron`             | S for the next minute that it names, at the start and after each E                    |
//! | `interval`         | S with a period, at the start; E each time                                            |
//! | `minimum_interval` | S at the start and after each E: it counts from the end of a run, which takes no time |
//!
//! The clock starts on Monday 2024-01-01 00:00 UTC, and all intervals start together, as when a scheduler is started.
//! A cron line that never comes (`0 0 31 2 *`) is skipped by name. Runs at the span's end are the last; what is armed
//! then stays armed. Cost: O(log n) a run for `n` schedules; memory grows with `n` only.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use jiff::SignedDuration;
use jiff::civil::DateTime;

use super::cron::Cron;
use super::timers::{At, Timers};
use super::{Form, Importer, Line, LineImporter, Out, text};

/// See the module.
pub(super) const FORM: Form = Form {
    name: "schedule",
    summary: "cron and interval lists, or a crontab, run for a span of virtual time",
    sniff: |head| {
        let is_plan = |line: &String| matches!(Plan::of_crontab(line), Ok(Some(_)));
        head.first().is_some_and(|line| Columns::of(line).is_some()) || head.iter().any(is_plan)
    },
    start: |options| Ok(Importer::Lines(Box::new(Schedule::new(options.horizon_ns)))),
};

/// See the module.
#[derive(Debug)]
pub(super) struct Schedule {
    span_ns: u64,
    list: List,
    /// Each with its line.
    plans: Vec<(u64, Plan)>,
}

/// What the file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum List {
    /// Nothing was read that tells.
    Unknown,
    /// CSV with these columns.
    Csv(Columns),
    Crontab,
}

impl Schedule {
    /// Before the first line.
    pub(super) fn new(span_ns: u64) -> Self {
        Self { span_ns, list: List::Unknown, plans: Vec::new() }
    }
}

impl LineImporter for Schedule {
    fn line(&mut self, line: &Line<'_>, out: &mut Out) {
        if self.list == List::Unknown {
            if let Some(columns) = Columns::of(line.text) {
                self.list = List::Csv(columns);
                return out.skip(line.number, "the header");
            }
            self.list = List::Crontab;
        }
        let plan = match self.list {
            List::Csv(_) if line.text.trim().is_empty() => Ok(None),
            List::Csv(columns) => columns.plan(line.text).map(Some),
            List::Crontab | List::Unknown => Plan::of_crontab(line.text),
        };
        match plan {
            Ok(Some(plan)) => {
                out.event(plan.name());
                self.plans.push((line.number, plan));
            }
            Ok(None) => out.skip(line.number, "empty, a comment or a variable"),
            Err(reason) => out.skip(line.number, reason),
        }
    }

    fn finish(&mut self, out: &mut Out) {
        let (timers, next) = (Timers::default(), BinaryHeap::new());
        let mut runs = Runs { plans: &self.plans, timers, next, rows: 0 };
        (0..self.plans.len()).for_each(|index| runs.arm(index, 0, true, out));
        runs.run_until(self.span_ns, out);
        let metadata = out.metadata();
        metadata.set("clock", "virtual, from Monday 2024-01-01 00:00 UTC");
        metadata.set("due-granularity-ns", text::SECOND.to_string());
        metadata.set("start-state", "empty");
        metadata.set("fidelity", "synthetic");
        metadata.set("options", format!("span {} ns", self.span_ns));
    }
}

/// Where the clock starts: a Monday.
const START: DateTime = DateTime::constant(2024, 1, 1, 0, 0, 0, 0);

/// Schedules that are run.
struct Runs<'a> {
    plans: &'a [(u64, Plan)],
    timers: Timers<usize>,
    next: BinaryHeap<Reverse<(u64, usize)>>,
    /// Rows so far, which stand in for lines: those of the file are not in order of time.
    rows: u64,
}

impl Runs<'_> {
    /// Arms a schedule's timer, unless it never comes or the queue has armed it already.
    fn arm(&mut self, index: usize, now_ns: u64, first: bool, out: &mut Out) {
        let (line, plan) = self.plans[index];
        let (due_ns, period_ns) = match plan {
            Plan::Cron(cron) => match after(&cron, now_ns) {
                Some(due_ns) => (due_ns, 0),
                None => return out.skip(line, "a cron line that never comes"),
            },
            Plan::Interval(ns) => (now_ns.saturating_add(ns), ns),
            Plan::MinimumInterval(ns) => (now_ns.saturating_add(ns), 0),
        };
        if first || period_ns == 0 {
            let at = self.at(now_ns);
            self.timers.arm(out, at, index, due_ns.into(), period_ns);
        }
        self.next.push(Reverse((due_ns, index)));
    }

    fn run_until(&mut self, end_ns: u64, out: &mut Out) {
        while let Some(Reverse((now_ns, index))) = self.next.peek().copied()
            && now_ns <= end_ns
        {
            self.next.pop();
            let at = self.at(now_ns);
            self.timers.expire(out, at, &index, 1);
            self.arm(index, now_ns, false, out);
        }
    }

    fn at(&mut self, time_ns: u64) -> At {
        self.rows += 1;
        At { line: self.rows, time_ns }
    }
}

/// The next time of a cron line after `now_ns`, both in ns from the start.
fn after(cron: &Cron, now_ns: u64) -> Option<u64> {
    let now = START.checked_add(SignedDuration::from_nanos(i64::try_from(now_ns).ok()?)).ok()?;
    u64::try_from(START.duration_until(cron.next(now)?).as_nanos()).ok()
}

/// When a timer is armed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Plan {
    /// At the minutes that the line names.
    Cron(Cron),
    /// Every so many ns.
    Interval(u64),
    /// So many ns after the last run.
    MinimumInterval(u64),
}

/// Shorter intervals are refused: a week of them would fill a disk.
const INTERVAL_MIN_NS: u64 = text::SECOND;

impl Plan {
    /// What it is counted as.
    fn name(self) -> &'static str {
        match self {
            Self::Cron(_) => "cron",
            Self::Interval(_) => "interval",
            Self::MinimumInterval(_) => "minimum_interval",
        }
    }

    fn of(kind: &str, spec: &str) -> Result<Self, &'static str> {
        match kind {
            "cron" => match spec.trim().strip_prefix("@every ") {
                Some(every) => Ok(Self::Interval(interval(every)?)),
                None => Ok(Self::Cron(Cron::parse(spec)?)),
            },
            "interval" => Ok(Self::Interval(interval(spec)?)),
            "minimum_interval" => Ok(Self::MinimumInterval(interval(spec)?)),
            _ => Err("a kind that is not cron, interval or minimum_interval"),
        }
    }

    /// Reads a line of a crontab; `None` if it is empty, a comment or a variable.
    fn of_crontab(line: &str) -> Result<Option<Self>, &'static str> {
        let line = line.trim();
        let first = line.split_whitespace().next().unwrap_or("");
        if line.is_empty() || line.starts_with('#') || first.contains('=') && !first.contains(['*', ',']) {
            return Ok(None);
        }
        let words = match first {
            "@every" => 2,
            _ if first.starts_with('@') => 1,
            _ => 5,
        };
        let spec: Vec<&str> = line.split_whitespace().take(words).collect();
        Self::of("cron", &spec.join(" ")).map(Some)
    }
}

fn interval(text: &str) -> Result<u64, &'static str> {
    let ns = text::duration(text).ok_or("an interval that is not as 4h30m")?;
    if ns < INTERVAL_MIN_NS { Err("an interval under a second") } else { Ok(ns) }
}

/// Which columns of a list say what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Columns {
    kind: usize,
    spec: usize,
}

impl Columns {
    /// Those of a header that names them.
    fn of(line: &str) -> Option<Self> {
        let fields = fields(line)?;
        let named = |name: &str| fields.iter().position(|field| field.trim().eq_ignore_ascii_case(name));
        Some(Self { kind: named("kind")?, spec: named("spec")? })
    }

    fn plan(self, line: &str) -> Result<Plan, &'static str> {
        let fields = fields(line).ok_or("a line that is no CSV")?;
        let field = |at: usize| fields.get(at).ok_or("a line without kind and spec");
        Plan::of(field(self.kind)?.trim(), field(self.spec)?)
    }
}

/// The fields of a line of CSV.
fn fields(line: &str) -> Option<csv::StringRecord> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(line.as_bytes());
    reader.records().next()?.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_crontabs_are_read() {
        let columns = Columns::of("job,file,kind,spec").unwrap();
        assert_eq!(columns, Columns { kind: 2, spec: 3 });
        let cron = |spec| Ok(Plan::Cron(Cron::parse(spec).unwrap()));
        assert_eq!(columns.plan("1,1,interval,\"4h30m\""), Ok(Plan::Interval(16_200 * text::SECOND)));
        assert_eq!(
            columns.plan("1,1,minimum_interval,48h"),
            Ok(Plan::MinimumInterval(172_800 * text::SECOND))
        );
        assert_eq!(columns.plan("1,1,cron,\"1 7 * * 2,4,6\""), cron("1 7 * * 2,4,6"));
        let crontab = |line| Plan::of_crontab(line).map(Option::unwrap);
        assert_eq!(crontab(" 30 2 * * 1-5  backup --all A=1"), cron("30 2 * * 1-5"));
        assert_eq!(crontab("@daily x"), cron("0 0 * * *"));
        assert_eq!(crontab("@every 90s x"), Ok(Plan::Interval(90 * text::SECOND)));
        for other in ["", "# 0 0 * * *", "MAILTO=root", "PATH = /bin"] {
            assert!(matches!(Plan::of_crontab(other), Ok(None) | Err(_)), "{other}");
        }
        assert_eq!(Plan::of_crontab("MAILTO=root"), Ok(None));
    }

    #[test]
    fn mistakes_are_named() {
        let columns = Columns { kind: 0, spec: 1 };
        for (line, why) in [
            ("hourly,4h", "kind"),
            ("interval,4", "4h30m"),
            ("interval,1ms", "under a second"),
            ("interval", "without kind"),
            ("", "CSV"),
            ("cron,\"61 * * * *\"", "minute"),
        ] {
            assert!(columns.plan(line).unwrap_err().contains(why), "{line}: {:?}", columns.plan(line));
        }
    }
}
