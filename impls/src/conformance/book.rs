//! What has become of every timer, kept from the actions alone: it fills in steps, and it is the second
//! opinion beside the model, for every order a structure may promise.

use std::collections::BTreeSet;

use super::Promise;
use super::reached::Reached;
use super::step::{Action, Aim, NEWEST, Step, Target};
use crate::queue::Tick;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Queued,
    Out,
    Dispatched,
    Cancelled,
    Moved,
    Dropped,
}

/// One arrival. Its number is its rank among equals.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ticket {
    pub(super) id: u64,
    pub(super) expiry: Tick,
    pub(super) fate: Fate,
    pub(super) put_back: bool,
}

/// Timers by expiry and ticket: the order that is right.
pub(super) type Places = BTreeSet<(Tick, usize)>;

/// A batch that is out.
#[derive(Clone, Debug, Default)]
pub(super) struct Out {
    pub(super) left: Places,
    /// The how-manieth take it came from.
    pub(super) serial: usize,
    pub(super) processed: bool,
    pub(super) cut: bool,
    pub(super) shrunk: bool,
}

#[derive(Debug)]
pub(super) struct Book {
    pub(super) promise: Promise,
    pub(super) tickets: Vec<Ticket>,
    pub(super) queued: Places,
    pub(super) batches: Vec<Out>,
    /// The last ticket of each item.
    pub(super) ticket_of: Vec<usize>,
    pub(super) touched: Vec<u32>,
    pub(super) released: usize,
    /// The latest `now` of a take.
    pub(super) now: Tick,
    pub(super) takes: usize,
    /// The highest serial of a batch that was put back.
    pub(super) returned: usize,
    pub(super) reached: Reached,
}

impl Book {
    pub(super) fn new(promise: Promise) -> Self {
        Self {
            promise,
            tickets: Vec::new(),
            queued: Places::new(),
            batches: Vec::new(),
            ticket_of: Vec::new(),
            touched: Vec::new(),
            released: 0,
            now: 0,
            takes: 0,
            returned: 0,
            reached: Reached::default(),
        }
    }

    /// Adds an arrival of the item `id`.
    pub(super) fn arrive(&mut self, id: u64, expiry: Tick) {
        self.queued.insert((expiry, self.tickets.len()));
        self.tickets.push(Ticket { id, expiry, fate: Fate::Queued, put_back: false });
    }

    pub(super) fn is_out(&self) -> bool {
        self.batches.iter().any(|batch| !batch.left.is_empty())
    }

    /// Fills a step in, or nothing when there is no such handle, batch or timer.
    pub(super) fn resolve(&self, step: &Step) -> Option<Action> {
        Some(match *step {
            Step::Enqueue(aim) => Action::Enqueue { expiry: self.aim(aim)? },
            Step::Take { now, limit } => Action::Take { now: self.aim(now)?, limit },
            Step::Process { batch, script } => Action::Process { batch: self.batch(batch)?, script },
            Step::Advance { batch } => Action::Advance { batch: self.batch(batch)? },
            Step::Requeue { batch } => Action::Requeue { batch: self.batch(batch)? },
            Step::Drop { batch } => Action::Drop { batch: self.batch(batch)? },
            Step::Get(target) => Action::Get { ticket: self.target(target)? },
            Step::Cancel(target) => Action::Cancel { ticket: self.target(target)? },
            Step::Reschedule(target, aim) => {
                Action::Reschedule { ticket: self.target(target)?, expiry: self.aim(aim)? }
            }
            Step::ForeignHandle(pick, aim) => {
                Action::ForeignHandle { ticket: self.twin(pick)?, expiry: self.aim(aim)? }
            }
            Step::ForeignBatch => Action::ForeignBatch,
            Step::Shrink => Action::Shrink,
        })
    }

    fn aim(&self, aim: Aim) -> Option<Tick> {
        let (base, offset) = match aim {
            Aim::At(tick) => (tick, 0),
            Aim::Now(offset) => (self.now, offset),
            Aim::Boundary(bits, offset) => {
                ((self.now >> bits).saturating_add(1).saturating_mul(1 << bits), offset)
            }
            Aim::Head(offset) => (self.queued.first()?.0, offset),
            Aim::Last(offset) => (self.queued.last()?.0, offset),
            Aim::BatchFront(pick, offset) => (self.batches[self.batch(pick)?].left.first()?.0, offset),
            Aim::BatchLatest(pick, offset) => (self.batches[self.batch(pick)?].left.last()?.0, offset),
            Aim::Tie(pick) => (self.tickets[self.target(Target::Queued(pick))?].expiry, 0),
        };
        Some(base.saturating_add_signed(offset))
    }

    fn batch(&self, pick: u64) -> Option<usize> {
        let count = self.batches.len();
        if pick == NEWEST { count.checked_sub(1) } else { nth(pick, count) }
    }

    fn target(&self, target: Target) -> Option<usize> {
        let (pick, fate) = match target {
            Target::Head => return self.queued.first().map(|place| place.1),
            Target::Last => return self.queued.last().map(|place| place.1),
            Target::Queued(pick) => (pick, Fate::Queued),
            Target::PutBack(pick) => {
                return self.choose(pick, |ticket| ticket.is(Fate::Queued) && ticket.put_back);
            }
            Target::Out(pick) => (pick, Fate::Out),
            Target::Dispatched(pick) => (pick, Fate::Dispatched),
            Target::Cancelled(pick) => (pick, Fate::Cancelled),
            Target::Moved(pick) => (pick, Fate::Moved),
            Target::Dropped(pick) => (pick, Fate::Dropped),
        };
        self.choose(pick, |ticket| ticket.is(fate))
    }

    /// A ticket that has a twin in the second queue, rather one that is queued here.
    fn twin(&self, pick: u64) -> Option<usize> {
        let early = &self.tickets[..self.tickets.len().min(super::side::TWINS)];
        let queued: Vec<_> = (0..early.len()).filter(|at| early[*at].is(Fate::Queued)).collect();
        nth(pick, queued.len()).map(|at| queued[at]).or_else(|| nth(pick, early.len()))
    }

    fn choose(&self, pick: u64, fits: impl Fn(&Ticket) -> bool) -> Option<usize> {
        let fitting: Vec<_> = (0..self.tickets.len()).filter(|at| fits(&self.tickets[*at])).collect();
        nth(pick, fitting.len()).map(|at| fitting[at])
    }
}

impl Ticket {
    pub(super) fn is(&self, fate: Fate) -> bool {
        self.fate == fate
    }
}

fn nth(pick: u64, len: usize) -> Option<usize> {
    (len > 0).then(|| (pick % len as u64) as usize)
}
