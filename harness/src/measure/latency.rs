//! Every call timed on its own, and each timer of a dispatch.
//!
//! Samples go into memory that is set aside, and written to, before the first operation. They are raw: the
//! cost of the clock is not taken off but shown beside them.

use std::fs;
use std::io;
use std::path::Path;

use nix::sys::resource::{UsageWho, getrusage};

use super::Ledger;
use crate::clock::Clock;
use crate::drive::{Tally, Watch};
use crate::latency::slowest;
use crate::spec::{ClockFigures, Report, Sample};
use crate::stream::{Kind, Stream};

/// See [`super::Account`].
pub(super) const ACCOUNT: super::Account = super::Account {
    measured: "every call on its own, and of a dispatch each timer: its handler, the step over it, the clock and the \
               front of the next; the clock's own cost stays in and is shown beside it",
    outside: "keeping handles, counting and the digest lie between two calls; looks at memory, idling and purging are \
              skipped; a cancel or look-up of a timer that was never queued is not called",
    before: "the operations, handles and payloads as for `time`, and 8 bytes for each call, written to once",
    after: "what the stream leaves, as for `time`; then samples are turned from ticks to nanoseconds and written, and the run \
            is repeated untimed to see what happened in the slowest calls",
};

/// The system is asked for context switches only after calls that took as long as this: one that overlaps
/// a switch does, and asking costs more than most calls.
const SWITCH_NS_LEAST: f64 = 5_000.0;

impl Sample {
    /// The longest time that a sample can hold, 78 hours; a longer one is cut to it.
    pub const NS_MOST: u64 = (1 << 48) - 1;

    /// A call of `ns` nanoseconds.
    pub fn new(switched: bool, kind: Kind, phase: u32, ns: u64) -> Self {
        let upper = u64::from(switched) << 63 | (kind as u64) << 56 | u64::from(phase & 0xFF) << 48;
        Self(upper | ns.min(Self::NS_MOST))
    }

    /// Whether the call overlapped an involuntary context switch.
    pub fn switched(self) -> bool {
        self.0 >> 63 == 1
    }

    /// The kind of operation; `None` for bytes that were never a sample.
    pub fn kind(self) -> Option<Kind> {
        Kind::from_number((self.0 >> 56 & 0x7F) as u8)
    }

    /// The phase.
    pub fn phase(self) -> u32 {
        (self.0 >> 48 & 0xFF) as u32
    }

    /// How long the call took, in nanoseconds.
    pub fn ns(self) -> u64 {
        self.0 & Self::NS_MOST
    }

    fn with_ns(self, ns: u64) -> Self {
        Self(self.0 & !Self::NS_MOST | ns.min(Self::NS_MOST))
    }
}

/// The meter of the `latency` pass.
#[derive(Debug)]
pub struct Latency {
    clock: Clock,
    figures: ClockFigures,
    phase: u32,
    opened: u64,
    closed: u64,
    /// Involuntary context switches, when last asked.
    switches: u64,
    /// [`SWITCH_NS_LEAST`] in ticks.
    slow: u64,
    /// In ticks until the end, then in nanoseconds.
    samples: Vec<u64>,
    ledger: Ledger<()>,
}

impl Latency {
    /// A meter for `stream` with this clock, whose cost is measured now.
    pub fn new(clock: Clock, stream: &Stream) -> Self {
        let figures = clock.figures();
        let slow = (SWITCH_NS_LEAST / clock.tick_ns()) as u64;
        Self {
            clock,
            figures,
            phase: 0,
            opened: 0,
            closed: 0,
            switches: involuntary_switches(),
            slow,
            samples: set_aside(stream),
            ledger: Ledger::new(stream),
        }
    }

    /// Writes the samples to `path` and adds the rest of what was measured to a report.
    pub fn report(self, stream: &Stream, path: &Path, report: &mut Report) -> io::Result<()> {
        report.operations = self.ledger.operations(stream, |(), _| {});
        report.clock = Some(self.figures);
        fs::write(path, bytemuck::cast_slice(&self.samples))
    }

    /// Positions of the slowest calls.
    pub fn slowest(&self) -> Vec<u64> {
        slowest(self.samples.iter().copied()).iter().map(|call| call.position).collect()
    }

    /// Whether the thread was made to wait since this was asked last.
    #[cold]
    fn switched(&mut self) -> bool {
        let before = std::mem::replace(&mut self.switches, involuntary_switches());
        self.switches != before
    }
}

/// Samples that a run of `stream` takes at most: one of each call, and of each timer that is dispatched, which
/// is enqueued once.
pub fn samples_most(stream: &Stream) -> usize {
    let samples_of = |op: &crate::stream::Op| match Kind::from_number(op.kind) {
        Some(Kind::Enqueue | Kind::Rearm) => 2,
        Some(kind) if !kind.is_mark() && kind != Kind::Dispatch => 1,
        _ => 0,
    };
    stream.ops.iter().map(samples_of).sum()
}

/// Room for all samples, written to.
fn set_aside(stream: &Stream) -> Vec<u64> {
    let mut samples = vec![u64::MAX; samples_most(stream)];
    samples.clear();
    std::hint::black_box(samples)
}

fn involuntary_switches() -> u64 {
    let usage = getrusage(UsageWho::RUSAGE_THREAD).expect("Linux has had it since 2.6.26");
    usage.involuntary_context_switches() as u64
}

impl Watch for Latency {
    fn phase(&mut self, phase: u32) {
        self.phase = phase;
        self.ledger.phase(phase);
    }

    fn leave(&mut self, kind: Kind, done: Tally) {
        self.ledger.add(kind, done);
    }

    fn end(&mut self) {
        for sample in &mut self.samples {
            let in_ticks = Sample(*sample);
            *sample = in_ticks.with_ns(self.clock.nanos(in_ticks.ns())).0;
        }
    }
}

impl Latency {
    /// A call begins.
    #[inline]
    pub(super) fn open(&mut self) {
        self.opened = self.clock.read();
        // A switch between two calls is not to be put to the next one that is slow.
        if self.opened.saturating_sub(self.closed) > self.slow {
            self.switched();
            self.opened = self.clock.read();
        }
    }

    /// The call that was opened last ends.
    #[inline]
    pub(super) fn close(&mut self, kind: Kind) {
        self.closed = self.clock.read();
        let ticks = self.closed.saturating_sub(self.opened);
        let switched = ticks > self.slow && self.switched();
        self.samples.push(Sample::new(switched, kind, self.phase, ticks).0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_holds_zero_one_and_the_longest_time_and_cuts_what_is_longer() {
        for (ns, held) in [(0, 0), (1, 1), (Sample::NS_MOST, Sample::NS_MOST), (u64::MAX, Sample::NS_MOST)] {
            for kind in Kind::ALL {
                for (switched, phase) in [(false, 0), (true, 255), (true, 0), (false, 255)] {
                    let sample = Sample::new(switched, kind, phase, ns);
                    let parts = (sample.switched(), sample.kind(), sample.phase(), sample.ns());
                    assert_eq!(parts, (switched, Some(kind), phase, held));
                }
            }
        }
    }

    #[test]
    fn a_call_of_25_seconds_is_held_as_it_is() {
        let sample = Sample::new(false, Kind::Take, 3, 25_000_000_000);
        assert_eq!((sample.ns(), sample.with_ns(7).ns(), sample.with_ns(7).phase()), (25_000_000_000, 7, 3));
    }
}
