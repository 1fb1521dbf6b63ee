//! `enqueue`: a queue is filled in order, and from back to front at a size at which lists end in time.

#![allow(missing_docs)]

mod support;

use criterion::{BatchSize, Criterion, SamplingMode, Throughput, criterion_group, criterion_main};
use impls::queue::TimerQueue;

use support::{Bench, fill, for_each_structure, timers};

/// 16 bytes within the structure.
type Timer = harness::payload::Inline<2>;

struct Enqueue;

impl Bench for Enqueue {
    fn run<Q: TimerQueue<Timer>>(&self, criterion: &mut Criterion, name: &str, make: fn() -> Q) {
        let mut group = criterion.benchmark_group(format!("enqueue/{name}"));
        group.sample_size(20).sampling_mode(SamplingMode::Flat);
        for (order, count) in [("in-order", 1000), ("in-order", 200_000), ("reverse", 1000)] {
            group.throughput(Throughput::Elements(u64::from(count)));
            let setup = || {
                let mut timers = timers(count);
                if order == "reverse" {
                    timers.reverse();
                }
                (make(), timers)
            };
            let routine = |(mut queue, timers)| {
                fill(&mut queue, timers);
                queue
            };
            group.bench_function(format!("{order}/{count}"), |bencher| {
                bencher.iter_batched(setup, routine, BatchSize::PerIteration);
            });
        }
    }
}

fn enqueue(criterion: &mut Criterion) {
    for_each_structure(criterion, &Enqueue);
}

criterion_group!(benches, enqueue);
criterion_main!(benches);
