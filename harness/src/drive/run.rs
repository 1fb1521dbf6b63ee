//! One run of one stream: the state that lies beside the queue, and a loop for each kind of operation.

use std::cell::Cell;
use std::convert::Infallible;
use std::hint::black_box;
use std::mem;

use impls::queue::{Batch, Ended, Flow, Tick, TimerQueue, process};

use super::outcome::{Dispatched, note_requeue};
use super::{Meter, QueueSize, Tally};
use crate::payload::Payload;
use crate::stream::{Kind, Op, Outcome, Point, Stream};

/// Everything but the operations is set aside before the queue is made.
pub(super) struct Run<'a, Q: TimerQueue<P>, P: Payload> {
    stream: &'a Stream,
    queue: Option<Q>,
    /// By timer; empty where no operation names a timer again.
    handles: Vec<Option<Q::Handle>>,
    /// By batch.
    out: Vec<Option<Out<Q::Batch>>>,
    payloads: Payloads<P>,
    outcome: Outcome,
    dispatched: Dispatched,
}

/// A batch that is out.
struct Out<B> {
    batch: B,
    /// The `now` of its take.
    now: Tick,
    /// The expiry dispatched last.
    last: Tick,
}

/// Where payloads come from.
struct Payloads<P: Payload> {
    recipe: P::Recipe,
    prepared: bool,
    /// One for each `Enqueue`, in order.
    enqueued: std::vec::IntoIter<P>,
    /// One for each `Rearm`, in order. What is not needed stays, and is dropped in the end.
    rearmed: Vec<Option<P>>,
    /// The `Rearm` that comes next.
    rearm: usize,
}

impl<P: Payload> Payloads<P> {
    fn set_aside(stream: &Stream, recipe: P::Recipe, prepared: bool) -> Self {
        let made = |kind| {
            let ops = stream.ops.iter().filter(move |op| prepared && op.kind == kind as u8);
            ops.map(move |op| P::make(recipe, op.id))
        };
        let enqueued: Vec<P> = made(Kind::Enqueue).collect();
        let rearmed = made(Kind::Rearm).map(Some).collect();
        Self { recipe, prepared, enqueued: enqueued.into_iter(), rearmed, rearm: 0 }
    }

    /// For a timer that was not found.
    #[inline]
    fn rearmed(&mut self, op: &Op) -> P {
        match self.prepared {
            true => self.rearmed[self.rearm].take().expect("one was made for each rearm"),
            false => P::make(self.recipe, op.id),
        }
    }
}

/// The operations of `kind` that `ops` begins with.
fn leading(ops: &[Op], kind: Kind) -> impl Iterator<Item = &Op> {
    ops.iter().take_while(move |op| op.kind == kind as u8)
}

/// What a queue says of its size.
fn size_of_queue<P: Payload, Q: TimerQueue<P>>(queue: &Q) -> QueueSize {
    QueueSize { timers: queue.len() as u64, container_bytes: Some(queue.container_bytes() as u64) }
}

/// Memory is in use only once it was written to, so what is set aside is written to.
fn written<T>(count: usize, value: impl FnMut() -> T) -> Vec<T> {
    let mut values = Vec::with_capacity(count);
    values.resize_with(count, value);
    black_box(values)
}

impl<'a, Q: TimerQueue<P>, P: Payload> Run<'a, Q, P> {
    pub(super) fn set_aside(stream: &'a Stream, recipe: P::Recipe, prepared: bool) -> Self {
        let handles = if stream.header.handles { stream.header.timers as usize } else { 0 };
        Self {
            stream,
            queue: None,
            handles: written(handles, || None),
            out: written(usize::from(stream.header.batches), || None),
            payloads: Payloads::set_aside(stream, recipe, prepared),
            outcome: Outcome::default(),
            dispatched: Dispatched::default(),
        }
    }

    pub(super) fn start(&mut self, queue: Q) {
        self.queue = Some(queue);
    }

    /// All segments in order.
    pub(super) fn all<M: Meter>(&mut self, meter: &mut M) {
        let ops = &self.stream.ops;
        let mut at = 0;
        while let Some(op) = ops.get(at) {
            let kind = Kind::from_number(op.kind).expect("the stream was checked");
            at += if kind.is_mark() {
                self.mark(meter, kind, op)
            } else {
                self.segment(meter, kind, &ops[at..])
            };
        }
    }

    /// A mark is an operation of its own, and no segment.
    fn mark<M: Meter>(&mut self, meter: &mut M, kind: Kind, op: &Op) -> usize {
        match kind {
            Kind::Phase => meter.phase(op.id),
            Kind::Sample => {
                let point = Point::from_number(op.id).expect("the stream was checked");
                meter.sample(point, self.size());
            }
            Kind::Idle => meter.idle(op.at),
            Kind::Purge => meter.purge(),
            _ => unreachable!("{kind:?} is no mark"),
        }
        1
    }

    fn size(&self) -> QueueSize {
        self.queue.as_ref().map_or_else(QueueSize::default, size_of_queue)
    }

    /// Does the segment that `ops` begins with and says how many operations it had.
    fn segment<M: Meter>(&mut self, meter: &mut M, kind: Kind, ops: &[Op]) -> usize {
        meter.enter(kind);
        let done = match kind {
            Kind::Enqueue if self.handles.is_empty() => self.enqueue::<M, false>(meter, ops),
            Kind::Enqueue => self.enqueue::<M, true>(meter, ops),
            Kind::Take => self.take(meter, ops),
            Kind::Dispatch => self.dispatch(meter, ops),
            Kind::Requeue => self.requeue(meter, ops),
            Kind::DropBatch => self.drop_batch(meter, ops),
            Kind::Cancel => self.cancel(meter, ops),
            Kind::Rearm => self.rearm(meter, ops),
            Kind::Get => self.get(meter, ops),
            Kind::NextExpiry => self.next_expiry(meter, ops),
            Kind::Shrink => self.shrink(meter, ops),
            Kind::DropQueue => self.drop_queue(meter),
            Kind::Phase | Kind::Sample | Kind::Idle | Kind::Purge => unreachable!("a mark is no segment"),
        };
        meter.leave(kind, done);
        usize::try_from(done.calls).expect("a segment is part of a slice")
    }

    /// What the run amounts to. Drops what the stream left: nobody looks on any more.
    pub(super) fn finish(mut self) -> Outcome {
        if let Some(queue) = &self.queue {
            self.outcome.left = queue.len() as u64;
        }
        let still_out: usize = self.out.iter().flatten().map(|out| out.batch.len()).sum();
        self.outcome.dropped += still_out as u64;
        self.outcome.id_sum = self.dispatched.id_sum;
        self.outcome.disorder = self.dispatched.disorder;
        let few = self.stream.ops.len() <= Outcome::DIGEST_OPS;
        self.outcome.digest = few.then(|| self.dispatched.digest());
        self.outcome
    }
}

/// The loops. Each opens and closes exactly the call that it is about. Each stays a function of its own: for
/// the processor a call a segment is nothing, and for the compiler one function of everything is a lot.
impl<Q: TimerQueue<P>, P: Payload> Run<'_, Q, P> {
    #[inline(never)]
    fn enqueue<M: Meter, const KEEP: bool>(&mut self, meter: &mut M, ops: &[Op]) -> Tally {
        let queue = self.queue.as_mut().expect("the stream was checked");
        // Out of `self` for as long as the loop runs, so that the queue's writes cannot seem to be theirs.
        let mut handles = mem::take(&mut self.handles);
        let mut payloads = mem::take(&mut self.payloads.enqueued);
        let (recipe, prepared) = (self.payloads.recipe, self.payloads.prepared);
        let mut calls = 0;
        for op in leading(ops, Kind::Enqueue) {
            let item = match prepared {
                true => payloads.next().expect("one was made for each enqueue"),
                false => P::make(recipe, op.id),
            };
            meter.before(Kind::Enqueue, || size_of_queue(queue));
            meter.open();
            let handle = queue.enqueue(op.at, item);
            meter.close(Kind::Enqueue);
            meter.after(|| size_of_queue(queue));
            if KEEP {
                handles[op.id as usize] = Some(handle);
            }
            calls += 1;
        }
        (self.handles, self.payloads.enqueued) = (handles, payloads);
        self.outcome.enqueued += calls;
        Tally { calls, timers: calls }
    }

    #[inline(never)]
    fn take<M: Meter>(&mut self, meter: &mut M, ops: &[Op]) -> Tally {
        let queue = self.queue.as_mut().expect("the stream was checked");
        let mut done = Tally::default();
        for op in leading(ops, Kind::Take) {
            let beyond_kept = match op.id {
                0 => usize::MAX,
                kept => queue.len().saturating_sub(kept as usize),
            };
            let limit = beyond_kept.min(usize::try_from(op.arg).unwrap_or(usize::MAX));
            meter.before(Kind::Take, || size_of_queue(queue));
            meter.open();
            let batch = queue.take(op.at, limit);
            meter.close(Kind::Take);
            meter.after(|| size_of_queue(queue));
            done.calls += 1;
            done.timers += batch.len() as u64;
            self.out[usize::from(op.batch)] = Some(Out { batch, now: op.at, last: 0 });
        }
        self.outcome.takes += done.calls;
        self.outcome.taken += done.timers;
        done
    }

    #[inline(never)]
    fn dispatch<M: Meter>(&mut self, meter: &mut M, ops: &[Op]) -> Tally {
        let mut done = Tally::default();
        for op in leading(ops, Kind::Dispatch) {
            let out = self.out[usize::from(op.batch)].as_mut().expect("the stream was checked");
            let handler_ticks = self.stream.header.handler_ticks;
            let size = || self.queue.as_ref().map_or_else(QueueSize::default, size_of_queue);
            meter.before(Kind::Dispatch, size);
            let (timers, closed) = window(meter, out, &mut self.dispatched, op, handler_ticks);
            meter.after(size);
            self.outcome.windows_closed += u64::from(closed);
            done.calls += 1;
            done.timers += timers;
        }
        self.outcome.dispatched += done.timers;
        done
    }

    #[inline(never)]
    fn requeue<M: Meter>(&mut self, meter: &mut M, ops: &[Op]) -> Tally {
        let queue = self.queue.as_mut().expect("the stream was checked");
        let mut done = Tally::default();
        for op in leading(ops, Kind::Requeue) {
            let out = self.out[usize::from(op.batch)].take().expect("the stream was checked");
            let timers = out.batch.len() as u64;
            meter.before(Kind::Requeue, || size_of_queue(queue));
            meter.open();
            let how = queue.requeue(out.batch);
            meter.close(Kind::Requeue);
            meter.after(|| size_of_queue(queue));
            note_requeue(&mut self.outcome, how, timers);
            done.calls += 1;
            done.timers += timers;
        }
        done
    }

    #[inline(never)]
    fn drop_batch<M: Meter>(&mut self, meter: &mut M, ops: &[Op]) -> Tally {
        let mut done = Tally::default();
        for op in leading(ops, Kind::DropBatch) {
            let out = self.out[usize::from(op.batch)].take().expect("the stream was checked");
            done.calls += 1;
            done.timers += out.batch.len() as u64;
            let size = || self.queue.as_ref().map_or_else(QueueSize::default, size_of_queue);
            meter.before(Kind::DropBatch, size);
            meter.open();
            drop(out.batch);
            meter.close(Kind::DropBatch);
            meter.after(size);
        }
        self.outcome.dropped += done.timers;
        done
    }

    #[inline(never)]
    fn cancel<M: Meter>(&mut self, meter: &mut M, ops: &[Op]) -> Tally {
        let queue = self.queue.as_mut().expect("the stream was checked");
        let mut done = Tally::default();
        for op in leading(ops, Kind::Cancel) {
            done.calls += 1;
            // A timer that was never queued has no handle to ask with.
            let Some(handle) = self.handles[op.id as usize] else { continue };
            meter.before(Kind::Cancel, || size_of_queue(queue));
            meter.open();
            let found = queue.cancel(handle).is_some();
            meter.close(Kind::Cancel);
            meter.after(|| size_of_queue(queue));
            done.timers += u64::from(found);
        }
        self.outcome.cancelled += done.timers;
        self.outcome.cancel_missed += done.calls - done.timers;
        done
    }

    #[inline(never)]
    fn rearm<M: Meter>(&mut self, meter: &mut M, ops: &[Op]) -> Tally {
        let queue = self.queue.as_mut().expect("the stream was checked");
        let mut done = Tally::default();
        for op in leading(ops, Kind::Rearm) {
            let handle = &mut self.handles[op.id as usize];
            meter.before(Kind::Rearm, || size_of_queue(queue));
            meter.open();
            let moved = handle.and_then(|handle| queue.reschedule(handle, op.at));
            let now = moved.unwrap_or_else(|| queue.enqueue(op.at, self.payloads.rearmed(op)));
            meter.close(Kind::Rearm);
            meter.after(|| size_of_queue(queue));
            *handle = Some(now);
            self.payloads.rearm += 1;
            self.outcome.rescheduled += u64::from(moved.is_some());
            self.outcome.enqueued += u64::from(moved.is_none());
            done.calls += 1;
        }
        done.timers = done.calls;
        done
    }

    #[inline(never)]
    fn get<M: Meter>(&mut self, meter: &mut M, ops: &[Op]) -> Tally {
        let queue = self.queue.as_ref().expect("the stream was checked");
        let mut done = Tally::default();
        for op in leading(ops, Kind::Get) {
            done.calls += 1;
            let Some(handle) = self.handles[op.id as usize] else { continue };
            meter.before(Kind::Get, || size_of_queue(queue));
            meter.open();
            let found = black_box(queue.get(handle)).is_some();
            meter.close(Kind::Get);
            meter.after(|| size_of_queue(queue));
            done.timers += u64::from(found);
        }
        self.outcome.found += done.timers;
        done
    }

    #[inline(never)]
    fn next_expiry<M: Meter>(&mut self, meter: &mut M, ops: &[Op]) -> Tally {
        let queue = self.queue.as_mut().expect("the stream was checked");
        let mut calls = 0;
        for _ in leading(ops, Kind::NextExpiry) {
            meter.before(Kind::NextExpiry, || size_of_queue(queue));
            meter.open();
            let next = queue.next_expiry();
            meter.close(Kind::NextExpiry);
            meter.after(|| size_of_queue(queue));
            self.outcome.next_expiry_sum = self.outcome.next_expiry_sum.wrapping_add(next.unwrap_or(0));
            calls += 1;
        }
        Tally { calls, timers: 0 }
    }

    #[inline(never)]
    fn shrink<M: Meter>(&mut self, meter: &mut M, ops: &[Op]) -> Tally {
        let queue = self.queue.as_mut().expect("the stream was checked");
        let mut calls = 0;
        for _ in leading(ops, Kind::Shrink) {
            meter.before(Kind::Shrink, || size_of_queue(queue));
            meter.open();
            queue.shrink();
            meter.close(Kind::Shrink);
            meter.after(|| size_of_queue(queue));
            calls += 1;
        }
        Tally { calls, timers: 0 }
    }

    #[inline(never)]
    fn drop_queue<M: Meter>(&mut self, meter: &mut M) -> Tally {
        let queue = self.queue.take().expect("the stream was checked");
        self.outcome.left = queue.len() as u64;
        meter.before(Kind::DropQueue, || size_of_queue(&queue));
        meter.open();
        drop(queue);
        meter.close(Kind::DropQueue);
        meter.after(QueueSize::default);
        Tally { calls: 1, timers: self.outcome.left }
    }
}

/// Dispatches from a batch until its window closes: how many timers, and whether it closed.
///
/// What is opened and closed is the way of one timer: its handler, the step over it, and the clock and the
/// front of the next. The first one's has the first front before it, so together they are the whole call.
fn window<M: Meter, P: Payload, B: Batch<P>>(
    meter: &mut M,
    out: &mut Out<B>,
    dispatched: &mut Dispatched,
    op: &Op,
    handler_ticks: Tick,
) -> (u64, bool) {
    // Without a window there is no moment at which it closes, not even the last there is.
    let clock = Cell::new(if op.arg == u64::MAX { 0 } else { op.at });
    let (now, mut last, mut first) = (out.now, out.last, true);
    let mut gathered = *dispatched;
    meter.open();
    let processed = process(
        &mut out.batch,
        || clock.get(),
        op.at.saturating_add(op.arg),
        |expiry, item: &mut P| {
            if !first {
                meter.close(Kind::Dispatch);
                meter.open();
            }
            first = false;
            gathered.timer(now, &mut last, expiry, item.id());
            clock.set(clock.get().saturating_add(handler_ticks));
            Ok::<_, Infallible>(Flow::Continue)
        },
    );
    if processed.done > 0 {
        meter.close(Kind::Dispatch);
    }
    out.last = last;
    *dispatched = gathered;
    (processed.done as u64, processed.ended == Ended::WindowClosed)
}
