//! Timer queues behind one contract.

/// The registry: hands every line to the macro `$each`.
macro_rules! structures {
    ($each:ident) => {
        $each! {
            "reference" => reference::Reference {
                role: Oracle, order: Exact,
                params: ["tick" = "1": "rounds to this many ticks, as a structure with a coarse tick does"],
                rounds_to: "tick",
                summary: "a `BTreeMap` by (expiry, arrival): the fast oracle",
                wins: "large runs that must be right",
                loses: "it is an oracle; measure it when a balanced tree is the question",
            }
            "model" => model::Model {
                role: Oracle, order: Exact,
                params: ["tick" = "1": "rounds to this many ticks, as a structure with a coarse tick does"],
                rounds_to: "tick",
                summary: "a `Vec` that is searched on every call: the definition of what is right",
                wins: "nothing; it is too simple to be wrong",
                loses: "everything but trust",
            }
        }
    };
}

#[cfg(feature = "testing")]
pub mod conformance;
pub mod probe;
pub mod queue;
pub mod registry;

macro_rules! modules {
    ($( $name:literal => $module:ident :: $type:ident { $($rest:tt)* } )*) => { $( pub mod $module; )* };
}
structures!(modules);
