//! Replay: what a recorded program asked of its timers, in its order and at its times.
//!
//! | row | becomes |
//! |---|---|
//! | S, P | `Enqueue`; `Rearm` if the replay has the timer still queued |
//! | R | `Rearm` |
//! | C, N | `Cancel` |
//! | E, A | `Take` of all that is due at the row's time, `Dispatch` without a window, `DropBatch` |
//! | T | `Take`; the D rows behind it one `Dispatch` of as many; the Q rows one `Requeue` |
//! | G | `Cancel` of all that is queued |
//! | X, B, I, F | nothing |
//!
//! Expiries come from the queue: the clock moves at E and A rows, and an E row is the check of what fell due
//! by then ([`reproduction`]). A timer with a period is enqueued again when it is dispatched. A trace is laid
//! down once, for a queue that does not round; one that does may hold a timer a little longer, and is given
//! the same operations.
//!
//! # Other ways to replay
//!
//! | parameter | what it does |
//! |---|---|
//! | `expiries=exact` | as above; what a structure does not reproduce is reported |
//! | `expiries=closed-loop` | the clock moves to every row's time before the row; E, A, T, D and Q rows do nothing more |
//! | `batch=t` | the clock moves every t ticks and nowhere else; otherwise as in a closed loop |
//! | `copies=k` | k copies on one queue, each with timers of its own, from phases that follow from the seed |
//! | `compress=f` | all times, delays and periods are divided by f |
//!
//! ```text
//! copy 0   |S--S-R---E-------|          its phase is 0; the others begin up to the trace's length later
//! copy 1        |S--S-R---E-------|
//! copy 2  |S--S-R---E-------|           gaps between the rows of a copy stay as they are
//! ```
//!
//! Copies keep the mix of operations and the delays, so they stand for a larger program that does more of the
//! same; that it was scaled is in the workload's name. A gap ends the timers of its own copy alone, and the
//! dispatchers of T rows share the one queue. Compressed times are rounded down, so rows keep their order and
//! what is less than f ticks apart may become one tick.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rand::RngExt;
use rand_xoshiro::rand_core::SeedableRng;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::builder::{ALL, Builder, Recorder};
use super::error::{Kind, WorkloadError};
use super::model::{Extent, Model, Random};
use crate::stream::Point;
use crate::trace::{self, Op, Row, Trace, TraceError};

pub use super::reproduction::{Example, Reproduction, Verdict, reproduction};

/// The parameters, and the trace once it is loaded.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Replay {
    file: PathBuf,
    mode: Mode,
    expiries: Expiries,
    batch: u64,
    copies: u32,
    compress: u64,
    #[serde(skip)]
    loaded: Option<Loaded>,
}

impl Default for Replay {
    fn default() -> Self {
        Self {
            file: PathBuf::new(),
            mode: Mode::default(),
            expiries: Expiries::default(),
            batch: 0,
            copies: 1,
            compress: 1,
            loaded: None,
        }
    }
}

/// Where expiries come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Expiries {
    /// The clock moves where the trace has it move, and recorded expiries are the check.
    #[default]
    Exact,
    /// From the structure alone: the clock moves to each row's time.
    ClosedLoop,
}

/// What is done with a trace that contradicts itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Mode {
    /// It is refused, with the line.
    #[default]
    Strict,
    /// Timers that must have been armed unseen are added; what contradicts itself still is replayed as it is.
    Repair,
}

#[derive(Clone, Debug)]
struct Loaded {
    trace: Arc<Trace>,
    /// Of each row, the number of its timer among those of the trace, in order of appearance; or [`NO_TIMER`].
    timer_of: Arc<[u32]>,
    timers: u32,
    repaired: u64,
}

/// Of a row that is about no timer of the queue.
const NO_TIMER: u32 = u32::MAX;

/// A row that bears on what is reproduced, and where it stands among the operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Operations laid down by then, those of the row included.
    pub position: usize,
    /// The timer by its number in the stream.
    pub timer: u32,
    /// Index of the row in [`Trace::rows`].
    pub row: usize,
    /// The copy of the trace, counted from 0.
    pub copy: u32,
    /// The row's time in the replay.
    pub now: u64,
    /// When the timer was due, for an expiry.
    pub due: u64,
}

impl Mark {
    /// Whether an expiry was recorded before it was due.
    pub(super) fn is_early(&self) -> bool {
        self.now < self.due
    }
}

/// A trace as an operation stream, with what is needed to hold the two against each other.
#[derive(Clone, Debug)]
pub struct Laid {
    /// The trace that was laid down: repaired, if that was asked for.
    pub trace: Arc<Trace>,
    /// E, S, R, C, P and G rows in order.
    pub marks: Vec<Mark>,
    /// The copy that each timer of the stream belongs to; empty when there is one copy.
    pub copy_of: Vec<u32>,
    /// The operations.
    pub stream: crate::stream::Stream,
}

impl Replay {
    /// Timers of the stream: the distinct ones of the trace, in each copy.
    pub fn timers(&self) -> u64 {
        self.loaded.as_ref().map_or(0, |loaded| u64::from(loaded.timers)).saturating_mul(self.copies.into())
    }

    /// Timers that had to be added so that the trace can be true.
    pub fn repaired(&self) -> u64 {
        self.loaded.as_ref().map_or(0, |loaded| loaded.repaired)
    }

    /// Whether recorded expiries are what the replay is held against.
    pub fn is_exact(&self) -> bool {
        self.expiries == Expiries::Exact && self.batch == 0
    }

    /// What has to be said beside every figure: that there were more timers than recorded, or faster ones.
    pub fn note(&self) -> Option<String> {
        let copies = (self.copies > 1).then(|| format!("{}{}", Self::NOTES[0], self.copies));
        let compress = (self.compress > 1).then(|| format!("{}{}", Self::NOTES[1], self.compress));
        let both: Vec<String> = copies.into_iter().chain(compress).collect();
        (!both.is_empty()).then(|| both.join(" and "))
    }

    /// How a note begins.
    pub(super) const NOTES: [&str; 2] = ["scaled x ", "time / "];

    /// The trace.
    ///
    /// # Panics
    ///
    /// Before it was loaded, which [`super::resolve`] does.
    pub fn trace(&self) -> &Arc<Trace> {
        &self.loaded().trace
    }

    fn loaded(&self) -> &Loaded {
        self.loaded.as_ref().expect("`resolve` loads the trace")
    }

    /// The operations with the rows they stand for. Several copies have the phases of seed 1.
    pub fn lay(&self, workload: &str) -> Laid {
        self.lay_from(workload, 1)
    }

    /// As [`Replay::lay`], with the phases of this seed: the stream of [`super::Workload::stream`].
    pub fn lay_from(&self, workload: &str, seed: u64) -> Laid {
        let mut builder = Builder::new(workload, self.extent(0).operations);
        let mut laying = Laying::new(self, &mut Random::seed_from_u64(seed), &mut builder);
        laying.marks = Some(Vec::new());
        let (marks, slots) = laying.all();
        let timers = self.loaded().timers.max(1);
        let copy_of =
            if self.copies > 1 { slots.into_iter().map(|slot| slot / timers).collect() } else { Vec::new() };
        Laid { trace: Arc::clone(self.trace()), marks, copy_of, stream: builder.finish() }
    }

    /// When the last row of a copy with phase 0 is.
    fn span(&self) -> u64 {
        self.loaded().trace.rows.iter().map(|row| row.time_ns).max().unwrap_or(0) / self.compress
    }

    /// When each copy begins. One copy alone begins at once.
    fn phases(&self, random: &mut Random) -> Vec<u64> {
        let span = self.span();
        let others = (1..self.copies).map(|_| random.random_range(0..=span));
        std::iter::once(0).chain(others).collect()
    }

    /// Operations at most. An expiry becomes three, and one more for each timer with a period that it
    /// dispatches; a gap becomes one for each timer that is queued, which was enqueued by a row.
    fn operations(&self) -> u64 {
        let Some(Loaded { trace, .. }) = &self.loaded else { return 0 };
        let (rows, copies) = (trace.rows.len() as u64, u64::from(self.copies));
        let recorded = rows.saturating_mul(4).saturating_mul(copies);
        if self.is_exact() && copies == 1 {
            return recorded;
        }
        // All copies together last twice as long as one.
        let time = self.span().saturating_mul(2);
        let moves = match self.batch {
            0 => rows.saturating_mul(copies),
            every => time / every + 1,
        };
        let again = |row: &Row| match row.period_ns / self.compress {
            _ if row.period_ns == 0 => 0,
            period => (time / period.max(1)).saturating_add(2).min(moves),
        };
        let again = trace.rows.iter().map(again).fold(0, u64::saturating_add);
        let batches = if self.batch > 0 { moves.saturating_mul(3) } else { 0 };
        recorded.saturating_add(again.saturating_mul(copies)).saturating_add(batches)
    }

    fn read(&self, folder: &Path) -> Result<Trace, TraceError> {
        let path = folder.join(&self.file);
        if path.exists() {
            return trace::read(&path);
        }
        // A path that leads nowhere is an error, also when a built-in trace is called like its last part.
        let is_built_in = self.file.parent().is_some_and(|folder| BUILT_IN.map(Path::new).contains(&folder));
        let name = self.file.file_name().filter(|_| is_built_in);
        let built_in = name.and_then(|name| super::builtin_trace(name.to_str()?));
        match built_in {
            Some((name, bytes)) => trace::read_bytes(name, bytes),
            None => trace::read(&path),
        }
    }
}

/// The folders in which a trace is named that is compiled in: none, or from beside a built-in workload's file.
const BUILT_IN: [&str; 2] = ["", "../traces"];

impl Model for Replay {
    fn extent(&self, _: u64) -> Extent {
        Extent { timers: self.timers(), operations: self.operations().saturating_add(16) }
    }

    fn impossible(&self) -> Option<(&'static str, String)> {
        if self.file.as_os_str().is_empty() {
            return Some(("file", "names the trace; give `replay:FILE`".to_owned()));
        }
        let is = |key, what: &str| Some((key, format!("is {what}; give 1 or more")));
        match self {
            Self { copies: 0, .. } => is("copies", "the number of copies of the trace"),
            Self { compress: 0, .. } => is("compress", "what all times are divided by"),
            _ => None,
        }
    }

    fn load(&mut self, folder: &Path) -> Result<(), WorkloadError> {
        let trace = self.read(folder).map_err(Kind::Trace)?;
        let name = trace.name.clone();
        let (trace, repaired) = match self.mode {
            Mode::Repair => {
                let repair = trace::repair(&trace);
                (repair.trace, repair.inserted)
            }
            Mode::Strict => {
                let mend = "record it again, or replay it as it is with `replay:FILE:mode=repair`";
                trace::validate(&trace).strict(&name, mend).map_err(Kind::Trace)?;
                (trace, 0)
            }
        };
        let (timer_of, timers) = numbered(&trace).map_err(Kind::Trace)?;
        if timers == 0 {
            let mend = "record a program that has timers, or check that this is the right file";
            return Err(Kind::Trace(TraceError::whole(&name, "there are no timer events in it", mend)).into());
        }
        self.loaded = Some(Loaded { trace: Arc::new(trace), timer_of, timers, repaired });
        Ok(())
    }

    fn generate(&self, _: u64, random: &mut Random, out: &mut Builder) {
        Laying::new(self, random, out).all();
    }

    fn replay(&self) -> Option<&Replay> {
        Some(self)
    }
}

/// The timers of a trace, numbered in order of appearance: that of each row, and how many there are.
fn numbered(trace: &Trace) -> Result<(Arc<[u32]>, u32), TraceError> {
    let mut numbers: HashMap<u64, u32> = HashMap::new();
    let mut number = |row: &Row| {
        let timer = row.timer_id.filter(|_| !matches!(row.op, Op::Allocate | Op::Free | Op::Returned));
        let Some(timer) = timer else { return Ok(NO_TIMER) };
        let next = u32::try_from(numbers.len()).ok().filter(|next| *next < NO_TIMER).ok_or_else(|| {
            let mend = "cut it into shorter ones";
            TraceError::at(&trace.name, row.line, "there are more timers than a stream can number", mend)
        })?;
        Ok(*numbers.entry(timer).or_insert(next))
    };
    let of_rows = trace.rows.iter().map(&mut number).collect::<Result<_, _>>()?;
    Ok((of_rows, numbers.len() as u32))
}

/// A timer of the trace in the stream.
#[derive(Clone, Copy, Debug)]
struct Timer {
    id: u32,
    /// When the replay's queue has it due.
    due: u64,
    /// When it is due by the rows so far: a queue may be ahead of them by a period.
    recorded_due: u64,
    period: u64,
}

/// A row of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Step {
    /// What rows are ordered by: the row's time, or that of one before it in its copy if that is later.
    now: u64,
    copy: u32,
    row: u32,
}

/// A trace while it is laid down.
struct Laying<'a, 'b> {
    queue: Recorder<'b>,
    replay: &'a Replay,
    rows: &'a [Row],
    timer_of: &'a [u32],
    /// When each copy begins.
    phases: Vec<u64>,
    steps: Vec<Step>,
    /// The timers of all copies: those of a copy stand together, by their numbers in the trace.
    timers: Vec<Option<Timer>>,
    /// Where each timer of the stream stands among them.
    slots: Vec<u32>,
    /// Kept if they are asked for.
    marks: Option<Vec<Mark>>,
    /// The last `now` at which all was taken, until something is queued.
    swept: Option<u64>,
    /// When the clock moves next, if it moves on its own.
    next: u64,
    /// The place of each batch of T, D and Q rows that is out, by copy and batch. Place 0 is for sweeps.
    places: HashMap<(u32, i64), u8>,
    /// See [`first_expiries`]; looked for when it is needed.
    unknown: Option<HashMap<u64, Option<u64>>>,
}

/// For each timer that is present without a due time, when it expires, if this is what comes next of it.
fn first_expiries(rows: &[Row]) -> HashMap<u64, Option<u64>> {
    let mut found = HashMap::new();
    let mut waiting = HashSet::new();
    for (row, timer) in rows.iter().filter_map(|row| Some((row, row.timer_id?))) {
        if row.op == Op::Present && row.due_ns.is_none() {
            waiting.insert(timer);
        } else if matches!(row.op, Op::Start | Op::Rearm | Op::Cancel | Op::Expire) && waiting.remove(&timer)
        {
            found.entry(timer).or_insert((row.op == Op::Expire).then_some(row.time_ns));
        }
    }
    found
}

/// The rows of all copies in order; where times are equal, by copy. Every step is there once, so the order
/// does not depend on how it is sorted.
fn steps(rows: &[Row], compress: u64, phases: &[u64]) -> Vec<Step> {
    let of_copy = |(copy, &phase): (usize, &u64)| {
        let mut latest = 0;
        let step = move |(row, of): (usize, &Row)| {
            latest = latest.max((of.time_ns / compress).saturating_add(phase));
            Step { now: latest, copy: copy as u32, row: row as u32 }
        };
        rows.iter().enumerate().map(step)
    };
    let mut steps: Vec<Step> = phases.par_iter().enumerate().flat_map_iter(of_copy).collect();
    if phases.len() > 1 {
        steps.par_sort_unstable();
    }
    steps
}

impl<'a, 'b> Laying<'a, 'b> {
    fn new(replay: &'a Replay, random: &mut Random, out: &'b mut Builder) -> Self {
        // One tick a handler, so that a window is the number of handlers it has room for.
        out.handler_ticks(1);
        out.phase("replay");
        let Loaded { trace, timer_of, timers, .. } = replay.loaded();
        let phases = replay.phases(random);
        Self {
            queue: Recorder::new(out),
            replay,
            rows: &trace.rows,
            timer_of,
            steps: steps(&trace.rows, replay.compress, &phases),
            timers: vec![None; *timers as usize * phases.len()],
            phases,
            slots: Vec::new(),
            marks: None,
            swept: None,
            next: replay.batch,
            places: HashMap::new(),
            unknown: None,
        }
    }

    /// Lays all of it down; gives the marks, and where each timer of the stream stands among those of all
    /// copies.
    fn all(mut self) -> (Vec<Mark>, Vec<u32>) {
        let mut at = 0;
        while at < self.steps.len() {
            at += if self.replay.is_exact() { self.exact(at) } else { self.closed(at) };
        }
        self.finish()
    }

    /// Lays down the step at `at`, and those that belong to it; gives their number.
    fn exact(&mut self, at: usize) -> usize {
        let (step, row, slot) = self.step(at);
        match (row.op, slot) {
            (Op::Expire, Some(slot)) => {
                let now = self.time(step.copy, row.time_ns);
                self.sweep(now);
                self.mark(step, slot);
                let timer = &mut self.timers[slot];
                timer
                    .iter_mut()
                    .for_each(|timer| timer.recorded_due = timer.recorded_due.saturating_add(timer.period));
            }
            (Op::Advance, _) => self.sweep(self.time(step.copy, row.time_ns)),
            (Op::Take, _) => self.take(step.copy, &row),
            (Op::Done | Op::PutBack, _) => return self.batch(at, step.copy, &row),
            _ => self.asked(step, &row, slot),
        }
        1
    }

    /// As [`Laying::exact`], with a clock that moves on its own.
    fn closed(&mut self, at: usize) -> usize {
        let (step, row, slot) = self.step(at);
        match self.replay.batch {
            0 => self.sweep(step.now),
            every => {
                while self.next <= step.now {
                    self.sweep(self.next);
                    self.next = self.next.saturating_add(every);
                }
            }
        }
        self.asked(step, &row, slot);
        1
    }

    /// What a program asks of its timers, whoever moves the clock.
    fn asked(&mut self, step: Step, row: &Row, slot: Option<usize>) {
        match (row.op, slot) {
            (Op::Start | Op::Present | Op::Rearm, Some(slot)) => self.arm(step, row, slot),
            (Op::Cancel | Op::Miss, Some(slot)) => {
                let id = self.timer(slot).id;
                self.queue.cancel(id);
                if row.op == Op::Cancel {
                    self.mark(step, slot);
                }
            }
            (Op::Gap, _) => self.gap(step),
            _ => {}
        }
    }

    /// A step, its row, and where its timer stands.
    fn step(&self, at: usize) -> (Step, Row, Option<usize>) {
        let step = self.steps[at];
        let timer = self.timer_of[step.row as usize];
        let first = self.timers.len() / self.phases.len() * step.copy as usize;
        (step, self.rows[step.row as usize], (timer != NO_TIMER).then(|| first + timer as usize))
    }

    /// A time of the trace in the replay.
    fn time(&self, copy: u32, time_ns: u64) -> u64 {
        (time_ns / self.replay.compress).saturating_add(self.phases[copy as usize])
    }

    fn timer(&mut self, slot: usize) -> Timer {
        let Self { timers, slots, queue, .. } = self;
        *timers[slot].get_or_insert_with(|| {
            slots.push(slot as u32);
            Timer { id: queue.name(), due: 0, recorded_due: 0, period: 0 }
        })
    }

    fn arm(&mut self, step: Step, row: &Row, slot: usize) {
        let Timer { id, .. } = self.timer(slot);
        let due = row.due_ns.unwrap_or_else(|| i128::from(self.unknown_due(row)));
        let due = due.div_euclid(self.replay.compress.into()) + i128::from(self.phases[step.copy as usize]);
        let due = due.clamp(0, i128::from(u64::MAX)) as u64;
        let period = (row.period_ns / self.replay.compress).max(row.period_ns.min(1));
        self.timers[slot] = Some(Timer { id, due, recorded_due: due, period });
        self.queue.builder.clock(self.time(step.copy, row.time_ns));
        if row.op == Op::Rearm || self.queue.is_queued(id) {
            self.queue.rearm(id, due);
        } else {
            self.queue.enqueue_again(id, due);
        }
        self.swept = None;
        self.mark(step, slot);
    }

    /// A due time that is not given: that of the timer's expiry if this is what comes next of it, else the
    /// end of the trace, for it was not due while it was watched.
    fn unknown_due(&mut self, row: &Row) -> u64 {
        let rows = self.rows;
        let known = self.unknown.get_or_insert_with(|| first_expiries(rows));
        let known = row.timer_id.and_then(|timer| known.get(&timer).copied().flatten());
        known.or(rows.last().map(|last| last.time_ns)).unwrap_or(0)
    }

    fn mark(&mut self, step: Step, slot: usize) {
        let Timer { id, recorded_due, .. } = self.timer(slot);
        self.note(step, id, recorded_due);
    }

    fn note(&mut self, step: Step, timer: u32, due: u64) {
        let row = step.row as usize;
        let (position, now) = (self.queue.builder.len(), self.time(step.copy, self.rows[row].time_ns));
        if let Some(marks) = &mut self.marks {
            marks.push(Mark { position, timer, row, copy: step.copy, now, due });
        }
    }

    /// The clock moves: everything due is taken and dispatched.
    fn sweep(&mut self, now: u64) {
        if self.swept == Some(now) {
            return;
        }
        let mut again = Vec::new();
        let (timers, slots) = (&self.timers, &self.slots);
        self.queue.sweep(now, |id| {
            let slot = slots[id as usize] as usize;
            again.extend(timers[slot].filter(|timer| timer.period > 0).map(|timer| (slot, timer)));
        });
        self.swept = again.is_empty().then_some(now);
        self.queue.builder.clock(now);
        for (slot, timer) in again {
            let due = timer.due.saturating_add(timer.period);
            self.timers[slot] = Some(Timer { due, ..timer });
            self.queue.enqueue_again(timer.id, due);
        }
    }

    /// Nothing of a copy is armed any more.
    fn gap(&mut self, step: Step) {
        let of_a_copy = self.timers.len() / self.phases.len();
        for id in self.queue.queued() {
            if self.slots[id as usize] as usize / of_a_copy == step.copy as usize {
                self.queue.cancel(id);
            }
        }
        self.note(step, 0, 0);
    }

    /// Puts back what is still out when the trace ends.
    fn finish(mut self) -> (Vec<Mark>, Vec<u32>) {
        let mut places: Vec<u8> = self.places.into_values().collect();
        places.sort_unstable();
        places.into_iter().for_each(|place| _ = self.queue.requeue(place));
        self.queue.builder.sample(Point::Drained);
        (self.marks.unwrap_or_default(), self.slots)
    }

    fn take(&mut self, copy: u32, row: &Row) {
        let batch = (copy, row.aux.unwrap_or(0));
        if let Some(place) = self.places.remove(&batch) {
            self.queue.requeue(place);
        }
        let free = (1..u8::MAX).find(|place| self.places.values().all(|used| used != place));
        // More than 254 dispatchers at once share the last place: what is out there is put back first.
        let free = free.unwrap_or_else(|| {
            let last = self.places.iter().find(|(_, place)| **place == u8::MAX - 1).map(|(batch, _)| *batch);
            last.and_then(|last| self.places.remove(&last)).map(|place| self.queue.requeue(place));
            u8::MAX - 1
        });
        self.queue.take(self.time(copy, row.time_ns), ALL, free);
        self.places.insert(batch, free);
        self.swept = None;
    }

    /// The run of rows of one kind and batch that starts at `at`, as one operation.
    fn batch(&mut self, at: usize, copy: u32, first: &Row) -> usize {
        let same = |step: &&Step| {
            let row = &self.rows[step.row as usize];
            step.copy == copy && row.op == first.op && row.aux == first.aux
        };
        let run = self.steps[at..].iter().take_while(same).count();
        let batch = (copy, first.aux.unwrap_or(0));
        if let Some(place) = self.places.get(&batch).copied() {
            if first.op == Op::Done {
                self.queue.dispatch(self.time(copy, first.time_ns), run as u64, place, |_| ());
            } else {
                self.queue.requeue(place);
                self.places.remove(&batch);
                self.swept = None;
            }
        }
        run
    }
}
