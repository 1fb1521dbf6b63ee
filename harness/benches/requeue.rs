//! `requeue`: what is left of a batch is put back in front of 1000 others. A list that knows its tail does
//! so at the same cost for 10 and for a million; one that walks to it grows with what is left.
//!
//! `cargo bench -p harness --profile dev --bench requeue`
//!
//! Between two put-backs the batch is taken again, outside the time. That sweeps a million timers through the
//! caches, the code of the put-back goes, and a reading of the clock does not wait for what is under way. So that
//! the steps of a put-back are compared, and not what the take before it did, the processor is left to finish,
//! and ten timers are put back into another queue by the same code first. Each figure has one pair of clock
//! readings in it, which `requeue/clock` shows: less would be a difference of nothings.
//! For a list that knows its tail the clock is most of the figure, so this shows that nothing grows with what is
//! left, and not how two such put-backs compare without the clock. Cold, a put-back after a take of a million
//! cost some 230 to 390 ns: whoever dispatches meets that too.

#![allow(missing_docs)]

mod support;

use std::hint::spin_loop;

use criterion::{Criterion, SamplingMode, criterion_group, criterion_main};
use impls::queue::{Requeued, TimerQueue};

use support::{Bench, Stopwatch, Timer, fill, for_each_structure, timers};

const BEHIND: u32 = 1000;

/// Left in the batch whose put-back only fetches the code.
const FEW: u32 = 10;

/// Pauses in which whatever the processor has begun is done: a few microseconds.
const SETTLE: usize = 100;

struct Requeue(Stopwatch);

impl Bench for Requeue {
    fn run<Q: TimerQueue<Timer>>(&self, criterion: &mut Criterion, name: &str, make: fn() -> Q) {
        let mut group = criterion.benchmark_group(format!("requeue/{name}"));
        group.sample_size(10).sampling_mode(SamplingMode::Flat);
        for left in [10, 1000, 100_000, 1_000_000] {
            let (mut queue, mut other) = (make(), make());
            fill(&mut queue, timers(left + BEHIND));
            fill(&mut other, timers(FEW + BEHIND));
            let mut once = || {
                let batch = due(&mut queue, left);
                let few = due(&mut other, FEW);
                (0..SETTLE).for_each(|_| spin_loop());
                self.put_back(&mut other, few);
                self.put_back(&mut queue, batch)
            };
            group.bench_function(left.to_string(), |bencher| {
                bencher.iter_custom(|iterations| self.0.raw((0..iterations).map(|_| once()).sum()));
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

/// Takes as a dispatcher does, by what is due: the first timer that is not due yet has been read.
fn due<Q: TimerQueue<Timer>>(queue: &mut Q, count: u32) -> Q::Batch {
    queue.take(u64::from(count / 2) - 1, usize::MAX)
}

fn requeue(criterion: &mut Criterion) {
    let clock = Stopwatch::new();
    criterion.bench_function("requeue/clock", |bencher| {
        bencher.iter_custom(|iterations| {
            clock.raw((0..iterations).map(|_| clock.read().abs_diff(clock.read())).sum())
        });
    });
    for_each_structure(criterion, &Requeue(Stopwatch::new()));
}

criterion_group!(benches, requeue);
criterion_main!(benches);
