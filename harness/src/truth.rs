//! What a run must amount to: the reference's outcome of the same stream.
//!
//! Above [`Outcome::DIGEST_OPS`] operations the reference is not run, because it would take longer than what
//! it is to prove. What such a run must amount to is then only what the stream itself says, whatever a queue
//! answers: see [`Laws`].

use impls::queue::{Params, TimerQueue};
use impls::reference::Reference;

use crate::drive::{Unmetered, drive};
use crate::payload::Inline;
use crate::stream::{Kind, Outcome, Stream};

/// What a run of a stream must amount to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Truth {
    /// Just this.
    Outcome(Outcome),
    /// Anything that keeps these laws.
    Laws(Laws),
}

/// What holds for every right run of a stream, and can be told without one.
///
/// ```text
/// enqueued + rescheduled   = enqueues and re-arms asked for
/// enqueued                 = dispatched + cancelled + dropped + left      nothing is lost, nothing comes twice
/// takes, requeues, cancels = those asked for
/// id_sum                   = the sum of all ids, when all that was enqueued was dispatched
/// disorder                 = 0
/// digest                   = none
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Laws {
    /// `Enqueue` and `Rearm` operations.
    pub arms: u64,
    /// `Take` operations.
    pub takes: u64,
    /// `Requeue` operations.
    pub requeues: u64,
    /// `Cancel` operations.
    pub cancels: u64,
    /// Sum (wrapping) of the ids of all `Enqueue` operations, unless payloads carry no id or a `Rearm` may
    /// enqueue too.
    pub id_sum: Option<u64>,
}

/// What a run of `stream` must amount to. `has_ids` says whether payloads carry their timer's id, and `tick`
/// what the structure rounds to.
pub fn truth(stream: &Stream, has_ids: bool, tick: u64) -> Truth {
    if stream.ops.len() > Outcome::DIGEST_OPS {
        Truth::Laws(Laws::of(stream, has_ids))
    } else {
        Truth::Outcome(outcome(stream, has_ids, tick))
    }
}

/// The reference's outcome of `stream`, however long it is.
///
/// # Panics
///
/// When the reference cannot round to `tick`, or when [`Stream::check`] finds a fault: both are checked first.
pub fn outcome(stream: &Stream, has_ids: bool, tick: u64) -> Outcome {
    let mut params = Params::default();
    params.set("tick", &tick.to_string());
    let impossible = "the tick of a structure is checked before its truth is asked for";
    if has_ids {
        drive(stream, Reference::<Inline<2>>::with(&params).expect(impossible), &mut Unmetered)
    } else {
        drive(stream, Reference::<Inline<0>>::with(&params).expect(impossible), &mut Unmetered)
    }
}

impl Laws {
    /// The laws of a stream.
    pub fn of(stream: &Stream, has_ids: bool) -> Self {
        let mut laws = Self::default();
        let (mut sum, mut rearms) = (0_u64, false);
        for op in &stream.ops {
            match Kind::from_number(op.kind) {
                Some(Kind::Enqueue) => {
                    laws.arms += 1;
                    sum = sum.wrapping_add(u64::from(op.id));
                }
                Some(Kind::Rearm) => {
                    laws.arms += 1;
                    rearms = true;
                }
                Some(Kind::Take) => laws.takes += 1,
                Some(Kind::Requeue) => laws.requeues += 1,
                Some(Kind::Cancel) => laws.cancels += 1,
                _ => {}
            }
        }
        laws.id_sum = (has_ids && !rearms).then_some(sum);
        laws
    }

    /// The first law that `found` breaks, in words. A structure that promises no order may break that of order.
    pub fn broken(&self, found: &Outcome, in_order: bool) -> Option<String> {
        let Outcome { enqueued, dispatched, cancelled, dropped, left, .. } = *found;
        let requeues = found.requeued_nothing + found.requeued_into_empty + found.requeued_in_front;
        let all_dispatched = cancelled == 0 && dropped == 0 && left == 0;
        let id_sum = self.id_sum.filter(|_| all_dispatched).unwrap_or(found.id_sum);
        let laws = [
            ("enqueued + rescheduled", self.arms, enqueued + found.rescheduled),
            ("takes", self.takes, found.takes),
            ("requeues", self.requeues, requeues + found.requeued_merged),
            ("cancelled + cancel_missed", self.cancels, cancelled + found.cancel_missed),
            ("dispatched + cancelled + dropped + left", enqueued, dispatched + cancelled + dropped + left),
            ("id_sum", id_sum, found.id_sum),
            ("disorder", 0, if in_order { found.disorder } else { 0 }),
        ];
        let (what, must, is) = laws.into_iter().find(|(_, must, is)| must != is)?;
        Some(format!("{what} is {is}, and the stream demands {must}"))
    }
}
