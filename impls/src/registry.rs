//! All structures by name. Adding one is one file and one line here: the line declares the module, and
//! conformance tests, workloads, tables and documents pick it up.

use crate::probe::{NoProbe, Probe};
use crate::queue::{ParamError, Params, TimerQueue};

/// What a structure promises about the order and the moment of delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// By (expiry, arrival).
    Exact,
    /// By expiry; ties in any order.
    TiesAnyOrder,
    /// Each timer once, never early, late by no more than a bound; no order within it.
    LateBounded,
}

/// What an entry is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// A structure that is measured.
    Structure,
    /// An oracle: it says what is right, and is measured only when it is named.
    Oracle,
    /// Somebody else's structure behind an adapter.
    Peer,
}

/// One line of the registry.
#[derive(Debug)]
pub struct Entry {
    /// The name on the command line and in tables.
    pub name: &'static str,
    /// The first sentence of its documentation.
    pub summary: &'static str,
    /// Time of `enqueue`, `take`, `requeue` in front, and `cancel`.
    pub costs: [&'static str; 4],
    /// What it is for.
    pub role: Role,
    /// What it promises.
    pub order: Order,
    /// Its parameters, each with its default and what it means.
    pub params: &'static [Param],
    /// The parameter whose value is the tick that it rounds to, if it rounds.
    pub rounds_to: Option<&'static str>,
    /// Whether it is compiled only for the items that a [`Visit`] calls common, so that a rare structure does
    /// not cost every build as much as one that is measured every day.
    pub common_items_only: bool,
    /// What it wins on and loses on, for somebody who chooses.
    pub wins: &'static str,
    /// See `wins`.
    pub loses: &'static str,
}

/// A parameter of a structure.
#[derive(Debug)]
pub struct Param {
    /// The key on the command line.
    pub key: &'static str,
    /// The value when it is not given.
    pub default: &'static str,
    /// What it means.
    pub meaning: &'static str,
}

impl Entry {
    /// The tick that this structure rounds to with these parameters; 1 when it does not round.
    pub fn tick(&self, params: &Params) -> u64 {
        let given = self.rounds_to.and_then(|key| params.get(key));
        given.and_then(|text| text.replace('_', "").parse().ok()).unwrap_or(1)
    }
}

/// Work for a structure that is only named at run time. `visit` is generic, so the loop in it is
/// compiled once per structure and no virtual call is timed.
pub trait Visit<T> {
    /// What the work gives.
    type Out;
    /// Whether `T` is common: every structure is compiled for such a `T`, and those that are
    /// [`Entry::common_items_only`] for no other.
    const COMMON: bool = true;
    /// Does it with an empty queue.
    fn visit<Q: TimerQueue<T>>(self, queue: Q) -> Self::Out;
}

/// Runs `work` with an empty queue of the structure that is called `name`.
///
/// # Panics
///
/// When no structure is called so, or it is not compiled for `T`: both are checked, with [`find`], before
/// anything runs.
pub fn visit<T, V: Visit<T>>(name: &str, params: &Params, work: V) -> Result<V::Out, ParamError> {
    visit_probed::<T, NoProbe, V>(name, params, work)
}

/// The entry that is called `name`.
pub fn find(name: &str) -> Option<&'static Entry> {
    ENTRIES.iter().find(|entry| entry.name == name)
}

/// Whether `name` can be made with `params`.
pub fn validate(name: &str, params: &Params) -> Result<(), ParamError> {
    struct Nothing;
    impl Visit<()> for Nothing {
        type Out = ();
        fn visit<Q: TimerQueue<()>>(self, _: Q) {}
    }
    visit::<(), _>(name, params, Nothing)
}

/// Expands to everything that is kept per structure.
macro_rules! registry {
    ($( $name:literal => $module:ident :: $type:ident {
        role: $role:ident, order: $order:ident, params: [$($key:literal = $default:literal: $meaning:literal),* $(,)?],
        $(rounds_to: $rounds:literal,)?
        $(items: $items:ident,)?
        summary: $summary:literal, costs: [$enqueue:literal, $take:literal, $requeue:literal, $cancel:literal],
        wins: $wins:literal, loses: $loses:literal $(,)?
    } )*) => {
        /// Every structure, oracle and peer, in the order of the registry.
        ///
        /// | name | what it is | enqueue | take | requeue in front | cancel |
        /// |------|------------|---------|------|------------------|--------|
        $(#[doc = concat!(
            "| `", $name, "` | ", $summary, " | ", $enqueue, " | ", $take, " | ", $requeue, " | ", $cancel, " |"
        )])*
        pub const ENTRIES: &[Entry] = &[$( Entry {
            name: $name,
            summary: $summary,
            costs: [$enqueue, $take, $requeue, $cancel],
            role: Role::$role,
            order: Order::$order,
            params: &[$( Param { key: $key, default: $default, meaning: $meaning } ),*],
            rounds_to: registry!(@option $($rounds)?),
            common_items_only: registry!(@common_only $($items)?),
            wins: $wins,
            loses: $loses,
        } ),*];

        /// As [`visit`], with a structure that reports to the probe `P`.
        ///
        /// # Panics
        ///
        /// As [`visit`].
        pub fn visit_probed<T, P: Probe, V: Visit<T>>(
            name: &str,
            params: &Params,
            work: V,
        ) -> Result<V::Out, ParamError> {
            match name {
                // A branch that is known at compile time: what it leaves out is not compiled.
                $( $name => if const { V::COMMON || !registry!(@common_only $($items)?) } {
                    Ok(work.visit(<crate::$module::$type<T, P> as TimerQueue<T>>::with(params)?))
                } else {
                    panic!("`{name}` is not compiled for this item")
                }, )*
                _ => panic!("no structure is called `{name}`"),
            }
        }
    };
    (@common_only) => { false };
    (@common_only common) => { true };
    (@option) => { None };
    (@option $value:literal) => { Some($value) };
}

structures!(registry);
