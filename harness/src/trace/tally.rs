//! Statistics of a trace: each row as an event.

use super::validate::Validator;
use super::{Op, Row, Source, TraceError, Validation};
use crate::statistics::{Arm, Event, Statistics, Tally, What};

/// What a row says happened.
pub fn event(row: &Row) -> Event {
    let arm = Arm { due: row.due_ns, period: row.period_ns };
    let what = match row.op {
        Op::Start => What::Start(arm),
        Op::Rearm => What::Rearm(arm),
        Op::Present => What::Present(arm),
        Op::Cancel => What::Cancel,
        Op::Miss => What::Miss,
        Op::Expire => What::Expire(row.aux),
        Op::Absorbed => What::Absorbed,
        Op::Gap => What::Lost,
        Op::Take => What::Take,
        Op::Done => What::Done,
        Op::PutBack => What::PutBack,
        Op::Returned | Op::Advance | Op::Allocate | Op::Free => What::Nothing,
    };
    Event { time: row.time_ns, what, timer: row.timer_id, owner: row.ctx }
}

/// Counts a trace while it is read, and checks it. A trace without operations on timers is an error.
pub fn statistics(source: Source) -> Result<(Statistics, Validation), TraceError> {
    let (name, metadata) = (source.name().to_owned(), source.metadata().clone());
    let mut tally = Tally::new(metadata.granularity_ns());
    let mut validator = Validator::new(&metadata);
    source.each(|row, _| {
        validator.row(row);
        tally.event(&event(row));
        true
    })?;
    let found = tally.finish();
    if found.timers == 0 {
        let mend = "record a program that has timers, or check that this is the right file";
        return Err(TraceError::whole(&name, "there are no timer events in it", mend));
    }
    Ok((found, validator.finish(&metadata)))
}
