//! What the benchmarks share: structures by name, and a clock for single calls.

#![allow(dead_code, reason = "each benchmark uses a part of it")]
#![allow(missing_docs, unreachable_pub)]

use std::time::Duration;

use criterion::Criterion;
use harness::clock::Clock;
use harness::payload::Payload;
use harness::spec::ClockKind;
use impls::queue::{Params, TimerQueue};
use impls::registry::{self, ENTRIES, Entry, Role, Visit};

use crate::Timer;

/// A benchmark of any structure.
pub trait Bench {
    fn run<Q: TimerQueue<Timer>>(&self, criterion: &mut Criterion, name: &str, make: fn() -> Q);
}

/// Runs a benchmark for every structure that is measured, with its default parameters.
pub fn for_each_structure(criterion: &mut Criterion, bench: &impl Bench) {
    for_structures(criterion, bench, |entry| entry.role == Role::Structure);
}

/// Runs a benchmark for the structures that are wanted.
pub fn for_structures(criterion: &mut Criterion, bench: &impl Bench, wanted: impl Fn(&Entry) -> bool) {
    struct Named<'a, B>(&'a mut Criterion, &'a B, &'static str);
    impl<B: Bench> Visit<Timer> for Named<'_, B> {
        type Out = ();
        fn visit<Q: TimerQueue<Timer>>(self, _: Q) {
            self.1.run::<Q>(self.0, self.2, queue);
        }
    }
    for entry in ENTRIES.iter().filter(|entry| wanted(entry)) {
        let work = Named(criterion, bench, entry.name);
        registry::visit::<Timer, _>(entry.name, &Params::default(), work).expect("defaults will do");
    }
}

/// An empty queue.
pub fn queue<Q: TimerQueue<Timer>>() -> Q {
    Q::with(&Params::default()).expect("defaults will do")
}

/// As many timers, two to a tick from tick 0.
pub fn timers(count: u32) -> Vec<(u64, Timer)> {
    (0..count).map(|id| (u64::from(id / 2), Timer::make((), id))).collect()
}

/// Queues them all.
pub fn fill<Q: TimerQueue<Timer>>(queue: &mut Q, timers: Vec<(u64, Timer)>) {
    for (expiry, item) in timers {
        queue.enqueue(expiry, item);
    }
}

/// Times a call that needs something done before and after it, in every iteration.
pub struct Stopwatch {
    clock: Clock,
    empty_ns: f64,
}

impl Stopwatch {
    pub fn new() -> Self {
        let clock = Clock::new(ClockKind::Tsc);
        let empty_ns = clock.figures().empty_ns[1];
        Self { clock, empty_ns }
    }

    /// The time of `call` alone over all iterations, without the clock's own.
    pub fn time<A, B>(
        &self,
        iterations: u64,
        mut before: impl FnMut() -> A,
        mut call: impl FnMut(A) -> B,
        mut after: impl FnMut(B),
    ) -> Duration {
        let mut ticks = 0;
        for _ in 0..iterations {
            let ready = before();
            let opened = self.read();
            let done = call(ready);
            ticks += self.read() - opened;
            after(done);
        }
        self.duration(ticks, iterations)
    }

    /// So many ticks, with what the readings cost.
    pub fn raw(&self, ticks: u64) -> Duration {
        Duration::from_nanos((ticks as f64 * self.clock.tick_ns()) as u64)
    }

    pub fn read(&self) -> u64 {
        self.clock.read()
    }

    /// So many ticks in so many pairs of readings, without what the pairs cost.
    pub fn duration(&self, ticks: u64, iterations: u64) -> Duration {
        let ns = ticks as f64 * self.clock.tick_ns() - iterations as f64 * self.empty_ns;
        // criterion divides by what it is given.
        Duration::from_nanos(ns.max(1.0) as u64)
    }
}
