//! What the parent tells a worker, and what the worker answers: one cell, one process.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::stream::{Kind, Outcome, Point};

/// One cell, as it is handed to a worker on its standard input, one line of JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Spec {
    /// Name in the registry.
    pub structure: String,
    /// Parameters, `key=value` pairs.
    pub parameters: Vec<(String, String)>,
    /// What is queued.
    pub payload: PayloadKind,
    /// What is measured.
    pub pass: Pass,
    /// Clock of single calls and segments.
    pub clock: ClockKind,
    /// The operation stream.
    pub stream: PathBuf,
    /// Where the `latency` pass writes its raw samples.
    pub samples: Option<PathBuf>,
    /// Where the `heap` pass writes its profile.
    pub profile: Option<PathBuf>,
    /// The processor to stay on, if any.
    pub cpu: Option<usize>,
    /// A slow-down (`time`): see [`crate::select::Structure::busy`].
    #[serde(default)]
    pub busy: u64,
}

/// What a cell measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pass {
    /// Nanoseconds per operation and phase, with one clock reading where the kind of operation changes.
    Time,
    /// Every call timed.
    Latency,
    /// Resident memory as a time line.
    Resident,
    /// dhat's heap profile.
    Heap,
    /// What the structure's probe counts.
    Count,
}

/// Which allocator serves a worker. Decided once, at its first call, from the environment (`TWB_ALLOCATOR`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AllocatorKind {
    /// jemalloc.
    Jemalloc,
    /// jemalloc with a thread of its own that gives free pages back.
    #[serde(rename = "jemalloc-background")]
    JemallocBackground,
    /// The C library's.
    System,
    /// dhat over the system allocator.
    Dhat,
}

/// A clock for single calls and segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClockKind {
    /// The time-stamp counter where it is invariant, else the monotonic clock.
    Tsc,
    /// `CLOCK_MONOTONIC`.
    Wall,
    /// `CLOCK_THREAD_CPUTIME_ID`.
    Cpu,
}

/// What a timer carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PayloadKind {
    /// This many bytes within the structure: 0, 16, 64 or 448.
    Inline(u32),
    /// This many bytes in a block of its own.
    Boxed(u32),
}

/// A worker's answer on its standard output, one line of JSON. What was not collected is `None`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Report {
    /// What the run amounted to; the parent compares it with the reference's.
    pub outcome: Outcome,
    /// One for each phase and kind of operation that occurred, in order of first occurrence.
    pub operations: Vec<Operation>,
    /// One for each phase: the whole of it.
    pub phases: Vec<PhaseCost>,
    /// The memory time line (`resident` and `heap`).
    pub memory: Vec<MemorySample>,
    /// dhat's figures (`heap`).
    pub heap: Option<HeapFigures>,
    /// Bytes of the operation stream that the worker holds all the time (`resident`).
    pub stream_bytes: Option<u64>,
    /// What happened in the slowest calls (`latency`), in order of the calls.
    #[serde(default)]
    pub slow: Vec<SlowDetail>,
    /// What the clock is and costs.
    pub clock: Option<ClockFigures>,
    /// The allocator that served, with its version and options as read back from it.
    pub allocator: Vec<(String, String)>,
    /// Whether this binary was built with `debug_assertions`, and its optimisation level.
    pub build: Vec<(String, String)>,
}

/// Cost of one kind of operation within one phase.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Operation {
    /// Index of the phase.
    pub phase: u32,
    /// The kind.
    pub kind: Kind,
    /// Calls made.
    pub calls: u64,
    /// Timers handled by them: queued, taken, dispatched or put back.
    pub timers: u64,
    /// `time`: nanoseconds in its segments, the clock's own cost (its median, per reading) taken off.
    pub time_ns: Option<f64>,
    /// `time`: pairs of clock readings in that.
    pub clock_readings: Option<u64>,
    /// `count`: entries visited, moved, compared, cascaded.
    pub counts: Option<[u64; 4]>,
    /// `heap`: blocks and bytes requested.
    pub allocated: Option<[u64; 2]>,
}

/// Cost of a whole phase.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PhaseCost {
    /// Index of the phase.
    pub phase: u32,
    /// Elapsed nanoseconds by the monotonic clock.
    pub wall_ns: u64,
    /// Nanoseconds of the thread's CPU time.
    pub cpu_ns: u64,
    /// Page faults without and with a read from disk.
    pub faults: [u64; 2],
    /// Voluntary and involuntary context switches.
    pub switches: [u64; 2],
}

/// Memory at one point.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MemorySample {
    /// The point.
    pub point: Point,
    /// Index of the phase that it stands in.
    #[serde(default)]
    pub phase: Option<u32>,
    /// Milliseconds that the stream idled since the queue was last asked something (`resident`).
    #[serde(default)]
    pub idle_ms: Option<u64>,
    /// Timers queued then.
    pub timers: u64,
    /// `TimerQueue::container_bytes`.
    pub container_bytes: Option<u64>,
    /// Bytes requested and not given back, as dhat counts them (`heap`).
    pub live_bytes: Option<u64>,
    /// Blocks of that.
    pub live_blocks: Option<u64>,
    /// VmRSS.
    pub resident_bytes: Option<u64>,
    /// RssAnon.
    pub resident_anon_bytes: Option<u64>,
    /// VmHWM: the highest VmRSS so far.
    pub resident_peak_bytes: Option<u64>,
    /// LazyFree: of VmRSS, what was given back and may be taken at any time.
    #[serde(default)]
    pub resident_lazy_free_bytes: Option<u64>,
    /// jemalloc's `stats.allocated`, or what the C library says is in use.
    pub allocator_allocated_bytes: Option<u64>,
    /// jemalloc's `stats.active`.
    pub allocator_active_bytes: Option<u64>,
    /// jemalloc's `stats.resident`.
    pub allocator_resident_bytes: Option<u64>,
    /// jemalloc's `stats.retained`.
    pub allocator_retained_bytes: Option<u64>,
}

/// dhat's totals of the run, from its statistics; the profile file says the same.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HeapFigures {
    /// Bytes and blocks ever requested.
    pub total: [u64; 2],
    /// Bytes and blocks at the moment of most bytes.
    pub peak: [u64; 2],
    /// Bytes and blocks at the end.
    pub end: [u64; 2],
}

/// What happened in one slow call, as seen in an untimed repetition of the run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlowDetail {
    /// The how-manieth call of the run it was, from 0.
    pub position: u64,
    /// Timers queued before and after it; those out in a batch are not among them.
    pub queue_length: [u64; 2],
    /// `TimerQueue::container_bytes` before and after it.
    pub container_bytes: [Option<u64>; 2],
    /// Page faults without a read from disk.
    pub faults_minor: u64,
    /// Entries read on the way to a place.
    pub entries_visited: u64,
    /// Entries moved in memory.
    pub entries_moved: u64,
    /// Timers that went down a level.
    pub entries_cascaded: u64,
}

/// What the clock of a worker is and costs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ClockFigures {
    /// `tsc`, `monotonic` or `thread-cpu`: what it turned out to be.
    pub name: String,
    /// Nanoseconds of a tick.
    pub tick_ns: f64,
    /// An empty pair of readings: samples, p50, p99, p99.9, maximum, in nanoseconds.
    pub empty_ns: [f64; 5],
}

/// Where the raw samples of the `latency` pass stand: 8 bytes each, little endian, in order of the calls.
///
/// ```text
/// bit 63     the call overlapped an involuntary context switch
/// 62 to 56   the kind of operation
/// 55 to 48   the phase
/// 47 to 0    nanoseconds
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample(pub u64);
