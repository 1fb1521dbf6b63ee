//! Timer queues behind one contract.

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
            "reference" => reference::Reference {
                role: Oracle, order: Exact,
                params: ["tick" = "1": "rounds to this many ticks, as a structure with a coarse tick does"],
                rounds_to: "tick",
                summary: "a `BTreeMap` by (expiry, arrival): the fast oracle",
                costs: ["O(log queued)", "O(due log queued)", "O(left log queued)", "O(log queued)"],
                wins: "large runs that must be right",
                loses: "it is an oracle; measure it when a balanced tree is the question",
            }
            "model" => model::Model {
                role: Oracle, order: Exact,
                params: ["tick" = "1": "rounds to this many ticks, as a structure with a coarse tick does"],
                rounds_to: "tick",
                summary: "a `Vec` that is searched on every call: the definition of what is right",
                costs: ["O(1)", "O(due queued)", "O(queued)", "O(queued)"],
                wins: "nothing; it is too simple to be wrong",
                loses: "everything but trust",
            }
        }
    };
}

mod link;
pub mod probe;
pub mod queue;
pub mod registry;

macro_rules! modules {
    ($( $name:literal => $module:ident :: $type:ident { $($rest:tt)* } )*) => { $( pub mod $module; )* };
}
structures!(modules);

pub use known_tail_list::KnownTailList;
pub use ordered_list::OrderedList;
pub use sorted_array::SortedArray;
