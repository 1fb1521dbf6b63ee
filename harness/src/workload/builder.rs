//! Lays an operation stream down, and counts what is queued meanwhile.

use impls::queue::{Batch, Flow, Params, PlaceHandle, Requeued, Tick, TimerQueue, process};
use impls::reference::{Reference, ReferenceBatch};

use crate::stream::{Header, Kind, Op, Point, Stream};

/// No limit, or no window.
pub const ALL: u64 = u64::MAX;

/// See [`Builder::drain`].
const DRAIN_PARTS: usize = 16;

/// A stream in the making. Whoever knows what each call will give says so, and nothing is simulated.
#[derive(Debug)]
pub struct Builder {
    stream: Stream,
    queued: u64,
    clock: Tick,
}

impl Builder {
    /// An empty stream for the workload of this name, with room for `operations`, within reason.
    pub fn new(workload: &str, operations: u64) -> Self {
        let header = Header {
            workload: workload.to_owned(),
            phases: Vec::new(),
            timers: 0,
            population: 0,
            batches: 0,
            handles: false,
            handler_ticks: 0,
        };
        let most = 1 << 26;
        let ops =
            Vec::with_capacity(usize::try_from(operations).map_or(most, |operations| operations.min(most)));
        Self { stream: Stream { header, ops }, queued: 0, clock: 0 }
    }

    /// The stream.
    pub fn finish(self) -> Stream {
        self.stream
    }

    /// Operations so far: the index of the next one.
    pub fn len(&self) -> usize {
        self.stream.ops.len()
    }

    /// Whether there is no operation yet.
    pub fn is_empty(&self) -> bool {
        self.stream.ops.is_empty()
    }

    /// Timers queued now.
    pub fn queued(&self) -> u64 {
        self.queued
    }

    /// Sets what each handler costs on the virtual clock.
    pub fn handler_ticks(&mut self, ticks: u64) {
        self.stream.header.handler_ticks = ticks;
    }

    /// Handlers that a window has room for when `left` timers wait for it: `process` reads the clock before
    /// each, so the last one may begin just before the deadline.
    pub fn room(&self, window: u64, left: u64) -> u64 {
        match (window, self.stream.header.handler_ticks) {
            (0, _) => 0,
            (ALL, _) | (_, 0) => left,
            (window, ticks) => left.min(window.div_ceil(ticks)),
        }
    }

    /// What is armed from now on is asked for at `now`, where that is ahead of the last take. No queue is told:
    /// it is for whoever looks at delays.
    pub fn clock(&mut self, now: Tick) {
        self.clock = now;
    }

    /// A phase begins. Memory is looked at before the first one has done anything.
    pub fn phase(&mut self, name: &str) {
        let index = u32::try_from(self.stream.header.phases.len()).expect("phases are few");
        self.stream.header.phases.push(name.to_owned());
        self.push(Kind::Phase, 0, 0, index, 0);
        if index == 0 {
            self.sample(Point::Empty);
        }
    }

    /// A new timer.
    pub fn enqueue(&mut self, expiry: Tick) -> u32 {
        let id = self.name();
        self.enqueue_again(id, expiry);
        id
    }

    /// A timer that nothing was asked of yet: its id, for a cancel that misses before any enqueue.
    pub fn name(&mut self) -> u32 {
        let id = self.stream.header.timers;
        self.stream.header.timers = id.checked_add(1).expect("sizes are checked before a stream is made");
        id
    }

    /// A timer that is not queued any more is enqueued under its old id.
    pub fn enqueue_again(&mut self, id: u32, expiry: Tick) {
        self.push(Kind::Enqueue, expiry, self.clock, id, 0);
        self.arrived(1);
    }

    /// `take` of at most `limit` timers, so that `keep` stay, which gives `taken` of them.
    pub fn take(&mut self, now: Tick, limit: u64, keep: u32, batch: u8, taken: u64) {
        self.push(Kind::Take, now, limit, keep, batch);
        self.queued -= taken;
        self.stream.header.batches = self.stream.header.batches.max(batch + 1);
    }

    /// `process` from `now` on, until the window closes.
    pub fn dispatch(&mut self, now: Tick, window: u64, batch: u8) {
        self.push(Kind::Dispatch, now, window, 0, batch);
    }

    /// `requeue` of a batch in which `left` timers are left.
    pub fn requeue(&mut self, batch: u8, left: u64) {
        self.push(Kind::Requeue, 0, 0, 0, batch);
        self.arrived(left);
    }

    /// Drops a batch with what is left in it.
    pub fn drop_batch(&mut self, batch: u8) {
        self.push(Kind::DropBatch, 0, 0, 0, batch);
    }

    /// `take` of all that is due, `process` without a window, and the drop of the empty batch.
    pub fn sweep(&mut self, now: Tick, taken: u64) {
        self.take(now, ALL, 0, 0, taken);
        self.dispatch(now, ALL, 0);
        self.drop_batch(0);
    }

    /// Sweeps that dispatch all that is queued, in parts, so that the digest tells whether the order survived.
    /// `due` has the expiry of each timer that is queued, in any order.
    pub fn drain(&mut self, mut due: Vec<Tick>) {
        due.sort_unstable();
        let part = due.len().div_ceil(DRAIN_PARTS);
        let mut done = 0;
        while done < due.len() {
            let now = due[(done + part).min(due.len()) - 1];
            let taken = due[done..].partition_point(|expiry| *expiry <= now);
            self.sweep(now, taken as u64);
            done += taken;
        }
    }

    /// `cancel`, which finds its timer or not.
    pub fn cancel(&mut self, id: u32, found: bool) {
        self.push(Kind::Cancel, 0, 0, id, 0);
        self.stream.header.handles = true;
        self.queued -= u64::from(found);
    }

    /// `reschedule`, or an enqueue when it does not find its timer.
    pub fn rearm(&mut self, id: u32, expiry: Tick, found: bool) {
        self.push(Kind::Rearm, expiry, self.clock, id, 0);
        self.stream.header.handles = true;
        self.arrived(u64::from(!found));
    }

    /// `get`.
    pub fn get(&mut self, id: u32) {
        self.push(Kind::Get, 0, 0, id, 0);
        self.stream.header.handles = true;
    }

    /// `next_expiry`.
    pub fn next_expiry(&mut self) {
        self.push(Kind::NextExpiry, 0, 0, 0, 0);
    }

    /// A point of the memory time line.
    pub fn sample(&mut self, point: Point) {
        self.push(Kind::Sample, 0, 0, point as u32, 0);
    }

    /// Nothing, for a while of real time.
    pub fn idle(&mut self, milliseconds: u64) {
        self.push(Kind::Idle, milliseconds, 0, 0, 0);
    }

    /// The allocator is asked for its free pages.
    pub fn purge(&mut self) {
        self.push(Kind::Purge, 0, 0, 0, 0);
    }

    /// `shrink`.
    pub fn shrink(&mut self) {
        self.push(Kind::Shrink, 0, 0, 0, 0);
    }

    /// The queue is dropped.
    pub fn drop_queue(&mut self) {
        self.push(Kind::DropQueue, 0, 0, 0, 0);
        self.queued = 0;
    }

    /// Memory is given back, by the allocator, by the structure and, in a phase `free`, with the queue itself,
    /// and looked at each time.
    pub fn give_back(&mut self) {
        self.purge();
        self.sample(Point::Purged);
        self.shrink();
        self.sample(Point::Shrunk);
        self.phase("free");
        self.drop_queue();
        self.sample(Point::Dropped);
    }

    fn arrived(&mut self, timers: u64) {
        self.queued += timers;
        self.stream.header.population = self.stream.header.population.max(self.queued);
    }

    fn push(&mut self, kind: Kind, at: u64, arg: u64, id: u32, batch: u8) {
        self.stream.ops.push(Op { at, arg, id, kind: kind as u8, batch, reserved: 0 });
    }
}

/// Lays a stream down and does each operation at once on a reference queue, for a model whose next
/// operation depends on what the last one gave.
#[derive(Debug)]
pub struct Recorder<'a> {
    /// What has been laid down. Operations that give nothing may be added directly.
    pub builder: &'a mut Builder,
    queue: Reference<u32>,
    handles: Vec<Option<PlaceHandle>>,
    batches: Vec<Option<ReferenceBatch<u32>>>,
}

impl<'a> Recorder<'a> {
    /// With an empty queue.
    pub fn new(builder: &'a mut Builder) -> Self {
        let queue = Reference::with(&Params::default()).expect("the reference needs no parameters");
        Self { builder, queue, handles: Vec::new(), batches: Vec::new() }
    }

    /// A new timer.
    pub fn enqueue(&mut self, expiry: Tick) -> u32 {
        let id = self.name();
        self.enqueue_again(id, expiry);
        id
    }

    /// See [`Builder::name`].
    pub fn name(&mut self) -> u32 {
        self.handles.push(None);
        self.builder.name()
    }

    /// See [`Builder::enqueue_again`].
    pub fn enqueue_again(&mut self, id: u32, expiry: Tick) {
        self.builder.enqueue_again(id, expiry);
        self.handles[id as usize] = Some(self.queue.enqueue(expiry, id));
    }

    /// Whether a timer is queued.
    pub fn is_queued(&self, id: u32) -> bool {
        self.handles[id as usize].is_some_and(|handle| self.queue.get(handle).is_some())
    }

    /// `take`; gives the number taken.
    pub fn take(&mut self, now: Tick, limit: u64, batch: u8) -> u64 {
        let taken = self.queue.take(now, usize::try_from(limit).unwrap_or(usize::MAX));
        let count = taken.len() as u64;
        self.builder.take(now, limit, 0, batch, count);
        let slot = usize::from(batch);
        self.batches.resize_with(self.batches.len().max(slot + 1), || None);
        self.batches[slot] = Some(taken);
        count
    }

    /// `process`; each timer that is dispatched is shown to `seen`, and their number is given.
    pub fn dispatch(&mut self, now: Tick, window: u64, batch: u8, mut seen: impl FnMut(u32)) -> u64 {
        self.builder.dispatch(now, window, batch);
        let Some(out) = self.batches[usize::from(batch)].as_mut() else { return 0 };
        let room = self.builder.room(window, out.len() as u64);
        let mut clock = 0..;
        let handled = process(
            out,
            || clock.next().unwrap_or(ALL),
            room,
            |_, id| {
                seen(*id);
                Ok::<_, ()>(Flow::Continue)
            },
        );
        handled.done as u64
    }

    /// `requeue`.
    pub fn requeue(&mut self, batch: u8) -> Option<Requeued> {
        let out = self.batches[usize::from(batch)].take()?;
        self.builder.requeue(batch, out.len() as u64);
        Some(self.queue.requeue(out))
    }

    /// As [`Builder::sweep`]; each timer is shown to `seen`.
    pub fn sweep(&mut self, now: Tick, seen: impl FnMut(u32)) {
        self.take(now, ALL, 0);
        self.dispatch(now, ALL, 0, seen);
        self.batches[0] = None;
        self.builder.drop_batch(0);
    }

    /// `cancel`; whether it found its timer.
    pub fn cancel(&mut self, id: u32) -> bool {
        let found = self.handles[id as usize].is_some_and(|handle| self.queue.cancel(handle).is_some());
        self.builder.cancel(id, found);
        found
    }

    /// `reschedule`, or an enqueue.
    pub fn rearm(&mut self, id: u32, expiry: Tick) {
        let moved = self.handles[id as usize].and_then(|handle| self.queue.reschedule(handle, expiry));
        self.builder.rearm(id, expiry, moved.is_some());
        self.handles[id as usize] = Some(moved.unwrap_or_else(|| self.queue.enqueue(expiry, id)));
    }

    /// The expiry of the timer that `rank` others come before.
    pub fn expiry(&self, rank: usize) -> Option<Tick> {
        self.queue.iter().nth(rank).map(|(expiry, _)| expiry)
    }

    /// All timers queued, in order.
    pub fn queued(&self) -> Vec<u32> {
        self.queue.iter().map(|(_, id)| *id).collect()
    }
}
