//! The harness against criterion on the same operations, round by round in a queue of 10,000 timers.
//!
//! ```text
//! honesty/<structure>/dispatch/worker       enqueue 1,000, take them, dispatch all: what the `time` pass says
//! honesty/<structure>/dispatch/criterion    the same round in criterion's own loop and by its own clock
//! honesty/<structure>/put-back/worker       take 1,000, put all back: what the `time` pass says
//! honesty/<structure>/put-back/criterion    the same round in criterion's own loop and by its own clock
//! honesty/driver/enqueue                    a queue that does nothing: what the driver costs an enqueue
//! honesty/driver/segment                    the same for segments of a single call
//! ```
//!
//! The intervals of `worker` and `criterion` should overlap or lie within 10 %. Each figure is for one round,
//! in a steady state on both sides: the first touch of memory is left out, as criterion cannot have it.
//!
//! `cargo bench -p harness --profile dev --bench honesty`

#![allow(missing_docs)]

mod null;
mod support;
#[path = "../tests/support/mod.rs"]
mod workers;

use std::cell::Cell as Shared;
use std::convert::Infallible;
use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, SamplingMode, Throughput, criterion_group, criterion_main};
use harness::clock::Clock;
use harness::drive::drive;
use harness::measure::time::Time;
use harness::payload::Payload;
use harness::spec::{ClockKind, Pass, PayloadKind, Report};
use harness::stream::{Kind, Stream};
use impls::queue::{Batch, Flow, TimerQueue, process};

use null::Null;
use support::{Bench, Timer, fill, for_each_structure, queue};
use workers::{Cell, fill_and_drain};

const TIMERS: u32 = 200_000;

/// Timers that stay queued.
const STANDING: u32 = 10_000;
/// Timers of a round.
const DUE: u32 = 1_000;
/// Rounds before those that are measured: put-backs bring a heap into an order of its own only slowly.
const WARM: [(bool, u32); 2] = [(true, 50), (false, 5_000)];
/// Rounds that are measured.
const ROUNDS: u32 = 200;

struct Honesty;

impl Bench for Honesty {
    fn run<Q: TimerQueue<Timer>>(&self, criterion: &mut Criterion, name: &str, make: fn() -> Q) {
        let mut group = criterion.benchmark_group(format!("honesty/{name}"));
        group.sample_size(20).sampling_mode(SamplingMode::Flat);
        for ((dispatches, warm), label) in WARM.into_iter().zip(["dispatch", "put-back"]) {
            let mut cell = Cell::new(name, Pass::Time, &rounds(dispatches, warm));
            cell.spec.payload = PayloadKind::Inline(16);
            group.bench_function(format!("{label}/worker"), |bencher| {
                bencher.iter_custom(|iterations| (0..iterations).map(|_| a_round(&cell.report())).sum());
            });
        }
        let mut queue = make();
        fill(&mut queue, (0..STANDING).map(timer).collect());
        let mut next = STANDING;
        group.bench_function("dispatch/criterion", |bencher| {
            bencher.iter(|| {
                for (expiry, item) in (next..next + DUE).map(timer) {
                    queue.enqueue(expiry, item);
                }
                next += DUE;
                let mut batch = queue.take(u64::from(next - STANDING) - 1, usize::MAX);
                dispatch(&mut batch);
                queue.requeue(batch)
            });
        });
        group.bench_function("put-back/criterion", |bencher| {
            let (mut queue, now) = (make(), u64::from(DUE) - 1);
            fill(&mut queue, (0..STANDING).map(timer).collect());
            bencher.iter(|| {
                let batch = queue.take(now, usize::MAX);
                queue.requeue(batch)
            });
        });
    }
}

/// A timer for each tick.
fn timer(id: u32) -> (u64, Timer) {
    (u64::from(id), Timer::make((), id))
}

/// The rounds as a stream, those that are measured in a phase of their own.
fn rounds(dispatches: bool, warm: u32) -> Stream {
    let op = workers::op;
    let mut ops = vec![op(Kind::Phase, 0, 0, 0)];
    ops.extend((0..STANDING).map(|id| op(Kind::Enqueue, u64::from(id), 0, id)));
    let (mut next, mut begun) = (STANDING, 0);
    for (phase, count) in [warm, ROUNDS].into_iter().enumerate() {
        ops.push(op(Kind::Phase, 0, 0, phase as u32 + 1));
        for _ in 0..count {
            if dispatches {
                ops.extend((next..next + DUE).map(|id| op(Kind::Enqueue, u64::from(id), 0, id)));
                (next, begun) = (next + DUE, begun + DUE);
                ops.push(op(Kind::Take, u64::from(begun) - 1, u64::MAX, 0));
                ops.push(op(Kind::Dispatch, 0, u64::MAX, 0));
            } else {
                ops.push(op(Kind::Take, u64::from(DUE) - 1, u64::MAX, 0));
            }
            ops.push(op(Kind::Requeue, 0, 0, 0));
        }
    }
    Stream { header: workers::header(next, &["fill", "warm", "rounds"]), ops }
}

/// What a report says a round took that was measured: all of its operations together.
fn a_round(report: &Report) -> Duration {
    let rows = report.operations.iter().filter(|row| row.phase == 2);
    let ns: f64 = rows.filter_map(|row| row.time_ns).sum();
    Duration::from_nanos((ns / f64::from(ROUNDS)) as u64)
}

/// What a report says an operation took, over all phases.
fn time(report: &Report, kind: Kind) -> Duration {
    let rows = report.operations.iter().filter(|row| row.kind == kind);
    Duration::from_nanos(rows.filter_map(|row| row.time_ns).sum::<f64>() as u64)
}

/// Dispatches all of a batch, with what a handler of the workbench does: it lets nothing be left out.
fn dispatch<B: Batch<Timer>>(batch: &mut B) {
    let clock = Shared::new(0);
    let handler = |expiry, item: &mut Timer| {
        black_box((expiry, item.id()));
        clock.set(clock.get() + 1);
        Ok::<_, Infallible>(Flow::Continue)
    };
    process(batch, || clock.get(), u64::MAX, handler);
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
