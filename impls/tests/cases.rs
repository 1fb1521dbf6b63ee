//! The named cases, for every registry entry and every parameter that changes how one works.

use impls::conformance::{self, cases};

#[test]
fn every_case_holds_for_every_entry() {
    for (entry, params) in conformance::configurations() {
        let done = cases::run(entry, &params).unwrap_or_else(|failure| panic!("{failure}"));
        println!("{} {params}: {} cases held, skipped: {:?}", entry.name, done.held.len(), done.skipped);
        assert!(!done.held.is_empty(), "no case applies to {} {params}", entry.name);
    }
}
