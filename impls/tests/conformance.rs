//! Every registry entry, and every parameter that changes how one works, against the model.
//!
//! `CONFORMANCE_SEEDS=2000 cargo test -p impls --test conformance` plays more schedules than usual, and
//! `CONFORMANCE_FIRST=1000000` others.

use std::sync::Mutex;
use std::thread;

use impls::conformance::{self, Mark, Options};
use impls::queue::Params;
use impls::registry::Entry;

fn agrees(entry: &Entry, params: &Params) {
    let outcome = conformance::run(entry, params, Options::from_env());
    let reached = outcome.unwrap_or_else(|failure| panic!("{failure}"));
    assert!(Mark::ALL.iter().all(|mark| reached.count(*mark) > 0));
    println!("{} {params}: {reached}", entry.name);
}

#[test]
fn every_entry_agrees_with_the_model() {
    let left = Mutex::new(conformance::configurations());
    let next = || left.lock().expect("nothing panics while it is locked").pop();
    thread::scope(|scope| {
        let workers = thread::available_parallelism().map_or(1, usize::from);
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some((entry, params)) = next() {
                    agrees(entry, &params)
                }
            });
        }
    });
}
