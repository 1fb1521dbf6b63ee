//! Which marks an action reaches, told from the book before it happens.

use super::book::{Book, Fate};
use super::reached::Mark;
use super::side::End;
use super::step::{Action, Script};
use crate::queue::Tick;

impl Book {
    fn note(&mut self, mark: Mark, reached: bool) {
        self.reached.note(mark, reached);
    }

    fn has_expiry(&self, expiry: Tick) -> bool {
        self.queued.range((expiry, 0)..=(expiry, usize::MAX)).next().is_some()
    }

    pub(super) fn note_before(&mut self, action: &Action) {
        match *action {
            Action::Enqueue { expiry } => self.note_enqueue(expiry),
            Action::Get { ticket } => self.note_get(ticket),
            Action::Cancel { ticket } => self.note_cancel(ticket),
            Action::Reschedule { ticket, expiry } => self.note_reschedule(ticket, expiry),
            Action::ForeignHandle { ticket, .. } => {
                self.note(Mark::ForeignHandle, self.tickets[ticket].is(Fate::Queued));
            }
            Action::ForeignBatch => self.note(Mark::ForeignBatch, true),
            Action::Shrink => {
                self.note(Mark::ShrinkEmpty, self.queued.is_empty());
                self.note(Mark::ShrinkQueued, !self.queued.is_empty());
                self.note(Mark::ShrinkWhileOut, self.is_out());
            }
            Action::Take { .. }
            | Action::Process { .. }
            | Action::Advance { .. }
            | Action::Requeue { .. }
            | Action::Drop { .. } => {}
        }
    }

    fn note_enqueue(&mut self, expiry: Tick) {
        let (first, last) = (self.queued.first().copied(), self.queued.last().copied());
        self.note(Mark::EnqueueInOrder, last.is_some_and(|last| last.0 <= expiry));
        self.note(Mark::EnqueueOutOfOrder, last.is_some_and(|last| expiry < last.0));
        self.note(Mark::EnqueueFirst, first.is_some_and(|first| expiry < first.0));
        self.note(Mark::EnqueueIntoEmpty, last.is_none());
        self.note(Mark::EnqueueTie, self.has_expiry(expiry));
        self.note(Mark::EnqueuePast, expiry < self.now);
        self.note(Mark::EnqueueWhileOut, expiry <= self.now && self.is_out());
        self.note(Mark::EnqueueAbove32Bits, expiry >= 1 << 32);
        self.note(Mark::EnqueueAbove63Bits, expiry >= 1 << 63);
        self.note(Mark::EnqueueMax, expiry == Tick::MAX);
        self.note(Mark::EnqueueZero, expiry == 0);
    }

    pub(super) fn note_take(&mut self, now: Tick, limit: usize, due: &[(Tick, usize)]) {
        let back = now < self.now;
        self.note(Mark::TakeNothingDue, due.is_empty() && !self.queued.is_empty());
        self.note(Mark::TakeFromEmpty, self.queued.is_empty());
        self.note(Mark::TakeLimitZero, limit == 0 && !due.is_empty());
        self.note(Mark::TakeCutByLimit, 0 < limit && limit < due.len());
        let through = 0 < limit && limit < due.len() && due[limit - 1].0 == due[limit].0;
        self.note(Mark::TakeCutThroughTies, through);
        self.note(Mark::TakeExactLimit, 0 < limit && limit == due.len());
        self.note(
            Mark::TakeEmptiedQueue,
            !due.is_empty() && due.len() == self.queued.len() && limit >= due.len(),
        );
        self.note(Mark::TakeTiesAtHead, limit > 0 && due.len() > 1 && due[0].0 == due[1].0);
        let until = self.promise.until(now);
        let next = self.queued.range((until, usize::MAX)..).next().copied();
        let near = next.is_some_and(|next| next.0 - until <= self.promise.tick);
        self.note(Mark::TakeNextIsNear, !due.is_empty() && near);
        self.note(Mark::TakeNowBackEmpty, back && due.is_empty() && !self.queued.is_empty());
        self.note(Mark::TakeNowBackSome, back && !due.is_empty() && limit > 0);
        self.note(Mark::TakeNowMax, now == Tick::MAX && limit > 0 && !due.is_empty());
        self.note(Mark::TakeLongJump, now.saturating_sub(self.now) > 1 << 20 && !self.queued.is_empty());
        self.note(Mark::TakeWhileOut, self.is_out() && !due.is_empty());
    }

    pub(super) fn note_process(&mut self, batch: usize, script: Script, right: (usize, usize, End)) {
        let (left, again) = (self.batches[batch].left.len(), self.batches[batch].processed);
        let (_, done, ended) = right;
        self.note(Mark::ProcessEmpty, left == 0);
        self.note(Mark::ProcessDrained, ended == End::Drained && done > 0);
        self.note(Mark::ProcessCutShort, ended == End::WindowClosed && done > 0);
        self.note(Mark::ProcessNoWindow, script.window == 0 && left > 0);
        self.note(Mark::ProcessStopped, ended == End::Stopped);
        self.note(Mark::ProcessFailed, ended == End::Failed);
        let closed = script.cost * (done as Tick + 1) >= script.window;
        self.note(Mark::ProcessFailedLate, ended == End::Failed && closed);
        self.note(Mark::ProcessPanicked, ended == End::Panicked);
        self.note(Mark::ProcessAgain, again && left > 0);
    }

    pub(super) fn note_requeue(&mut self, batch: usize) {
        let out = &self.batches[batch];
        let (cut, shrunk, after_others) = (out.cut, out.shrunk, out.serial < self.returned);
        let (first, last) = (self.queued.first().copied(), self.queued.last().copied());
        let Some(end) = out.left.last().copied() else { return self.note(Mark::RequeueNothing, true) };
        let again = out.left.iter().any(|place| self.tickets[place.1].put_back);
        let in_front = first.is_some_and(|first| end < first);
        self.note(Mark::RequeueIntoEmpty, first.is_none());
        self.note(Mark::RequeueInFront, in_front);
        self.note(Mark::RequeueInFrontOfTie, in_front && first.is_some_and(|first| first.0 == end.0));
        self.note(Mark::RequeueMerged, first.is_some() && !in_front);
        self.note(Mark::RequeueMergedBehindAll, last.is_some_and(|last| last < end));
        self.note(Mark::RequeueCutBatch, cut);
        self.note(Mark::RequeueAfterOthers, after_others);
        self.note(Mark::RequeueAgain, again);
        self.note(Mark::RequeueAfterShrink, shrunk);
    }

    fn note_get(&mut self, ticket: usize) {
        let known = self.tickets[ticket];
        self.note(Mark::GetQueued, known.is(Fate::Queued));
        self.note(Mark::GetPutBack, known.is(Fate::Queued) && known.put_back);
        self.note(Mark::GetOut, known.is(Fate::Out));
        self.note(Mark::GetGone, known.is(Fate::Dispatched) || known.is(Fate::Cancelled));
        self.note(Mark::GetStale, known.is(Fate::Moved));
    }

    fn note_cancel(&mut self, ticket: usize) {
        let known = self.tickets[ticket];
        let place = (known.expiry, ticket);
        let queued = known.is(Fate::Queued);
        let head = self.queued.first() == Some(&place);
        let last = self.queued.last() == Some(&place);
        self.note(Mark::CancelHead, head && !last);
        self.note(Mark::CancelLast, last && !head);
        self.note(Mark::CancelMiddle, queued && !head && !last);
        self.note(Mark::CancelOnly, head && last);
        self.note(Mark::CancelPutBack, queued && known.put_back);
        self.note(Mark::CancelOut, known.is(Fate::Out));
        self.note(Mark::CancelDispatched, known.is(Fate::Dispatched));
        self.note(Mark::CancelTwice, known.is(Fate::Cancelled));
        self.note(Mark::CancelStale, known.is(Fate::Moved));
        self.note(Mark::CancelDropped, known.is(Fate::Dropped));
        self.note(Mark::CancelWhileOut, queued && self.is_out());
    }

    fn note_reschedule(&mut self, ticket: usize, expiry: Tick) {
        let known = self.tickets[ticket];
        let place = (known.expiry, ticket);
        let queued = known.is(Fate::Queued);
        let (first, last) = (self.queued.first().copied(), self.queued.last().copied());
        self.note(Mark::MoveEarlier, queued && expiry < known.expiry);
        self.note(Mark::MoveLater, queued && expiry > known.expiry);
        self.note(Mark::MoveSame, queued && expiry == known.expiry);
        self.note(Mark::MovePast, queued && expiry < self.now);
        self.note(Mark::MoveFirst, first == Some(place) && first != last);
        self.note(Mark::MoveLast, last == Some(place) && first != last);
        self.note(Mark::MoveToFront, queued && first.is_some_and(|first| expiry < first.0 && first != place));
        self.note(Mark::MoveTie, queued && expiry != known.expiry && self.has_expiry(expiry));
        self.note(Mark::MovePutBack, queued && known.put_back);
        self.note(Mark::MoveOut, known.is(Fate::Out));
        self.note(Mark::MoveGone, known.is(Fate::Dispatched) || known.is(Fate::Cancelled));
        self.note(Mark::MoveStale, known.is(Fate::Moved));
    }
}
