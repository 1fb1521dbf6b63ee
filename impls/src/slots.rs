//! Slots by number: handles into a table, kept good while timers are out in batches and after a shrink.
//!
//! ```text
//! queued  --take-->  out, slot reserved  --requeue-->  queued, same slot
//!                         |
//!                         '--advance, drop-->  returned, collected when the queue next needs a slot
//! ```
//!
//! A batch does not touch its queue, so it gives the slots of timers that are gone for good to a list that
//! both share: one lock per batch, and one when the queue has run out of free slots. The identity of a timer
//! is its arrival, so a slot that is used again does not answer to an old handle.
//!
//! Shrinking moves timers down into free slots. Their handles still name the old slot, so a table from
//! arrival to new slot stands beside, sorted, empty until then. Slots of timers that are out do not move.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::queue::{Arrivals, Batch, Place, QueueId, Tick};

/// The number of a slot, or of none.
pub(crate) type Slot = u32;

/// No slot.
pub(crate) const NO_SLOT: Slot = Slot::MAX;

/// The handle of a structure with slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SlotHandle {
    queue: QueueId,
    arrival: u64,
    slot: Slot,
}

/// Slots that batches have given back.
#[derive(Debug, Default)]
struct Returned {
    /// Whether `slots` holds something, so that most calls take no lock.
    any: AtomicBool,
    slots: Mutex<Vec<Slot>>,
}

/// Says which slots are free. The tables themselves belong to the structure.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    /// Slots below this number have been given out at some time: the length of the structure's tables.
    issued: Slot,
    free: Vec<Slot>,
    returned: Arc<Returned>,
    /// Timers that a shrink has moved, by arrival.
    moved: Vec<(u64, Slot)>,
}

impl Slots {
    /// A free slot, or else the next new one, for which the caller has to lengthen its tables.
    pub(crate) fn acquire(&mut self) -> Slot {
        if self.free.is_empty() && self.returned.any.load(Ordering::Acquire) {
            self.collect();
        }
        self.free.pop().unwrap_or_else(|| {
            assert!(self.issued < NO_SLOT, "a queue holds at most {NO_SLOT} timers");
            self.issued += 1;
            self.issued - 1
        })
    }

    /// Frees a slot.
    pub(crate) fn release(&mut self, slot: Slot) {
        self.free.push(slot);
    }

    /// The handle of the timer that has just arrived in `slot`.
    pub(crate) fn handle(&self, arrivals: &Arrivals, place: Place, slot: Slot) -> SlotHandle {
        SlotHandle { queue: arrivals.queue(), arrival: place.arrival, slot }
    }

    /// The slot of the timer that `handle` names. `arrival_in` tells the arrival of the timer that is queued
    /// in a slot, if one is.
    pub(crate) fn find(
        &self,
        arrivals: &Arrivals,
        handle: SlotHandle,
        arrival_in: impl Fn(Slot) -> Option<u64>,
    ) -> Option<Slot> {
        let holds = |slot: &Slot| arrival_in(*slot) == Some(handle.arrival);
        if handle.queue != arrivals.queue() {
            return None;
        }
        Some(handle.slot).filter(holds).or_else(|| {
            let at = self.moved.binary_search_by_key(&handle.arrival, |entry| entry.0).ok()?;
            Some(self.moved[at].1).filter(holds)
        })
    }

    /// A batch for the slots of `timers`, in order.
    pub(crate) fn lend<T>(&self, queue: QueueId, timers: Vec<Taken<T>>) -> SlotBatch<T> {
        let returned = (!timers.is_empty()).then(|| Arc::clone(&self.returned));
        SlotBatch { queue, timers, at: 0, returned }
    }

    /// Takes a batch back: the slots of what has left it are free, and the rest is handed over in order.
    pub(crate) fn take_back<T>(
        &mut self,
        mut batch: SlotBatch<T>,
    ) -> impl Iterator<Item = Taken<T>> + use<T> {
        batch.returned = None;
        let (at, timers) = (batch.at, std::mem::take(&mut batch.timers));
        self.free.extend(timers[..at].iter().map(|gone| gone.slot));
        timers.into_iter().skip(at)
    }

    /// Heap bytes of the lists kept here.
    pub(crate) fn bytes(&self) -> usize {
        let returned = self.returned.slots.lock().unwrap_or_else(PoisonError::into_inner).capacity();
        let counted = size_of::<Returned>() + 2 * size_of::<usize>();
        counted
            + (self.free.capacity() + returned) * size_of::<Slot>()
            + self.moved.capacity() * size_of::<(u64, Slot)>()
    }

    /// The length that the structure's tables have to have.
    pub(crate) fn issued(&self) -> usize {
        self.issued as usize
    }

    /// Plans to move timers from the highest slots into the lowest free ones, and gives the moves as
    /// (from, to). Afterwards `issued` is lower; the caller carries the moves out, cuts its tables, and calls
    /// [`forget_gone`](Self::forget_gone).
    pub(crate) fn compact(&mut self, arrival_in: impl Fn(Slot) -> Option<u64>) -> Vec<(Slot, Slot)> {
        self.collect();
        self.returned.slots.lock().unwrap_or_else(PoisonError::into_inner).shrink_to_fit();
        self.free.sort_unstable_by(|a, b| b.cmp(a));
        let (mut moves, mut highest_free) = (Vec::new(), 0);
        while self.issued > 0 {
            let top = self.issued - 1;
            if self.free.get(highest_free) == Some(&top) {
                highest_free += 1;
            } else if let (Some(arrival), true) = (arrival_in(top), self.free.len() > highest_free)
                && let Some(low) = self.free.pop()
            {
                moves.push((top, low));
                self.moved.push((arrival, low));
            } else {
                break;
            }
            self.issued = top;
        }
        self.free.drain(..highest_free);
        self.free.shrink_to_fit();
        moves
    }

    /// Drops the entries of moved timers that have left for good. Those that are out may come back.
    pub(crate) fn forget_gone(&mut self, arrival_in: impl Fn(Slot) -> Option<u64>) {
        // The newest entry of an arrival is the one that holds.
        self.moved.reverse();
        self.moved.sort_by_key(|entry| entry.0);
        self.moved.dedup_by_key(|entry| entry.0);
        let (free, issued) = (&self.free, self.issued);
        // `compact` has left the free slots in falling order.
        let is_out = |slot: Slot| free.binary_search_by(|other| slot.cmp(other)).is_err();
        self.moved.retain(|&(arrival, slot)| {
            slot < issued && arrival_in(slot).map_or_else(|| is_out(slot), |queued| queued == arrival)
        });
        self.moved.shrink_to_fit();
    }

    /// Takes over what batches have given back.
    fn collect(&mut self) {
        let mut slots = self.returned.slots.lock().unwrap_or_else(PoisonError::into_inner);
        self.returned.any.store(false, Ordering::Relaxed);
        if self.free.is_empty() {
            std::mem::swap(&mut self.free, &mut slots);
        } else {
            self.free.append(&mut slots);
        }
    }

    /// Asserts that no slot is free twice, and none that `queued` says holds a timer.
    #[cfg(feature = "testing")]
    pub(crate) fn check(&self, queued: impl Fn(Slot) -> bool) {
        let returned = self.returned.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let mut free: Vec<_> = self.free.iter().chain(returned.iter()).copied().collect();
        free.sort_unstable();
        for pair in free.windows(2) {
            assert!(pair[0] < pair[1], "slot {} is free twice", pair[0]);
        }
        for slot in free {
            assert!(slot < self.issued, "slot {slot} is free, {} were given out", self.issued);
            assert!(!queued(slot), "slot {slot} is free and holds a timer");
        }
    }
}

/// A timer that is out in a batch, or has left it, and its slot.
#[derive(Debug)]
pub(crate) struct Taken<T> {
    pub(crate) place: Place,
    pub(crate) slot: Slot,
    /// `None` once it has left the batch.
    pub(crate) item: Option<T>,
}

/// The batch of a structure with slots: its timers, and the way back for their slots.
#[derive(Debug)]
pub struct SlotBatch<T> {
    queue: QueueId,
    timers: Vec<Taken<T>>,
    at: usize,
    returned: Option<Arc<Returned>>,
}

impl<T> SlotBatch<T> {
    /// Whose batch it is.
    pub(crate) fn queue(&self) -> QueueId {
        self.queue
    }

    /// The place of the last timer that is left.
    pub(crate) fn last(&self) -> Option<Place> {
        self.timers[self.at..].last().map(|timer| timer.place)
    }
}

impl<T> Batch<T> for SlotBatch<T> {
    fn front(&mut self) -> Option<(Tick, &mut T)> {
        let timer = self.timers.get_mut(self.at)?;
        Some((timer.place.expiry, timer.item.as_mut()?))
    }

    fn advance(&mut self) -> Option<(Tick, T)> {
        let timer = self.timers.get_mut(self.at)?;
        self.at += 1;
        Some((timer.place.expiry, timer.item.take()?))
    }

    fn len(&self) -> usize {
        self.timers.len() - self.at
    }

    fn latest(&self) -> Option<Tick> {
        self.last().map(|place| place.expiry)
    }
}

impl<T> Drop for SlotBatch<T> {
    fn drop(&mut self) {
        let Some(returned) = self.returned.take() else { return };
        let mut slots = returned.slots.lock().unwrap_or_else(PoisonError::into_inner);
        slots.extend(self.timers.iter().map(|timer| timer.slot));
        returned.any.store(true, Ordering::Release);
    }
}
