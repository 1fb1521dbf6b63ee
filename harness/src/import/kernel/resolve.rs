//! What a timer's events amount to: start, re-arm, cancel, expiry.
//!
//! ```text
//! cancel, start within the window     R        one timer moved
//! cancel, expire_entry                E        its detaching before the handler
//! cancel, anything else, or nothing   C
//! start                               S        R if it says was_armed=1, or says nothing and the timer was
//!                                              seen armed (perf loses cancels, trace-cmd was_armed)
//! ```
//!
//! A cancel waits for its timer's next event, half a second at most. What happens to a timer that was not seen to
//! be armed says that it was armed before: a P row where the trace, or what is behind a gap, begins.

use std::collections::{HashMap, VecDeque};

use super::super::out::{Clock, Out};
use crate::trace::{Op, Row};

/// When and where an event happened.
#[derive(Clone, Copy, Debug)]
pub(super) struct At {
    pub(super) time_ns: u64,
    pub(super) line: u64,
    pub(super) cpu: Option<u16>,
}

/// What a timer was started with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Due {
    pub(super) clock: Clock,
    pub(super) expires: i128,
    pub(super) slack: u64,
}

#[derive(Debug, Default)]
struct Timer {
    id: u64,
    armed: Option<Armed>,
    /// A cancel that waits for what comes next.
    waiting: Option<At>,
    /// The stretch between gaps in which it was last seen.
    stretch: u64,
    clockid: Option<Clock>,
    /// Its memory was made ready since: the next start begins a new life.
    renewed: bool,
}

#[derive(Clone, Copy, Debug)]
struct Armed {
    due: Option<Due>,
    /// The stretch in which it is known to be armed.
    stretch: u64,
}

/// How long a cancel waits: far longer than an expiry takes from its detaching to its handler.
const WAITS_NS: u64 = 500_000_000;

const UNSEEN_END: &str =
    "a timer was started anew that was armed by all that was seen: its end was not recorded";

/// The timers of one family.
#[derive(Debug)]
pub(super) struct Resolver {
    /// Stands before the function's name in `ctx`.
    family: &'static str,
    window_ns: u64,
    /// A cancel is printed for moves and expiries too.
    pub(super) cancels_twice: bool,
    timers: HashMap<u64, Timer>,
    waiting: VecDeque<(u64, u64, u64)>,
    stretch: u64,
    owner: String,
}

/// What an event says of a timer that is started.
#[derive(Clone, Copy, Debug)]
pub(super) struct Start<'a> {
    pub(super) key: u64,
    pub(super) due: Due,
    pub(super) function: &'a str,
    pub(super) was_armed: Option<bool>,
}

impl Resolver {
    pub(super) fn new(family: &'static str, window_ns: u64, cancels_twice: bool) -> Self {
        Self {
            family,
            window_ns: window_ns.min(WAITS_NS),
            cancels_twice,
            timers: HashMap::new(),
            waiting: VecDeque::new(),
            stretch: 0,
            owner: String::new(),
        }
    }

    /// The timer's memory is made ready: its next start begins a new life, unless it turns out to be a move.
    pub(super) fn set_up(&mut self, key: u64, clockid: Option<Clock>, ids: &mut u64) {
        let timer = self.timer(key, ids);
        timer.clockid = clockid;
        // A number that no row has is not used up.
        timer.renewed = timer.stretch != u64::MAX;
    }

    /// The clock that the timer was set up with.
    pub(super) fn clockid(&self, key: u64) -> Option<Clock> {
        self.timers.get(&key).and_then(|timer| timer.clockid)
    }

    /// A timer is started; `was_armed` is what the event says of it, where it says so.
    pub(super) fn start(&mut self, at: At, start: Start<'_>, ids: &mut u64, out: &mut Out) {
        let Start { key, due, function, was_armed } = start;
        let waits = self.timers.get(&key).and_then(|timer| timer.waiting);
        let mut moved = waits.is_some_and(|since| at.time_ns - since.time_ns <= self.window_ns);
        if !moved {
            self.settle(key, out);
        }
        let armed = self.known_armed(key);
        moved |= was_armed.unwrap_or(armed);
        if moved {
            self.unseen(key, at, None, ids, out);
        } else if armed {
            out.note(at.line, UNSEEN_END);
        }
        let stretch = self.stretch;
        let timer = self.timer(key, ids);
        if !moved && (timer.renewed || armed) {
            timer.id = next(ids);
        }
        timer.renewed = false;
        let id = timer.id;
        timer.waiting = None;
        timer.stretch = stretch;
        timer.armed = Some(Armed { due: Some(due), stretch });
        let row = Row {
            due_ns: Some(due.expires),
            slack_ns: due.slack,
            ..row(at, if moved { Op::Rearm } else { Op::Start }, id)
        };
        self.owner.clear();
        self.owner.push_str(self.family);
        self.owner.push_str(if function.is_empty() { "unknown" } else { function });
        out.row_on(&row, due.clock, &self.owner);
    }

    pub(super) fn cancel(&mut self, key: u64, at: At, ids: &mut u64, out: &mut Out) {
        self.settle(key, out);
        self.unseen(key, at, None, ids, out);
        let timer = self.timer(key, ids);
        timer.waiting = Some(at);
        match self.cancels_twice {
            true => self.waiting.push_back((at.time_ns, key, at.line)),
            false => self.settle(key, out),
        }
    }

    /// `due` is a bound for a timer that was armed unseen: it was due by then.
    pub(super) fn expire(&mut self, key: u64, at: At, due: Option<Due>, ids: &mut u64, out: &mut Out) {
        self.unseen(key, at, due, ids, out);
        let stretch = self.stretch;
        let timer = self.timer(key, ids);
        let due = timer.armed.take().and_then(|armed| armed.due);
        timer.waiting = None;
        timer.stretch = stretch;
        let row = Row { due_ns: due.map(|due| due.expires), ..row(at, Op::Expire, timer.id) };
        out.row_on(&row, due.map_or(Clock::default(), |due| due.clock), "");
    }

    /// Cancels that have waited long enough are cancels.
    pub(super) fn pass(&mut self, now_ns: u64, out: &mut Out) {
        while let Some((since, key, line)) = self.waiting.front().copied()
            && (now_ns.saturating_sub(since) > WAITS_NS || !self.waits(key, line))
        {
            self.waiting.pop_front();
            if self.waits(key, line) {
                self.settle(key, out);
            }
        }
    }

    fn waits(&self, key: u64, line: u64) -> bool {
        self.timers.get(&key).and_then(|timer| timer.waiting).is_some_and(|at| at.line == line)
    }

    /// Nothing that waits has anything to wait for: the end, or a gap.
    pub(super) fn settle_all(&mut self, out: &mut Out) {
        while let Some((_, key, line)) = self.waiting.pop_front() {
            if self.waits(key, line) {
                self.settle(key, out);
            }
        }
    }

    /// Events were lost: what was armed may be so no more.
    pub(super) fn gap(&mut self, out: &mut Out) {
        self.settle_all(out);
        self.stretch += 1;
    }

    fn timer(&mut self, key: u64, ids: &mut u64) -> &mut Timer {
        self.timers.entry(key).or_insert_with(|| Timer {
            id: next(ids),
            stretch: u64::MAX,
            ..Timer::default()
        })
    }

    fn known_armed(&self, key: u64) -> bool {
        let armed = self.timers.get(&key).and_then(|timer| timer.armed);
        armed.is_some_and(|armed| armed.stretch == self.stretch)
    }

    /// A cancel that waits was one.
    fn settle(&mut self, key: u64, out: &mut Out) {
        let Some(timer) = self.timers.get_mut(&key) else { return };
        if let Some(at) = timer.waiting.take() {
            timer.armed = None;
            timer.stretch = self.stretch;
            out.row(&row(at, Op::Cancel, timer.id), "");
        }
    }

    /// What follows needs an armed timer. If none was seen, it was armed before.
    fn unseen(&mut self, key: u64, at: At, due: Option<Due>, ids: &mut u64, out: &mut Out) {
        if self.known_armed(key) {
            return;
        }
        let (stretch, family) = (self.stretch, self.family.trim_end_matches('/'));
        let timer = self.timer(key, ids);
        let since = timer.armed.and_then(|armed| armed.due);
        let bound = since.or(due);
        let present = Row { due_ns: bound.map(|due| due.expires), ..row(at, Op::Present, timer.id) };
        let clock = bound.map_or(Clock::default(), |due| due.clock);
        match timer.stretch == stretch {
            // It was seen not armed, so it was armed by an event that is missing.
            true => out.row_on(&present, clock, family),
            false => out.present(&present, clock, family),
        }
        timer.armed = Some(Armed { due: since, stretch });
        timer.stretch = stretch;
    }
}

fn next(ids: &mut u64) -> u64 {
    *ids += 1;
    *ids - 1
}

fn row(at: At, op: Op, id: u64) -> Row {
    Row { timer_id: Some(id), cpu: at.cpu, line: at.line, ..Row::new(at.time_ns, op) }
}
