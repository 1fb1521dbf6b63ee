//! Which of the recorded expiries a replay reproduces.

use std::collections::VecDeque;
use std::fmt;

use impls::queue::{Batch, ParamError, Params, PlaceHandle, TimerQueue};
use impls::reference::{Reference, ReferenceBatch};

use super::replay::{Laid, Mark};
use crate::stream::{Kind, Op, Stream};
use crate::trace::Op as Recorded;

/// What became of the expiries of a trace in its replay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reproduction {
    /// Expiries in the trace.
    pub recorded: u64,
    /// Dispatched by the time of their row, and not before they were due.
    pub reproduced: u64,
    /// Recorded before they were due, by a source whose clock is coarser than its trace: a queue cannot.
    pub early: u64,
    /// Dispatched after their row, because the queue rounds.
    pub late: u64,
    /// Never dispatched.
    pub missing: u64,
    /// Dispatched, though the trace cancels or re-arms them, or ends, before they expire.
    pub extra: u64,
    /// The first that differ, at most [`Reproduction::EXAMPLES`].
    pub examples: Vec<Example>,
}

/// How an expiry of the replay differs from the trace's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// See [`Reproduction::early`].
    Early,
    /// See [`Reproduction::late`].
    Late,
    /// See [`Reproduction::missing`].
    Missing,
    /// See [`Reproduction::extra`].
    Extra,
}

/// A difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Example {
    /// The line of the trace.
    pub line: u64,
    /// The timer as the trace numbers it.
    pub timer_id: u64,
    /// How it differs.
    pub verdict: Verdict,
}

impl fmt::Display for Example {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, timer_id, verdict } = self;
        let what = match verdict {
            Verdict::Early => "is recorded as expired before it was due",
            Verdict::Late => "expires later than recorded",
            Verdict::Missing => "is recorded as expired and does not",
            Verdict::Extra => "expires, though the trace has it cancelled, re-armed or running",
        };
        write!(f, "line {line}: timer {timer_id} {what}")
    }
}

impl fmt::Display for Reproduction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { recorded, reproduced, early, late, missing, extra, .. } = self;
        write!(f, "reproduced {reproduced} of {recorded} recorded expiries")?;
        for (count, what) in [
            (early, "recorded before due"),
            (late, "late by the rounding"),
            (missing, "missing"),
            (extra, "not recorded"),
        ] {
            if *count > 0 {
                write!(f, ", {count} {what}")?;
            }
        }
        Ok(())
    }
}

impl Reproduction {
    /// Differences that are named.
    pub const EXAMPLES: usize = 5;
}

/// Holds a replay against its trace, for a queue that rounds to `tick`. The reference is asked; a structure
/// whose outcome equals the reference's reproduces the same.
pub fn reproduction(laid: &Laid, tick: u64) -> Result<Reproduction, ParamError> {
    let mut player = Player::new(&laid.stream, tick)?;
    let mut ledger = Ledger::new(laid);
    let mut marks = laid.marks.iter().peekable();
    for (at, op) in laid.stream.ops.iter().enumerate() {
        player.play(op, |timer| ledger.fired(timer));
        while let Some(mark) = marks.next_if(|mark| mark.position <= at + 1) {
            ledger.mark(mark, op);
        }
    }
    Ok(ledger.finish())
}

/// Does the operations of a replay on the reference.
struct Player {
    queue: Reference<u32>,
    handles: Vec<Option<PlaceHandle>>,
    batches: Vec<Option<ReferenceBatch<u32>>>,
    handler_ticks: u64,
}

impl Player {
    fn new(stream: &Stream, tick: u64) -> Result<Self, ParamError> {
        let mut params = Params::default();
        params.set("tick", &tick.to_string());
        Ok(Self {
            queue: Reference::with(&params)?,
            handles: vec![None; stream.header.timers as usize],
            batches: (0..=u8::MAX).map(|_| None).collect(),
            handler_ticks: stream.header.handler_ticks.max(1),
        })
    }

    fn play(&mut self, op: &Op, mut fired: impl FnMut(u32)) {
        let (id, place) = (op.id as usize, usize::from(op.batch));
        match op.kind {
            kind if kind == Kind::Enqueue as u8 => self.handles[id] = Some(self.queue.enqueue(op.at, op.id)),
            kind if kind == Kind::Cancel as u8 => {
                self.handles[id].and_then(|handle| self.queue.cancel(handle));
            }
            kind if kind == Kind::Rearm as u8 => {
                let moved = self.handles[id].and_then(|handle| self.queue.reschedule(handle, op.at));
                self.handles[id] = Some(moved.unwrap_or_else(|| self.queue.enqueue(op.at, op.id)));
            }
            kind if kind == Kind::Take as u8 => {
                self.batches[place] = Some(self.queue.take(op.at, usize::MAX))
            }
            kind if kind == Kind::Requeue as u8 => {
                self.batches[place].take().map(|batch| self.queue.requeue(batch));
            }
            kind if kind == Kind::Dispatch as u8 => {
                let room = op.arg.div_ceil(self.handler_ticks);
                let batch =
                    self.batches[place].iter_mut().flat_map(|batch| std::iter::from_fn(|| batch.advance()));
                batch.take(usize::try_from(room).unwrap_or(usize::MAX)).for_each(|(_, timer)| fired(timer));
            }
            _ => {}
        }
    }
}

/// What is known of a timer.
#[derive(Clone, Debug, Default)]
struct Account {
    /// Dispatched, and not recorded so far.
    fired: u64,
    /// Recorded, and not dispatched so far.
    owed: VecDeque<Mark>,
    /// The row that armed it last.
    armed: usize,
}

struct Ledger<'a> {
    laid: &'a Laid,
    accounts: Vec<Account>,
    found: Reproduction,
}

impl<'a> Ledger<'a> {
    fn new(laid: &'a Laid) -> Self {
        let accounts = vec![Account::default(); laid.stream.header.timers as usize];
        Self { laid, accounts, found: Reproduction::default() }
    }

    fn fired(&mut self, timer: u32) {
        match self.accounts[timer as usize].owed.pop_front() {
            Some(owed) => {
                let verdict = if self.is_early(&owed) { Verdict::Early } else { Verdict::Late };
                self.differs(owed.row, verdict);
            }
            None => self.accounts[timer as usize].fired += 1,
        }
    }

    fn mark(&mut self, mark: &Mark, op: &Op) {
        let recorded = self.laid.trace.rows[mark.row].op;
        if recorded == Recorded::Gap {
            // What expired unseen may be among what was lost.
            return self.accounts.iter_mut().for_each(|account| account.fired = 0);
        }
        let account = &mut self.accounts[mark.timer as usize];
        if recorded == Recorded::Expire {
            self.found.recorded += 1;
            match account.fired.checked_sub(1) {
                Some(left) => (account.fired, self.found.reproduced) = (left, self.found.reproduced + 1),
                None => account.owed.push_back(*mark),
            }
            return;
        }
        let extra = std::mem::take(&mut account.fired);
        (0..extra).for_each(|_| self.differs(mark.row, Verdict::Extra));
        if recorded != Recorded::Cancel {
            self.accounts[mark.timer as usize].armed = mark.row;
        }
        if op.kind != Kind::Enqueue as u8 {
            self.forget(mark.timer);
        }
    }

    /// What was recorded early was still queued, and has now been moved or cancelled. What the queue holds
    /// only because it rounds is queued on its own and will come.
    fn forget(&mut self, timer: u32) {
        let owed = std::mem::take(&mut self.accounts[timer as usize].owed);
        for mark in owed {
            if self.is_early(&mark) {
                self.differs(mark.row, Verdict::Early);
            } else {
                self.accounts[timer as usize].owed.push_back(mark);
            }
        }
    }

    fn is_early(&self, mark: &Mark) -> bool {
        self.laid.trace.rows[mark.row].time_ns < mark.due
    }

    fn differs(&mut self, row: usize, verdict: Verdict) {
        let found = &mut self.found;
        *match verdict {
            Verdict::Early => &mut found.early,
            Verdict::Late => &mut found.late,
            Verdict::Missing => &mut found.missing,
            Verdict::Extra => &mut found.extra,
        } += 1;
        if found.examples.len() < Reproduction::EXAMPLES {
            let row = &self.laid.trace.rows[row];
            found.examples.push(Example { line: row.line, timer_id: row.timer_id.unwrap_or(0), verdict });
        }
    }

    fn finish(mut self) -> Reproduction {
        for account in std::mem::take(&mut self.accounts) {
            (0..account.fired).for_each(|_| self.differs(account.armed, Verdict::Extra));
            for owed in account.owed {
                let verdict = if self.is_early(&owed) { Verdict::Early } else { Verdict::Missing };
                self.differs(owed.row, verdict);
            }
        }
        self.found
    }
}
