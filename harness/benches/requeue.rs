//! `requeue`: what is left of a batch is put back in front of 1000 others. A list that knows its tail does
//! so at the same cost for 10 and for a million; one that walks to it grows with what is left.
//!
//! `cargo bench -p harness --profile dev --no-default-features --bench requeue`
//!
//! Between two put-backs the batch is taken again, which for a million timers leaves nothing of the put-back
//! in the caches. So that its steps are compared and not what the take did, a small batch is put back into
//! another queue first, and the two ends that meet are read.

#![allow(missing_docs)]

mod support;

use std::hint::black_box;

use criterion::{Criterion, SamplingMode, criterion_group, criterion_main};
use impls::queue::{Batch, Requeued, TimerQueue};

use support::{Bench, Stopwatch, Timer, fill, for_each_structure, timers};

const BEHIND: u32 = 1000;

/// Left in the batch whose put-back only warms the way.
const FEW: usize = 10;

struct Requeue(Stopwatch);

impl Bench for Requeue {
    fn run<Q: TimerQueue<Timer>>(&self, criterion: &mut Criterion, name: &str, make: fn() -> Q) {
        let mut group = criterion.benchmark_group(format!("requeue/{name}"));
        group.sample_size(10).sampling_mode(SamplingMode::Flat);
        for left in [10, 1000, 100_000, 1_000_000] {
            let (mut queue, mut other) = (make(), make());
            fill(&mut queue, timers(left + BEHIND));
            fill(&mut other, timers(BEHIND));
            let mut once = || {
                let mut batch = queue.take(u64::MAX, left as usize);
                let few = other.take(u64::MAX, FEW);
                black_box((queue.next_expiry(), batch.front().map(|(expiry, _)| expiry), batch.latest()));
                self.put_back(&mut other, few);
                self.put_back(&mut queue, batch)
            };
            group.bench_function(left.to_string(), |bencher| {
                bencher.iter_custom(|iterations| {
                    self.0.duration((0..iterations).map(|_| once()).sum(), iterations)
                });
            });
        }
    }
}

impl Requeue {
    /// The ticks of one put-back. A function of its own, so that both ways through it are the same code.
    #[inline(never)]
    fn put_back<Q: TimerQueue<Timer>>(&self, queue: &mut Q, batch: Q::Batch) -> u64 {
        let opened = self.0.read();
        let how = queue.requeue(batch);
        let ticks = self.0.read() - opened;
        assert_eq!(how, Requeued::InFront);
        ticks
    }
}

fn requeue(criterion: &mut Criterion) {
    for_each_structure(criterion, &Requeue(Stopwatch::new()));
}

criterion_group!(benches, requeue);
criterion_main!(benches);
