//! What a structure tells of its work: entries visited, moved, compared and cascaded.
//!
//! Every structure takes a probe as a type. [`NoProbe`] costs nothing; [`Counting`] adds to thread-local
//! counters, and what it is compiled into is never timed.

use std::cell::Cell;

/// Where a structure reports its work. All functions are static, so a probe has no size.
pub trait Probe: 'static {
    /// `n` entries were read on the way to a place.
    fn visited(n: usize);
    /// `n` entries were moved in memory.
    fn moved(n: usize);
    /// `n` places or expiries were compared.
    fn compared(n: usize);
    /// `n` timers went down a level.
    fn cascaded(n: usize);
}

/// The probe of everything that is timed.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProbe;

impl Probe for NoProbe {
    fn visited(_: usize) {}
    fn moved(_: usize) {}
    fn compared(_: usize) {}
    fn cascaded(_: usize) {}
}

/// The probe that counts, for the calling thread.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counting;

/// What [`Counting`] has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Entries read on the way to a place.
    pub visited: u64,
    /// Entries moved in memory.
    pub moved: u64,
    /// Places or expiries compared.
    pub compared: u64,
    /// Timers that went down a level.
    pub cascaded: u64,
}

thread_local! {
    static COUNTS: Cell<Counts> = const { Cell::new(Counts { visited: 0, moved: 0, compared: 0, cascaded: 0 }) };
}

impl Counting {
    /// What this thread has counted since the last call, and starts again from 0.
    pub fn drain() -> Counts {
        COUNTS.take()
    }

    fn add(change: impl FnOnce(&mut Counts)) {
        let mut counts = COUNTS.get();
        change(&mut counts);
        COUNTS.set(counts);
    }
}

impl Probe for Counting {
    fn visited(n: usize) {
        Self::add(|counts| counts.visited += n as u64);
    }
    fn moved(n: usize) {
        Self::add(|counts| counts.moved += n as u64);
    }
    fn compared(n: usize) {
        Self::add(|counts| counts.compared += n as u64);
    }
    fn cascaded(n: usize) {
        Self::add(|counts| counts.cascaded += n as u64);
    }
}
