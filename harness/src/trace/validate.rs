//! Whether a trace can be true: each row is held against what is armed by then.
//!
//! [`Validator`] sees one row after the other and keeps what is armed, and a bit for each timer that is not any
//! more, so a file of any size can be checked while it is read. [`validate`] looks at a trace in memory; [`repair`] adds what its beginning or a gap hides.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use super::{Metadata, Op, Row, Trace, TraceError};
use crate::id_set::IdSet;

/// What a row may not do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Rule {
    /// Time never falls.
    TimeFalls,
    /// A row names its timer where the operation is about one.
    TimerMissing,
    /// A start and a re-arm say when the timer is due.
    DueMissing,
    /// A timer that is started is not armed.
    StartArmed,
    /// A timer that is re-armed is armed.
    RearmUnarmed,
    /// A timer that is cancelled is armed.
    CancelUnarmed,
    /// A cancel that misses finds its timer not armed.
    MissArmed,
    /// A timer that expires is armed.
    ExpireUnarmed,
    /// A timer expires no earlier than a granule before it is due. Flagged only: clocks differ.
    Early,
    /// A timer that was there before is not armed already.
    PresentArmed,
    /// A re-arm that was left out is of an armed timer.
    AbsorbUnarmed,
    /// A batch is taken once, and what is done or put back is out in it.
    Batch,
    /// A handle is allocated once.
    AllocateTwice,
    /// A handle that is freed is not armed.
    FreeArmed,
    /// An id is not used again after its handle was freed.
    UsedAfterFree,
    /// The sums are those that the metadata name.
    Counts,
    /// Metadata that are numbers can be read as such.
    Metadata,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The trace contradicts itself.
    Error,
    /// The trace can be true, and the reader should know.
    Flag,
}

impl Rule {
    /// Its name in a table.
    pub fn name(self) -> &'static str {
        match self {
            Self::TimeFalls => "time-falls",
            Self::TimerMissing => "timer-missing",
            Self::DueMissing => "due-missing",
            Self::StartArmed => "start-armed",
            Self::RearmUnarmed => "rearm-unarmed",
            Self::CancelUnarmed => "cancel-unarmed",
            Self::MissArmed => "miss-armed",
            Self::ExpireUnarmed => "expire-unarmed",
            Self::Early => "early",
            Self::PresentArmed => "present-armed",
            Self::AbsorbUnarmed => "absorb-unarmed",
            Self::Batch => "batch",
            Self::AllocateTwice => "allocate-twice",
            Self::FreeArmed => "free-armed",
            Self::UsedAfterFree => "used-after-free",
            Self::Counts => "counts",
            Self::Metadata => "metadata",
        }
    }

    /// What it says.
    pub fn about(self) -> &'static str {
        match self {
            Self::TimeFalls => "time never falls",
            Self::TimerMissing => "a row that is about a timer names it",
            Self::DueMissing => "a start and a re-arm say when the timer is due",
            Self::StartArmed => "a timer that is started is not armed",
            Self::RearmUnarmed => "a timer that is re-armed is armed",
            Self::CancelUnarmed => "a timer that is cancelled is armed",
            Self::MissArmed => "a cancel that misses finds its timer not armed",
            Self::ExpireUnarmed => "a timer that expires is armed",
            Self::Early => "a timer expires at most a granule before it is due",
            Self::PresentArmed => "a timer that was there before is not armed already",
            Self::AbsorbUnarmed => "a re-arm that was left out is of an armed timer",
            Self::Batch => "a batch is taken once, and what leaves it is in it",
            Self::AllocateTwice => "a handle is allocated once",
            Self::FreeArmed => "a handle that is freed is not armed",
            Self::UsedAfterFree => "an id is not used again after its handle was freed",
            Self::Counts => "the sums are those of the metadata",
            Self::Metadata => "metadata that are numbers can be read",
        }
    }

    /// How bad it is when the rule is broken.
    pub fn severity(self) -> Severity {
        if self == Self::Early { Severity::Flag } else { Severity::Error }
    }

    /// Whether a timer that was armed unseen explains it.
    fn is_mended_by_present(self) -> bool {
        matches!(self, Self::RearmUnarmed | Self::CancelUnarmed | Self::ExpireUnarmed | Self::AbsorbUnarmed)
    }
}

/// A broken rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The line, or 0 for the file as a whole.
    pub line: u64,
    /// The rule.
    pub rule: Rule,
    /// What the row says and what it contradicts.
    pub what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "line {}: ", self.line)?;
        }
        f.write_str(&self.what)
    }
}

/// All that was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Validation {
    /// The first findings, at most [`Validation::KEPT`].
    pub findings: Vec<Finding>,
    /// How often each rule was broken.
    pub broken: BTreeMap<Rule, u64>,
    /// Rows of each operation.
    pub counts: BTreeMap<Op, u64>,
    /// Most timers armed at once.
    pub armed_max: u64,
    /// Timers armed at the end.
    pub armed_at_end: u64,
}

impl Validation {
    /// Findings that are kept. The others are only counted, so that a hopeless file does not fill memory.
    pub const KEPT: usize = 1000;

    /// How often a rule was broken that makes the trace contradict itself.
    pub fn errors(&self) -> u64 {
        let bad = |(rule, _): &(&Rule, &u64)| rule.severity() == Severity::Error;
        self.broken.iter().filter(bad).map(|(_, count)| count).sum()
    }

    /// How often a rule was broken.
    pub fn count(&self, rule: Rule) -> u64 {
        self.broken.get(&rule).copied().unwrap_or(0)
    }

    /// Refuses a trace that contradicts itself, with the first line that does.
    pub fn strict(&self, name: &str, mend: &str) -> Result<(), TraceError> {
        let is_error = |finding: &&Finding| finding.rule.severity() == Severity::Error;
        let Some(first) = self.findings.iter().find(is_error) else { return Ok(()) };
        let more = self.errors() - 1;
        let what =
            if more > 0 { format!("{} ({more} more like it)", first.what) } else { first.what.clone() };
        Err(match first.line {
            0 => TraceError::whole(name, what, mend),
            line => TraceError::at(name, line, what, mend),
        })
    }

    fn add(&mut self, line: u64, rule: Rule, what: String) {
        *self.broken.entry(rule).or_default() += 1;
        // The first error is always kept, whatever number of flags came before it.
        let first = rule.severity() == Severity::Error && self.errors() == 1;
        if self.findings.len() < Self::KEPT || first {
            self.findings.push(Finding { line, rule, what });
        }
    }
}

/// What is known of a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Life {
    Armed {
        due: Option<i128>,
        period: u64,
    },
    /// Cut off in a batch.
    Out {
        batch: i64,
        due: Option<i128>,
        period: u64,
    },
    /// A handle without a timer that runs.
    Idle,
    Freed,
}

/// Checks row after row.
#[derive(Debug)]
pub struct Validator {
    found: Validation,
    granularity: i128,
    now: u64,
    /// Timers that are armed or out in a batch.
    lives: HashMap<u64, Life>,
    /// Timers that were named and are neither, nor freed.
    idle: IdSet,
    freed: IdSet,
    armed: u64,
    /// Timers left in each batch that is out.
    batches: HashMap<i64, u64>,
}

impl Validator {
    /// Before the first row.
    pub fn new(metadata: &Metadata) -> Self {
        Self {
            found: Validation::default(),
            granularity: i128::from(metadata.granularity_ns()),
            now: 0,
            lives: HashMap::new(),
            idle: IdSet::default(),
            freed: IdSet::default(),
            armed: 0,
            batches: HashMap::new(),
        }
    }

    /// Checks one row.
    pub fn row(&mut self, row: &Row) {
        *self.found.counts.entry(row.op).or_default() += 1;
        if row.time_ns < self.now {
            let what = format!("time falls from {} to {}", self.now, row.time_ns);
            self.found.add(row.line, Rule::TimeFalls, what);
        }
        self.now = row.time_ns;
        match row.op {
            Op::Gap => self.gap(),
            Op::Take => self.take(row),
            Op::Advance | Op::Returned => {}
            Op::Done if row.timer_id.is_none() => self.leave(row, None),
            _ => match row.timer_id {
                Some(timer) => self.timer(row, timer),
                None => self.break_rule(row, Rule::TimerMissing, "names no timer"),
            },
        }
    }

    /// After the last row.
    pub fn finish(mut self, metadata: &Metadata) -> Validation {
        self.found.armed_at_end = self.armed;
        for key in Op::ALL
            .map(|op| format!("count-{}", op.letter()))
            .iter()
            .chain(&["due-granularity-ns".to_owned()])
        {
            if let Some(text) = metadata.get(key).filter(|text| text.parse::<u64>().is_err()) {
                self.found.add(0, Rule::Metadata, format!("`{key}: {text}` is not a whole number"));
            }
        }
        for op in Op::ALL {
            let counted = self.found.counts.get(&op).copied().unwrap_or(0);
            if let Some(said) = metadata.count(op).filter(|said| *said != counted) {
                let what = format!("{counted} rows are {}, and the metadata say {said}", op.letter());
                self.found.add(0, Rule::Counts, what);
            }
        }
        self.found
    }

    fn timer(&mut self, row: &Row, timer: u64) {
        let life = self.life(timer);
        if life == Some(Life::Freed) {
            return self.break_rule(row, Rule::UsedAfterFree, "uses an id whose handle was freed");
        }
        let armed = matches!(life, Some(Life::Armed { .. }));
        match row.op {
            Op::Start | Op::Rearm | Op::Present => self.arm(row, timer, armed),
            Op::Cancel if armed => self.set(timer, Life::Idle),
            Op::Expire if armed => self.expire(row, timer),
            Op::Cancel => self.break_rule(row, Rule::CancelUnarmed, "which is not armed"),
            Op::Expire => self.break_rule(row, Rule::ExpireUnarmed, "which is not armed"),
            Op::Absorbed if !armed => self.break_rule(row, Rule::AbsorbUnarmed, "which is not armed"),
            Op::Miss if armed => self.break_rule(row, Rule::MissArmed, "which is armed"),
            Op::Done | Op::PutBack => self.leave(row, Some(timer)),
            Op::Allocate if life.is_some() => {
                self.break_rule(row, Rule::AllocateTwice, "which is there already")
            }
            Op::Allocate => self.set(timer, Life::Idle),
            Op::Free if armed => self.break_rule(row, Rule::FreeArmed, "which is armed"),
            Op::Free => self.set(timer, Life::Freed),
            _ => {}
        }
    }

    fn arm(&mut self, row: &Row, timer: u64, armed: bool) {
        match row.op {
            Op::Start if armed => self.break_rule(row, Rule::StartArmed, "which is armed"),
            Op::Present if armed => self.break_rule(row, Rule::PresentArmed, "which is armed"),
            Op::Rearm if !armed => self.break_rule(row, Rule::RearmUnarmed, "which is not armed"),
            _ => {}
        }
        if row.due_ns.is_none() && row.op != Op::Present {
            self.break_rule(row, Rule::DueMissing, "has no due time");
        }
        self.set(timer, Life::Armed { due: row.due_ns, period: row.period_ns });
    }

    fn expire(&mut self, row: &Row, timer: u64) {
        let Some(Life::Armed { due, period }) = self.lives.get(&timer).copied() else { return };
        if let Some(due) = due.filter(|due| i128::from(row.time_ns) + self.granularity < *due) {
            let what = format!("comes {} ns before it is due", due - i128::from(row.time_ns));
            self.break_rule(row, Rule::Early, &what);
        }
        let again = Life::Armed { due: due.map(|due| due + i128::from(period)), period };
        self.set(timer, if period > 0 { again } else { Life::Idle });
    }

    fn gap(&mut self) {
        for (timer, _) in self.lives.extract_if(|_, life| matches!(life, Life::Armed { .. })) {
            self.idle.insert(timer);
        }
        self.armed = 0;
    }

    fn take(&mut self, row: &Row) {
        let batch = row.aux.unwrap_or(0);
        if self.batches.get(&batch).is_some_and(|left| *left > 0) {
            self.break_rule(row, Rule::Batch, &format!("takes batch {batch}, which is out"));
        }
        let mut taken = 0;
        for life in self.lives.values_mut() {
            if let Life::Armed { due, period } = *life
                && due.is_some_and(|due| due <= i128::from(row.time_ns))
            {
                *life = Life::Out { batch, due, period };
                taken += 1;
            }
        }
        self.armed -= taken;
        self.batches.insert(batch, taken);
    }

    /// One timer leaves its batch: done, or put back.
    fn leave(&mut self, row: &Row, timer: Option<u64>) {
        let batch = row.aux.unwrap_or(0);
        let life = timer.and_then(|timer| self.life(timer));
        let is_out = match (timer, life) {
            (None, _) => self.batches.get(&batch).is_some_and(|left| *left > 0),
            (Some(_), Some(Life::Out { batch: of, .. })) => of == batch,
            _ => false,
        };
        if !is_out {
            return self.break_rule(row, Rule::Batch, &format!("which is not out in batch {batch}"));
        }
        self.batches.entry(batch).and_modify(|left| *left -= 1);
        match (row.op, timer, life) {
            (Op::PutBack, Some(timer), Some(Life::Out { due, period, .. })) => {
                self.set(timer, Life::Armed { due, period });
            }
            (_, Some(timer), _) => self.set(timer, Life::Idle),
            _ => {}
        }
    }

    /// What is known of a timer, if anything was ever said of it.
    fn life(&self, timer: u64) -> Option<Life> {
        let rest = || self.idle.contains(timer).then_some(Life::Idle);
        let freed = || self.freed.contains(timer).then_some(Life::Freed);
        self.lives.get(&timer).copied().or_else(rest).or_else(freed)
    }

    fn set(&mut self, timer: u64, life: Life) {
        let is_armed = |life: &Life| matches!(life, Life::Armed { .. });
        let arms = is_armed(&life);
        let before = match life {
            Life::Armed { .. } | Life::Out { .. } => {
                self.idle.remove(timer);
                self.lives.insert(timer, life)
            }
            Life::Idle => {
                self.idle.insert(timer);
                self.lives.remove(&timer)
            }
            Life::Freed => {
                self.idle.remove(timer);
                self.freed.insert(timer);
                self.lives.remove(&timer)
            }
        };
        let was_armed = before.as_ref().is_some_and(is_armed);
        self.armed = self.armed + u64::from(arms) - u64::from(was_armed);
        self.found.armed_max = self.found.armed_max.max(self.armed);
    }

    fn break_rule(&mut self, row: &Row, rule: Rule, why: &str) {
        let timer = row.timer_id.map_or_else(String::new, |timer| format!(" of timer {timer}"));
        self.found.add(row.line, rule, format!("{}{timer}: {why}", row.op.letter()));
    }
}

/// Checks a trace.
pub fn validate(trace: &Trace) -> Validation {
    let mut validator = Validator::new(&trace.metadata);
    trace.rows.iter().for_each(|row| validator.row(row));
    validator.finish(&trace.metadata)
}

/// A trace with what it needed to be true.
#[derive(Clone, Debug)]
pub struct Repair {
    /// The trace.
    pub trace: Trace,
    /// `Present` rows that were inserted.
    pub inserted: u64,
    /// What is still wrong with it.
    pub left: Validation,
}

/// Inserts a `Present` row for every timer that must have been armed unseen: at the beginning, or behind the
/// last gap, or, when the trace had seen it since, right before the row that needs it.
pub fn repair(trace: &Trace) -> Repair {
    let mut validator = Validator::new(&trace.metadata);
    let mut inserted: Vec<(usize, Row)> = Vec::new();
    let (mut start, mut seen) = (0, HashMap::new());
    for (at, row) in trace.rows.iter().enumerate() {
        if row.op == Op::Gap {
            start = at + 1;
        }
        if let Some(timer) = row.timer_id
            && lacks_start(&mut validator, row)
        {
            let unseen = seen.get(&timer).is_none_or(|last| *last < start);
            let place = if unseen { start } else { at };
            inserted.push((place, present(row, timer, trace.rows[place.saturating_sub(1).min(at)].time_ns)));
            validator.row(&inserted[inserted.len() - 1].1);
        }
        validator.row(row);
        seen.extend(row.timer_id.map(|timer| (timer, at)));
    }
    let count = inserted.len() as u64;
    let trace = merged(trace, inserted);
    Repair { left: validate(&trace), trace, inserted: count }
}

/// Whether the row needs an armed timer where there is none.
fn lacks_start(validator: &mut Validator, row: &Row) -> bool {
    let life = row.timer_id.and_then(|timer| validator.life(timer));
    let rule = match row.op {
        Op::Rearm => Rule::RearmUnarmed,
        Op::Cancel => Rule::CancelUnarmed,
        Op::Expire => Rule::ExpireUnarmed,
        Op::Absorbed => Rule::AbsorbUnarmed,
        _ => return false,
    };
    rule.is_mended_by_present() && matches!(life, None | Some(Life::Idle))
}

/// A timer that expires was due by then; of any other it is not known.
fn present(row: &Row, timer: u64, time_ns: u64) -> Row {
    let late = i128::from(row.aux.unwrap_or(0).max(0));
    let due_ns = (row.op == Op::Expire).then(|| i128::from(row.time_ns) - late);
    Row {
        timer_id: Some(timer),
        due_ns,
        ctx: row.ctx,
        cpu: row.cpu,
        line: row.line,
        ..Row::new(time_ns, Op::Present)
    }
}

fn merged(trace: &Trace, mut inserted: Vec<(usize, Row)>) -> Trace {
    inserted.sort_by_key(|(place, _)| *place);
    let mut rows = Vec::with_capacity(trace.rows.len() + inserted.len());
    let mut inserted = inserted.into_iter().peekable();
    for (at, row) in trace.rows.iter().enumerate() {
        while let Some((_, present)) = inserted.next_if(|(place, _)| *place <= at) {
            rows.push(present);
        }
        rows.push(*row);
    }
    let mut trace = Trace { rows, ..trace.clone() };
    if trace.metadata.count(Op::Present).is_some() {
        let present = trace.counts()[usize::from(Op::Present.code() - 1)].1;
        trace.metadata.set("count-P", present.to_string());
    }
    trace
}
