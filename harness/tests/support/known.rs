//! Runs with known figures: a manifest and a journal, as a run leaves them, without anything being measured.

#![allow(dead_code, reason = "each test uses a part of it")]
#![allow(missing_docs, unreachable_pub)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use harness::folder::Manifest;
use harness::journal::{Entry, Journal, Status};
use harness::plan::{Cell, Order, Plan, PlannedWorkload};
use harness::select::structures;
use harness::spec::{AllocatorKind, ClockKind, MemorySample, Operation, Pass, PayloadKind, Report};
use harness::stream::{Kind, Outcome, Point};

/// What a cell of a known run comes to.
pub struct Known<'a> {
    pub structures: &'a str,
    pub workloads: &'a [&'a str],
    pub passes: &'a [Pass],
    pub blocks: u32,
    pub seed: u64,
    /// Nanoseconds for each of 1,000 timers enqueued.
    pub time: &'a dyn Fn(&Cell) -> f64,
    /// Live bytes for each of 1,000 timers, in the heap pass.
    pub live: &'a dyn Fn(&Cell) -> u64,
    pub status: &'a dyn Fn(&Cell) -> Status,
}

impl Default for Known<'_> {
    fn default() -> Self {
        Self {
            structures: "list,heap",
            workloads: &["burst"],
            passes: &[Pass::Time, Pass::Heap],
            blocks: 12,
            seed: 1,
            time: &|_| 100.0,
            live: &|_| 64,
            status: &|_| Status::Ok,
        }
    }
}

const TIMERS: u64 = 1_000;

impl Known<'_> {
    /// Writes the run as the folder `name` in `at`.
    pub fn write(&self, at: &Path, name: &str) -> PathBuf {
        let folder = at.join(name);
        fs::create_dir_all(&folder).unwrap();
        let workload = |name: &&str| PlannedWorkload {
            selector: (*name).into(),
            name: (*name).into(),
            parameters: String::new(),
            sizes: vec![TIMERS],
            payload: PayloadKind::Boxed(16),
            allocators: Vec::new(),
            passes: Vec::new(),
        };
        let plan = Plan {
            structures: structures(&[self.structures.into()]).unwrap(),
            workloads: self.workloads.iter().map(workload).collect(),
            passes: self.passes.to_vec(),
            blocks: self.blocks,
            seed: self.seed,
            clock: ClockKind::Tsc,
            allocators: vec![AllocatorKind::Jemalloc],
            timeout_s: 60,
            keep_samples: false,
            order: Order::default(),
            cpu: None,
            shard: None,
            budget: None,
        };
        let mut manifest = Manifest::new(name.into(), None, plan);
        manifest.complete = true;
        manifest.revision = None;
        manifest.write(&folder).unwrap();
        let mut journal = Journal::open(&folder).unwrap();
        for cell in manifest.plan.groups().iter().flat_map(|group| &group.cells) {
            journal.append(&self.entry(cell)).unwrap();
        }
        folder
    }

    fn entry(&self, cell: &Cell) -> Entry {
        let status = (self.status)(cell);
        Entry {
            cell: cell.index,
            status,
            detail: (status != Status::Ok).then(|| "as it was told to".into()),
            stream_hash: format!("{:016x}", cell.seed),
            phases: vec!["fill".into()],
            check: Some("exact".into()),
            started_unix_ms: 0,
            elapsed_ms: 1,
            report: (status == Status::Ok).then(|| self.report(cell)),
            calls: None,
            reproduced: None,
        }
    }

    fn report(&self, cell: &Cell) -> Report {
        let timed = cell.pass == Pass::Time;
        let operation = Operation {
            phase: 0,
            kind: Kind::Enqueue,
            calls: TIMERS,
            timers: TIMERS,
            time_ns: timed.then(|| (self.time)(cell) * TIMERS as f64),
            clock_readings: timed.then_some(1),
            counts: None,
            allocated: None,
        };
        let live = |point, bytes| sample(point, if cell.pass == Pass::Heap { Some(bytes) } else { None });
        Report {
            outcome: Outcome { enqueued: TIMERS, ..Outcome::default() },
            operations: vec![operation],
            memory: vec![
                live(Point::Empty, 0),
                live(Point::Filled, (self.live)(cell) * TIMERS),
                live(Point::Drained, (self.live)(cell) * 10),
            ],
            ..Report::default()
        }
    }
}

fn sample(point: Point, live_bytes: Option<u64>) -> MemorySample {
    MemorySample {
        phase: None,
        idle_ms: None,
        resident_lazy_free_bytes: None,
        point,
        timers: TIMERS,
        container_bytes: None,
        live_bytes,
        live_blocks: None,
        resident_bytes: None,
        resident_anon_bytes: None,
        resident_peak_bytes: None,
        allocator_allocated_bytes: None,
        allocator_active_bytes: None,
        allocator_resident_bytes: None,
        allocator_retained_bytes: None,
    }
}

/// A factor that differs from block to block and not between structures: 1 to 1.55.
pub fn drift(cell: &Cell) -> f64 {
    1.0 + f64::from(cell.block * 7 % 12) / 20.0
}

/// A factor of some 2 in 1,000 that depends on cell and run.
pub fn jitter(cell: &Cell, run: u32) -> f64 {
    1.0 + f64::from((cell.index * 37 + run * 11) % 17) / 8_000.0
}

pub fn is(cell: &Cell, structure: &str) -> bool {
    cell.structure.name == structure
}

/// The command in a folder.
pub fn harness(at: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_harness"));
    command.args(words).current_dir(at).env_remove("NO_COLOR").output().unwrap()
}

pub fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

pub fn code(output: &Output) -> i32 {
    output.status.code().unwrap_or_else(|| panic!("{}: {}", output.status, err(output)))
}

/// What a command prints that must not fail.
pub fn printed(at: &Path, words: &[&str]) -> String {
    let output = harness(at, words);
    assert_eq!(code(&output), 0, "{words:?}: {}", err(&output));
    out(&output)
}

/// The rows of a command with `--format json`.
pub fn rows(at: &Path, words: &[&str]) -> Vec<serde_json::Value> {
    let text = out(&harness(at, &[words, &["--format", "json"]].concat()));
    let json: serde_json::Value =
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    json["rows"].as_array().unwrap().clone()
}
