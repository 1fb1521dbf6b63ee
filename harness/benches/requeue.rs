//! `requeue`: what is left of a batch is put back in front of 1000 others. A list that knows its tail does
//! so at the same cost for 10 and for a million; one that walks to it grows with what is left.
//!
//! ```text
//! requeue/<list>/<left>              64 put-backs whose two ends and whose code are in the caches
//! requeue/<structure>/cold/<left>    one put-back, after a million timers of another queue went through the caches
//! requeue/clock                      the pair of clock readings that is in each `cold` figure
//! ```
//!
//! A put-back in one step takes less time than reading the clock. So that the first row shows it and not the
//! clock, 64 queues are put back between two readings, and the clock's own time is taken off; the largest takes
//! 5 GB. And so that neither size is favoured, each queue first has ten of those behind taken and put back, which
//! fetches the code, the queue and its first timers, and the last timer of each batch is looked at: that is all
//! that a put-back in one step touches. Payloads are 32 bytes here, so that a node of a list is 64 and lies in one
//! cache line: with 16, half of the nodes lie in two, of which a look fetches one, and a million left took 3.5
//! times as long as ten. In the second row nothing is looked at: `cold` is what whoever dispatches a large batch
//! meets. There the put-back waits for memory and for page tables, which takes longer the more memory the
//! timers lie in, whatever the structure does.
//!
//! `cargo bench -p harness --profile dev --bench requeue`

#![allow(missing_docs)]

mod support;

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, SamplingMode, Throughput, criterion_group, criterion_main};
use impls::queue::{Batch, Requeued, TimerQueue};

use support::{Bench, Stopwatch, fill, for_each_structure, timers};

/// 32 bytes, so that a node of a list is 64 and lies in one cache line.
type Timer = harness::payload::Inline<4>;

const BEHIND: u32 = 1000;

/// Left in the batches.
const LEFT: [u32; 4] = [10, 1000, 100_000, 1_000_000];

/// As many of them as are put back: where it is only tried whether the benchmark runs, not the large ones.
fn left() -> impl Iterator<Item = u32> {
    let tried = std::env::args().any(|word| word == "--test");
    LEFT.into_iter().take(if tried { 2 } else { LEFT.len() })
}

/// Queues that are put back between two readings of the clock.
const QUEUES: usize = 64;

/// Timers whose put-back only fetches what the next one needs.
const FEW: usize = 10;

/// Timers that are taken from another queue before each cold put-back.
const SWEPT: u32 = 1_000_000;

struct Requeue(Stopwatch);

impl Bench for Requeue {
    fn run<Q: TimerQueue<Timer>>(&self, criterion: &mut Criterion, name: &str, make: fn() -> Q) {
        let mut group = criterion.benchmark_group(format!("requeue/{name}"));
        group.sample_size(20).sampling_mode(SamplingMode::Flat);
        // The others' put-backs take so long that the clock is nothing.
        for left in left().filter(|_| name.starts_with("list")) {
            let mut queues: Vec<Q> = (0..QUEUES).map(|_| filled(make, left)).collect();
            let mut once = || self.several(&mut queues, left);
            group.throughput(Throughput::Elements(QUEUES as u64));
            group.bench_function(left.to_string(), |bencher| {
                bencher.iter_custom(|iterations| (0..iterations).map(|_| once()).sum());
            });
        }
        group.throughput(Throughput::Elements(1));
        let mut other = filled(make, SWEPT);
        for left in left() {
            let mut queue = filled(make, left);
            let mut once = || {
                let batch = due(&mut queue, left);
                let swept = due(&mut other, SWEPT);
                let ticks = self.put_back(std::slice::from_mut(&mut queue), &mut vec![batch]);
                other.requeue(swept);
                self.0.raw(ticks)
            };
            group.bench_function(format!("cold/{left}"), |bencher| {
                bencher.iter_custom(|iterations| (0..iterations).map(|_| once()).sum());
            });
        }
    }
}

fn filled<Q: TimerQueue<Timer>>(make: fn() -> Q, left: u32) -> Q {
    let mut queue = make();
    fill(&mut queue, timers(left + BEHIND));
    queue
}

impl Requeue {
    /// The time of several put-backs, rehearsed with a few timers of each queue.
    fn several<Q: TimerQueue<Timer>>(&self, queues: &mut [Q], left: u32) -> Duration {
        let mut batches: Vec<Q::Batch> = queues.iter_mut().map(|queue| due(queue, left)).collect();
        let mut few = queues.iter_mut().map(|queue| queue.take(u64::MAX, FEW)).collect();
        self.put_back(queues, &mut few);
        for batch in &batches {
            black_box((batch.latest(), batch.len()));
        }
        let ticks = self.put_back(queues, &mut batches);
        self.0.duration(ticks, 1)
    }

    /// The ticks of all put-backs.
    #[inline(never)]
    fn put_back<Q: TimerQueue<Timer>>(&self, queues: &mut [Q], batches: &mut Vec<Q::Batch>) -> u64 {
        let opened = self.0.read();
        for (queue, batch) in queues.iter_mut().zip(batches.drain(..)) {
            let how = queue.requeue(batch);
            assert_eq!(how, Requeued::InFront);
        }
        self.0.read() - opened
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
