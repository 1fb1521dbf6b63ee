//! Ordered list, cut and put back in constant time (Varghese and Lauck's Scheme 2, linked).
//!
//! ```text
//! head -> [3 a] -> [3 b] -> [7 c] -> nil        b is the stop mark for now = 3
//! ```
//!
//! The list of `list` with the two additions proposed for its library: `detach_through(stop)` cuts at a mark
//! that the scan for due timers has set, and the batch knows its tail, so that putting back is two links.
//!
//! # Costs
//!
//! `k` timers due, `r` left in the batch, `p` passed on the way to a place.
//!
//! | operation     | time                      | allocates | because                               |
//! |---------------|---------------------------|-----------|---------------------------------------|
//! | `enqueue`     | O(1) at the rear, or O(p) | one node  | the last place is compared first      |
//! | `take`        | O(k)                      | nothing   | each due expiry is read; one cut      |
//! | `requeue`     | O(1), or O(r + p) to merge| nothing   | the batch carries its own tail        |
//! | `get`         | O(p)                      | nothing   | a walk from the head                  |
//! | `cancel`      | O(p)                      | nothing   | a walk to the node before             |
//! | `reschedule`  | O(p)                      | nothing   | two walks; the node is used again     |
//! | `next_expiry` | O(1)                      | nothing   | the first node                        |
//!
//! A node is released as its timer is dispatched; nothing is kept for later.
//!
//! # Invariants
//!
//! 1. Places rise from head to tail.
//! 2. The last node known is the last node, and is `None` exactly when the head is.
//! 3. The length known is the number of nodes.
//!
//! # Wins and losses
//!
//! Wins: large batches that come back nearly whole. Loses: expiries in no order (the walk).

use std::marker::PhantomData;

use crate::link::{Chain, Node};
use crate::probe::{NoProbe, Probe};
use crate::queue::{Arrivals, Batch, ParamError, Params, PlaceHandle, QueueId, Requeued, Tick, TimerQueue};

/// See the module.
#[derive(Debug)]
pub struct KnownTailList<T, P = NoProbe> {
    arrivals: Arrivals,
    timers: Chain<T>,
    probe: PhantomData<P>,
}

impl<T, P: Probe> TimerQueue<T> for KnownTailList<T, P> {
    type Batch = ChainBatch<T>;
    type Handle = PlaceHandle;

    fn with(params: &Params) -> Result<Self, ParamError> {
        params.only(&[])?;
        Ok(Self { arrivals: Arrivals::default(), timers: Chain::default(), probe: PhantomData })
    }

    fn enqueue(&mut self, expiry: Tick, item: T) -> PlaceHandle {
        let place = self.arrivals.place(expiry);
        P::visited(self.timers.insert(Node::new(place, item)));
        self.arrivals.handle(place)
    }

    fn take(&mut self, now: Tick, limit: usize) -> ChainBatch<T> {
        let timers = self.timers.mark_while(limit, |place| place.expiry <= now).detach_through();
        P::visited(timers.len());
        ChainBatch { queue: self.arrivals.queue(), timers }
    }

    fn requeue(&mut self, batch: ChainBatch<T>) -> Requeued {
        self.arrivals.queue().owns(batch.queue);
        let (left, rest) = (batch.timers.len(), batch.timers);
        let Some(last) = rest.last() else { return Requeued::Nothing };
        match self.timers.front().map(|(place, _)| place) {
            Some(head) if head < last => {
                P::visited(self.timers.merge(rest.into_fragment()));
                Requeued::Merged(left)
            }
            head => {
                self.timers.prepend(rest);
                head.map_or(Requeued::IntoEmpty, |_| Requeued::InFront)
            }
        }
    }

    fn get(&self, handle: PlaceHandle) -> Option<(Tick, &T)> {
        let place = self.arrivals.own(handle)?;
        let (item, passed) = self.timers.find(place);
        P::visited(passed);
        Some((place.expiry, item?))
    }

    fn cancel(&mut self, handle: PlaceHandle) -> Option<T> {
        self.unlink(handle).map(|node| node.item)
    }

    fn reschedule(&mut self, handle: PlaceHandle, expiry: Tick) -> Option<PlaceHandle> {
        let mut node = self.unlink(handle)?;
        node.place = self.arrivals.place(expiry);
        let place = node.place;
        P::visited(self.timers.insert(node));
        Some(self.arrivals.handle(place))
    }

    fn next_expiry(&mut self) -> Option<Tick> {
        self.timers.front().map(|(place, _)| place.expiry)
    }

    fn len(&self) -> usize {
        self.timers.len()
    }

    fn iter<'a>(&'a self) -> impl Iterator<Item = (Tick, &'a T)>
    where
        T: 'a,
    {
        self.timers.iter().map(|(place, item)| (place.expiry, item))
    }

    fn container_bytes(&self) -> usize {
        self.timers.bytes()
    }

    fn shrink(&mut self) {}

    #[cfg(feature = "testing")]
    fn check(&self) {
        self.timers.check();
    }
}

impl<T, P: Probe> KnownTailList<T, P> {
    fn unlink(&mut self, handle: PlaceHandle) -> Option<Box<Node<T>>> {
        let place = self.arrivals.own(handle)?;
        let (node, passed) = self.timers.unlink(place);
        P::visited(passed);
        node
    }
}

/// The batch of [`KnownTailList`]: a chain, whose nodes are released one by one.
#[derive(Debug)]
pub struct ChainBatch<T> {
    queue: QueueId,
    timers: Chain<T>,
}

impl<T> Batch<T> for ChainBatch<T> {
    fn front(&mut self) -> Option<(Tick, &mut T)> {
        self.timers.front_mut().map(|(place, item)| (place.expiry, item))
    }

    fn advance(&mut self) -> Option<(Tick, T)> {
        self.timers.pop_front().map(|node| (node.place.expiry, node.item))
    }

    fn len(&self) -> usize {
        self.timers.len()
    }

    fn latest(&self) -> Option<Tick> {
        self.timers.last().map(|place| place.expiry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::Counting;

    #[test]
    fn putting_back_in_front_visits_nothing() {
        let mut queue = KnownTailList::<u64, Counting>::with(&Params::default()).unwrap();
        for expiry in 0..1_000 {
            queue.enqueue(expiry, expiry);
        }
        let batch = queue.take(899, usize::MAX);
        assert_eq!(Counting::drain().visited, 900);
        assert_eq!(queue.requeue(batch), Requeued::InFront);
        assert_eq!(Counting::drain().visited, 0);
    }

    #[test]
    fn take_that_empties_the_queue_resets_the_tail() {
        let mut queue = KnownTailList::<u64>::with(&Params::default()).unwrap();
        queue.enqueue(1, 1);
        let mut batch = queue.take(1, usize::MAX);
        queue.enqueue(2, 2);
        assert_eq!((queue.len(), batch.len()), (1, 1));
        assert_eq!(batch.advance(), Some((1, 1)));
        assert_eq!(queue.take(2, usize::MAX).advance(), Some((2, 2)));
    }
}
