//! An operation stream: what is asked of a queue, laid down before anything is timed.
//!
//! The parent makes a stream once, from a seed or a trace, and writes it as a flat file. Every worker reads
//! the same bytes, so all structures are asked the same, and no generator runs inside a timed part.
//!
//! ```text
//! magic, version, number of operations: one line
//! the header as JSON: one line, filled up with spaces so that the next byte is at a multiple of 8
//! Op Op Op ...                  24 bytes each, little endian
//! ```
//!
//! The file is read and written in `stream/file.rs`; what a stream may ask is checked in `stream/check.rs`.

mod check;
mod file;

pub use self::check::Fault;
pub use self::file::StreamError;

use bytemuck::{Pod, Zeroable};
use serde::{Deserialize, Serialize};

/// One operation. What `at` and `arg` mean depends on the kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Op {
    /// The expiry, the `now` or the like.
    pub at: u64,
    /// The limit, the window or the like.
    pub arg: u64,
    /// The timer, counted from 0 in the order of first enqueue.
    pub id: u32,
    /// A [`Kind`] as a number.
    pub kind: u8,
    /// Which of the batches that are out together.
    pub batch: u8,
    /// Zero.
    pub reserved: u16,
}

/// What an operation does. Consecutive operations of one kind form a segment, which is timed as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Kind {
    /// A phase begins: `id` is its index in [`Header::phases`].
    Phase,
    /// `enqueue(at)`, timer `id`. It is asked for at `arg` where that is ahead of the last take: no queue is told.
    Enqueue,
    /// `take(now = at, limit = min(arg, len - id))` into `batch`: `id` timers are to stay queued at least.
    Take,
    /// `process` of `batch` on a virtual clock that starts at `at` and costs [`Header::handler_ticks`] a
    /// handler, with the deadline at `at + arg` (saturating; `u64::MAX` for no window).
    Dispatch,
    /// `requeue(batch)`.
    Requeue,
    /// Drops `batch` with what is left in it.
    DropBatch,
    /// `cancel` of timer `id`. A miss is counted, not an error.
    Cancel,
    /// `reschedule` of timer `id` to `at`; when it is not queued, it is enqueued anew. `arg` as for `Enqueue`.
    Rearm,
    /// `get` of timer `id`.
    Get,
    /// `next_expiry`.
    NextExpiry,
    /// `shrink`.
    Shrink,
    /// Drops the queue, which is timed as a call of its own.
    DropQueue,
    /// A point of the memory time line: `id` is a [`Point`].
    Sample,
    /// Does nothing for `at` milliseconds. Only the `resident` pass does it.
    Idle,
    /// Asks the allocator to give its free pages back. Only the `resident` pass does it.
    Purge,
}

impl Kind {
    /// All kinds; each stands at its own number.
    pub const ALL: [Self; 15] = [
        Self::Phase,
        Self::Enqueue,
        Self::Take,
        Self::Dispatch,
        Self::Requeue,
        Self::DropBatch,
        Self::Cancel,
        Self::Rearm,
        Self::Get,
        Self::NextExpiry,
        Self::Shrink,
        Self::DropQueue,
        Self::Sample,
        Self::Idle,
        Self::Purge,
    ];

    /// The kind with this number.
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }

    /// Whether it only marks something for whoever measures and asks nothing of the queue.
    pub fn is_mark(self) -> bool {
        matches!(self, Self::Phase | Self::Sample | Self::Idle | Self::Purge)
    }
}

/// Points of the memory time line, in the order of a burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Point {
    /// Before anything is queued; the stream has been read and sample memory set aside.
    Empty,
    /// All is queued.
    Filled,
    /// What is to be dispatched has been.
    Drained,
    /// After idling.
    Idle,
    /// After the allocator was asked to give back what it does not need.
    Purged,
    /// After the structure was asked to shrink.
    Shrunk,
    /// After the queue was dropped.
    Dropped,
}

impl Point {
    /// All points; each stands at its own number.
    pub const ALL: [Self; 7] =
        [Self::Empty, Self::Filled, Self::Drained, Self::Idle, Self::Purged, Self::Shrunk, Self::Dropped];

    /// The point with this number.
    pub fn from_number(number: u32) -> Option<Self> {
        Self::ALL.get(usize::try_from(number).ok()?).copied()
    }
}

/// What a stream says of itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// Name of the workload with its parameters, as in tables.
    pub workload: String,
    /// Names of the phases.
    pub phases: Vec<String>,
    /// Distinct timers, so ids are below this.
    pub timers: u32,
    /// Most timers queued at once, as the reference counts it.
    pub population: u64,
    /// Batches that are out at once, at most.
    pub batches: u8,
    /// Whether an operation names a timer again after its enqueue, so that handles must be kept.
    pub handles: bool,
    /// What each handler costs on the virtual clock, in ticks.
    pub handler_ticks: u64,
}

/// A stream in memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Stream {
    /// What it says of itself.
    pub header: Header,
    /// The operations.
    pub ops: Vec<Op>,
}

/// What a run of a stream amounted to. Two runs of one stream are right when these are equal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// `enqueue` calls, those of `Rearm` included.
    pub enqueued: u64,
    /// `take` calls.
    pub takes: u64,
    /// Timers taken.
    pub taken: u64,
    /// Timers dispatched.
    pub dispatched: u64,
    /// Windows that closed with something left.
    pub windows_closed: u64,
    /// `requeue` calls by what they said.
    pub requeued_nothing: u64,
    /// Into an empty queue.
    pub requeued_into_empty: u64,
    /// In front, in one step.
    pub requeued_in_front: u64,
    /// Merged.
    pub requeued_merged: u64,
    /// Timers that were put back in any way.
    pub put_back: u64,
    /// Timers in batches that were merged.
    pub merged_timers: u64,
    /// Cancels that found their timer.
    pub cancelled: u64,
    /// Cancels that missed.
    pub cancel_missed: u64,
    /// Reschedules that found their timer.
    pub rescheduled: u64,
    /// Look-ups that found their timer.
    pub found: u64,
    /// Sum (wrapping) of all answers of `next_expiry`.
    pub next_expiry_sum: u64,
    /// Timers dropped with a batch.
    pub dropped: u64,
    /// Timers queued at the end, or when the queue was dropped.
    pub left: u64,
    /// Sum (wrapping) of the ids dispatched.
    pub id_sum: u64,
    /// Times an expiry fell within a batch: 0 unless a structure is wrong.
    pub disorder: u64,
    /// Hash of (expiry, id, now of its take) of all that was dispatched, in order. A payload of fewer than
    /// 8 bytes carries no id; then 0 stands for it. `None` above [`Outcome::DIGEST_OPS`] operations.
    pub digest: Option<u64>,
}

impl Outcome {
    /// Streams of more operations than this are compared by counts, sums and disorder alone.
    pub const DIGEST_OPS: usize = 10_000_000;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An operation with nothing but its kind.
    pub(super) fn op(kind: Kind) -> Op {
        Op { kind: kind as u8, ..Op::zeroed() }
    }

    /// A stream with four timers and two batches.
    pub(super) fn stream(ops: Vec<Op>) -> Stream {
        let header = Header {
            workload: "test".to_owned(),
            phases: vec!["all".to_owned()],
            timers: 4,
            population: 4,
            batches: 2,
            handles: true,
            handler_ticks: 1,
        };
        Stream { header, ops }
    }

    #[test]
    fn each_kind_and_point_stands_at_its_number() {
        for (number, kind) in (0..).zip(Kind::ALL) {
            assert_eq!((kind as u8, Kind::from_number(number)), (number, Some(kind)));
        }
        for (number, point) in (0..).zip(Point::ALL) {
            assert_eq!((point as u32, Point::from_number(number)), (number, Some(point)));
        }
        assert_eq!((Kind::from_number(15), Point::from_number(7)), (None, None));
    }
}
