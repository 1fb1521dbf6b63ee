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

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::builder::{ALL, Builder, Recorder};
use super::error::{Kind, WorkloadError};
use super::model::{Extent, Model, Random};
use crate::stream::Point;
use crate::trace::{self, Op, Row, Trace, TraceError};

pub use super::reproduction::{Example, Reproduction, Verdict, reproduction};

/// The parameters, and the trace once it is loaded.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Replay {
    file: PathBuf,
    mode: Mode,
    #[serde(skip)]
    loaded: Option<Loaded>,
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
    timers: u64,
    repaired: u64,
}

/// A row that bears on what is reproduced, and where it stands among the operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Operations laid down by then, those of the row included.
    pub position: usize,
    /// The timer by its number in the stream.
    pub timer: u32,
    /// Index of the row in [`Trace::rows`].
    pub row: usize,
    /// When the timer was due, for an expiry.
    pub due: u64,
}

/// A trace as an operation stream, with what is needed to hold the two against each other.
#[derive(Clone, Debug)]
pub struct Laid {
    /// The trace that was laid down: repaired, if that was asked for.
    pub trace: Arc<Trace>,
    /// E, S, R, C, P and G rows in order.
    pub marks: Vec<Mark>,
    /// The operations.
    pub stream: crate::stream::Stream,
}

impl Replay {
    /// Distinct timers of the trace: its size.
    pub fn timers(&self) -> u64 {
        self.loaded.as_ref().map_or(0, |loaded| loaded.timers)
    }

    /// Timers that had to be added so that the trace can be true.
    pub fn repaired(&self) -> u64 {
        self.loaded.as_ref().map_or(0, |loaded| loaded.repaired)
    }

    /// The trace.
    ///
    /// # Panics
    ///
    /// Before it was loaded, which [`super::resolve`] does.
    pub fn trace(&self) -> &Arc<Trace> {
        &self.loaded.as_ref().expect("`resolve` loads the trace").trace
    }

    /// The operations with the rows they stand for.
    pub fn lay(&self, workload: &str) -> Laid {
        let mut builder = Builder::new(workload, self.extent(0).operations);
        let marks = lay(self.trace(), &mut builder);
        Laid { trace: Arc::clone(self.trace()), marks, stream: builder.finish() }
    }

    fn read(&self, folder: &Path) -> Result<Trace, TraceError> {
        let path = folder.join(&self.file);
        if path.exists() {
            return trace::read(&path);
        }
        let built_in = self.file.file_name().and_then(|name| super::builtin_trace(name.to_str()?));
        match built_in {
            Some((name, bytes)) => trace::read_bytes(name, bytes),
            None => trace::read(&path),
        }
    }
}

impl Model for Replay {
    fn extent(&self, _: u64) -> Extent {
        // An expiry becomes three operations, and one more for each timer with a period that it dispatches; a
        // gap becomes one for each timer that is queued. Each of those timers was enqueued by a row.
        let rows = self.loaded.as_ref().map_or(0, |loaded| loaded.trace.rows.len() as u64);
        Extent { timers: self.timers(), operations: rows.saturating_mul(4).saturating_add(16) }
    }

    fn impossible(&self) -> Option<(&'static str, String)> {
        let empty = self.file.as_os_str().is_empty();
        empty.then(|| ("file", "names the trace; give `replay:FILE`".to_owned()))
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
        let timers = timers(&trace);
        if timers == 0 {
            let mend = "record a program that has timers, or check that this is the right file";
            return Err(Kind::Trace(TraceError::whole(&name, "there are no timer events in it", mend)).into());
        }
        self.loaded = Some(Loaded { trace: Arc::new(trace), timers, repaired });
        Ok(())
    }

    fn generate(&self, _: u64, _: &mut Random, out: &mut Builder) {
        lay(self.trace(), out);
    }

    fn replay(&self) -> Option<&Replay> {
        Some(self)
    }
}

fn timers(trace: &Trace) -> u64 {
    let named = trace.rows.iter().filter(|row| !matches!(row.op, Op::Allocate | Op::Free | Op::Returned));
    let distinct: HashSet<u64> = named.filter_map(|row| row.timer_id).collect();
    distinct.len() as u64
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

/// A trace while it is laid down.
struct Laying<'a, 'b> {
    queue: Recorder<'b>,
    rows: &'a [Row],
    timers: HashMap<u64, Timer>,
    /// The timers by their numbers in the stream.
    ids: Vec<u64>,
    marks: Vec<Mark>,
    /// The last `now` at which all was taken, until something is queued.
    swept: Option<u64>,
    /// The place of each batch of T, D and Q rows that is out. Place 0 is for what E and A rows take.
    places: HashMap<i64, u8>,
    /// See [`first_expiries`]; looked for when it is needed.
    unknown: Option<HashMap<u64, Option<u64>>>,
}

fn lay(trace: &Trace, out: &mut Builder) -> Vec<Mark> {
    // One tick a handler, so that a window is the number of handlers it has room for.
    out.handler_ticks(1);
    out.phase("replay");
    let mut laying = Laying {
        queue: Recorder::new(out),
        rows: &trace.rows,
        timers: HashMap::new(),
        ids: Vec::new(),
        marks: Vec::new(),
        swept: None,
        places: HashMap::new(),
        unknown: None,
    };
    let mut at = 0;
    while at < trace.rows.len() {
        at += laying.row(at);
    }
    laying.finish()
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

impl Laying<'_, '_> {
    /// Lays down the row at `at`, and those that belong to it; gives their number.
    fn row(&mut self, at: usize) -> usize {
        let row = self.rows[at];
        match (row.op, row.timer_id) {
            (Op::Start | Op::Present | Op::Rearm, Some(timer)) => self.arm(at, &row, timer),
            (Op::Cancel | Op::Miss, Some(timer)) => {
                let id = self.timer(timer).id;
                self.queue.cancel(id);
                if row.op == Op::Cancel {
                    self.mark(at, timer);
                }
            }
            (Op::Expire, Some(timer)) => {
                self.sweep(row.time_ns);
                self.mark(at, timer);
                let timer = self.timers.entry(timer);
                timer
                    .and_modify(|timer| timer.recorded_due = timer.recorded_due.saturating_add(timer.period));
            }
            (Op::Advance, _) => self.sweep(row.time_ns),
            (Op::Gap, _) => self.gap(at),
            (Op::Take, _) => self.take(&row),
            (Op::Done | Op::PutBack, _) => return self.batch(at, &row),
            _ => {}
        }
        1
    }

    fn timer(&mut self, timer: u64) -> Timer {
        let Self { timers, ids, queue, .. } = self;
        *timers.entry(timer).or_insert_with(|| {
            ids.push(timer);
            Timer { id: queue.name(), due: 0, recorded_due: 0, period: 0 }
        })
    }

    fn arm(&mut self, at: usize, row: &Row, timer: u64) {
        let Timer { id, .. } = self.timer(timer);
        let due = row.due_ns.unwrap_or_else(|| i128::from(self.unknown_due(timer)));
        let due = due.clamp(0, i128::from(u64::MAX)) as u64;
        self.timers.insert(timer, Timer { id, due, recorded_due: due, period: row.period_ns });
        if row.op == Op::Rearm || self.queue.is_queued(id) {
            self.queue.rearm(id, due);
        } else {
            self.queue.enqueue_again(id, due);
        }
        self.swept = None;
        self.mark(at, timer);
    }

    /// A due time that is not given: that of the timer's expiry if this is what comes next of it, else the
    /// end of the trace, for it was not due while it was watched.
    fn unknown_due(&mut self, timer: u64) -> u64 {
        let rows = self.rows;
        let known = self.unknown.get_or_insert_with(|| first_expiries(rows));
        known.get(&timer).copied().flatten().or(rows.last().map(|last| last.time_ns)).unwrap_or(0)
    }

    fn mark(&mut self, row: usize, timer: u64) {
        let Timer { id, recorded_due, .. } = self.timer(timer);
        self.marks.push(Mark { position: self.queue.builder.len(), timer: id, row, due: recorded_due });
    }

    /// The clock moves: everything due is taken and dispatched.
    fn sweep(&mut self, now: u64) {
        if self.swept == Some(now) {
            return;
        }
        let mut again = Vec::new();
        let (timers, ids) = (&self.timers, &self.ids);
        self.queue.sweep(now, |id| {
            let timer = timers[&ids[id as usize]];
            again.extend((timer.period > 0).then_some(timer));
        });
        self.swept = again.is_empty().then_some(now);
        for timer in again {
            let due = timer.due.saturating_add(timer.period);
            self.timers.insert(self.ids[timer.id as usize], Timer { due, ..timer });
            self.queue.enqueue_again(timer.id, due);
        }
    }

    fn gap(&mut self, at: usize) {
        for id in self.queue.queued() {
            self.queue.cancel(id);
        }
        self.marks.push(Mark { position: self.queue.builder.len(), timer: 0, row: at, due: 0 });
    }

    /// Puts back what is still out when the trace ends.
    fn finish(mut self) -> Vec<Mark> {
        let mut places: Vec<u8> = self.places.into_values().collect();
        places.sort_unstable();
        places.into_iter().for_each(|place| _ = self.queue.requeue(place));
        self.queue.builder.sample(Point::Drained);
        self.marks
    }

    fn take(&mut self, row: &Row) {
        let batch = row.aux.unwrap_or(0);
        if let Some(place) = self.places.remove(&batch) {
            self.queue.requeue(place);
        }
        // More than 255 dispatchers at once share the last place; what is out there is put back first.
        let free =
            (1..u8::MAX).find(|place| self.places.values().all(|used| used != place)).unwrap_or(u8::MAX);
        self.queue.take(row.time_ns, ALL, free);
        self.places.insert(batch, free);
        self.swept = None;
    }

    /// The run of rows of one kind and batch that starts at `at`, as one operation.
    fn batch(&mut self, at: usize, first: &Row) -> usize {
        let same = |row: &&Row| row.op == first.op && row.aux == first.aux;
        let run = self.rows[at..].iter().take_while(same).count();
        let batch = first.aux.unwrap_or(0);
        if let Some(place) = self.places.get(&batch).copied() {
            if first.op == Op::Done {
                self.queue.dispatch(first.time_ns, run as u64, place, |_| ());
            } else {
                self.queue.requeue(place);
                self.places.remove(&batch);
                self.swept = None;
            }
        }
        run
    }
}
