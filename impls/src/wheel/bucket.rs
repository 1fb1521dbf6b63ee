//! A bucket: the timers of one slot, doubly linked through their nodes, in order of arrival.

use crate::queue::Place;
use crate::slots::{NO_SLOT, Slot};

/// A timer, its neighbours in the bucket, and its item, `None` while the node is free or the timer is out.
#[derive(Debug)]
pub(super) struct Node<T> {
    pub(super) place: Place,
    pub(super) before: Slot,
    pub(super) after: Slot,
    pub(super) item: Option<T>,
}

/// The two ends of a chain of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bucket {
    pub(super) first: Slot,
    pub(super) last: Slot,
}

impl Bucket {
    pub(super) const EMPTY: Self = Self { first: NO_SLOT, last: NO_SLOT };

    pub(super) fn is_empty(self) -> bool {
        self.first == NO_SLOT
    }

    /// Adds a node at the end. O(1).
    pub(super) fn push<T>(&mut self, nodes: &mut [Node<T>], slot: Slot) {
        let last = std::mem::replace(&mut self.last, slot);
        let node = &mut nodes[slot as usize];
        (node.before, node.after) = (last, NO_SLOT);
        match nodes.get_mut(last as usize) {
            Some(last) => last.after = slot,
            None => self.first = slot,
        }
    }

    /// Adds a node behind all that arrived before it. A timer that is put back arrived before some of those
    /// that are here, which are passed; for any other this is [`push`](Self::push).
    pub(super) fn insert<T>(&mut self, nodes: &mut [Node<T>], slot: Slot) {
        let arrival = nodes[slot as usize].place.arrival;
        let (mut before, mut after) = (self.last, NO_SLOT);
        while let Some(node) = nodes.get(before as usize)
            && node.place.arrival > arrival
        {
            (before, after) = (node.before, before);
        }
        let node = &mut nodes[slot as usize];
        (node.before, node.after) = (before, after);
        self.join(nodes, before, slot);
        self.join(nodes, slot, after);
    }

    /// Takes a node out. O(1).
    pub(super) fn unlink<T>(&mut self, nodes: &mut [Node<T>], slot: Slot) {
        let Node { before, after, .. } = nodes[slot as usize];
        self.join(nodes, before, after);
    }

    /// Puts node `to` in the place of node `from`, whose neighbours it has already.
    pub(super) fn replace<T>(&mut self, nodes: &mut [Node<T>], to: Slot) {
        let Node { before, after, .. } = nodes[to as usize];
        self.join(nodes, before, to);
        self.join(nodes, to, after);
    }

    /// The slots of its nodes, first to last.
    pub(super) fn iter<T>(self, nodes: &[Node<T>]) -> impl Iterator<Item = Slot> {
        let some = |slot: Slot| (slot != NO_SLOT).then_some(slot);
        std::iter::successors(some(self.first), move |&slot| some(nodes[slot as usize].after))
    }

    /// Makes two neighbours, either of which may be an end.
    fn join<T>(&mut self, nodes: &mut [Node<T>], before: Slot, after: Slot) {
        match nodes.get_mut(before as usize) {
            Some(node) => node.after = after,
            None => self.first = after,
        }
        match nodes.get_mut(after as usize) {
            Some(node) => node.before = before,
            None => self.last = before,
        }
    }
}
