//! What a schedule is made of. A [`Step`] speaks of the state it meets (`the head`, `a put-back timer`), so a
//! schedule still means something after some of its steps were left out; an [`Action`] is what it came to.

use crate::queue::Tick;

/// Picks the batch that was taken last.
pub(super) const NEWEST: u64 = u64::MAX;

/// An expiry or a `now`, relative to what is there.
#[derive(Clone, Copy, Debug)]
pub(super) enum Aim {
    At(Tick),
    /// From the latest `now`.
    Now(i64),
    /// From the latest `now` rounded up to a multiple of two to this power: where wheels have their levels.
    Boundary(u32, i64),
    Head(i64),
    Last(i64),
    /// From the first timer of a batch that is out.
    BatchFront(u64, i64),
    /// From the last timer of a batch that is out.
    BatchLatest(u64, i64),
    /// The expiry of a queued timer.
    Tie(u64),
}

/// A handle, by what became of its timer. The number picks one of several.
#[derive(Clone, Copy, Debug)]
pub(super) enum Target {
    Head,
    Last,
    Queued(u64),
    PutBack(u64),
    Out(u64),
    Dispatched(u64),
    Cancelled(u64),
    Moved(u64),
    Dropped(u64),
}

/// What a handler does, and how long the window is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Script {
    pub(super) window: Tick,
    /// Ticks that pass in each call of the handler.
    pub(super) cost: Tick,
    /// Calls that go well before `then`.
    pub(super) after: usize,
    pub(super) then: Then,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    GoOn,
    Stop,
    Fail,
    Panic,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    Enqueue(Aim),
    Take { now: Aim, limit: usize },
    Process { batch: u64, script: Script },
    Advance { batch: u64 },
    Requeue { batch: u64 },
    Drop { batch: u64 },
    Get(Target),
    Cancel(Target),
    Reschedule(Target, Aim),
    ForeignHandle(u64, Aim),
    ForeignBatch,
    Shrink,
}

/// A step with everything filled in. Tickets count handles in the order they were given; batches stand in the
/// order they were taken.
#[derive(Clone, Copy, Debug)]
pub(super) enum Action {
    Enqueue { expiry: Tick },
    Take { now: Tick, limit: usize },
    Process { batch: usize, script: Script },
    Advance { batch: usize },
    Requeue { batch: usize },
    Drop { batch: usize },
    Get { ticket: usize },
    Cancel { ticket: usize },
    Reschedule { ticket: usize, expiry: Tick },
    ForeignHandle { ticket: usize, expiry: Tick },
    ForeignBatch,
    Shrink,
}
