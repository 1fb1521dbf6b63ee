//! What a structure's probe counts: entries visited, moved, compared and cascaded.

use impls::probe::{Counting, Counts};

use super::Ledger;
use crate::drive::{Tally, Watch};
use crate::spec::Report;
use crate::stream::{Kind, Stream};

/// See [`super::Account`].
pub(super) const ACCOUNT: super::Account = super::Account {
    measured: "what the structure's probe counts in each kind of operation: entries visited, moved, compared, cascaded",
    outside: "nothing is timed; idling and purging are skipped; every payload is a block, as counts do not depend on it",
    before: "the operations, a place for each handle",
    after: super::DROPPED,
};

/// Looks on in the `count` pass, at a structure that reports to [`Counting`].
#[derive(Debug)]
pub struct Count {
    ledger: Ledger<[u64; 4]>,
}

impl Count {
    /// Somebody who looks on at `stream`.
    pub fn new(stream: &Stream) -> Self {
        Self { ledger: Ledger::new(stream) }
    }

    /// Adds what was counted to a report.
    pub fn report(self, stream: &Stream, report: &mut Report) {
        report.operations = self.ledger.operations(stream, |counts, row| row.counts = Some(*counts));
    }
}

impl Watch for Count {
    fn phase(&mut self, phase: u32) {
        self.ledger.phase(phase);
    }

    /// What came between two segments belongs to none.
    fn enter(&mut self, _kind: Kind) {
        Counting::drain();
    }

    fn leave(&mut self, kind: Kind, done: Tally) {
        let Counts { visited, moved, compared, cascaded } = Counting::drain();
        let sums = self.ledger.add(kind, done);
        for (sum, count) in sums.iter_mut().zip([visited, moved, compared, cascaded]) {
            *sum += count;
        }
    }
}
