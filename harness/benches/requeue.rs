//! `requeue`: what is left of a batch is put back in front of 1000 others. A list that knows its tail does
//! so at the same cost for 10 and for a million; one that walks to it grows with what is left.
//!
//! `cargo bench -p harness --no-default-features --bench requeue`

#![allow(missing_docs)]

mod support;

use criterion::{Criterion, SamplingMode, criterion_group, criterion_main};
use impls::queue::{Requeued, TimerQueue};

use support::{Bench, Stopwatch, Timer, fill, for_each_structure, timers};

const BEHIND: u32 = 1000;

struct Requeue(Stopwatch);

impl Bench for Requeue {
    fn run<Q: TimerQueue<Timer>>(&self, criterion: &mut Criterion, name: &str, make: fn() -> Q) {
        let mut group = criterion.benchmark_group(format!("requeue/{name}"));
        group.sample_size(10).sampling_mode(SamplingMode::Flat);
        for left in [10, 1000, 100_000, 1_000_000] {
            let mut queue = make();
            fill(&mut queue, timers(left + BEHIND));
            let queue = std::cell::RefCell::new(queue);
            group.bench_function(left.to_string(), |bencher| {
                bencher.iter_custom(|iterations| {
                    let take = || queue.borrow_mut().take(u64::MAX, left as usize);
                    let put_back = |batch| queue.borrow_mut().requeue(batch);
                    self.0.time(iterations, take, put_back, |how| assert_eq!(how, Requeued::InFront))
                });
            });
        }
    }
}

fn requeue(criterion: &mut Criterion) {
    for_each_structure(criterion, &Requeue(Stopwatch::new()));
}

criterion_group!(benches, requeue);
criterion_main!(benches);
