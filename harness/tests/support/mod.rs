//! Streams and workers for tests and benchmarks.

#![allow(dead_code, reason = "each test and benchmark uses a part of it")]
#![allow(missing_docs, unreachable_pub)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use harness::allocator;
use harness::spec::{AllocatorKind, ClockKind, Pass, PayloadKind, Report, Spec};
use harness::stream::{Header, Kind, Op, Point, Stream};

pub fn op(kind: Kind, at: u64, arg: u64, id: u32) -> Op {
    Op { at, arg, id, kind: kind as u8, batch: 0, reserved: 0 }
}

pub fn header(timers: u32, phases: &[&str]) -> Header {
    Header {
        workload: "test".to_owned(),
        phases: phases.iter().map(|&name| name.to_owned()).collect(),
        timers,
        population: u64::from(timers),
        batches: 1,
        handles: false,
        handler_ticks: 1,
    }
}

/// `timers` in order, two to a tick.
pub fn in_order(timers: u32) -> impl Iterator<Item = Op> {
    (0..timers).map(|id| op(Kind::Enqueue, u64::from(id / 2), 0, id))
}

fn sample(point: Point) -> Op {
    op(Kind::Sample, 0, 0, point as u32)
}

/// Fills in order, dispatches in windows of which each leaves a tenth, until 10 are left, and drops the queue.
pub fn burst(timers: u32) -> Stream {
    let mut ops = vec![sample(Point::Empty), op(Kind::Phase, 0, 0, 0)];
    ops.extend(in_order(timers));
    ops.extend([sample(Point::Filled), op(Kind::Phase, 0, 0, 1)]);
    let step = u64::from(timers / 20).max(1);
    let rounds = u64::from(timers) / step + 20;
    for round in 1..=rounds {
        let now = round * step / 2;
        ops.push(op(Kind::NextExpiry, 0, 0, 0));
        ops.push(op(Kind::Take, now, u64::MAX, 10));
        ops.push(op(Kind::Dispatch, now, step * 9 / 10 + 1, 0));
        ops.push(op(Kind::Requeue, 0, 0, 0));
    }
    ops.extend([sample(Point::Drained), op(Kind::Idle, 5, 0, 0), sample(Point::Idle)]);
    ops.extend([op(Kind::Purge, 0, 0, 0), sample(Point::Purged)]);
    ops.extend([op(Kind::Shrink, 0, 0, 0), sample(Point::Shrunk), op(Kind::Phase, 0, 0, 2)]);
    ops.extend([op(Kind::DropQueue, 0, 0, 0), sample(Point::Dropped)]);
    Stream { header: header(timers, &["fill", "drain", "free"]), ops }
}

/// Fills in order, and then takes and dispatches everything at once.
pub fn fill_and_drain(timers: u32) -> Stream {
    let mut ops = vec![op(Kind::Phase, 0, 0, 0)];
    ops.extend(in_order(timers));
    ops.push(op(Kind::Phase, 0, 0, 1));
    ops.push(op(Kind::Take, u64::MAX, u64::MAX, 0));
    ops.push(op(Kind::Dispatch, 0, u64::MAX, 0));
    Stream { header: header(timers, &["fill", "drain"]), ops }
}

/// One cell in a folder of its own, with its stream written.
pub struct Cell {
    pub folder: tempfile::TempDir,
    pub spec: Spec,
    pub allocator: &'static str,
}

impl Cell {
    pub fn new(structure: &str, pass: Pass, stream: &Stream) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("stream");
        stream.write(&path).expect("the stream is written");
        let spec = Spec {
            structure: structure.to_owned(),
            parameters: Vec::new(),
            payload: PayloadKind::Boxed(16),
            pass,
            clock: ClockKind::Tsc,
            stream: path,
            samples: Some(folder.path().join("samples")),
            profile: Some(folder.path().join("profile.json")),
            cpu: None,
            busy: 0,
        };
        let kind = if pass == Pass::Heap { AllocatorKind::Dhat } else { AllocatorKind::Jemalloc };
        Self { folder, spec, allocator: allocator::name(kind) }
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// What the worker leaves.
    pub fn output(&self) -> Output {
        let text = serde_json::to_string(&self.spec).expect("a cell is JSON");
        worker(&text, self.allocator)
    }

    /// The report of a worker that did its cell.
    pub fn report(&self) -> Report {
        let output = self.output();
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {words}", output.status);
        serde_json::from_slice(&output.stdout).expect("a report is JSON")
    }
}

pub fn executable() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_harness"))
}

/// Runs a worker with `text` on its standard input.
pub fn worker(text: &str, allocator: &str) -> Output {
    let mut child = Command::new(executable())
        .arg(harness::worker::VERB)
        .env(allocator::VARIABLE, allocator)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the worker starts");
    let mut stdin = child.stdin.take().expect("it is piped");
    // A worker that gives up before it has read everything closes the pipe; its exit code says so too.
    _ = std::io::Write::write_all(&mut stdin, text.as_bytes());
    drop(stdin);
    child.wait_with_output().expect("the worker ends")
}
