//! What of an outcome is gathered timer by timer.

use impls::queue::{Requeued, Tick};

use crate::stream::Outcome;

/// What was dispatched, as it comes: a few cycles a timer, because it is within what is timed. This is all
/// that a handler of the workbench does.
#[derive(Clone, Copy, Debug, Default)]
pub struct Dispatched {
    pub(super) id_sum: u64,
    pub(super) disorder: u64,
    digest: u64,
}

impl Dispatched {
    /// A timer of a batch that was taken at `now`. `last` is the expiry dispatched from it before.
    ///
    /// Each part is spread by an odd constant of its own, off the chain from timer to timer, which is a
    /// rotation and a multiplication: what comes first is turned further, so an exchange shows.
    #[inline]
    pub fn timer(&mut self, now: Tick, last: &mut Tick, expiry: Tick, id: u64) {
        self.id_sum = self.id_sum.wrapping_add(id);
        self.disorder += u64::from(expiry < *last);
        *last = expiry;
        let timer = expiry.wrapping_mul(0x9E37_79B9_7F4A_7C15)
            ^ id.wrapping_mul(0xD6E8_FEB8_6659_FD93).rotate_left(32)
            ^ now.wrapping_mul(0xA076_1D64_78BD_642F).rotate_left(16);
        self.digest = (self.digest.rotate_left(29) ^ timer).wrapping_mul(0xE703_7ED1_A0B4_28DB);
    }

    /// Whoever stops after `0` timers and whoever dispatches something that hashes to 0 are told apart by
    /// the count beside it; the last mixing lets the upper bits reach the lower ones.
    pub fn digest(&self) -> u64 {
        let folded = self.digest ^ self.digest >> 32;
        let folded = folded.wrapping_mul(0x9FB2_1C65_1E98_DF25);
        folded ^ folded >> 29
    }
}

/// Notes how `timers` were put back.
pub(super) fn note_requeue(outcome: &mut Outcome, how: Requeued, timers: u64) {
    outcome.put_back += timers;
    match how {
        Requeued::Nothing => outcome.requeued_nothing += 1,
        Requeued::IntoEmpty => outcome.requeued_into_empty += 1,
        Requeued::InFront => outcome.requeued_in_front += 1,
        Requeued::Merged(merged) => {
            outcome.requeued_merged += 1;
            outcome.merged_timers += merged as u64;
        }
    }
}
