//! Workloads and their streams for tests.

#![allow(dead_code, reason = "each test uses a part of it")]
#![allow(missing_docs, unreachable_pub)]

use harness::compare::untrue;
use harness::drive::{Unmetered, drive};
use harness::payload::Inline;
use harness::stream::{Kind, Op, Outcome, Stream};
use harness::truth::truth;
use harness::workload::{Workload, resolve};
use impls::queue::{Params, TimerQueue};
use impls::registry::{ENTRIES, Order, Visit, visit};

/// The one workload that a selector names.
pub fn one(selector: &str) -> Workload {
    let mut found = resolve(selector).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(found.len(), 1, "{selector}");
    found.remove(0)
}

pub fn stream(selector: &str, n: u64) -> Stream {
    one(selector).stream(n, 1).unwrap()
}

/// What is said of a selector that is refused as a bad name or parameter.
pub fn refused(selector: &str) -> String {
    let error = resolve(selector).unwrap_err();
    assert!(error.is_usage(), "{error}");
    error.to_string()
}

/// The operations of a kind.
pub fn of(stream: &Stream, kind: Kind) -> impl Iterator<Item = &Op> {
    stream.ops.iter().filter(move |op| op.kind == kind as u8)
}

/// Every registry entry, the model and the reference among them, answers as it must.
pub fn all_agree(name: &str, stream: &Stream) {
    struct Drive<'a>(&'a Stream);
    impl Visit<Inline<2>> for Drive<'_> {
        type Out = Outcome;
        fn visit<Q: TimerQueue<Inline<2>>>(self, queue: Q) -> Outcome {
            drive(self.0, queue, &mut Unmetered)
        }
    }
    let right = truth(stream, true, 1);
    for entry in ENTRIES {
        let found = visit(entry.name, &Params::default(), Drive(stream)).unwrap();
        assert_eq!(untrue(&found, &right, Order::Exact), None, "{}/{name}", entry.name);
    }
}
