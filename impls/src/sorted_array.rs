//! Sorted array, cut at the front without moving what stays (Varghese and Lauck's Scheme 2, contiguous).
//!
//! ```text
//! room | 3 a | 3 b | 7 c | 9 d | room        take(3) copies 3 a and 3 b out; 7 c and 9 d do not move
//! ```
//!
//! The room is that of a ring (`VecDeque`), so what is put back finds room in front. Batches are copied out
//! and back in whole blocks: the ring is turned so that the batch lies at its rear, where it is split off,
//! which copies `k` timers twice and no other.
//!
//! # Costs
//!
//! `n` timers queued, `k` due, `r` left in the batch, `p` queued before the last of them.
//!
//! | operation     | time                         | allocates        | because                             |
//! |---------------|------------------------------|------------------|-------------------------------------|
//! | `enqueue`     | O(1) at the rear, else O(n)  | when it grows    | binary search, then one block move  |
//! | `take`        | O(log n + k)                 | the batch        | binary search, then the copy        |
//! | `requeue`     | O(r), or O(r + p) to merge   | when it grows    | the copy back                       |
//! | `get`         | O(log n)                     | nothing          | binary search by (expiry, arrival)  |
//! | `cancel`      | O(n)                         | nothing          | binary search, then one block move  |
//! | `reschedule`  | O(n)                         | nothing          | a cancel and an enqueue             |
//! | `next_expiry` | O(1)                         | nothing          | the first timer                     |
//!
//! A block move in the middle moves the shorter side. The capacity it grew to is kept until `shrink`.
//!
//! # Invariants
//!
//! 1. Places rise from front to rear.
//! 2. No place is from an arrival that has not been given out.
//!
//! # Wins and losses
//!
//! Wins: expiries that arrive in order, large batches. Loses: out-of-order expiries among many timers with
//! large items (the block move), and memory after a burst.

use std::collections::VecDeque;
use std::marker::PhantomData;

use crate::probe::{NoProbe, Probe};
use crate::queue::{
    Arrivals, Batch, ParamError, Params, Place, PlaceHandle, QueueId, Requeued, Tick, TimerQueue,
};

#[derive(Debug)]
struct Timer<T> {
    place: Place,
    item: T,
}

/// See the module.
#[derive(Debug)]
pub struct SortedArray<T, P = NoProbe> {
    arrivals: Arrivals,
    timers: VecDeque<Timer<T>>,
    probe: PhantomData<P>,
}

impl<T, P: Probe> TimerQueue<T> for SortedArray<T, P> {
    type Batch = ArrayBatch<T>;
    type Handle = PlaceHandle;

    fn with(params: &Params) -> Result<Self, ParamError> {
        params.only(&[])?;
        Ok(Self { arrivals: Arrivals::default(), timers: VecDeque::new(), probe: PhantomData })
    }

    fn enqueue(&mut self, expiry: Tick, item: T) -> PlaceHandle {
        let place = self.arrivals.place(expiry);
        let timer = Timer { place, item };
        P::compared(1);
        if self.timers.back().is_none_or(|last| last.place.expiry <= expiry) {
            self.timers.push_back(timer);
        } else {
            let at = self.before(|other| other < place);
            P::moved(at.min(self.timers.len() - at));
            self.timers.insert(at, timer);
        }
        self.arrivals.handle(place)
    }

    fn take(&mut self, now: Tick, limit: usize) -> ArrayBatch<T> {
        let due = match self.timers.front() {
            Some(first) if first.place.expiry <= now => self.before(|place| place.expiry <= now),
            _ => 0,
        };
        ArrayBatch { queue: self.arrivals.queue(), timers: self.cut(due.min(limit)) }
    }

    fn requeue(&mut self, batch: ArrayBatch<T>) -> Requeued {
        self.arrivals.queue().owns(batch.queue);
        let mut rest = batch.timers;
        let left = rest.len();
        let Some(last) = rest.back().map(|timer| timer.place) else { return Requeued::Nothing };
        match self.timers.front().map(|timer| timer.place) {
            None => {
                self.put_in_front(rest);
                Requeued::IntoEmpty
            }
            Some(head) if last < head => {
                self.put_in_front(rest);
                Requeued::InFront
            }
            Some(_) => {
                let mut between = self.cut(self.before(|place| place < last));
                P::moved(between.len());
                rest.append(&mut between);
                // Two rising runs, which the sort finds and merges: O(r + p).
                rest.make_contiguous().sort_by_key(|timer| timer.place);
                self.put_in_front(rest);
                Requeued::Merged(left)
            }
        }
    }

    fn get(&self, handle: PlaceHandle) -> Option<(Tick, &T)> {
        let timer = &self.timers[self.find(handle)?];
        Some((timer.place.expiry, &timer.item))
    }

    fn cancel(&mut self, handle: PlaceHandle) -> Option<T> {
        let at = self.find(handle)?;
        P::moved(at.min(self.timers.len() - 1 - at));
        self.timers.remove(at).map(|timer| timer.item)
    }

    fn reschedule(&mut self, handle: PlaceHandle, expiry: Tick) -> Option<PlaceHandle> {
        let item = self.cancel(handle)?;
        Some(self.enqueue(expiry, item))
    }

    fn next_expiry(&mut self) -> Option<Tick> {
        self.timers.front().map(|timer| timer.place.expiry)
    }

    fn len(&self) -> usize {
        self.timers.len()
    }

    fn iter<'a>(&'a self) -> impl Iterator<Item = (Tick, &'a T)>
    where
        T: 'a,
    {
        self.timers.iter().map(|timer| (timer.place.expiry, &timer.item))
    }

    fn container_bytes(&self) -> usize {
        self.timers.capacity() * size_of::<Timer<T>>()
    }

    fn shrink(&mut self) {
        self.timers.shrink_to_fit();
    }

    #[cfg(feature = "testing")]
    fn check(&self) {
        for (before, after) in self.timers.iter().zip(self.timers.iter().skip(1)) {
            assert!(before.place < after.place, "1: {:?} stands before {:?}", before.place, after.place);
        }
        for timer in &self.timers {
            let (place, issued) = (timer.place, self.arrivals.issued());
            assert!(place.arrival < issued, "2: {place:?} is queued, {issued} arrivals were given out");
        }
    }
}

impl<T, P: Probe> SortedArray<T, P> {
    /// How many timers stand before the first whose place is not `earlier`.
    fn before(&self, earlier: impl Fn(Place) -> bool) -> usize {
        self.timers.partition_point(|timer| {
            P::compared(1);
            earlier(timer.place)
        })
    }

    fn find(&self, handle: PlaceHandle) -> Option<usize> {
        let place = self.arrivals.own(handle)?;
        let at = self.before(|other| other < place);
        (self.timers.get(at)?.place == place).then_some(at)
    }

    /// Copies the first `count` timers out. What stays does not move, unless it is the smaller part.
    fn cut(&mut self, count: usize) -> VecDeque<Timer<T>> {
        if count == 0 {
            return VecDeque::new();
        }
        P::moved(count);
        self.timers.rotate_left(count);
        self.timers.split_off(self.timers.len() - count)
    }

    /// Copies `timers`, all of which come before the first one queued, to the front.
    fn put_in_front(&mut self, mut timers: VecDeque<Timer<T>>) {
        let count = timers.len();
        P::moved(count);
        self.timers.append(&mut timers);
        self.timers.rotate_right(count);
    }
}

/// The batch of [`SortedArray`]: a copy.
#[derive(Debug)]
pub struct ArrayBatch<T> {
    queue: QueueId,
    timers: VecDeque<Timer<T>>,
}

impl<T> Batch<T> for ArrayBatch<T> {
    fn front(&mut self) -> Option<(Tick, &mut T)> {
        self.timers.front_mut().map(|timer| (timer.place.expiry, &mut timer.item))
    }

    fn advance(&mut self) -> Option<(Tick, T)> {
        self.timers.pop_front().map(|timer| (timer.place.expiry, timer.item))
    }

    fn len(&self) -> usize {
        self.timers.len()
    }

    fn latest(&self) -> Option<Tick> {
        self.timers.back().map(|timer| timer.place.expiry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(expiries: impl IntoIterator<Item = Tick>) -> SortedArray<Tick> {
        let mut queue = SortedArray::with(&Params::default()).unwrap();
        for expiry in expiries {
            queue.enqueue(expiry, expiry);
        }
        queue
    }

    fn expiries(queue: &SortedArray<Tick>) -> Vec<Tick> {
        queue.iter().map(|(expiry, _)| expiry).collect()
    }

    #[test]
    fn room_in_front_is_found_after_growing_with_a_batch_out() {
        let mut queue = queue(0..100);
        let batch = queue.take(49, usize::MAX);
        let capacity = queue.timers.capacity();
        for expiry in 100..100 + 4 * capacity as Tick {
            queue.enqueue(expiry, expiry);
        }
        assert!(queue.timers.capacity() > capacity, "it did not grow with the batch out");
        assert_eq!(queue.requeue(batch), Requeued::InFront);
        assert!(expiries(&queue).into_iter().eq(0..100 + 4 * capacity as Tick));
    }

    #[test]
    fn a_cut_at_the_front_leaves_what_stays_where_it_is() {
        let mut queue = queue(0..1_000);
        let address = std::ptr::from_ref(&queue.timers[900]);
        let batch = queue.take(99, usize::MAX);
        assert_eq!(std::ptr::from_ref(&queue.timers[800]), address);
        queue.requeue(batch);
        assert_eq!(std::ptr::from_ref(&queue.timers[900]), address);
    }

    #[test]
    fn an_expiry_not_earlier_than_the_last_is_appended_without_a_search() {
        use crate::probe::Counting;
        let mut queue = SortedArray::<Tick, Counting>::with(&Params::default()).unwrap();
        Counting::drain();
        for expiry in (0..1_000).map(|i| i / 2) {
            queue.enqueue(expiry, expiry);
        }
        let counts = Counting::drain();
        assert_eq!((counts.compared, counts.moved), (1_000, 0));
    }

    #[test]
    fn filling_and_draining_again_does_not_reallocate() {
        let mut queue = queue(0..64);
        let capacity = queue.timers.capacity();
        for round in 1..1_000 {
            drop(queue.take(Tick::MAX, usize::MAX));
            for i in 0..64 {
                queue.enqueue(round * 64 + i, i);
            }
            assert_eq!(queue.timers.capacity(), capacity);
        }
    }
}
