//! Named facts, most of them faults that others had in the field. `FC-` numbers are the project's list of field
//! cases; `round` are the cases of the document that the round comes from; `contract` follow from the contract.

mod handles;
mod order;
mod rounds;
mod starts;

use super::erased::{AnyQueue, Bench, Handle, fact};
use super::{Failure, Promise};
use crate::queue::{Batch, Flow, Params, Tick, TimerQueue, process};
use crate::registry::{self, Entry, Order, Visit};

/// Items that are told apart.
const A: u64 = 1_001;
const B: u64 = 1_002;
const C: u64 = 1_003;
const D: u64 = 1_004;
const X: u64 = 1_024;

/// No limit.
const ALL: usize = usize::MAX;

/// What a case needs of a structure to hold for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Needs {
    /// That timers leave by expiry.
    Expiry,
    /// That ties leave by arrival.
    Arrival,
    /// That it rounds.
    Tick,
}

struct Case {
    source: &'static str,
    name: &'static str,
    needs: Needs,
    run: fn(&Bench<'_, u64>),
}

macro_rules! cases {
    ($( $source:literal $needs:ident $name:ident, )*) => {
        pub(super) const CASES: &[super::Case] = &[$( super::Case {
            source: $source,
            name: stringify!($name),
            needs: super::Needs::$needs,
            run: $name,
        } ),*];
    };
}
use cases;

/// What a run of the cases did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Cases that held.
    pub held: Vec<String>,
    /// Cases that do not apply to what the structure promises.
    pub skipped: Vec<String>,
}

/// Runs all cases on `entry`; a failure names every case that did not hold.
#[inline]
pub fn run(entry: &Entry, params: &Params) -> Result<Done, Failure> {
    struct Cases<'a>(&'a Params, Promise);
    impl Visit<u64> for Cases<'_> {
        type Out = Result<Done, Failure>;
        fn visit<Q: TimerQueue<u64>>(self, _: Q) -> Self::Out {
            examine::<Q>(self.0, self.1)
        }
    }
    let outcome = registry::visit(entry.name, params, Cases(params, Promise::of(entry, params)));
    outcome
        .map_err(|error| Failure::new(error.to_string()))
        .flatten()
        .map_err(|failure| failure.of(entry.name, params))
}

/// Runs all cases on `Q`.
pub fn examine<Q: TimerQueue<u64>>(params: &Params, promise: Promise) -> Result<Done, Failure> {
    all_on(&Bench::new::<Q>(params, promise.tick), promise)
}

fn all_on(bench: &Bench<'_, u64>, promise: Promise) -> Result<Done, Failure> {
    let (mut done, mut failures) = (Done::default(), Vec::new());
    for case in [starts::CASES, handles::CASES, order::CASES, rounds::CASES].into_iter().flatten() {
        let name = format!("{} {}", case.source, case.name);
        if !applies(case.needs, promise) {
            done.skipped.push(name);
            continue;
        }
        match fact(&format!("case {name}"), || (case.run)(bench)) {
            Ok(()) => done.held.push(name),
            Err(failure) => failures.push(failure.to_string()),
        }
    }
    if failures.is_empty() { Ok(done) } else { Err(Failure::new(failures.join("\n"))) }
}

fn applies(needs: Needs, promise: Promise) -> bool {
    match (needs, promise.order) {
        (Needs::Tick, Order::Exact) => promise.tick > 1,
        (Needs::Expiry, Order::Exact | Order::TiesAnyOrder) | (Needs::Arrival, Order::Exact) => {
            promise.tick == 1
        }
        _ => false,
    }
}

/// Dispatches all that is due at `now`.
fn gives(queue: &mut AnyQueue<'_, u64>, now: Tick) -> Vec<u64> {
    rest(queue.take(now, ALL))
}

/// What is left in a batch, in order.
fn rest(mut batch: impl Batch<u64>) -> Vec<u64> {
    std::iter::from_fn(|| batch.advance()).map(|(_, item)| item).collect()
}

/// The expiries left in a batch, in order.
fn expiries(mut batch: impl Batch<u64>) -> Vec<Tick> {
    std::iter::from_fn(|| batch.advance()).map(|(expiry, _)| expiry).collect()
}

/// Everything in the queue, in order, without taking it.
fn shows(queue: &AnyQueue<'_, u64>) -> Vec<u64> {
    queue.timers().into_iter().map(|(_, item)| *item).collect()
}

/// A queue with these timers, and their handles.
fn filled<'w>(bench: &Bench<'w, u64>, timers: &[(Tick, u64)]) -> (AnyQueue<'w, u64>, Vec<Handle>) {
    let mut queue = bench.queue();
    let handles = timers.iter().map(|(expiry, item)| queue.enqueue(*expiry, *item)).collect();
    (queue, handles)
}

/// Dispatches `count` timers of a batch.
fn dispatch(batch: &mut impl Batch<u64>, count: usize) {
    let mut left = count;
    let processed = process(
        batch,
        || 0,
        1,
        |_, _| {
            let flow = if left == 0 { Flow::Stop } else { Flow::Continue };
            left = left.saturating_sub(1);
            Ok::<_, ()>(flow)
        },
    );
    assert_eq!(processed.done, count, "timers dispatched");
}
