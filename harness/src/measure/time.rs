//! Nanoseconds per operation and phase, with one reading of the clock where the kind of operation changes.
//!
//! ```text
//! enqueue enqueue ... enqueue | take | dispatch | requeue | ...      a reading at each |
//! ```
//!
//! A segment is what lies between two readings. It has the cost of one reading in it, and that, as the
//! median of empty pairs, is taken off. What the driver itself does between two operations stays in it.

use std::hint::black_box;

use nix::sys::resource::{Usage, UsageWho, getrusage};

use super::Ledger;
use crate::clock::{Clock, monotonic_ns, thread_cpu_ns};
use crate::drive::{Meter, Tally, Watch};
use crate::spec::{ClockFigures, PhaseCost, Report};
use crate::stream::{Kind, Stream};

/// See [`super::Account`].
pub(super) const ACCOUNT: super::Account = super::Account {
    measured: "segments, that is runs of operations of one kind: a reading of the clock at the end of each, and one more \
               where a phase or a look at memory comes between; the clock's median cost is taken off, and what the \
               driver does between two operations is in it. Of whole phases wall and CPU time, faults, switches",
    outside: "looks at memory are skipped, and so are idling and purging; payloads are made beforehand",
    before: "the operations, a place for each handle if timers are named again, a payload for each enqueue and re-arm",
    after: "what the stream leaves (the queue, unless the stream drops it, and batches that are out), and payloads that \
            no re-arm needed",
};

/// The meter of the `time` pass.
#[derive(Debug)]
pub struct Time {
    clock: Clock,
    figures: ClockFigures,
    /// The last reading.
    since: u64,
    /// Whether nothing but a change of segment came after it.
    fresh: bool,
    /// See [`crate::select::Structure::busy`].
    busy: u64,
    ledger: Ledger<Spent>,
    phases: Phases,
}

/// What the segments of one kind took.
#[derive(Clone, Copy, Debug, Default)]
struct Spent {
    ticks: u64,
    pairs: u64,
}

impl Time {
    /// A meter for `stream` with this clock, whose cost is measured now.
    pub fn new(clock: Clock, stream: &Stream) -> Self {
        let figures = clock.figures();
        Self {
            clock,
            figures,
            since: 0,
            fresh: false,
            busy: 0,
            ledger: Ledger::new(stream),
            phases: Phases::default(),
        }
    }

    /// The meter with a slow-down of `busy` thousandths of a multiplication for each timer handled.
    #[must_use]
    pub fn slowed(self, busy: u64) -> Self {
        Self { busy, ..self }
    }

    /// Adds what was measured to a report.
    pub fn report(self, stream: &Stream, report: &mut Report) {
        let (tick_ns, empty_ns) = (self.clock.tick_ns(), self.figures.empty_ns[1]);
        report.operations = self.ledger.operations(stream, |spent, row| {
            let ns = spent.ticks as f64 * tick_ns - spent.pairs as f64 * empty_ns;
            row.time_ns = Some(ns.max(0.0));
            row.clock_readings = Some(spent.pairs);
        });
        report.phases = self.phases.costs;
        report.clock = Some(self.figures);
    }
}

impl Watch for Time {
    fn phase(&mut self, phase: u32) {
        self.phases.begin(phase);
        self.ledger.phase(phase);
        self.fresh = false;
    }

    #[inline]
    fn enter(&mut self, _kind: Kind) {
        if !self.fresh {
            self.since = self.clock.read();
        }
    }

    #[inline]
    fn leave(&mut self, kind: Kind, done: Tally) {
        if self.busy > 0 {
            multiply(self.busy * done.timers / 1000);
        }
        let now = self.clock.read();
        let spent = self.ledger.add(kind, done);
        spent.ticks += now.saturating_sub(self.since);
        spent.pairs += 1;
        self.since = now;
        self.fresh = true;
    }

    fn end(&mut self) {
        self.phases.end();
    }
}

impl Meter for Time {
    fn prepares(&self) -> bool {
        true
    }
}

/// Multiplies so many times, each time what came out before. The factor is hidden from the compiler, so it can
/// neither shorten the chain nor leave it out.
#[inline(never)]
fn multiply(times: u64) {
    let factor = black_box(0x9E37_79B9_7F4A_7C15_u64);
    let mut product = factor;
    for _ in 0..times {
        product = product.wrapping_mul(factor);
    }
    black_box(product);
}

/// What whole phases cost.
#[derive(Debug, Default)]
struct Phases {
    open: Option<(u32, Moment)>,
    costs: Vec<PhaseCost>,
}

/// Everything that a phase is the difference of.
#[derive(Clone, Copy, Debug)]
struct Moment {
    wall_ns: u64,
    cpu_ns: u64,
    faults: [u64; 2],
    switches: [u64; 2],
}

impl Moment {
    fn now() -> Self {
        let usage = getrusage(UsageWho::RUSAGE_THREAD).expect("Linux has had it since 2.6.26");
        Self {
            wall_ns: monotonic_ns(),
            cpu_ns: thread_cpu_ns(),
            faults: faults(&usage),
            switches: switches(&usage),
        }
    }
}

fn faults(usage: &Usage) -> [u64; 2] {
    [usage.minor_page_faults(), usage.major_page_faults()].map(|count| count as u64)
}

fn switches(usage: &Usage) -> [u64; 2] {
    [usage.voluntary_context_switches(), usage.involuntary_context_switches()].map(|count| count as u64)
}

impl Phases {
    fn begin(&mut self, phase: u32) {
        self.end();
        self.open = Some((phase, Moment::now()));
    }

    /// A phase that comes again is added to what it was.
    fn end(&mut self) {
        let Some((phase, then)) = self.open.take() else { return };
        let now = Moment::now();
        let at = self.costs.iter().position(|cost| cost.phase == phase).unwrap_or_else(|| {
            self.costs.push(PhaseCost { phase, wall_ns: 0, cpu_ns: 0, faults: [0; 2], switches: [0; 2] });
            self.costs.len() - 1
        });
        let cost = &mut self.costs[at];
        cost.wall_ns += now.wall_ns - then.wall_ns;
        cost.cpu_ns += now.cpu_ns - then.cpu_ns;
        for i in 0..2 {
            cost.faults[i] += now.faults[i] - then.faults[i];
            cost.switches[i] += now.switches[i] - then.switches[i];
        }
    }
}
