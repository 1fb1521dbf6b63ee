//! Every registry entry, and every parameter that changes how one works, against the model.
//!
//! `CONFORMANCE_SEEDS=2000 cargo test -p impls --test conformance` plays more schedules than usual.

use impls::conformance::{self, Mark, Options};

#[test]
fn every_entry_agrees_with_the_model() {
    for (entry, params) in conformance::configurations() {
        let outcome = conformance::run(entry, &params, Options::from_env());
        let reached = outcome.unwrap_or_else(|failure| panic!("{failure}"));
        assert!(Mark::ALL.iter().all(|mark| reached.count(*mark) > 0));
        println!("{} {params}: {reached}", entry.name);
    }
}
