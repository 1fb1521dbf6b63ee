//! Rows on their way to the disk, each in the same number of bytes.

use bytemuck::{Pod, Zeroable};

use super::out::Clock;
use crate::trace::{Op, Row};

/// A row as it waits. Sorted by time, then by line, then by the order in which it was handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Packed {
    pub(super) time_ns: u64,
    line: u64,
    arrival: u64,
    timer_id: u64,
    /// In units of its clock, low half first.
    due: [u64; 2],
    period_ns: u64,
    slack: u64,
    aux: i64,
    ctx: u32,
    cpu: u16,
    op: u8,
    clock: u8,
    /// Which of the fields are there.
    has: u64,
}

const TIMER: u64 = 1;
const DUE: u64 = 2;
const CTX: u64 = 4;
const CPU: u64 = 8;
const AUX: u64 = 16;

impl Packed {
    pub(super) fn new(row: &Row, clock: Clock, arrival: u64) -> Self {
        let due = row.due_ns.unwrap_or(0);
        let bit = |there: bool, bit| if there { bit } else { 0 };
        Self {
            time_ns: row.time_ns,
            line: row.line,
            arrival,
            timer_id: row.timer_id.unwrap_or(0),
            due: [due as u64, (due >> 64) as u64],
            period_ns: row.period_ns,
            slack: row.slack_ns,
            aux: row.aux.unwrap_or(0),
            ctx: row.ctx.unwrap_or(0),
            cpu: row.cpu.unwrap_or(0),
            op: row.op.code(),
            clock: clock.0,
            has: bit(row.timer_id.is_some(), TIMER)
                | bit(row.due_ns.is_some(), DUE)
                | bit(row.ctx.is_some(), CTX)
                | bit(row.cpu.is_some(), CPU)
                | bit(row.aux.is_some(), AUX),
        }
    }

    pub(super) fn op(&self) -> Op {
        Op::from_code(self.op).expect("it was packed from a row")
    }

    /// The row, and the clock that its due time and slack are of.
    pub(super) fn row(&self) -> (Row, Clock) {
        let has = |bit| self.has & bit != 0;
        let due = i128::from(self.due[1] as i64) << 64 | i128::from(self.due[0]);
        let row = Row {
            timer_id: has(TIMER).then_some(self.timer_id),
            due_ns: has(DUE).then_some(due),
            period_ns: self.period_ns,
            slack_ns: self.slack,
            ctx: has(CTX).then_some(self.ctx),
            cpu: has(CPU).then_some(self.cpu),
            aux: has(AUX).then_some(self.aux),
            line: self.line,
            ..Row::new(self.time_ns, self.op())
        };
        (row, Clock(self.clock))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_comes_out_as_it_went_in() {
        let bare = Row::new(5, Op::Advance);
        let full = Row {
            timer_id: Some(0),
            due_ns: Some(-3),
            period_ns: 4,
            slack_ns: 5,
            ctx: Some(6),
            cpu: Some(0),
            aux: Some(-8),
            line: 9,
            ..Row::new(7, Op::Rearm)
        };
        let late = Row { due_ns: Some(i128::MAX), ..full };
        for row in [bare, full, late] {
            assert_eq!(Packed::new(&row, Clock(3), 1).row(), (row, Clock(3)));
        }
    }
}
