//! `take`: so many of 200,000 are cut off; they are put back outside the timed part.

#![allow(missing_docs)]

mod support;

use criterion::{Criterion, SamplingMode, Throughput, criterion_group, criterion_main};
use impls::queue::TimerQueue;

use support::{Bench, Stopwatch, fill, for_each_structure, timers};

/// 16 bytes within the structure.
type Timer = harness::payload::Inline<2>;

const QUEUED: u32 = 200_000;

struct Take(Stopwatch);

impl Bench for Take {
    fn run<Q: TimerQueue<Timer>>(&self, criterion: &mut Criterion, name: &str, make: fn() -> Q) {
        let mut queue = make();
        fill(&mut queue, timers(QUEUED));
        let queue = std::cell::RefCell::new(queue);
        let mut group = criterion.benchmark_group(format!("take/{name}"));
        group.sample_size(10).sampling_mode(SamplingMode::Flat);
        for limit in [1, 10, 1000, 100_000] {
            group.throughput(Throughput::Elements(limit as u64));
            group.bench_function(limit.to_string(), |bencher| {
                bencher.iter_custom(|iterations| {
                    let take = |()| queue.borrow_mut().take(u64::MAX, limit);
                    let put_back = |batch| _ = queue.borrow_mut().requeue(batch);
                    self.0.time(iterations, || (), take, put_back)
                });
            });
        }
    }
}

fn take(criterion: &mut Criterion) {
    for_each_structure(criterion, &Take(Stopwatch::new()));
}

criterion_group!(benches, take);
criterion_main!(benches);
