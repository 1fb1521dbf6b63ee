//! Timer queues behind one contract.
//!
//! A timer queue holds timers, each an expiry and an item, and hands over in one batch all that are due. The
//! batch is worked on within a window, and what is left is put back in front. [`queue::TimerQueue`] says what
//! that means exactly, [`registry::ENTRIES`] lists every structure with its costs, and the module of each says
//! how it works, where it wins and where it loses.
//!
//! ```
//! use impls::queue::{Batch, Params, TimerQueue};
//!
//! let mut queue = impls::Wheel::<&str>::with(&Params::default())?;
//! let reminder = queue.enqueue(900, "reminder");
//! queue.enqueue(300, "retry");
//! queue.reschedule(reminder, 1_000);
//! let mut due = queue.take(500, usize::MAX);
//! assert_eq!(due.advance(), Some((300, "retry")));
//! assert_eq!(queue.next_expiry(), Some(1_000));
//! # Ok::<(), impls::queue::ParamError>(())
//! ```
//!
//! Features: `testing` adds invariant checks and the conformance suite.

/// The registry: hands every line to the macro `$each`.
macro_rules! structures {
    ($each:ident) => {
        $each! {
            "list" => ordered_list::OrderedList {
                role: Structure, order: Exact, params: [],
                summary: "ordered list; the batch is walked again to be cut and to be put back",
                costs: ["O(1) at the rear, else O(passed)", "O(due), twice", "O(left)", "O(passed)"],
                wins: "memory that follows what is queued",
                loses: "expiries in no order, large batches",
            }
            "list-known-tail" => known_tail_list::KnownTailList {
                role: Structure, order: Exact, params: [],
                summary: "ordered list; `detach_through` and a known-tail `append_to` in O(1)",
                costs: ["O(1) at the rear, else O(passed)", "O(due)", "O(1)", "O(passed)"],
                wins: "large batches that come back nearly whole",
                loses: "expiries in no order",
            }
            "array" => sorted_array::SortedArray {
                role: Structure, order: Exact, params: [],
                summary: "sorted array; binary search, block moves, room at both ends",
                costs: ["O(1) at the rear, else O(queued)", "O(log queued + due)", "O(left)", "O(queued)"],
                wins: "expiries that arrive in order",
                loses: "out-of-order expiries among many, memory after a burst",
            }
            "heap" => stable_heap::StableHeap {
                role: Structure, order: Exact,
                params: ["arity" = "4": "children of an entry, 2 to 64"],
                summary: "d-ary heap by (expiry, arrival), with a table of positions",
                costs: ["O(log queued)", "O(due log queued)", "O(left log queued)", "O(log queued)"],
                wins: "expiries in no order",
                loses: "large populations, memory after a burst",
            }
            "wheel" => wheel::Wheel {
                role: Structure, order: Exact,
                params: ["tick" = "1": "ticks of the clock to one slot; expiries are rounded up to it"],
                rounds_to: "tick",
                summary: "hierarchical timing wheel with linked buckets and occupancy bitmaps",
                costs: ["O(1)", "O(due + slots passed)", "O(left)", "O(1)"],
                wins: "cancels and re-arms, expiries in any order",
                loses: "memory after a burst; one cache miss a timer and level",
            }
            "reference" => reference::Reference {
                role: Oracle, order: Exact,
                params: ["tick" = "1": "rounds to this many ticks, as a structure with a coarse tick does"],
                rounds_to: "tick", items: common,
                summary: "a `BTreeMap` by (expiry, arrival): the fast oracle",
                costs: ["O(log queued)", "O(due log queued)", "O(left log queued)", "O(log queued)"],
                wins: "large runs that must be right",
                loses: "it is an oracle; measure it when a balanced tree is the question",
            }
            "model" => model::Model {
                role: Oracle, order: Exact,
                params: ["tick" = "1": "rounds to this many ticks, as a structure with a coarse tick does"],
                rounds_to: "tick", items: common,
                summary: "a `Vec` that is searched on every call: the definition of what is right",
                costs: ["O(1)", "O(due queued)", "O(queued)", "O(queued)"],
                wins: "nothing; it is too simple to be wrong",
                loses: "everything but trust",
            }
        }
    };
}

#[cfg(feature = "testing")]
pub mod conformance;
mod link;
pub mod probe;
pub mod queue;
pub mod registry;
mod slots;

macro_rules! modules {
    ($( $name:literal => $module:ident :: $type:ident { $($rest:tt)* } )*) => { $( pub mod $module; )* };
}
structures!(modules);

pub use known_tail_list::KnownTailList;
pub use ordered_list::OrderedList;
pub use slots::{SlotBatch, SlotHandle};
pub use sorted_array::SortedArray;
pub use stable_heap::StableHeap;
pub use wheel::Wheel;
