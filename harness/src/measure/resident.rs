//! Resident memory as a time line: what the kernel says, and what the allocator says, at each point.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::thread;
use std::time::Duration;

use super::Ledger;
use crate::allocator::{self, Figures};
use crate::drive::{QueueSize, Tally, Watch};
use crate::spec::{MemorySample, Report};
use crate::stream::{Kind, Point, Stream};

/// See [`super::Account`].
pub(super) const ACCOUNT: super::Account = super::Account {
    measured: "resident memory of the whole process and the allocator's own figures at each look; at `empty` the \
               operations and handles are there and the queue is not, so the figures above `empty` have neither",
    outside: "nothing is timed; payloads are made where they are enqueued, and are in the figures",
    before: "the operations, a place for each handle; then free pages are given back, and the peak starts anew",
    after: super::DROPPED,
};

/// Looks on in the `resident` pass. Reading a point allocates nothing.
#[derive(Debug)]
pub struct Resident {
    proc: Proc,
    phase: u32,
    /// Milliseconds idled since the queue was last asked something.
    idle_ms: u64,
    samples: Vec<MemorySample>,
    /// The worker as it is without a queue: the point `empty`.
    without_queue: (Status, Figures),
    ledger: Ledger<()>,
}

impl Resident {
    /// Somebody who looks on at `stream`.
    pub fn new(stream: &Stream) -> io::Result<Self> {
        let points = stream.ops.iter().filter(|op| op.kind == Kind::Sample as u8).count();
        Ok(Self {
            proc: Proc::of_this_process()?,
            phase: 0,
            idle_ms: 0,
            samples: Vec::with_capacity(points),
            without_queue: Default::default(),
            ledger: Ledger::new(stream),
        })
    }

    /// Adds what was measured to a report.
    pub fn report(self, stream: &Stream, report: &mut Report) {
        report.operations = self.ledger.operations(stream, |(), _| {});
        report.memory = self.samples;
        report.stream_bytes = Some(size_of_val(stream.ops.as_slice()) as u64);
    }

    fn look(&self) -> (Status, Figures) {
        (self.proc.read(), Figures::now())
    }
}

impl Watch for Resident {
    /// Pages that lie about from reading the stream would be used for the queue and hide what it needs, so
    /// they are given back, and the peak starts anew.
    fn begin(&mut self) {
        allocator::purge();
        // Where the kernel does not allow it, the peak is that of the whole process, which is still true.
        _ = fs::write("/proc/self/clear_refs", "5");
        self.without_queue = self.look();
    }

    fn phase(&mut self, phase: u32) {
        self.phase = phase;
        self.ledger.phase(phase);
    }

    fn leave(&mut self, kind: Kind, done: Tally) {
        self.idle_ms = 0;
        self.ledger.add(kind, done);
    }

    fn sample(&mut self, point: Point, queue: QueueSize) {
        let (status, figures) = if point == Point::Empty { self.without_queue } else { self.look() };
        self.samples.push(MemorySample {
            point,
            phase: Some(self.phase),
            idle_ms: Some(self.idle_ms),
            timers: queue.timers,
            container_bytes: queue.container_bytes,
            live_bytes: None,
            live_blocks: None,
            resident_bytes: status.resident,
            resident_anon_bytes: status.anonymous,
            resident_peak_bytes: status.peak,
            resident_lazy_free_bytes: status.lazy_free,
            allocator_allocated_bytes: figures.allocated,
            allocator_active_bytes: figures.active,
            allocator_resident_bytes: figures.resident,
            allocator_retained_bytes: figures.retained,
        });
    }

    fn idle(&mut self, milliseconds: u64) {
        // Nothing is requested meanwhile: an allocator may take any request as the occasion to give pages back.
        thread::sleep(Duration::from_millis(milliseconds));
        self.idle_ms += milliseconds;
    }

    fn purge(&mut self) {
        allocator::purge();
    }
}

/// What the kernel says of a process's memory, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// `VmRSS`: in memory.
    pub resident: Option<u64>,
    /// `RssAnon`: of that, what no file stands behind.
    pub anonymous: Option<u64>,
    /// `VmHWM`: the highest `VmRSS` so far.
    pub peak: Option<u64>,
    /// `LazyFree`: of `VmRSS`, what was given back and stays until the kernel wants it.
    pub lazy_free: Option<u64>,
}

/// The files in which the kernel says it, open.
#[derive(Debug)]
pub struct Proc {
    status: File,
    /// Not every kernel has it.
    rollup: Option<File>,
}

impl Proc {
    /// Those of this process.
    pub fn of_this_process() -> io::Result<Self> {
        let rollup = File::open("/proc/self/smaps_rollup").ok();
        Ok(Self { status: File::open("/proc/self/status")?, rollup })
    }

    /// Reads them from their beginning, without allocating. Cost: the kernel walks all pages for `LazyFree`, some
    /// milliseconds for 100 MiB.
    pub fn read(&self) -> Status {
        let lazy_free = self.rollup.as_ref().and_then(|rollup| {
            let mut buffer = [0; 4096];
            let length = rollup.read_at(&mut buffer, 0).unwrap_or(0);
            kibibytes(&buffer[..length], b"LazyFree:")
        });
        Status { lazy_free, ..Status::read(&self.status) }
    }
}

impl Status {
    /// Reads an open `/proc/<pid>/status` from its beginning, without allocating. `LazyFree` does not stand there.
    pub fn read(file: &File) -> Self {
        let mut buffer = [0; 8192];
        let length = file.read_at(&mut buffer, 0).unwrap_or(0);
        Self::parse(&buffer[..length])
    }

    fn parse(text: &[u8]) -> Self {
        Self {
            resident: kibibytes(text, b"VmRSS:"),
            anonymous: kibibytes(text, b"RssAnon:"),
            peak: kibibytes(text, b"VmHWM:"),
            lazy_free: None,
        }
    }
}

/// The bytes that the line of this name gives in kB, which in `/proc` are KiB.
fn kibibytes(text: &[u8], name: &[u8]) -> Option<u64> {
    let line = text.split(|&byte| byte == b'\n').find_map(|line| line.strip_prefix(name))?;
    let number = line.trim_ascii().strip_suffix(b" kB")?;
    let number: u64 = str::from_utf8(number).ok()?.parse().ok()?;
    Some(number * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_in_bytes_and_a_missing_one_is_none() {
        let text = b"Name:\tharness\nVmHWM:\t    9600 kB\nVmRSS:\t     512 kB\nRssFile:\t 7 kB\n";
        let status = Status::parse(text);
        assert_eq!(status, Status { resident: Some(524_288), peak: Some(9_830_400), ..Status::default() });
        assert_eq!(Status::parse(b"VmRSS:\t a lot\n"), Status::default());
    }
}
