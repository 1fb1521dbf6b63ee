//! Stable heap (Varghese and Lauck's Scheme 3): a d-ary heap by (expiry, arrival), with a table of positions.
//!
//! ```text
//! heap      [3 a] [7 c] [3 b] [9 d] ...        by (expiry, arrival): ties leave as they came
//! position  slot of a -> 0, of c -> 1, of b -> 2, ...         so that a handle finds its entry
//! items     by slot, not moved by the heap
//! ```
//!
//! A sift moves 24 bytes and writes one position of 4; items stay where they are. When a take or a put-back
//! concerns a good part of the heap, single walks cost more than one pass: due entries are then sifted out
//! of the array, sorted, and what stays is made a heap again from the bottom (Floyd's construction, 1964).
//!
//! # Costs
//!
//! `n` timers queued, `k` due, `r` left in the batch.
//!
//! | operation     | time                               | allocates     | because                         |
//! |---------------|------------------------------------|---------------|---------------------------------|
//! | `enqueue`     | O(log n); O(1) when it is late     | when it grows | one walk up                     |
//! | `take`        | O(k log n), at most O(n + k log k) | the batch     | `k` walks down, or one pass     |
//! | `requeue`     | O(r log n), at most O(n + r)       | when it grows | `r` walks up, or one pass       |
//! | `get`         | O(1)                               | nothing       | the table of positions          |
//! | `cancel`      | O(log n)                           | nothing       | the last entry fills the gap    |
//! | `reschedule`  | O(log n)                           | nothing       | one walk, up or down            |
//! | `next_expiry` | O(1)                               | nothing       | the root                        |
//!
//! # Invariants
//!
//! 1. No entry comes before its parent.
//! 2. The position of an entry's slot is where the entry stands, and its item is there.
//! 3. All other slots have no position and no item.
//! 4. No slot is free twice, and none that is in use is free.
//!
//! # Wins and losses
//!
//! Wins: expiries in no order. Loses: large populations, where each level of a walk is a cache miss.

use std::marker::PhantomData;

use crate::probe::{NoProbe, Probe};
use crate::queue::{Arrivals, Batch, ParamError, Params, Place, Requeued, Tick, TimerQueue};
use crate::slots::{NO_SLOT, Slot, SlotBatch, SlotHandle, Slots, Taken};

/// A pass over all entries costs less than single walks for more than one entry in this many.
const PASS_FROM: usize = 8;

#[derive(Clone, Copy, Debug)]
struct Entry {
    place: Place,
    slot: Slot,
}

impl Entry {
    /// The place as one number, so that a comparison has no branch in it.
    fn key(self) -> u128 {
        (u128::from(self.place.expiry) << 64) | u128::from(self.place.arrival)
    }
}

/// See the module.
#[derive(Debug)]
pub struct StableHeap<T, P = NoProbe> {
    arrivals: Arrivals,
    arity: usize,
    heap: Vec<Entry>,
    /// By slot: where its entry stands in `heap`, or `NO_SLOT`.
    position: Vec<Slot>,
    /// By slot.
    items: Vec<Option<T>>,
    slots: Slots,
    probe: PhantomData<P>,
}

impl<T, P: Probe> TimerQueue<T> for StableHeap<T, P> {
    type Batch = SlotBatch<T>;
    type Handle = SlotHandle;

    fn with(params: &Params) -> Result<Self, ParamError> {
        params.only(&["arity"])?;
        let arity = params.number("arity", 4, 2..=64)? as usize;
        Ok(Self {
            arrivals: Arrivals::default(),
            arity,
            heap: Vec::new(),
            position: Vec::new(),
            items: Vec::new(),
            slots: Slots::default(),
            probe: PhantomData,
        })
    }

    fn enqueue(&mut self, expiry: Tick, item: T) -> SlotHandle {
        let place = self.arrivals.place(expiry);
        let slot = self.slots.acquire();
        if slot as usize == self.items.len() {
            self.items.push(Some(item));
            self.position.push(NO_SLOT);
        } else {
            self.items[slot as usize] = Some(item);
        }
        self.heap.push(Entry { place, slot });
        self.sift_up(self.heap.len() - 1);
        self.slots.handle(&self.arrivals, place, slot)
    }

    fn take(&mut self, now: Tick, limit: usize) -> SlotBatch<T> {
        let singly = limit.min(PASS_FROM.max(self.heap.len() / PASS_FROM));
        let mut timers = Vec::new();
        while timers.len() < singly && self.is_due(now) {
            let first = self.remove(0);
            timers.push(self.take_out(first));
        }
        if timers.len() < limit && self.is_due(now) {
            self.take_by_a_pass(now, limit, &mut timers);
        }
        self.slots.lend(self.arrivals.queue(), timers)
    }

    fn requeue(&mut self, batch: SlotBatch<T>) -> Requeued {
        self.arrivals.queue().owns(batch.queue());
        let (left, last) = (batch.len(), batch.last());
        let head = self.heap.first().map(|first| first.place);
        let rest = self.slots.take_back(batch);
        let before = self.heap.len();
        for timer in rest {
            self.items[timer.slot as usize] = timer.item;
            self.heap.push(Entry { place: timer.place, slot: timer.slot });
        }
        if left > self.heap.len() / PASS_FROM {
            self.rebuild();
        } else {
            (before..self.heap.len()).for_each(|at| self.sift_up(at));
        }
        match (last, head) {
            (None, _) => Requeued::Nothing,
            (Some(_), None) => Requeued::IntoEmpty,
            (Some(last), Some(head)) if last < head => Requeued::InFront,
            (Some(_), Some(_)) => Requeued::Merged(left),
        }
    }

    fn get(&self, handle: SlotHandle) -> Option<(Tick, &T)> {
        let slot = self.find(handle)?;
        let at = self.position[slot as usize] as usize;
        Some((self.heap[at].place.expiry, self.items[slot as usize].as_ref()?))
    }

    fn cancel(&mut self, handle: SlotHandle) -> Option<T> {
        let slot = self.find(handle)?;
        let entry = self.remove(self.position[slot as usize] as usize);
        self.slots.release(slot);
        self.take_out(entry).item
    }

    fn reschedule(&mut self, handle: SlotHandle, expiry: Tick) -> Option<SlotHandle> {
        let slot = self.find(handle)?;
        let at = self.position[slot as usize] as usize;
        let place = self.arrivals.place(expiry);
        let sooner = place < self.heap[at].place;
        self.heap[at].place = place;
        if sooner {
            self.sift_up(at)
        } else {
            self.sift_down(at)
        }
        Some(self.slots.handle(&self.arrivals, place, slot))
    }

    fn next_expiry(&mut self) -> Option<Tick> {
        self.heap.first().map(|first| first.place.expiry)
    }

    fn len(&self) -> usize {
        self.heap.len()
    }

    fn iter<'a>(&'a self) -> impl Iterator<Item = (Tick, &'a T)>
    where
        T: 'a,
    {
        let mut sorted = self.heap.clone();
        sorted.sort_unstable_by_key(|entry| entry.key());
        sorted.into_iter().filter_map(|entry| {
            let item = self.items[entry.slot as usize].as_ref()?;
            Some((entry.place.expiry, item))
        })
    }

    fn container_bytes(&self) -> usize {
        self.heap.capacity() * size_of::<Entry>()
            + self.position.capacity() * size_of::<Slot>()
            + self.items.capacity() * size_of::<Option<T>>()
            + self.slots.bytes()
    }

    fn shrink(&mut self) {
        for (from, to) in self.slots.compact(|slot| arrival_in(&self.heap, &self.position, slot)) {
            let at = self.position[from as usize];
            self.heap[at as usize].slot = to;
            self.position[to as usize] = at;
            self.items[to as usize] = self.items[from as usize].take();
        }
        self.items.truncate(self.slots.issued());
        self.position.truncate(self.slots.issued());
        self.slots.forget_gone(|slot| arrival_in(&self.heap, &self.position, slot));
        self.items.shrink_to_fit();
        self.position.shrink_to_fit();
        self.heap.shrink_to_fit();
    }

    #[cfg(feature = "testing")]
    fn check(&self) {
        for (at, entry) in self.heap.iter().enumerate() {
            let parent = self.heap[at.saturating_sub(1) / self.arity];
            assert!(parent.place <= entry.place, "1: parent {:?} of {:?}", parent.place, entry.place);
            assert_eq!(self.position[entry.slot as usize] as usize, at, "2: position of slot {}", entry.slot);
            assert!(self.items[entry.slot as usize].is_some(), "2: slot {} has no item", entry.slot);
        }
        let with_position = self.position.iter().filter(|&&at| at != NO_SLOT).count();
        let with_item = self.items.iter().flatten().count();
        assert_eq!(with_position, self.heap.len(), "3: slots with a position, and entries");
        assert_eq!(with_item, self.heap.len(), "3: slots with an item, and entries");
        assert_eq!(self.items.len(), self.slots.issued(), "4: slots, and slots given out");
        self.slots.check(|slot| self.items[slot as usize].is_some());
    }
}

/// The arrival of the timer that is queued in `slot`, if one is.
fn arrival_in(heap: &[Entry], position: &[Slot], slot: Slot) -> Option<u64> {
    let at = *position.get(slot as usize)?;
    Some(heap.get(at as usize)?.place.arrival)
}

impl<T, P: Probe> StableHeap<T, P> {
    fn is_due(&self, now: Tick) -> bool {
        self.heap.first().is_some_and(|first| first.place.expiry <= now)
    }

    fn find(&self, handle: SlotHandle) -> Option<Slot> {
        self.slots.find(&self.arrivals, handle, |slot| arrival_in(&self.heap, &self.position, slot))
    }

    /// Takes the item of an entry that has left the heap. Its slot stays reserved.
    fn take_out(&mut self, entry: Entry) -> Taken<T> {
        self.position[entry.slot as usize] = NO_SLOT;
        Taken { place: entry.place, slot: entry.slot, item: self.items[entry.slot as usize].take() }
    }

    /// Takes the entry at `at` out; the last one fills the gap and goes up or down from there.
    fn remove(&mut self, at: usize) -> Entry {
        let removed = self.heap.swap_remove(at);
        if at < self.heap.len() {
            if at > 0 && self.heap[at].key() < removed.key() {
                self.sift_up(at);
            } else {
                self.sift_down(at);
            }
        }
        removed
    }

    /// Takes what is due, up to `limit` in `timers`, by one pass over all entries and a sort.
    fn take_by_a_pass(&mut self, now: Tick, limit: usize, timers: &mut Vec<Taken<T>>) {
        P::visited(self.heap.len());
        let mut due: Vec<_> = self.heap.extract_if(.., |entry| entry.place.expiry <= now).collect();
        let room = limit - timers.len();
        if room < due.len() {
            due.select_nth_unstable_by_key(room, |entry| entry.key());
            self.heap.extend(due.drain(room..));
        }
        due.sort_unstable_by_key(|entry| entry.key());
        timers.reserve(due.len());
        for entry in due {
            timers.push(self.take_out(entry));
        }
        self.rebuild();
    }

    /// Makes a heap of entries in any order, from the bottom. O(n).
    fn rebuild(&mut self) {
        P::moved(self.heap.len());
        for (at, entry) in self.heap.iter().enumerate() {
            self.position[entry.slot as usize] = at as Slot;
        }
        if self.heap.len() > 1 {
            let last_parent = (self.heap.len() - 2) / self.arity;
            (0..=last_parent).rev().for_each(|at| self.sift_down(at));
        }
    }

    fn sift_up(&mut self, at: usize) {
        match self.arity {
            2 => self.sift_up_by::<2>(at),
            4 => self.sift_up_by::<4>(at),
            8 => self.sift_up_by::<8>(at),
            _ => self.sift_up_by::<0>(at),
        }
    }

    fn sift_down(&mut self, at: usize) {
        match self.arity {
            2 => self.sift_down_by::<2>(at),
            4 => self.sift_down_by::<4>(at),
            8 => self.sift_down_by::<8>(at),
            _ => self.sift_down_by::<0>(at),
        }
    }

    /// The arity as a constant where there is one, so that the loops over children are unrolled.
    fn arity<const D: usize>(&self) -> usize {
        if D == 0 { self.arity } else { D }
    }

    fn put(&mut self, at: usize, entry: Entry) {
        self.heap[at] = entry;
        self.position[entry.slot as usize] = at as Slot;
    }

    fn sift_up_by<const D: usize>(&mut self, mut at: usize) {
        let entry = self.heap[at];
        while at > 0 {
            let parent = (at - 1) / self.arity::<D>();
            P::compared(1);
            if self.heap[parent].key() <= entry.key() {
                break;
            }
            P::moved(1);
            self.put(at, self.heap[parent]);
            at = parent;
        }
        self.put(at, entry);
    }

    fn sift_down_by<const D: usize>(&mut self, mut at: usize) {
        let entry = self.heap[at];
        while let Some(child) = self.first_child::<D>(at) {
            P::compared(1);
            if entry.key() <= self.heap[child].key() {
                break;
            }
            P::moved(1);
            self.put(at, self.heap[child]);
            at = child;
        }
        self.put(at, entry);
    }

    /// The child of `at` that comes first.
    fn first_child<const D: usize>(&self, at: usize) -> Option<usize> {
        let from = at * self.arity::<D>() + 1;
        let children = self.heap.get(from..(from + self.arity::<D>()).min(self.heap.len()))?;
        P::compared(children.len().saturating_sub(1));
        let mut best = children.first()?.key();
        let mut first = 0;
        for (nth, child) in children.iter().enumerate().skip(1) {
            let key = child.key();
            let sooner = key < best;
            best = if sooner { key } else { best };
            first = if sooner { nth } else { first };
        }
        Some(from + first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(arity: &str, expiries: impl IntoIterator<Item = Tick>) -> StableHeap<Tick> {
        let mut params = Params::default();
        params.set("arity", arity);
        let mut queue = StableHeap::with(&params).unwrap();
        for expiry in expiries {
            queue.enqueue(expiry, expiry);
        }
        queue
    }

    fn drain(queue: &mut StableHeap<Tick>) -> Vec<Tick> {
        let mut batch = queue.take(Tick::MAX, usize::MAX);
        std::iter::from_fn(|| batch.advance()).map(|(expiry, _)| expiry).collect()
    }

    #[test]
    fn slots_are_used_again() {
        let mut queue = queue("4", 0..10);
        for round in 0..100_000 {
            let newest = queue.enqueue(round, round);
            queue.cancel(newest);
        }
        assert_eq!(queue.slots.issued(), 11);
    }

    #[test]
    fn a_pass_and_single_walks_take_the_same() {
        let scrambled = |n: u64| (0..n).map(move |i| i * 7_919 % n);
        for arity in ["2", "3", "4", "8"] {
            for limit in [1, 7, 8, 9, 100, 500] {
                let mut queue = queue(arity, scrambled(1_000));
                let batch = queue.take(600, limit);
                assert_eq!(batch.len(), limit);
                assert!(drain(&mut queue).into_iter().eq(limit as u64..1_000));
            }
        }
    }

    #[test]
    fn shrinking_keeps_handles_of_moved_timers_good() {
        let mut queue = queue("4", 0..1_000);
        let late: Vec<_> = (1_000..1_010).map(|expiry| queue.enqueue(expiry, expiry)).collect();
        drop(queue.take(999, usize::MAX));
        let before = queue.container_bytes();
        queue.shrink();
        assert!(queue.container_bytes() < before / 10, "{} of {before} bytes", queue.container_bytes());
        assert_eq!(queue.get(late[9]), Some((1_009, &1_009)));
        assert_eq!(queue.cancel(late[0]), Some(1_000));
        assert_eq!(queue.cancel(late[0]), None);
    }
}
