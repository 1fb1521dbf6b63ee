//! `process` over a whole batch: the front, a handler that reads the item, the step over it and its drop.

#![allow(missing_docs)]

mod support;

use std::convert::Infallible;
use std::hint::black_box;

use criterion::{BatchSize, Criterion, SamplingMode, Throughput, criterion_group, criterion_main};
use harness::payload::Payload;
use impls::queue::{Batch, Flow, TimerQueue, process};

use support::{Bench, fill, for_each_structure, timers};

/// 16 bytes within the structure.
type Timer = harness::payload::Inline<2>;

struct Dispatch;

impl Bench for Dispatch {
    fn run<Q: TimerQueue<Timer>>(&self, criterion: &mut Criterion, name: &str, make: fn() -> Q) {
        let mut group = criterion.benchmark_group(format!("dispatch/{name}"));
        group.sample_size(20).sampling_mode(SamplingMode::Flat);
        for count in [1000, 200_000] {
            group.throughput(Throughput::Elements(u64::from(count)));
            let setup = || {
                let mut queue = make();
                fill(&mut queue, timers(count));
                (queue.take(u64::MAX, usize::MAX), queue)
            };
            group.bench_function(count.to_string(), |bencher| {
                bencher.iter_batched(setup, |(batch, queue)| (all(batch), queue), BatchSize::PerIteration);
            });
        }
    }
}

/// Dispatches all of a batch, which is then dropped outside the timed part.
fn all<B: Batch<Timer>>(mut batch: B) -> B {
    let handler = |expiry, item: &mut Timer| {
        black_box((expiry, item.id()));
        Ok::<_, Infallible>(Flow::Continue)
    };
    process(&mut batch, || 0, u64::MAX, handler);
    batch
}

fn dispatch(criterion: &mut Criterion) {
    for_each_structure(criterion, &Dispatch);
}

criterion_group!(benches, dispatch);
criterion_main!(benches);
