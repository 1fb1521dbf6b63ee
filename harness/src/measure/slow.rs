//! What happened in the slowest calls of the `latency` pass: the run once more, untimed, on a structure that
//! counts.
//!
//! A look at the queue costs more than most calls, so none is taken while calls are timed. The same stream
//! asks the same of the same structure, and its how-manieth call is the same call.

use impls::probe::{Counting, Counts};
use nix::sys::resource::{UsageWho, getrusage};

use crate::drive::{Meter, QueueSize, Watch};
use crate::spec::SlowDetail;
use crate::stream::Kind;

/// Looks on at some calls and at nothing else.
#[derive(Debug)]
pub struct Slow {
    /// The calls, by position, last first.
    wanted: Vec<u64>,
    /// Calls that have begun and ended so far.
    calls: u64,
    /// The queue before a call that is wanted.
    before: QueueSize,
    /// Minor page faults before it.
    faults: u64,
    found: Vec<SlowDetail>,
    /// Those at the end of `found` that do not know the queue after them yet.
    open: usize,
}

impl Slow {
    /// Somebody who looks on at the calls in these positions.
    pub fn new(mut wanted: Vec<u64>) -> Self {
        wanted.sort_unstable_by(|a, b| b.cmp(a));
        let found = Vec::with_capacity(wanted.len());
        Self { wanted, calls: 0, before: QueueSize::default(), faults: 0, found, open: 0 }
    }

    /// What was seen, in order of the calls.
    pub fn into_details(self) -> Vec<SlowDetail> {
        self.found
    }

    fn is_next(&self) -> bool {
        self.wanted.last() == Some(&self.calls)
    }

    #[cold]
    fn seen(&mut self) {
        let faults_minor = minor_faults().saturating_sub(self.faults);
        let Counts { visited, moved, cascaded, .. } = Counting::drain();
        self.found.push(SlowDetail {
            position: self.calls,
            faults_minor,
            entries_visited: visited,
            entries_moved: moved,
            entries_cascaded: cascaded,
            ..SlowDetail::default()
        });
        self.open += 1;
        self.wanted.pop();
    }
}

fn minor_faults() -> u64 {
    let usage = getrusage(UsageWho::RUSAGE_THREAD).expect("Linux has had it since 2.6.26");
    usage.minor_page_faults() as u64
}

impl Watch for Slow {}

impl Meter for Slow {
    fn prepares(&self) -> bool {
        true
    }

    /// Only what is wanted next is looked at. A dispatch has one look for all its timers: it leaves the queue
    /// as it is.
    #[inline]
    fn before(&mut self, kind: Kind, queue: impl FnOnce() -> QueueSize) {
        if self.is_next() || (kind == Kind::Dispatch && !self.wanted.is_empty()) {
            self.before = queue();
        }
    }

    #[inline]
    fn open(&mut self) {
        if self.is_next() {
            Counting::drain();
            self.faults = minor_faults();
        }
    }

    #[inline]
    fn close(&mut self, _kind: Kind) {
        if self.is_next() {
            self.seen();
        }
        self.calls += 1;
    }

    #[inline]
    fn after(&mut self, queue: impl FnOnce() -> QueueSize) {
        if self.open == 0 {
            return;
        }
        let (before, after) = (self.before, queue());
        let known = self.found.len() - self.open;
        for detail in &mut self.found[known..] {
            detail.queue_length = [before.timers, after.timers];
            detail.container_bytes = [before.container_bytes, after.container_bytes];
        }
        self.open = 0;
    }
}
