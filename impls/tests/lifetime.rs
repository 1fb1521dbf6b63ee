//! Items are released once, by whom and when the contract says; for every registry entry.

use impls::conformance::{self, lifetime};
use impls::registry::{ENTRIES, Role};

#[test]
fn every_item_is_released_once_and_in_time() {
    for (entry, params) in conformance::configurations() {
        let rounds =
            if entry.role == Role::Oracle || params.pairs().next().is_some() { 10_000 } else { 1_000_000 };
        lifetime::run(entry, &params, rounds).unwrap_or_else(|failure| panic!("{failure}"));
    }
}

#[test]
fn five_million_timers_are_dropped_on_a_small_stack() {
    for entry in ENTRIES {
        // The model searches all timers for each one it takes.
        let timers = if entry.role == Role::Oracle { 2_000 } else { 5_000_000 };
        let outcome = lifetime::deep(entry, &Default::default(), timers);
        outcome.unwrap_or_else(|failure| panic!("{failure}"));
    }
}
