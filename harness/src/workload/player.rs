//! Does the operations of a stream on the reference, one at a time, and says what each gave.
//!
//! A driver does a stream as fast as it can and keeps sums; this is for whoever asks about single operations.

use std::cell::Cell;

use impls::queue::{
    Batch, Ended, Flow, ParamError, Params, PlaceHandle, Requeued, Tick, TimerQueue, process,
};
use impls::reference::{Reference, ReferenceBatch};

use crate::stream::{Header, Kind, Op};

/// What an operation gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// It is a mark, or gives nothing.
    Nothing,
    /// So many timers were taken.
    Taken(u64),
    /// So many timers were dispatched, and whether the window closed with something left.
    Dispatched(u64, bool),
    /// A batch of so many timers was put back, and how.
    Requeued(u64, Requeued),
    /// So many timers were dropped with their batch.
    Dropped(u64),
    /// Whether a cancel or a look-up found its timer; nothing for one that was never queued, which is not asked.
    Found(Option<bool>),
    /// Whether a re-arm found its timer; otherwise it was enqueued.
    Rearmed(bool),
    /// The next expiry.
    Next(Option<Tick>),
    /// So many timers were dropped with the queue.
    Freed(u64),
}

/// The reference with what lies beside it.
#[derive(Debug)]
pub(super) struct Player {
    queue: Reference<u32>,
    dropped: bool,
    handles: Vec<Option<PlaceHandle>>,
    batches: Vec<Option<ReferenceBatch<u32>>>,
    handler_ticks: Tick,
}

impl Player {
    /// For a stream with this header, and a queue that rounds to `tick`.
    pub(super) fn new(header: &Header, tick: u64) -> Result<Self, ParamError> {
        let mut params = Params::default();
        params.set("tick", &tick.to_string());
        Ok(Self {
            queue: Reference::with(&params)?,
            dropped: false,
            handles: vec![None; header.timers as usize],
            batches: (0..=u8::MAX).map(|_| None).collect(),
            handler_ticks: header.handler_ticks,
        })
    }

    /// Timers queued, 0 after the queue was dropped.
    pub(super) fn queued(&self) -> u64 {
        if self.dropped { 0 } else { self.queue.len() as u64 }
    }

    /// Does one operation of a stream that was checked; each timer that is dispatched is shown to `fired`.
    pub(super) fn play(&mut self, op: &Op, fired: impl FnMut(u32)) -> Answer {
        let id = op.id as usize;
        match Kind::from_number(op.kind) {
            Some(Kind::Enqueue) => {
                self.handles[id] = Some(self.queue.enqueue(op.at, op.id));
                Answer::Nothing
            }
            Some(Kind::Take) => self.take(op),
            Some(Kind::Dispatch) => self.dispatch(op, fired),
            Some(Kind::Requeue) => {
                self.batches[usize::from(op.batch)].take().map_or(Answer::Nothing, |batch| {
                    let timers = batch.len() as u64;
                    Answer::Requeued(timers, self.queue.requeue(batch))
                })
            }
            Some(Kind::DropBatch) => {
                let batch = self.batches[usize::from(op.batch)].take();
                Answer::Dropped(batch.map_or(0, |batch| batch.len() as u64))
            }
            Some(Kind::Cancel) => {
                Answer::Found(self.handles[id].map(|handle| self.queue.cancel(handle).is_some()))
            }
            Some(Kind::Get) => Answer::Found(self.handles[id].map(|handle| self.queue.get(handle).is_some())),
            Some(Kind::Rearm) => {
                let moved = self.handles[id].and_then(|handle| self.queue.reschedule(handle, op.at));
                self.handles[id] = Some(moved.unwrap_or_else(|| self.queue.enqueue(op.at, op.id)));
                Answer::Rearmed(moved.is_some())
            }
            Some(Kind::NextExpiry) => Answer::Next(self.queue.next_expiry()),
            Some(Kind::DropQueue) => {
                let left = self.queued();
                self.dropped = true;
                Answer::Freed(left)
            }
            Some(Kind::Phase | Kind::Shrink | Kind::Sample | Kind::Idle | Kind::Purge) | None => {
                Answer::Nothing
            }
        }
    }

    fn take(&mut self, op: &Op) -> Answer {
        let beyond_kept = match op.id {
            0 => usize::MAX,
            kept => self.queue.len().saturating_sub(kept as usize),
        };
        let limit = beyond_kept.min(usize::try_from(op.arg).unwrap_or(usize::MAX));
        let batch = self.queue.take(op.at, limit);
        let taken = batch.len() as u64;
        self.batches[usize::from(op.batch)] = Some(batch);
        Answer::Taken(taken)
    }

    fn dispatch(&mut self, op: &Op, mut fired: impl FnMut(u32)) -> Answer {
        let Some(batch) = &mut self.batches[usize::from(op.batch)] else {
            return Answer::Dispatched(0, false);
        };
        // Without a window there is no moment at which it closes.
        let clock = Cell::new(if op.arg == u64::MAX { 0 } else { op.at });
        let processed = process(
            batch,
            || clock.get(),
            op.at.saturating_add(op.arg),
            |_, timer| {
                fired(*timer);
                clock.set(clock.get().saturating_add(self.handler_ticks));
                Ok::<_, ()>(Flow::Continue)
            },
        );
        Answer::Dispatched(processed.done as u64, processed.ended == Ended::WindowClosed)
    }
}
