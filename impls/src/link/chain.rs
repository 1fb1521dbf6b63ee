//! A run of nodes that knows its end.

use std::ptr::NonNull;

use super::fragment::{Fragment, Iter};
use super::{Link, Node, leak, node, node_mut, reclaim};
use crate::queue::Place;

/// Nodes in the order of their places, with the last one known.
#[derive(Debug)]
pub(crate) struct Chain<T> {
    run: Fragment<T>,
    last: Link<T>,
}

// SAFETY: a chain owns its nodes as its fragment does; `last` is one of them.
unsafe impl<T: Send> Send for Chain<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Chain<T> {}

impl<T> Default for Chain<T> {
    fn default() -> Self {
        Self { run: Fragment::default(), last: None }
    }
}

/// The end of a chain's leading run. It borrows the chain, so a stale mark does not compile.
#[derive(Debug)]
pub(crate) struct Mark<'a, T> {
    chain: &'a mut Chain<T>,
    stop: Link<T>,
    len: usize,
}

impl<T> Chain<T> {
    /// Nodes in the chain.
    pub(crate) fn len(&self) -> usize {
        self.run.len()
    }

    /// Heap bytes of the nodes.
    pub(crate) fn bytes(&self) -> usize {
        self.len() * size_of::<Node<T>>()
    }

    /// The first timer.
    pub(crate) fn front(&self) -> Option<(Place, &T)> {
        self.run.front()
    }

    /// The first timer, its item to be changed.
    pub(crate) fn front_mut(&mut self) -> Option<(Place, &mut T)> {
        self.run.front_mut()
    }

    /// The place of the last timer. O(1).
    pub(crate) fn last(&self) -> Option<Place> {
        // SAFETY: `last` is a node of this chain, which does not change during the look.
        self.last.map(|last| unsafe { node(last) }.place)
    }

    /// All timers from the front.
    pub(crate) fn iter(&self) -> Iter<'_, T> {
        self.run.iter()
    }

    /// Cuts the first node off. O(1).
    pub(crate) fn pop_front(&mut self) -> Option<Box<Node<T>>> {
        let first = self.run.pop_front();
        if self.run.head.is_none() {
            self.last = None;
        }
        first
    }

    /// Puts `fresh` into its place and says how many nodes were passed: none when it belongs at the rear.
    pub(crate) fn insert(&mut self, fresh: Box<Node<T>>) -> usize {
        let place = fresh.place;
        if self.last().is_none_or(|last| last < place) {
            let last = self.last;
            self.link(leak(fresh), last);
            return 0;
        }
        let (before, passed) = self.walk_before(None, place);
        self.link(leak(fresh), before);
        passed
    }

    /// Puts every node of `rest`, which is in order, into its place by one walk, and says how many nodes of
    /// this chain were passed.
    pub(crate) fn merge(&mut self, mut rest: Fragment<T>) -> usize {
        let (mut before, mut passed) = (None, 0);
        while let Some(fresh) = rest.pop_front() {
            let (place, fresh) = (fresh.place, leak(fresh));
            let walked;
            (before, walked) = self.walk_before(before, place);
            self.link(fresh, before);
            before = Some(fresh);
            passed += walked;
        }
        passed
    }

    /// Looks for the timer at `place` and says how many nodes were passed.
    pub(crate) fn find(&self, place: Place) -> (Option<&T>, usize) {
        let mut passed = 0;
        let found = self.iter().inspect(|_| passed += 1).find(|(other, _)| *other >= place);
        let item = found.filter(|(other, _)| *other == place).map(|(_, item)| item);
        (item, passed)
    }

    /// Cuts the node at `place` out, which means to walk to the node before it, and says how many nodes were
    /// passed.
    pub(crate) fn unlink(&mut self, place: Place) -> (Option<Box<Node<T>>>, usize) {
        if self.last().is_none_or(|last| last < place) {
            return (None, 0);
        }
        let (before, passed) = self.walk_before(None, place);
        let Some(found) = self.after(before) else { return (None, passed) };
        // SAFETY: `found` is a node of this chain, and `&mut self` is the only way to it.
        let found_node = unsafe { node(found) };
        if found_node.place != place {
            return (None, passed);
        }
        let next = found_node.next;
        self.set_after(before, next);
        if next.is_none() {
            self.last = before;
        }
        self.run.len -= 1;
        // SAFETY: `found` was leaked into this chain, which has just stopped linking to it.
        (Some(unsafe { reclaim(found) }), passed)
    }

    /// How many of the first `limit` timers are `due`: each is read.
    pub(crate) fn count_while(&self, limit: usize, due: impl Fn(Place) -> bool) -> usize {
        self.iter().take(limit).take_while(|(place, _)| due(*place)).count()
    }

    /// Marks the last of the first `limit` timers that are `due`: each is read.
    pub(crate) fn mark_while(&mut self, limit: usize, due: impl Fn(Place) -> bool) -> Mark<'_, T> {
        let (mut stop, mut len) = (None, 0);
        let mut next = self.run.head;
        while len < limit
            && let Some(current) = next
        {
            // SAFETY: `current` is a node of this chain, which does not change during the walk.
            let current_node = unsafe { node(current) };
            if !due(current_node.place) {
                break;
            }
            (stop, next) = (Some(current), current_node.next);
            len += 1;
        }
        Mark { chain: self, stop, len }
    }

    /// Cuts the first `count` nodes off, which are walked to find the end, and says the place of the last.
    pub(crate) fn detach(&mut self, count: usize) -> (Fragment<T>, Option<Place>) {
        let cut = self.mark_while(count, |_| true).detach_through();
        let latest = cut.last();
        (cut.into_fragment(), latest)
    }

    /// Puts `front`, all of which comes before the first node, in front. O(1), two links, however long it is.
    pub(crate) fn prepend(&mut self, front: Self) {
        let (last, front) = front.into_parts();
        self.prepend_run(front, last);
    }

    /// As [`prepend`](Self::prepend), for a run whose last node has to be walked to: O(its length).
    pub(crate) fn prepend_walking(&mut self, front: Fragment<T>) {
        let last = front.walk_to_last();
        self.prepend_run(front, last);
    }

    /// The nodes, with their end forgotten.
    pub(crate) fn into_fragment(self) -> Fragment<T> {
        self.into_parts().1
    }

    fn into_parts(self) -> (Link<T>, Fragment<T>) {
        (self.last, self.run)
    }

    /// Puts `front` in front; `last` is its last node.
    fn prepend_run(&mut self, front: Fragment<T>, last: Link<T>) {
        let Some(last) = last else { return };
        let len = front.len();
        // SAFETY: `last` is a node of `front`, which is owned here, so nothing else refers to it.
        unsafe { node_mut(last) }.next = self.run.head;
        if self.run.head.is_none() {
            self.last = Some(last);
        }
        self.run.head = front.into_head();
        self.run.len += len;
    }

    /// The node after which `place` belongs (`None` for the very front), and how many nodes were passed to
    /// find it. The walk starts after `from`, which comes before `place`.
    fn walk_before(&self, from: Link<T>, place: Place) -> (Link<T>, usize) {
        let (mut before, mut passed) = (from, 0);
        while let Some(next) = self.after(before) {
            // SAFETY: `next` is a node of this chain, which does not change during the walk.
            if unsafe { node(next) }.place >= place {
                break;
            }
            before = Some(next);
            passed += 1;
        }
        (before, passed)
    }

    /// The node after `before`, a node of this chain, or the first one.
    fn after(&self, before: Link<T>) -> Link<T> {
        // SAFETY: callers pass a node that they found in this chain, and it has not changed since.
        before.map_or(self.run.head, |before| unsafe { node(before) }.next)
    }

    /// Makes `next` the node after `before`, a node of this chain, or the first one.
    fn set_after(&mut self, before: Link<T>, next: Link<T>) {
        match before {
            // SAFETY: callers pass a node that they found in this chain, and hold no reference to it.
            Some(before) => unsafe { node_mut(before) }.next = next,
            None => self.run.head = next,
        }
    }

    /// Links a leaked node in after `before`.
    fn link(&mut self, fresh: NonNull<Node<T>>, before: Link<T>) {
        let next = self.after(before);
        // SAFETY: `fresh` has just been leaked by the caller and is in no chain yet.
        unsafe { node_mut(fresh) }.next = next;
        self.set_after(before, Some(fresh));
        if next.is_none() {
            self.last = Some(fresh);
        }
        self.run.len += 1;
    }

    /// Asserts that places rise from head to tail, that `last` is the last node, and that the length is right.
    #[cfg(feature = "testing")]
    pub(crate) fn check(&self) {
        let places: Vec<_> = self.iter().map(|(place, _)| place).collect();
        for pair in places.windows(2) {
            assert!(pair[0] < pair[1], "1: {:?} stands before {:?}", pair[0], pair[1]);
        }
        let last = self.run.walk_to_last();
        assert_eq!(self.last, last, "2: the last node known and the last node");
        assert_eq!(self.run.len, places.len(), "3: the length known and the nodes counted");
    }
}

impl<T> Mark<'_, T> {
    /// Cuts the run from the head through the mark off. Cost: O(1), two links, however long the run.
    pub(crate) fn detach_through(self) -> Chain<T> {
        let Some(stop) = self.stop else { return Chain::default() };
        // SAFETY: `stop` is a node of `chain` (`mark_while` found it, and the borrow kept the chain
        // unchanged since), so it is live and no other reference to it exists.
        let rest = unsafe { node_mut(stop) }.next.take();
        let head = std::mem::replace(&mut self.chain.run.head, rest);
        if rest.is_none() {
            self.chain.last = None;
        }
        self.chain.run.len -= self.len;
        Chain { run: Fragment::new(head, self.len), last: Some(stop) }
    }
}
