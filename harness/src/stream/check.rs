//! What a stream may ask. Drivers rely on it, so a stream from a file is checked before it is driven.

use std::fmt;

use super::{Kind, Op, Point, Stream};

/// The first thing in a stream that cannot be asked of any queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The operation, counted from 0; `None` for the header.
    pub op: Option<usize>,
    /// What is wrong with it.
    pub message: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.op {
            Some(op) => write!(f, "operation {op}: {}", self.message),
            None => write!(f, "header: {}", self.message),
        }
    }
}

impl std::error::Error for Fault {}

/// Phases and kinds of operation share 16 bits of a sample.
const PHASES_MOST: usize = 256;

impl Stream {
    /// Finds the first operation that cannot be: an unknown kind or point, an id or a batch that the
    /// header does not allow for, a batch taken over one that is out, or anything asked of a dropped queue.
    pub fn check(&self) -> Result<(), Fault> {
        if self.header.phases.len() > PHASES_MOST {
            let message = format!("{} phases; {PHASES_MOST} are the most", self.header.phases.len());
            return Err(Fault { op: None, message });
        }
        let mut state = State { stream: self, out: [false; 256], dropped: false };
        for (at, op) in self.ops.iter().enumerate() {
            state.next(op).map_err(|message| Fault { op: Some(at), message })?;
        }
        Ok(())
    }
}

/// What has become of the queue and its batches so far.
struct State<'a> {
    stream: &'a Stream,
    out: [bool; 256],
    dropped: bool,
}

impl State<'_> {
    fn next(&mut self, op: &Op) -> Result<(), String> {
        let kind =
            Kind::from_number(op.kind).ok_or_else(|| format!("{} is not a kind of operation", op.kind))?;
        if op.reserved != 0 {
            return Err("its reserved bytes are not zero".to_owned());
        }
        match kind {
            Kind::Phase => below("phase", op.id, self.stream.header.phases.len()),
            Kind::Sample => {
                Point::from_number(op.id).map(drop).ok_or_else(|| format!("{} is not a point", op.id))
            }
            Kind::Idle | Kind::Purge => Ok(()),
            Kind::Dispatch => self.batch(op, true),
            Kind::DropBatch => self.batch(op, true).map(|()| self.out[usize::from(op.batch)] = false),
            _ if self.dropped => Err(format!("{kind:?} after the queue was dropped")),
            Kind::Take => self.batch(op, false).map(|()| self.out[usize::from(op.batch)] = true),
            Kind::Requeue => self.batch(op, true).map(|()| self.out[usize::from(op.batch)] = false),
            Kind::Enqueue => below("timer", op.id, self.stream.header.timers as usize),
            Kind::Cancel | Kind::Rearm | Kind::Get => self.named(op),
            Kind::NextExpiry | Kind::Shrink => Ok(()),
            Kind::DropQueue => {
                self.dropped = true;
                Ok(())
            }
        }
    }

    /// An operation on a timer that was enqueued before.
    fn named(&self, op: &Op) -> Result<(), String> {
        below("timer", op.id, self.stream.header.timers as usize)?;
        match self.stream.header.handles {
            true => Ok(()),
            false => Err("it names a timer again, but the header says that no handles are kept".to_owned()),
        }
    }

    /// An operation on a batch that must be `out` or must not.
    fn batch(&self, op: &Op, out: bool) -> Result<(), String> {
        below("batch", u32::from(op.batch), usize::from(self.stream.header.batches))?;
        match (self.out[usize::from(op.batch)], out) {
            (false, true) => Err(format!("batch {} is not out", op.batch)),
            (true, false) => Err(format!("batch {} is still out", op.batch)),
            _ => Ok(()),
        }
    }
}

fn below(what: &str, number: u32, count: usize) -> Result<(), String> {
    match (number as usize) < count {
        true => Ok(()),
        false => Err(format!("{what} {number}, but the header says that there are {count}")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{op, stream};
    use super::*;

    fn fault(ops: Vec<Op>) -> String {
        stream(ops).check().unwrap_err().to_string()
    }

    #[test]
    fn every_number_that_names_nothing_is_refused_with_its_operation() {
        assert_eq!(
            fault(vec![Op { kind: 15, ..op(Kind::Take) }]),
            "operation 0: 15 is not a kind of operation"
        );
        assert_eq!(fault(vec![Op { id: 7, ..op(Kind::Sample) }]), "operation 0: 7 is not a point");
        assert_eq!(
            fault(vec![op(Kind::Take), Op { id: 9, ..op(Kind::Enqueue) }]),
            "operation 1: timer 9, but the header says that there are 4"
        );
    }

    #[test]
    fn a_batch_is_used_only_while_it_is_out() {
        assert_eq!(fault(vec![op(Kind::Dispatch)]), "operation 0: batch 0 is not out");
        assert_eq!(fault(vec![op(Kind::Take), op(Kind::Take)]), "operation 1: batch 0 is still out");
        let round = [Kind::Take, Kind::Dispatch, Kind::Requeue, Kind::Take, Kind::DropBatch].map(op);
        assert_eq!(stream(round.to_vec()).check(), Ok(()));
    }

    #[test]
    fn nothing_is_asked_of_a_dropped_queue() {
        assert_eq!(
            fault(vec![op(Kind::DropQueue), op(Kind::NextExpiry)]),
            "operation 1: NextExpiry after the queue was dropped"
        );
    }

    #[test]
    fn a_timer_is_named_again_only_where_handles_are_kept() {
        let mut stream = stream(vec![op(Kind::Enqueue), op(Kind::Cancel)]);
        assert_eq!(stream.check(), Ok(()));
        stream.header.handles = false;
        assert!(stream.check().unwrap_err().message.contains("no handles are kept"));
    }
}
