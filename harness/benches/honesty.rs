//! The harness against criterion on the same operations, round by round in a queue of 10,000 timers.
//!
//! ```text
//! honesty/<structure>/dispatch/worker       enqueue 1,000, take them, dispatch all: what the `time` pass says
//! honesty/<structure>/dispatch/criterion    the same rounds in a loop written out, one reading around all
//! honesty/<structure>/put-back/...          take 1,000, put all back: the same two
//! honesty/driver/enqueue                    a queue that does nothing: what the driver costs an enqueue
//! honesty/driver/segment                    the same for segments of a single call
//! ```
//!
//! Both sides read the same stream from the same file, lay out the same payloads and have the same handler. Each
//! sample is a queue of its own in a process of its own, made, filled and warmed, because where its timers lie in
//! memory differs from process to process by more than an interval is wide. The two sides are sampled in turn,
//! worker first and criterion first by turns, so that neither has a quieter machine; criterion then evaluates
//! both. The first touch of memory is left out. What is compared is the rest: the driver that looks up what comes
//! next, and a reading of the clock at each change of operation with its cost taken off, against a loop for just
//! these rounds and one reading around all of them. The intervals of `worker` and `criterion` should overlap or
//! lie within 10 %. Each figure is for one round.
//!
//! `cargo bench -p harness --profile dev --bench honesty`

#![allow(missing_docs)]

mod null;
mod support;
#[path = "../tests/support/mod.rs"]
mod workers;

use std::cell::Cell as Shared;
use std::convert::Infallible;
use std::env;
use std::process::Command;
use std::time::{Duration, Instant};

use criterion::{Criterion, SamplingMode, Throughput, criterion_group};
use harness::clock::Clock;
use harness::drive::{Dispatched, drive};
use harness::measure::time::Time;
use harness::payload::Payload;
use harness::spec::{ClockKind, Pass, PayloadKind, Report, Spec};
use harness::stream::{Kind, Op, Stream};
use impls::queue::{Flow, Params, Tick, TimerQueue, process};
use impls::registry::{self, Visit};

use null::Null;
use support::{Bench, for_each_structure, queue};
use workers::{Cell, fill_and_drain};

/// 16 bytes within the structure.
type Timer = harness::payload::Inline<2>;

const TIMERS: u32 = 200_000;

/// Timers that stay queued.
const STANDING: u32 = 10_000;
/// Timers of a round.
const DUE: u32 = 1_000;
/// Rounds before those that are measured: put-backs bring a heap into an order of its own only slowly.
const KINDS: [(&str, bool, u32); 2] = [("dispatch", true, 50), ("put-back", false, 5_000)];
/// Rounds that are measured.
const ROUNDS: u32 = 200;

/// Pairs of samples.
const SAMPLES: usize = 30;

struct Honesty;

impl Bench for Honesty {
    fn run<Q: TimerQueue<Timer>>(&self, criterion: &mut Criterion, name: &str, _: fn() -> Q) {
        let mut group = criterion.benchmark_group(format!("honesty/{name}"));
        group.sample_size(SAMPLES).sampling_mode(SamplingMode::Flat);
        for (label, dispatches, warm) in KINDS {
            let mut cell = Cell::new(name, Pass::Time, &rounds(dispatches, warm));
            cell.spec.payload = PayloadKind::Inline(16);
            let (mut by_hand, mut hand_first) = (Vec::new(), false);
            group.warm_up_time(Duration::from_secs(1)).measurement_time(Duration::from_secs(5));
            group.bench_function(format!("{label}/worker"), |bencher| {
                let mut sample = |_| {
                    hand_first = !hand_first;
                    let before = hand_first.then(|| in_a_child(&cell));
                    let worker = a_round(&cell.report());
                    by_hand.push(before.unwrap_or_else(|| in_a_child(&cell)));
                    worker
                };
                bencher.iter_custom(|iterations| (0..iterations).map(&mut sample).sum());
            });
            let latest = by_hand.split_off(by_hand.len().saturating_sub(SAMPLES));
            let mut latest = latest.iter().cycle();
            // They are there already: nothing is to be waited for, and a sample is one of them.
            group.warm_up_time(Duration::from_nanos(1)).measurement_time(Duration::from_nanos(1));
            group.bench_function(format!("{label}/criterion"), |bencher| {
                // There are none when a filter left the worker out.
                let mut sample = |_| latest.next().copied().unwrap_or_else(|| in_a_child(&cell));
                bencher.iter_custom(|iterations| (0..iterations).map(&mut sample).sum());
            });
        }
    }
}

/// The variable that makes this benchmark do one sample and print its nanoseconds. It holds the cell.
const CHILD: &str = "TWB_HONESTY_CHILD";

/// [`by_hand`] in a process of its own.
fn in_a_child(cell: &Cell) -> Duration {
    let this = env::current_exe().expect("a benchmark is a file");
    let spec = serde_json::to_string(&cell.spec).expect("a cell is plain data");
    let output = Command::new(this).env(CHILD, spec).output().expect("it starts again");
    let nanos = String::from_utf8_lossy(&output.stdout).trim().parse();
    Duration::from_nanos(nanos.unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr))))
}

/// The one sample of a child.
struct Child {
    stream: Stream,
}

impl Visit<Timer> for Child {
    type Out = Duration;
    fn visit<Q: TimerQueue<Timer>>(self, queue: Q) -> Duration {
        by_hand(&self.stream, queue)
    }
}

/// What a round took that was measured, in a loop written out for just these rounds.
fn by_hand<Q: TimerQueue<Timer>>(stream: &Stream, queue: Q) -> Duration {
    let is = |op: &Op, kind: Kind| op.kind == kind as u8;
    let enqueues = stream.ops.iter().filter(|op| is(op, Kind::Enqueue));
    let payloads: Vec<Timer> = enqueues.map(|op| Timer::make((), op.id)).collect();
    let mut hand = Hand { queue, payloads: payloads.into_iter(), dispatched: Dispatched::default() };
    // Each phase without the mark that it begins with.
    let mut phases = stream.ops.split(|op| is(op, Kind::Phase)).skip(1);
    let mut next = || phases.next().expect("a stream of three phases");
    next().iter().for_each(|op| hand.enqueue(op));
    hand.rounds(next());
    let measured = next();
    let begun = Instant::now();
    hand.rounds(measured);
    let spent = begun.elapsed() / ROUNDS;
    std::hint::black_box(hand.dispatched.digest());
    spent
}

/// What the driver has, for rounds that are all alike.
struct Hand<Q> {
    queue: Q,
    payloads: std::vec::IntoIter<Timer>,
    dispatched: Dispatched,
}

impl<Q: TimerQueue<Timer>> Hand<Q> {
    #[inline(always)]
    fn enqueue(&mut self, op: &Op) {
        let item = self.payloads.next().expect("one was made for each enqueue");
        self.queue.enqueue(op.at, item);
    }

    fn rounds(&mut self, ops: &[Op]) {
        for round in ops.split_inclusive(|op| op.kind == Kind::Requeue as u8) {
            match round {
                [enqueues @ .., take, _dispatch, _requeue] => {
                    enqueues.iter().for_each(|op| self.enqueue(op));
                    let mut batch = self.queue.take(take.at, usize::MAX);
                    self.dispatch(&mut batch, take.at);
                    self.queue.requeue(batch);
                }
                [take, _requeue] => {
                    let batch = self.queue.take(take.at, usize::MAX);
                    self.queue.requeue(batch);
                }
                _ => unreachable!("a round has a take and a put-back"),
            }
        }
    }

    fn dispatch(&mut self, batch: &mut Q::Batch, now: Tick) {
        let (clock, mut last) = (Shared::new(0), 0);
        let handler = |expiry, item: &mut Timer| {
            self.dispatched.timer(now, &mut last, expiry, item.id());
            clock.set(clock.get() + 1);
            Ok::<_, Infallible>(Flow::Continue)
        };
        process(batch, || clock.get(), u64::MAX, handler);
    }
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

fn main() {
    if let Ok(cell) = env::var(CHILD) {
        let cell: Spec = serde_json::from_str(&cell).expect("the parent wrote it");
        let child = Child { stream: Stream::read(&cell.stream).expect("the parent wrote it") };
        let spent = registry::visit::<Timer, _>(&cell.structure, &Params::default(), child);
        println!("{}", spent.expect("defaults will do").as_nanos());
        return;
    }
    benches();
    Criterion::default().configure_from_args().final_summary();
}
