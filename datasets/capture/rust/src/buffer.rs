//! The bounded buffer between the threads that log and the one that writes.
//!
//! ```text
//! push --> rows [ a b c . . ]   full: counted in `lost`
//! take <-- the rows, and how many were lost behind them; the writer's empty buffer takes their place
//! ```
//!
//! One lock and not a buffer a thread: rows stand in the order of the operations, which a merge by time could
//! not promise for two operations within one clock tick, and memory is bounded by one number.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::nanos;

/// The writer looks at least this often, so that a program that aborts loses little.
const LOOK: Duration = Duration::from_millis(200);

/// What a row says was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Start,
    Rearm,
    Cancel,
    Miss,
    Expire,
}

/// One operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) time: u64,
    pub(crate) id: u64,
    /// Since the trace began; a due time may be before it.
    pub(crate) due: i64,
    pub(crate) period: u64,
    pub(crate) class: &'static str,
    pub(crate) op: Op,
}

impl Row {
    /// Of a timer, with nothing else said.
    pub(crate) fn of(id: u64) -> Self {
        Self { time: 0, id, due: 0, period: 0, class: "", op: Op::Miss }
    }
}

/// What the writer takes at once.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    pub(crate) rows: Vec<Row>,
    /// Rows lost behind the last of `rows`.
    pub(crate) lost: u64,
    /// When the last of them was lost.
    pub(crate) lost_at: u64,
    /// Nothing comes after this.
    pub(crate) closed: bool,
}

/// The buffer with its lock and its clock.
#[derive(Debug)]
pub(crate) struct Shared {
    origin: Instant,
    limit: usize,
    buffer: Mutex<Taken>,
    wake: Condvar,
}

impl Shared {
    pub(crate) fn new(limit: usize) -> Self {
        let buffer = Taken { rows: Vec::with_capacity(limit), ..Taken::default() };
        Self { origin: Instant::now(), limit, buffer: Mutex::new(buffer), wake: Condvar::new() }
    }

    /// A point in time on the clock of the trace.
    pub(crate) fn since_origin(&self, at: Instant) -> i64 {
        let signed = |duration| i64::try_from(nanos(duration)).unwrap_or(i64::MAX);
        match at.checked_duration_since(self.origin) {
            Some(after) => signed(after),
            None => -signed(self.origin.duration_since(at)),
        }
    }

    /// Adds a row with the time of now, or counts it as lost. Cost: O(1).
    pub(crate) fn push(&self, row: Row) {
        let mut buffer = self.lock();
        if buffer.closed {
            return;
        }
        let time = nanos(self.origin.elapsed());
        if buffer.rows.len() == self.limit {
            buffer.lost += 1;
            buffer.lost_at = time;
            return;
        }
        buffer.rows.push(Row { time, ..row });
        let wake = buffer.rows.len() == self.limit / 2;
        drop(buffer);
        if wake {
            self.wake.notify_one();
        }
    }

    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.wake.notify_one();
    }

    /// Waits until there is enough to write, or a while has passed, and takes what is there for `empty`.
    pub(crate) fn take(&self, empty: Vec<Row>) -> Taken {
        let little = |buffer: &mut Taken| !buffer.closed && buffer.rows.len() < self.limit / 2;
        let waited = self.wake.wait_timeout_while(self.lock(), LOOK, little);
        let (mut buffer, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let closed = buffer.closed;
        std::mem::replace(&mut *buffer, Taken { rows: empty, closed, ..Taken::default() })
    }

    /// A thread that panicked in `push` left a whole row or none.
    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.buffer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_buffer_counts_what_it_cannot_hold_and_goes_on_once_it_is_taken() {
        let shared = Shared::new(4);
        (0..7).for_each(|id| shared.push(Row::of(id)));
        let first = shared.take(Vec::with_capacity(4));
        assert_eq!(first.rows.iter().map(|row| row.id).collect::<Vec<_>>(), [0, 1, 2, 3]);
        assert_eq!(first.lost, 3);
        assert!(first.lost_at >= first.rows[3].time);
        shared.push(Row::of(7));
        shared.close();
        shared.push(Row::of(8));
        let second = shared.take(Vec::new());
        assert_eq!((second.rows.len(), second.rows[0].id, second.lost, second.closed), (1, 7, 0, true));
        assert_eq!(first.rows.capacity(), 4, "a full buffer does not grow");
    }

    #[test]
    fn times_never_fall_whichever_thread_pushes() {
        let shared = Shared::new(40_000);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let shared = &shared;
                scope.spawn(move || (0..10_000).for_each(|_| shared.push(Row::of(thread))));
            }
        });
        let taken = shared.take(Vec::new());
        assert_eq!((taken.rows.len(), taken.lost), (40_000, 0));
        assert!(taken.rows.is_sorted_by_key(|row| row.time));
    }

    #[test]
    fn a_due_time_before_the_trace_began_is_negative() {
        let early = Instant::now();
        std::thread::sleep(Duration::from_millis(2));
        let shared = Shared::new(2);
        assert!(shared.since_origin(early) <= -2_000_000);
        assert_eq!(shared.since_origin(shared.origin + Duration::from_secs(3)), 3_000_000_000);
    }
}
