//! Ordered list (Varghese and Lauck's Scheme 2, linked), with the costs of the library it reproduces.
//!
//! ```text
//! head -> [3 a] -> [3 b] -> [7 c] -> nil     take(3) counts two due timers, then walks them again to cut
//! ```
//!
//! Perl's `LinkedList::Single`, as it is today, cuts by a count and puts back by a walk: `detach(count)`
//! passes the nodes that `take` has just read, and `append_to` passes the whole fragment to find its end.
//! Both are kept here on purpose, to be compared with `list-known-tail`, which has neither.
//!
//! # Costs
//!
//! `k` timers due, `r` left in the batch, `p` passed on the way to a place.
//!
//! | operation     | time                      | allocates | because                                     |
//! |---------------|---------------------------|-----------|---------------------------------------------|
//! | `enqueue`     | O(1) at the rear, or O(p) | one node  | the last place is compared first            |
//! | `take`        | O(k), twice               | nothing   | each due expiry is read; `detach` walks too |
//! | `requeue`     | O(r), or O(r + p) to merge| nothing   | `append_to` walks to the fragment's tail    |
//! | `get`         | O(p)                      | nothing   | a walk from the head                        |
//! | `cancel`      | O(p)                      | nothing   | a walk to the node before                   |
//! | `reschedule`  | O(p)                      | nothing   | two walks; the node is used again           |
//! | `next_expiry` | O(1)                      | nothing   | the first node                              |
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
//! Wins: memory that follows what is queued. Loses: expiries in no order (the walk), large batches.

use std::marker::PhantomData;

use crate::link::{Chain, Fragment, Node};
use crate::probe::{NoProbe, Probe};
use crate::queue::{
    Arrivals, Batch, ParamError, Params, Place, PlaceHandle, QueueId, Requeued, Tick, TimerQueue,
};

/// See the module.
#[derive(Debug)]
pub struct OrderedList<T, P = NoProbe> {
    arrivals: Arrivals,
    timers: Chain<T>,
    probe: PhantomData<P>,
}

impl<T, P: Probe> TimerQueue<T> for OrderedList<T, P> {
    type Batch = ListBatch<T>;
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

    fn take(&mut self, now: Tick, limit: usize) -> ListBatch<T> {
        let due = self.timers.count_while(limit, |place| place.expiry <= now);
        P::visited(2 * due);
        let (timers, latest) = self.timers.detach(due);
        ListBatch { queue: self.arrivals.queue(), timers, latest }
    }

    fn requeue(&mut self, batch: ListBatch<T>) -> Requeued {
        self.arrivals.queue().owns(batch.queue);
        let (left, rest) = (batch.timers.len(), batch.timers);
        let (Some(last), true) = (batch.latest, left > 0) else { return Requeued::Nothing };
        match self.timers.front().map(|(place, _)| place) {
            Some(head) if head < last => {
                P::visited(self.timers.merge(rest));
                Requeued::Merged(left)
            }
            head => {
                P::visited(left);
                self.timers.prepend_walking(rest);
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

impl<T, P: Probe> OrderedList<T, P> {
    fn unlink(&mut self, handle: PlaceHandle) -> Option<Box<Node<T>>> {
        let place = self.arrivals.own(handle)?;
        let (node, passed) = self.timers.unlink(place);
        P::visited(passed);
        node
    }
}

/// The batch of [`OrderedList`]: a fragment, whose nodes are released one by one.
#[derive(Debug)]
pub struct ListBatch<T> {
    queue: QueueId,
    timers: Fragment<T>,
    /// The last place that was taken: the end of the fragment, which it does not know itself.
    latest: Option<Place>,
}

impl<T> Batch<T> for ListBatch<T> {
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
        self.latest.filter(|_| self.timers.len() > 0).map(|place| place.expiry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::Counting;

    #[test]
    fn cut_and_put_back_walk_the_batch_again() {
        let mut queue = OrderedList::<u64, Counting>::with(&Params::default()).unwrap();
        for expiry in 0..100 {
            queue.enqueue(expiry, expiry);
        }
        Counting::drain();
        let batch = queue.take(9, usize::MAX);
        assert_eq!(Counting::drain().visited, 20);
        assert_eq!(queue.requeue(batch), Requeued::InFront);
        assert_eq!(Counting::drain().visited, 10);
    }

    #[test]
    fn an_out_of_order_expiry_passes_what_stands_before_it() {
        let mut queue = OrderedList::<u64, Counting>::with(&Params::default()).unwrap();
        for expiry in 0..100 {
            queue.enqueue(expiry, expiry);
        }
        assert_eq!(Counting::drain().visited, 0);
        queue.enqueue(49, 0);
        assert_eq!(Counting::drain().visited, 50);
    }
}
