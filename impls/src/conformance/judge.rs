//! Compares what a structure gave with what its promise asks for, and keeps the book.
//!
//! For an exact order everything is determined. Where ties may stand in any order, expiries are compared in
//! order and timers as sets. Where only lateness is bounded, a take may give what is due and must give what
//! has been due for longer than the bound.

use super::Promise;
use super::book::{Book, Fate, Out, Places};
use super::reached::Mark;
use super::side::{Answer, BatchSeen, End, Observation, Remains, Seen};
use super::step::{Action, Script, Then};
use crate::queue::{Requeued, Tick};
use crate::registry::Order;

/// Both sides of a comparison that failed.
pub(super) type Verdict = Result<(), String>;

fn same<T: PartialEq + std::fmt::Debug>(what: &str, got: T, right: T) -> Verdict {
    if got == right { Ok(()) } else { Err(format!("{what}: got {got:?}, right is {right:?}")) }
}

fn holds(condition: bool, what: impl FnOnce() -> String) -> Verdict {
    if condition { Ok(()) } else { Err(what()) }
}

impl Promise {
    /// The latest expiry that may be taken at `now`.
    pub(super) fn until(&self, now: Tick) -> Tick {
        if now == Tick::MAX { now } else { now - now % self.tick }
    }

    /// The first `now` at which a timer may be taken.
    fn from(&self, expiry: Tick) -> Tick {
        match expiry % self.tick {
            0 => expiry,
            past => expiry.checked_add(self.tick - past).unwrap_or(Tick::MAX),
        }
    }

    /// Whether `taken` is what a take should give of `due`, which is all that may be taken.
    fn allows_take(
        &self,
        taken: &[(Tick, usize)],
        due: &[(Tick, usize)],
        now: Tick,
        limit: usize,
    ) -> Verdict {
        let first = &due[..limit.min(due.len())];
        match self.order {
            Order::Exact => same("take cut off (expiry, arrival)", taken, first),
            Order::TiesAnyOrder => same("take cut off", expiries(taken), expiries(first)),
            Order::LateBounded => {
                let must = due.iter().filter(|place| now - place.0 > self.bound);
                let missing = must.filter(|place| !taken.contains(place)).count();
                holds(taken.len() <= limit, || format!("take gave {} with limit {limit}", taken.len()))?;
                let all_in_time = missing == 0 || taken.len() == limit;
                holds(all_in_time, || format!("{missing} timers are late by more than {}", self.bound))
            }
        }
    }

    fn allows_next(&self, next: Option<Tick>, queued: &Places) -> Verdict {
        let first = queued.first().map(|place| self.from(place.0));
        match (self.order, first, next) {
            (Order::LateBounded, Some(first), Some(next)) => {
                let fits = first <= next && next - first <= self.bound;
                holds(fits, || format!("next_expiry: {next}, the first is {first}, the bound {}", self.bound))
            }
            _ => same("next_expiry", next, first),
        }
    }

    /// Whether `got` may be what a put-back of `left` in front of `queued` says.
    fn allows_requeue(&self, got: Requeued, left: &Places, queued: &Places) -> Verdict {
        let right = match (left.last(), queued.first()) {
            (None, _) => Requeued::Nothing,
            (_, None) => Requeued::IntoEmpty,
            (Some(last), Some(head)) if last < head => Requeued::InFront,
            _ => Requeued::Merged(left.len()),
        };
        let determined = match (self.order, left.last(), queued.first()) {
            (_, None, _) | (_, _, None) | (Order::Exact, ..) => true,
            (Order::TiesAnyOrder, Some(last), Some(head)) => last.0 != head.0,
            (Order::LateBounded, ..) => false,
        };
        let possible = matches!(got, Requeued::InFront) || got == Requeued::Merged(left.len());
        if !determined && possible { Ok(()) } else { same("requeue", got, right) }
    }
}

fn expiries(places: &[(Tick, usize)]) -> Vec<Tick> {
    places.iter().map(|place| place.0).collect()
}

impl Book {
    /// Checks the answer to an action, and all that can be seen after it.
    pub(super) fn settle(&mut self, action: &Action, answer: &Answer, after: &Observation) -> Verdict {
        self.reached.steps += 1;
        self.note_before(action);
        match (*action, answer) {
            (Action::Enqueue { expiry }, Answer::Enqueued { fresh }) => self.enqueued(expiry, *fresh)?,
            (Action::Take { now, limit }, Answer::Taken) => self.taken(now, limit, after)?,
            (Action::Process { batch, script }, Answer::Processed { .. }) => {
                self.processed(batch, script, answer)?;
            }
            (Action::Advance { batch }, Answer::Advanced(timer)) => self.advanced(batch, *timer)?,
            (Action::Requeue { batch }, Answer::Requeued(how)) => self.requeued(batch, *how)?,
            (Action::Drop { batch }, Answer::Dropped) => self.dropped(batch),
            (Action::Get { ticket }, Answer::Got(timer)) => {
                same("get", *timer, self.reachable(ticket))?;
            }
            (Action::Cancel { ticket }, Answer::Cancelled(timer)) => self.cancelled(ticket, *timer)?,
            (Action::Reschedule { ticket, expiry }, Answer::Rescheduled { moved, fresh }) => {
                self.rescheduled(ticket, expiry, *moved, *fresh)?;
            }
            (Action::ForeignHandle { .. }, Answer::ForeignHandle { reached }) => {
                same("[get, reschedule, cancel] by a handle of another queue", *reached, [false; 3])?;
            }
            (Action::ForeignBatch, Answer::ForeignBatch { refused }) => {
                same("requeue of a batch of another queue panicked", *refused, true)?;
            }
            (Action::Shrink, Answer::Shrunk) => self.batches.iter_mut().for_each(|batch| batch.shrunk = true),
            _ => unreachable!("{answer:?} is no answer to {action:?}"),
        }
        self.seen(after)
    }

    fn enqueued(&mut self, expiry: Tick, fresh: bool) -> Verdict {
        self.ticket_of.push(self.tickets.len());
        self.touched.push(0);
        self.arrive(self.touched.len() as u64 - 1, expiry);
        same("the handle differs from all before", fresh, true)
    }

    fn taken(&mut self, now: Tick, limit: usize, after: &Observation) -> Verdict {
        let mut stayed = vec![false; self.touched.len()];
        after.queue.iter().for_each(|seen| stayed[seen.id as usize] = true);
        let gone = self.queued.iter().copied().filter(|place| !stayed[self.tickets[place.1].id as usize]);
        let gone: Vec<_> = gone.collect();
        let until = self.promise.until(now);
        let due: Vec<_> = self.queued.range(..=(until, usize::MAX)).copied().collect();
        self.note_take(now, limit, &due);
        let early = gone.iter().find(|place| place.0 > until);
        holds(early.is_none(), || format!("take at {now} gave a timer early: {early:?}"))?;
        self.promise.allows_take(&gone, &due, now, limit)?;
        for place in &gone {
            self.queued.remove(place);
            self.tickets[place.1].fate = Fate::Out;
        }
        self.takes += 1;
        self.now = self.now.max(now);
        let left = gone.into_iter().collect();
        self.batches.push(Out { left, serial: self.takes, ..Out::default() });
        self.reached
            .note(Mark::ThreeOut, self.batches.iter().filter(|out| !out.left.is_empty()).count() >= 3);
        Ok(())
    }

    fn processed(&mut self, batch: usize, script: Script, answer: &Answer) -> Verdict {
        let Answer::Processed { seen, reads, done, ended } = answer else { unreachable!() };
        let left = self.batches[batch].left.len();
        let right = expected(left, script);
        self.note_process(batch, script, right);
        same("process (clock reads, done, how it ended)", (*reads, *done, *ended), right)?;
        let handled = right.1 + usize::from(matches!(right.2, End::Stopped | End::Failed | End::Panicked));
        same("calls of the handler", seen.len(), handled)?;
        for (call, timer) in seen.iter().enumerate() {
            self.touched[timer.id as usize] += 1;
            let stays = call >= *done;
            self.leave(batch, Some(*timer), stays)?;
        }
        self.batches[batch].processed = true;
        self.batches[batch].cut |= *done > 0;
        Ok(())
    }

    /// Checks that `timer` is first in a batch, and lets it go unless it stays there.
    fn leave(&mut self, batch: usize, timer: Option<Seen>, stays: bool) -> Verdict {
        let place = self.first_of(batch, timer)?;
        let Some(place) = place.filter(|_| !stays) else { return Ok(()) };
        self.batches[batch].left.remove(&place);
        self.tickets[place.1].fate = Fate::Dispatched;
        self.released += 1;
        Ok(())
    }

    /// The place of `timer`, which must be one that may stand first in the batch.
    fn first_of(&self, batch: usize, timer: Option<Seen>) -> Result<Option<(Tick, usize)>, String> {
        let left = &self.batches[batch].left;
        let first = left.first().copied();
        let (Some(seen), Some(first)) = (timer, first) else {
            same("first of a batch", timer.map(|seen| seen.id), first.map(|place| self.tickets[place.1].id))?;
            return Ok(None);
        };
        let place = (seen.expiry, self.ticket_of[seen.id as usize]);
        same("touched by handlers", seen.touched, self.touched[seen.id as usize])?;
        holds(left.contains(&place), || format!("{seen:?} is not left in this batch"))?;
        match self.promise.order {
            Order::Exact => same("first of a batch (expiry, arrival)", place, first)?,
            Order::TiesAnyOrder => same("expiry of the first of a batch", place.0, first.0)?,
            Order::LateBounded => {}
        }
        Ok(Some(place))
    }

    fn advanced(&mut self, batch: usize, timer: Option<Seen>) -> Verdict {
        self.reached.note(Mark::Advanced, timer.is_some());
        self.batches[batch].cut |= timer.is_some();
        self.leave(batch, timer, false)
    }

    fn requeued(&mut self, batch: usize, how: Requeued) -> Verdict {
        self.note_requeue(batch);
        let out = self.batches.remove(batch);
        self.promise.allows_requeue(how, &out.left, &self.queued)?;
        for place in &out.left {
            self.tickets[place.1].fate = Fate::Queued;
            self.tickets[place.1].put_back = true;
        }
        self.returned = self.returned.max(if out.left.is_empty() { 0 } else { out.serial });
        self.queued.extend(out.left);
        Ok(())
    }

    fn dropped(&mut self, batch: usize) {
        let out = self.batches.remove(batch);
        self.reached.note(Mark::DropBatch, !out.left.is_empty());
        self.reached.note(Mark::DropBatchWhileOthersOut, !out.left.is_empty() && self.is_out());
        self.released += out.left.len();
        out.left.iter().for_each(|place| self.tickets[place.1].fate = Fate::Dropped);
    }

    /// What a handle reaches: its timer, when that is queued.
    fn reachable(&self, ticket: usize) -> Option<Seen> {
        let known = &self.tickets[ticket];
        let touched = self.touched[known.id as usize];
        known.is(Fate::Queued).then_some(Seen { expiry: known.expiry, id: known.id, touched })
    }

    fn cancelled(&mut self, ticket: usize, timer: Option<Seen>) -> Verdict {
        same("cancel", timer, self.reachable(ticket))?;
        if timer.is_some() {
            self.queued.remove(&(self.tickets[ticket].expiry, ticket));
            self.tickets[ticket].fate = Fate::Cancelled;
            self.released += 1;
        }
        Ok(())
    }

    fn rescheduled(&mut self, ticket: usize, expiry: Tick, moved: bool, fresh: bool) -> Verdict {
        same("reschedule found its timer", moved, self.reachable(ticket).is_some())?;
        if moved {
            self.queued.remove(&(self.tickets[ticket].expiry, ticket));
            self.tickets[ticket].fate = Fate::Moved;
            let id = self.tickets[ticket].id;
            self.ticket_of[id as usize] = self.tickets.len();
            self.arrive(id, expiry);
            same("the handle differs from all before", fresh, true)?;
        }
        Ok(())
    }

    /// Checks all that can be seen.
    fn seen(&self, after: &Observation) -> Verdict {
        same("len", after.len, self.queued.len())?;
        self.seen_queue(&after.queue)?;
        self.promise.allows_next(after.next, &self.queued)?;
        same("items released so far", after.released, self.released)?;
        same("batches out", after.batches.len(), self.batches.len())?;
        (0..after.batches.len()).try_for_each(|at| self.seen_batch(at, &after.batches[at]))
    }

    fn seen_queue(&self, queue: &[Seen]) -> Verdict {
        let places = queue.iter().map(|seen| (seen.expiry, self.ticket_of[seen.id as usize]));
        let places: Vec<_> = places.collect();
        let right: Vec<_> = self.queued.iter().copied().collect();
        if self.promise.order == Order::Exact {
            same("the queue (expiry, arrival)", &places, &right)?;
        } else {
            let mut sorted = places.clone();
            sorted.sort_unstable();
            same("the queue as a set (expiry, arrival)", &sorted, &right)?;
        }
        if self.promise.order == Order::TiesAnyOrder {
            same("the order of the queue", expiries(&places), expiries(&right))?;
        }
        let stale = queue.iter().find(|seen| seen.touched != self.touched[seen.id as usize]);
        holds(stale.is_none(), || format!("{stale:?} has lost what a handler did to it"))
    }

    fn seen_batch(&self, at: usize, batch: &BatchSeen) -> Verdict {
        let left = &self.batches[at].left;
        same("len of a batch", batch.len, left.len())?;
        self.first_of(at, batch.front)?;
        if self.promise.order == Order::LateBounded {
            let fits = left.is_empty() == batch.latest.is_none()
                && batch.latest.is_none_or(|latest| left.iter().any(|place| place.0 == latest));
            return holds(fits, || format!("latest of a batch: {:?} of {left:?}", batch.latest));
        }
        same("latest of a batch", batch.latest, left.last().map(|place| place.0))
    }

    /// Checks what is left after the queue was dropped.
    pub(super) fn close(&mut self, remains: &Remains) -> Verdict {
        self.reached.note(Mark::EndWithBatchesOut, self.is_out());
        same("items released by dropping the queue", remains.released, self.queued.len())?;
        same("batches out at the end", remains.batches.len(), self.batches.len())?;
        for (at, timers) in remains.batches.iter().enumerate() {
            timers.iter().try_for_each(|timer| self.leave(at, Some(*timer), false))?;
            same("timers left in a batch at the end", self.batches[at].left.len(), 0)?;
        }
        same("every item was released exactly once", remains.each_once, true)
    }
}

/// What `process` should say of a batch with `left` timers: clock reads, timers done, and how it ended.
fn expected(left: usize, script: Script) -> (usize, usize, End) {
    for done in 0..left {
        if script.cost * done as Tick >= script.window {
            return (done + 1, done, End::WindowClosed);
        }
        match script.then {
            Then::Stop if done == script.after => return (done + 1, done, End::Stopped),
            Then::Fail if done == script.after => return (done + 1, done, End::Failed),
            Then::Panic if done == script.after => return (done + 1, done, End::Panicked),
            _ => {}
        }
    }
    (left, left, End::Drained)
}
