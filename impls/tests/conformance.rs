//! Every registry entry, and every parameter that changes how one works, against the model.
//!
//! `CONFORMANCE_SEEDS=2000 cargo test -p impls --test conformance` plays more schedules than usual.

use impls::conformance::{self, Options};
use impls::queue::Params;
use impls::registry::{self, ENTRIES};

fn agrees(name: &str, params: &[(&str, &str)]) {
    let entry = registry::find(name).expect("an entry of the registry");
    let mut given = Params::default();
    params.iter().for_each(|(key, value)| given.set(key, value));
    match conformance::run(entry, &given, Options::from_env()) {
        Ok(reached) => println!("{name} {given}: {reached}"),
        Err(failure) => panic!("{failure}"),
    }
}

#[test]
fn every_entry_agrees_with_the_model() {
    ENTRIES.iter().for_each(|entry| agrees(entry.name, &[]));
}

#[test]
fn every_structure_that_rounds_agrees_with_the_rounding_model() {
    let rounding = ENTRIES.iter().filter_map(|entry| Some((entry.name, entry.rounds_to?)));
    for (name, key) in rounding {
        ["7", "64", "1024"].iter().for_each(|tick| agrees(name, &[(key, tick)]));
    }
}
