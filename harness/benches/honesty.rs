//! The harness against criterion on the same operation: a queue is filled with 200,000 timers in order, and
//! all of them are taken and dispatched.
//!
//! ```text
//! honesty/<structure>/<operation>/worker       what the `time` pass of a fresh worker says
//! honesty/<structure>/<operation>/criterion    the same loop in this process, with free pages given back first
//! honesty/driver/enqueue                       a queue that does nothing: what the driver costs an enqueue
//! honesty/driver/segment                       the same for segments of a single call
//! ```
//!
//! The intervals of `worker` and `criterion` should overlap or lie within 10 %. Free pages are given back
//! before each iteration, because a worker is fresh: its first touch of each page is part of what it measures.
//!
//! `cargo bench -p harness --profile dev --no-default-features --bench honesty`

#![allow(missing_docs)]

mod null;
mod support;
#[path = "../tests/support/mod.rs"]
mod workers;

use std::cell::Cell as Shared;
use std::convert::Infallible;
use std::hint::black_box;
use std::time::Duration;

use criterion::{BatchSize, Criterion, SamplingMode, Throughput, criterion_group, criterion_main};
use harness::allocator;
use harness::clock::Clock;
use harness::drive::drive;
use harness::measure::time::Time;
use harness::payload::Payload;
use harness::spec::{ClockKind, Pass, PayloadKind, Report};
use harness::stream::{Kind, Stream};
use impls::queue::{Batch, Flow, TimerQueue, process};

use null::Null;
use support::{Bench, Timer, fill, for_each_structure, queue, timers};
use workers::{Cell, fill_and_drain};

const TIMERS: u32 = 200_000;

struct Honesty;

impl Bench for Honesty {
    fn run<Q: TimerQueue<Timer>>(&self, criterion: &mut Criterion, name: &str, make: fn() -> Q) {
        let mut group = criterion.benchmark_group(format!("honesty/{name}"));
        group.sample_size(10).sampling_mode(SamplingMode::Flat);
        group.throughput(Throughput::Elements(u64::from(TIMERS)));
        let mut cell = Cell::new(name, Pass::Time, &fill_and_drain(TIMERS));
        cell.spec.payload = PayloadKind::Inline(16);
        for kind in [Kind::Enqueue, Kind::Take, Kind::Dispatch] {
            let label = format!("{kind:?}").to_lowercase();
            group.bench_function(format!("{label}/worker"), |bencher| {
                bencher.iter_custom(|iterations| (0..iterations).map(|_| time(&cell.report(), kind)).sum());
            });
        }
        group.bench_function("enqueue/criterion", |bencher| {
            bencher.iter_batched(|| fresh(make), enqueue, BatchSize::PerIteration);
        });
        group.bench_function("take/criterion", |bencher| {
            bencher.iter_batched(|| enqueue(fresh(make)), take, BatchSize::PerIteration);
        });
        group.bench_function("dispatch/criterion", |bencher| {
            bencher.iter_batched(|| take(enqueue(fresh(make))), dispatch, BatchSize::PerIteration);
        });
    }
}

/// What a report says an operation took, over both phases.
fn time(report: &Report, kind: Kind) -> Duration {
    let rows = report.operations.iter().filter(|row| row.kind == kind);
    Duration::from_nanos(rows.filter_map(|row| row.time_ns).sum::<f64>() as u64)
}

fn fresh<Q>(make: fn() -> Q) -> (Q, Vec<(u64, Timer)>) {
    let timers = timers(TIMERS);
    allocator::purge();
    (make(), timers)
}

fn enqueue<Q: TimerQueue<Timer>>((mut queue, timers): (Q, Vec<(u64, Timer)>)) -> Q {
    fill(&mut queue, timers);
    queue
}

fn take<Q: TimerQueue<Timer>>(mut queue: Q) -> (Q, Q::Batch) {
    let batch = queue.take(u64::MAX, usize::MAX);
    (queue, batch)
}

/// Queue and empty batch are dropped outside.
fn dispatch<Q, B: Batch<Timer>>((queue, mut batch): (Q, B)) -> (Q, B) {
    let clock = Shared::new(0);
    let handler = |expiry, item: &mut Timer| {
        black_box((expiry, item.id()));
        clock.set(clock.get() + 1);
        Ok::<_, Infallible>(Flow::Continue)
    };
    process(&mut batch, || clock.get(), u64::MAX, handler);
    (queue, batch)
}

/// The driver with the meter of the `time` pass and a queue that does nothing.
fn driver(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("honesty/driver");
    group
        .sample_size(10)
        .sampling_mode(SamplingMode::Flat)
        .throughput(Throughput::Elements(u64::from(TIMERS)));
    let clock = Clock::new(ClockKind::Tsc);
    for (label, kind, stream) in [
        ("enqueue", Kind::Enqueue, fill_and_drain(TIMERS)),
        ("segment", Kind::NextExpiry, single_calls(TIMERS)),
    ] {
        let once = |_| {
            let (mut meter, mut report) = (Time::new(clock.clone(), &stream), Report::default());
            drive(&stream, queue::<Null<Timer>>(), &mut meter);
            meter.report(&stream, &mut report);
            time(&report, kind)
        };
        group.bench_function(label, |bencher| {
            bencher.iter_custom(|iterations| (0..iterations).map(once).sum());
        });
    }
}

/// So many segments of one `next_expiry`, with a `shrink` after each.
fn single_calls(segments: u32) -> Stream {
    let pair = [Kind::NextExpiry, Kind::Shrink].map(|kind| workers::op(kind, 0, 0, 0));
    Stream { header: workers::header(0, &["all"]), ops: pair.repeat(segments as usize) }
}

fn honesty(criterion: &mut Criterion) {
    for_each_structure(criterion, &Honesty);
}

criterion_group!(benches, driver, honesty);
criterion_main!(benches);
