//! dhat's view of the heap: what was requested, by which operation, and the profile for its viewer.

use std::path::PathBuf;

use dhat::{HeapStats, Profiler};

use super::Ledger;
use crate::drive::{QueueSize, Tally, Watch};
use crate::spec::{HeapFigures, MemorySample, Report};
use crate::stream::{Kind, Point, Stream};

/// See [`super::Account`].
pub(super) const ACCOUNT: super::Account = super::Account {
    measured: "blocks and bytes requested, by dhat: in all, at the peak, at the end, for each kind of operation, and at \
               each look at memory; payloads are requested where they are enqueued, and are in the figures",
    outside: "nothing is timed; idling and purging are skipped",
    before: "the operations, a place for each handle; dhat starts after that, so they are not in its figures",
    after: "what the stream leaves, after dhat has read its figures: `end` has it",
};

/// Looks on in the `heap` pass, which needs dhat as the allocator.
///
/// The profile begins when all but the queue has been set aside, and is written at the end, also while a
/// panic unwinds. Payloads are requested where they are enqueued, so an enqueue has them in its figures.
#[derive(Debug)]
pub struct Heap {
    profile: PathBuf,
    profiler: Option<Profiler>,
    /// Blocks and bytes requested before this segment.
    before: [u64; 2],
    phase: u32,
    samples: Vec<MemorySample>,
    ledger: Ledger<[u64; 2]>,
    figures: Option<HeapFigures>,
}

impl Heap {
    /// Somebody who looks on at `stream` and writes the profile to `profile`.
    pub fn new(stream: &Stream, profile: PathBuf) -> Self {
        let points = stream.ops.iter().filter(|op| op.kind == Kind::Sample as u8).count();
        Self {
            profile,
            profiler: None,
            before: [0; 2],
            phase: 0,
            samples: Vec::with_capacity(points),
            ledger: Ledger::new(stream),
            figures: None,
        }
    }

    /// Adds what was measured to a report.
    pub fn report(self, stream: &Stream, report: &mut Report) {
        report.operations = self.ledger.operations(stream, |allocated, row| row.allocated = Some(*allocated));
        report.memory = self.samples;
        report.heap = self.figures;
    }
}

/// Blocks and bytes ever requested.
fn requested() -> [u64; 2] {
    let stats = HeapStats::get();
    [stats.total_blocks, stats.total_bytes]
}

impl Watch for Heap {
    fn begin(&mut self) {
        self.profiler = Some(Profiler::builder().file_name(&self.profile).build());
    }

    fn phase(&mut self, phase: u32) {
        self.phase = phase;
        self.ledger.phase(phase);
    }

    fn enter(&mut self, _kind: Kind) {
        self.before = requested();
    }

    fn leave(&mut self, kind: Kind, done: Tally) {
        let after = requested();
        let sums = self.ledger.add(kind, done);
        for i in 0..2 {
            sums[i] += after[i] - self.before[i];
        }
    }

    fn sample(&mut self, point: Point, queue: QueueSize) {
        let stats = HeapStats::get();
        self.samples.push(MemorySample {
            point,
            phase: Some(self.phase),
            idle_ms: None,
            timers: queue.timers,
            container_bytes: queue.container_bytes,
            live_bytes: Some(stats.curr_bytes as u64),
            live_blocks: Some(stats.curr_blocks as u64),
            resident_bytes: None,
            resident_anon_bytes: None,
            resident_peak_bytes: None,
            resident_lazy_free_bytes: None,
            allocator_allocated_bytes: None,
            allocator_active_bytes: None,
            allocator_resident_bytes: None,
            allocator_retained_bytes: None,
        });
    }

    /// The figures are read at the last moment before the profile is written, so the two agree.
    fn end(&mut self) {
        let stats = HeapStats::get();
        self.figures = Some(HeapFigures {
            total: [stats.total_bytes, stats.total_blocks],
            peak: [stats.max_bytes as u64, stats.max_blocks as u64],
            end: [stats.curr_bytes as u64, stats.curr_blocks as u64],
        });
        self.profiler = None;
    }
}
