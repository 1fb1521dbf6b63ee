//! Which of the recorded expiries a replay reproduces.

use std::collections::VecDeque;
use std::fmt;

use impls::queue::ParamError;

use super::player::Player;
use super::replay::{Laid, Mark};
use crate::stream::{Kind, Op};
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
    let mut player = Player::new(&laid.stream.header, tick)?;
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
                let verdict = if owed.is_early() { Verdict::Early } else { Verdict::Late };
                self.differs(owed.row, verdict);
            }
            None => self.accounts[timer as usize].fired += 1,
        }
    }

    fn mark(&mut self, mark: &Mark, op: &Op) {
        let recorded = self.laid.trace.rows[mark.row].op;
        if recorded == Recorded::Gap {
            // What expired unseen may be among what was lost.
            let of_copy = |timer: usize| self.laid.copy_of.get(timer).is_none_or(|copy| *copy == mark.copy);
            let accounts = self.accounts.iter_mut().enumerate().filter(|(timer, _)| of_copy(*timer));
            return accounts.for_each(|(_, account)| account.fired = 0);
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
            if mark.is_early() {
                self.differs(mark.row, Verdict::Early);
            } else {
                self.accounts[timer as usize].owed.push_back(mark);
            }
        }
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
                let verdict = if owed.is_early() { Verdict::Early } else { Verdict::Missing };
                self.differs(owed.row, verdict);
            }
        }
        self.found
    }
}
