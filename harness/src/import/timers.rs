//! What is armed, by the keys of a source, and the rows that follow from what happens to it.
//!
//! ```text
//! key --> life: id, armed?, due, period      arm:    S with a new id, or R if it is armed
//!                                            cancel: C \  of one that was never seen armed:
//!                                            expire: E /  it was there before the trace began (P)
//!                                            miss:   N with the id of the life that is over
//! ```
//!
//! Shared by the forms in which an operation says by itself what it is. Threads write their lines out of order by
//! a little: what happens to an armed timer never stands before what armed it. Cost: O(1) an operation; memory grows
//! with the keys, but for those that are forgotten.

use std::collections::HashMap;
use std::hash::Hash;

use super::{Clock, Out};
use crate::trace::{Op, Row};

/// When something happened, and which line says so.
#[derive(Clone, Copy, Debug)]
pub(super) struct At {
    /// Rows of the same time are put in order of their lines.
    pub line: u64,
    /// On the source's clock.
    pub time_ns: u64,
}

/// From a key's arming to its end, and until it is armed again.
#[derive(Clone, Copy, Debug)]
struct Life {
    id: u64,
    armed: bool,
    due_ns: i128,
    period_ns: u64,
    /// Of its last row.
    last_ns: u64,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Timers<K> {
    next: u64,
    lives: HashMap<K, Life>,
}

impl<K> Default for Timers<K> {
    fn default() -> Self {
        Self { next: 0, lives: HashMap::new() }
    }
}

impl<K: Hash + Eq + Clone> Timers<K> {
    pub(super) fn is_armed(&self, key: &K) -> bool {
        self.lives.get(key).is_some_and(|life| life.armed)
    }

    /// When an armed timer is due next.
    pub(super) fn due(&self, key: &K) -> Option<i128> {
        self.lives.get(key).filter(|life| life.armed).map(|life| life.due_ns)
    }

    /// S, or R if the key's timer is armed.
    pub(super) fn arm(&mut self, out: &mut Out, at: At, key: K, due_ns: i128, period_ns: u64) {
        let before = self.lives.get(&key).copied().filter(|life| life.armed);
        let op = if before.is_some() { Op::Rearm } else { Op::Start };
        let mut life = before.unwrap_or_else(|| self.born(at));
        life = Life { due_ns, period_ns, ..life };
        self.row(out, at, op, &mut life, Some(due_ns));
        self.lives.insert(key, life);
    }

    /// C.
    pub(super) fn cancel(&mut self, out: &mut Out, at: At, key: &K) {
        let mut life = self.present(out, at, key, None);
        self.row(out, at, Op::Cancel, &mut life, None);
        self.lives.insert(key.clone(), Life { armed: false, ..life });
    }

    /// N, or C if it is armed after all.
    pub(super) fn cancel_or_miss(&mut self, out: &mut Out, at: At, key: &K) {
        if self.is_armed(key) {
            return self.cancel(out, at, key);
        }
        let known = self.lives.get(key).copied();
        let mut life = known.unwrap_or_else(|| Life { armed: false, ..self.born(at) });
        self.row(out, at, Op::Miss, &mut life, None);
        self.lives.insert(key.clone(), life);
    }

    /// E; as often as it is said if it has a period.
    pub(super) fn expire(&mut self, out: &mut Out, at: At, key: &K, times: u64) {
        let mut life = self.present(out, at, key, Some(i128::from(at.time_ns)));
        let times = if life.period_ns > 0 { times.max(1) } else { 1 };
        for _ in 0..times {
            let due_ns = life.due_ns;
            self.row(out, at, Op::Expire, &mut life, Some(due_ns));
            life.due_ns += i128::from(life.period_ns);
        }
        self.lives.insert(key.clone(), Life { armed: life.period_ns > 0, ..life });
    }

    /// B: it stays due when it is, though `asked_ns` was asked for.
    pub(super) fn absorb(&mut self, out: &mut Out, at: At, key: &K, due_ns: i128, asked_ns: i128) {
        let mut life = self.present(out, at, key, Some(due_ns));
        self.row(out, at, Op::Absorbed, &mut life, Some(asked_ns));
        self.lives.insert(key.clone(), life);
    }

    /// A key that will not be used again.
    pub(super) fn forget(&mut self, key: &K) {
        self.lives.remove(key);
    }

    /// A timer that was never seen armed was there before the trace (P), due then.
    pub(super) fn armed_before(&mut self, out: &mut Out, at: At, key: &K, due_ns: i128) {
        self.present(out, at, key, Some(due_ns));
    }

    /// The key's armed timer; one from before the trace if it was never seen armed.
    fn present(&mut self, out: &mut Out, at: At, key: &K, due_ns: Option<i128>) -> Life {
        if let Some(life) = self.lives.get(key).filter(|life| life.armed) {
            return *life;
        }
        let life = Life { due_ns: due_ns.unwrap_or(0), ..self.born(at) };
        let row = Row { timer_id: Some(life.id), due_ns, line: at.line, ..Row::new(at.time_ns, Op::Present) };
        out.present(&row, Clock::default(), "");
        self.lives.insert(key.clone(), life);
        life
    }

    fn born(&mut self, at: At) -> Life {
        self.next += 1;
        Life { id: self.next - 1, armed: true, due_ns: 0, period_ns: 0, last_ns: at.time_ns }
    }

    fn row(&self, out: &mut Out, at: At, op: Op, life: &mut Life, due_ns: Option<i128>) {
        life.last_ns = life.last_ns.max(at.time_ns);
        let period_ns = if matches!(op, Op::Start | Op::Rearm) { life.period_ns } else { 0 };
        let row = Row::new(life.last_ns, op);
        out.row(&Row { timer_id: Some(life.id), due_ns, period_ns, line: at.line, ..row }, "");
    }
}
