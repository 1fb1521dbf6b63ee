//! The round: a stream of operations asked of one queue, with somebody looking on.
//!
//! The loop is compiled for each structure, payload and way of measuring. It looks at the kind of operation
//! once a segment, that is a run of operations of one kind, and then does nothing but ask the queue.

mod outcome;
mod run;

use impls::queue::TimerQueue;

pub use self::outcome::Dispatched;
use self::run::Run;
use crate::payload::Payload;
use crate::stream::{Kind, Outcome, Point, Stream};

/// Somebody who looks on while a stream is driven, and is told where something begins and ends.
pub trait Watch {
    /// Everything that is not the queue's has been set aside; the queue is made next.
    fn begin(&mut self) {}

    /// A phase begins.
    fn phase(&mut self, _phase: u32) {}

    /// A segment begins.
    fn enter(&mut self, _kind: Kind) {}

    /// The segment that was entered last ends.
    fn leave(&mut self, _kind: Kind, _done: Tally) {}

    /// A point of the memory time line.
    fn sample(&mut self, _point: Point, _queue: QueueSize) {}

    /// The stream asks for so many milliseconds of nothing.
    fn idle(&mut self, _milliseconds: u64) {}

    /// The stream asks for free pages to be given back.
    fn purge(&mut self) {}

    /// The last operation is done, and nothing has been dropped yet that the stream did not drop.
    fn end(&mut self) {}
}

/// Somebody who may look at each call as well. A driver is compiled for each type of meter, so what one
/// does not look at costs nothing.
pub trait Meter: Watch {
    /// Whether payloads are made before the first operation and moved from there. Otherwise each is made
    /// where it is enqueued, and no memory is set aside for them.
    fn prepares(&self) -> bool {
        false
    }

    /// A call is about to begin, and `queue` tells its size. Of a dispatch it is the whole, not each timer.
    fn before(&mut self, _kind: Kind, _queue: impl FnOnce() -> QueueSize) {}

    /// A call begins, or the handling of the next timer of a dispatch.
    fn open(&mut self) {}

    /// What was opened last ends.
    fn close(&mut self, _kind: Kind) {}

    /// The call that was announced last is over.
    fn after(&mut self, _queue: impl FnOnce() -> QueueSize) {}
}

/// What a segment came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Calls made.
    pub calls: u64,
    /// Timers handled by them.
    pub timers: u64,
}

/// What a queue says of its size. After it was dropped it holds no timers, and has no container.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueSize {
    /// `TimerQueue::len`.
    pub timers: u64,
    /// `TimerQueue::container_bytes`.
    pub container_bytes: Option<u64>,
}

/// A meter that looks away.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unmetered;

impl Watch for Unmetered {}
impl Meter for Unmetered {}

/// Asks `queue` everything that `stream` says, in order.
///
/// # Panics
///
/// When the stream asks for what cannot be, which [`Stream::check`] finds beforehand.
pub fn drive<Q, P, M>(stream: &Stream, queue: Q, meter: &mut M) -> Outcome
where
    Q: TimerQueue<P>,
    P: Payload<Recipe = ()>,
    M: Meter,
{
    drive_with(stream, (), || queue, meter)
}

/// As [`drive`], with payloads that are made by `recipe`, and a queue that is made after all else has been
/// set aside, so that a meter of memory sees what it takes.
///
/// # Panics
///
/// As [`drive`].
#[inline(never)]
pub fn drive_with<Q, P, M>(
    stream: &Stream,
    recipe: P::Recipe,
    make: impl FnOnce() -> Q,
    meter: &mut M,
) -> Outcome
where
    Q: TimerQueue<P>,
    P: Payload,
    M: Meter,
{
    let mut run = Run::<Q, P>::set_aside(stream, recipe, meter.prepares());
    meter.begin();
    run.start(make());
    run.all(meter);
    meter.end();
    run.finish()
}

#[cfg(test)]
mod tests;
