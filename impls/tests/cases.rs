//! The named cases, for every registry entry and every parameter that changes how one works.

use impls::conformance::cases;
use impls::queue::Params;
use impls::registry::{self, ENTRIES};

fn holds(name: &str, params: &[(&str, &str)]) {
    let entry = registry::find(name).expect("an entry of the registry");
    let mut given = Params::default();
    params.iter().for_each(|(key, value)| given.set(key, value));
    let done = cases::run(entry, &given).unwrap_or_else(|failure| panic!("{failure}"));
    assert!(!done.held.is_empty(), "{name} {given}: no case applies, skipped: {:?}", done.skipped);
    println!("{name} {given}: {} cases held, skipped: {:?}", done.held.len(), done.skipped);
}

#[test]
fn every_case_holds_for_every_entry() {
    ENTRIES.iter().for_each(|entry| holds(entry.name, &[]));
}

#[test]
fn the_cases_of_coarse_ticks_hold_for_every_structure_that_rounds() {
    let rounding = ENTRIES.iter().filter_map(|entry| Some((entry.name, entry.rounds_to?)));
    for (name, key) in rounding {
        ["7", "64", "1024"].iter().for_each(|tick| holds(name, &[(key, tick)]));
    }
}
