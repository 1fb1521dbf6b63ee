//! Every registry entry against the model, with random schedules.

use impls::conformance::{self, Options};
use impls::queue::Params;
use impls::registry::{ENTRIES, Entry};

#[test]
fn every_entry_agrees_with_the_model_on_random_schedules() {
    for entry in ENTRIES {
        let reached = conformance::run(entry, &Params::default(), Options::from_env());
        println!("{}: {}", entry.name, reached.unwrap_or_else(|failure| panic!("{failure}")));
    }
}
