//! A run of nodes that does not know its end.

use std::marker::PhantomData;

use super::{Link, Node, node, node_mut, reclaim};
use crate::queue::Place;

/// Nodes that were cut out of a chain and belong to whoever holds them. Its last node is not known.
#[derive(Debug)]
pub(crate) struct Fragment<T> {
    pub(super) head: Link<T>,
    pub(super) len: usize,
    owns: PhantomData<Box<Node<T>>>,
}

// SAFETY: a fragment owns its nodes as a `Vec` owns its elements: nobody else has an address of them, and
// `&Fragment` gives out `&T` at most.
unsafe impl<T: Send> Send for Fragment<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Fragment<T> {}

impl<T> Default for Fragment<T> {
    fn default() -> Self {
        Self { head: None, len: 0, owns: PhantomData }
    }
}

impl<T> Fragment<T> {
    /// The nodes from `head` on, `len` of them.
    pub(super) fn new(head: Link<T>, len: usize) -> Self {
        Self { head, len, owns: PhantomData }
    }

    /// Nodes left.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The first timer.
    pub(crate) fn front(&self) -> Option<(Place, &T)> {
        // SAFETY: the head is a node of this fragment, which is borrowed for as long as the answer lives.
        let first = unsafe { node(self.head?) };
        Some((first.place, &first.item))
    }

    /// The first timer, its item to be changed.
    pub(crate) fn front_mut(&mut self) -> Option<(Place, &mut T)> {
        // SAFETY: the head is a node of this fragment, which is borrowed for change while the answer lives.
        let first = unsafe { node_mut(self.head?) };
        Some((first.place, &mut first.item))
    }

    /// Cuts the first node off. O(1).
    pub(crate) fn pop_front(&mut self) -> Option<Box<Node<T>>> {
        let head = self.head?;
        // SAFETY: the head is a node of this fragment, and `&mut self` is the only way to it.
        self.head = unsafe { node(head) }.next;
        self.len -= 1;
        // SAFETY: `head` was leaked into this fragment, which has just stopped linking to it.
        Some(unsafe { reclaim(head) })
    }

    /// The last node, found by walking there: O(length).
    pub(super) fn walk_to_last(&self) -> Link<T> {
        let mut last = self.head?;
        // SAFETY: `last` is always a node of this fragment, which does not change during the walk.
        while let Some(next) = unsafe { node(last) }.next {
            last = next;
        }
        Some(last)
    }

    /// All timers from the front.
    pub(crate) fn iter(&self) -> Iter<'_, T> {
        Iter { next: self.head, borrows: PhantomData }
    }

    /// Forgets the nodes and gives their head: they belong to the caller now.
    pub(super) fn into_head(mut self) -> Link<T> {
        self.len = 0;
        self.head.take()
    }
}

impl<T> Drop for Fragment<T> {
    /// One node after the other, so that a long run needs no stack. When an item's drop panics, the rest is
    /// dropped all the same.
    fn drop(&mut self) {
        struct Rest<'a, T>(&'a mut Fragment<T>);
        impl<T> Drop for Rest<'_, T> {
            fn drop(&mut self) {
                while self.0.pop_front().is_some() {}
            }
        }
        let rest = Rest(self);
        while rest.0.head.is_some() {
            drop(rest.0.pop_front());
        }
    }
}

/// The timers of a fragment or a chain, in order.
#[derive(Debug)]
pub(crate) struct Iter<'a, T> {
    next: Link<T>,
    borrows: PhantomData<&'a Node<T>>,
}

impl<'a, T> Iterator for Iter<'a, T> {
    type Item = (Place, &'a T);

    fn next(&mut self) -> Option<Self::Item> {
        // SAFETY: `next` is a node of the fragment that is borrowed, unchanged, for `'a`.
        let current: &'a Node<T> = unsafe { node(self.next?) };
        self.next = current.next;
        Some((current.place, &current.item))
    }
}
