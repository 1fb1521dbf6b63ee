//! The passes: what is looked at while a stream is driven, one file for each.

pub mod count;
pub mod heap;
pub mod latency;
pub mod resident;
pub mod slow;
pub mod time;

use std::collections::HashSet;

use serde::Serialize;

use self::latency::Latency;
use self::slow::Slow;
use crate::drive::{Meter, QueueSize, Tally, Watch};
use crate::spec::{Operation, Pass};
use crate::stream::{Kind, Point, Stream};

/// What a pass looks at and what it leaves out, in words. It stands beside the code that does it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Account {
    /// What is in its figures.
    pub measured: &'static str,
    /// What happens meanwhile and is not.
    pub outside: &'static str,
    /// What is set aside before the queue is made.
    pub before: &'static str,
    /// What is dropped when nobody looks on any more.
    pub after: &'static str,
}

/// The account of a pass.
pub fn account(pass: Pass) -> Account {
    match pass {
        Pass::Time => time::ACCOUNT,
        Pass::Latency => latency::ACCOUNT,
        Pass::Resident => resident::ACCOUNT,
        Pass::Heap => heap::ACCOUNT,
        Pass::Count => count::ACCOUNT,
    }
}

/// What every pass drops at its end.
const DROPPED: &str =
    "what the stream leaves: the queue, unless the stream drops it, and batches that are out";

/// The meter of every pass but `time`, so that one driver is compiled for all of them. Before it reads the
/// clock it looks which of the two it is, which is a fraction of what a reading costs.
pub(crate) enum Look<'a> {
    /// At each call.
    AtCalls(&'a mut Latency),
    /// At segments and points.
    AtSegments(&'a mut dyn Watch),
}

impl Look<'_> {
    fn watch(&mut self) -> &mut dyn Watch {
        match self {
            Self::AtCalls(latency) => *latency,
            Self::AtSegments(watch) => *watch,
        }
    }
}

impl Watch for Look<'_> {
    fn begin(&mut self) {
        self.watch().begin();
    }
    fn phase(&mut self, phase: u32) {
        self.watch().phase(phase);
    }
    fn enter(&mut self, kind: Kind) {
        self.watch().enter(kind);
    }
    fn leave(&mut self, kind: Kind, done: Tally) {
        self.watch().leave(kind, done);
    }
    fn sample(&mut self, point: Point, queue: QueueSize) {
        self.watch().sample(point, queue);
    }
    fn idle(&mut self, milliseconds: u64) {
        self.watch().idle(milliseconds);
    }
    fn purge(&mut self) {
        self.watch().purge();
    }
    fn end(&mut self) {
        self.watch().end();
    }
}

impl Meter for Look<'_> {
    fn prepares(&self) -> bool {
        matches!(self, Self::AtCalls(_))
    }

    #[inline]
    fn open(&mut self) {
        if let Self::AtCalls(latency) = self {
            latency.open();
        }
    }

    #[inline]
    fn close(&mut self, kind: Kind) {
        if let Self::AtCalls(latency) = self {
            latency.close(kind);
        }
    }
}

/// The meter of structures that count, so that one driver is compiled for each of them.
pub(crate) enum Counted<'a> {
    /// Segments.
    Segments(&'a mut dyn Watch),
    /// Some calls.
    Calls(&'a mut Slow),
}

impl Counted<'_> {
    fn watch(&mut self) -> &mut dyn Watch {
        match self {
            Self::Segments(watch) => *watch,
            Self::Calls(slow) => *slow,
        }
    }
}

impl Watch for Counted<'_> {
    fn phase(&mut self, phase: u32) {
        self.watch().phase(phase);
    }
    fn enter(&mut self, kind: Kind) {
        self.watch().enter(kind);
    }
    fn leave(&mut self, kind: Kind, done: Tally) {
        self.watch().leave(kind, done);
    }
}

impl Meter for Counted<'_> {
    fn prepares(&self) -> bool {
        matches!(self, Self::Calls(slow) if slow.prepares())
    }

    #[inline]
    fn before(&mut self, kind: Kind, queue: impl FnOnce() -> QueueSize) {
        if let Self::Calls(slow) = self {
            slow.before(kind, queue);
        }
    }

    #[inline]
    fn open(&mut self) {
        if let Self::Calls(slow) = self {
            slow.open();
        }
    }

    #[inline]
    fn close(&mut self, kind: Kind) {
        if let Self::Calls(slow) = self {
            slow.close(kind);
        }
    }

    #[inline]
    fn after(&mut self, queue: impl FnOnce() -> QueueSize) {
        if let Self::Calls(slow) = self {
            slow.after(queue);
        }
    }
}

/// Sums for each phase and kind of operation. All of it is there before the first operation, so adding
/// to it is an index and an addition.
#[derive(Clone, Debug)]
pub(crate) struct Ledger<T> {
    /// Where the cells of the phase begin.
    phase: usize,
    cells: Vec<(Tally, T)>,
}

impl<T: Clone + Default> Ledger<T> {
    /// An empty ledger for the phases of `stream`.
    pub(crate) fn new(stream: &Stream) -> Self {
        let phases = stream.header.phases.len().max(1);
        Self { phase: 0, cells: vec![Default::default(); phases * Kind::ALL.len()] }
    }

    /// What is added from now on belongs to this phase.
    pub(crate) fn phase(&mut self, phase: u32) {
        self.phase = phase as usize * Kind::ALL.len();
    }

    /// Adds a segment, and gives the sum that the pass itself keeps.
    #[inline]
    pub(crate) fn add(&mut self, kind: Kind, done: Tally) -> &mut T {
        let (tally, value) = &mut self.cells[self.phase + kind as usize];
        tally.calls += done.calls;
        tally.timers += done.timers;
        value
    }

    /// A row for each phase and kind that occurred, in order of first occurrence. `fill` adds what the pass
    /// measured; anything else is `None`.
    pub(crate) fn operations(&self, stream: &Stream, fill: impl Fn(&T, &mut Operation)) -> Vec<Operation> {
        let row = |(phase, kind): (u32, Kind)| {
            let (tally, value) = &self.cells[phase as usize * Kind::ALL.len() + kind as usize];
            let mut row = Operation {
                phase,
                kind,
                calls: tally.calls,
                timers: tally.timers,
                time_ns: None,
                clock_readings: None,
                counts: None,
                allocated: None,
            };
            fill(value, &mut row);
            row
        };
        occurring(stream).into_iter().map(row).collect()
    }
}

/// The phases and kinds of operation that occur, in order of first occurrence.
fn occurring(stream: &Stream) -> Vec<(u32, Kind)> {
    let (mut phase, mut seen, mut order) = (0, HashSet::new(), Vec::new());
    for op in &stream.ops {
        match Kind::from_number(op.kind) {
            Some(Kind::Phase) => phase = op.id,
            Some(kind) if !kind.is_mark() && seen.insert((phase, kind)) => order.push((phase, kind)),
            _ => {}
        }
    }
    order
}
