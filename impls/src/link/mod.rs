//! Chains of nodes, singly linked: what both ordered lists are made of, and the only module with `unsafe`.
//!
//! ```text
//! Chain     head -> [3 a] -> [3 b] -> [7 c] -> nil      knows its last node
//!                                       ^ last
//! Fragment  head -> [3 a] -> [3 b] -> nil               does not: whoever needs it walks there
//! ```
//!
//! A node belongs to exactly one chain or fragment, or to the `Box` it was unlinked into. All walks go by
//! raw pointers that came from `Box::leak`, and no reference to a node lives across a change of the chain:
//! what is handed out borrows the chain. A mark borrows it too, so a stale mark does not compile.

#![allow(unsafe_code)]

mod chain;
mod fragment;

use std::ptr::NonNull;

pub(crate) use chain::Chain;
pub(crate) use fragment::Fragment;

use crate::queue::Place;

/// A timer and the link to the one after it.
#[derive(Debug)]
pub(crate) struct Node<T> {
    pub(crate) place: Place,
    pub(crate) item: T,
    next: Link<T>,
}

type Link<T> = Option<NonNull<Node<T>>>;

impl<T> Node<T> {
    /// A node that belongs to nobody yet.
    pub(crate) fn new(place: Place, item: T) -> Box<Self> {
        Box::new(Self { place, item, next: None })
    }
}

/// Gives a node up to a chain, which owns it by its address from then on.
fn leak<T>(node: Box<Node<T>>) -> NonNull<Node<T>> {
    NonNull::from(Box::leak(node))
}

/// Takes a node back from its chain.
///
/// # Safety
///
/// `node` came from [`leak`], its chain links to it no more, and no reference to it is in use.
unsafe fn reclaim<T>(node: NonNull<Node<T>>) -> Box<Node<T>> {
    // SAFETY: the address came from `Box::leak`, and the caller hands over the only way to it.
    let mut node = unsafe { Box::from_raw(node.as_ptr()) };
    node.next = None;
    node
}

/// The node behind a link.
///
/// # Safety
///
/// `node` is in a chain that stays borrowed, and unchanged, for `'a`.
unsafe fn node<'a, T>(node: NonNull<Node<T>>) -> &'a Node<T> {
    // SAFETY: a node in a chain is live, and by the caller's word nothing changes it for `'a`.
    unsafe { node.as_ref() }
}

/// The node behind a link, to be changed.
///
/// # Safety
///
/// `node` is in a chain that stays borrowed for change for `'a`, and no other reference to it is in use.
unsafe fn node_mut<'a, T>(mut node: NonNull<Node<T>>) -> &'a mut Node<T> {
    // SAFETY: a node in a chain is live, and by the caller's word this is the only reference for `'a`.
    unsafe { node.as_mut() }
}
