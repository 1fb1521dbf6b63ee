//! One structure with everything that a schedule needs beside it: handles, batches that are out, a second queue
//! of the same kind, and a ledger of what was released. The model is played through the same code.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use super::erased::{AnyBatch, AnyQueue, Bench, Handle};
use super::quiet;
use super::step::{Action, Script, Then};
use crate::queue::{Batch, Ended, Flow, Requeued, Tick, process};

/// Counts the releases of each item.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    times: RefCell<Vec<u32>>,
    total: Cell<usize>,
}

impl Ledger {
    fn enter(&self) -> u64 {
        let mut times = self.times.borrow_mut();
        times.push(0);
        times.len() as u64 - 1
    }

    fn release(&self, id: u64) {
        self.times.borrow_mut()[id as usize] += 1;
        self.total.set(self.total.get() + 1);
    }
}

/// The item of the schedules. It knows who it is, how often a handler had it, and tells when it is released.
#[derive(Debug)]
pub struct Token {
    id: u64,
    touched: u32,
    ledger: Rc<Ledger>,
}

impl Token {
    fn new(ledger: &Rc<Ledger>) -> Self {
        Self { id: ledger.enter(), touched: 0, ledger: Rc::clone(ledger) }
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        self.ledger.release(self.id);
    }
}

/// A timer as it shows itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) expiry: Tick,
    pub(super) id: u64,
    pub(super) touched: u32,
}

impl Seen {
    fn of(expiry: Tick, token: &Token) -> Self {
        Self { expiry, id: token.id, touched: token.touched }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Drained,
    WindowClosed,
    Stopped,
    Failed,
    Panicked,
}

/// What an action gave back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// Whether the handle differs from all that were given before.
    Enqueued {
        fresh: bool,
    },
    Taken,
    Processed {
        seen: Vec<Seen>,
        reads: usize,
        done: usize,
        ended: End,
    },
    Advanced(Option<Seen>),
    Requeued(Requeued),
    Dropped,
    Got(Option<Seen>),
    Cancelled(Option<Seen>),
    Rescheduled {
        moved: bool,
        fresh: bool,
    },
    /// What look-up, reschedule and cancel reached with a handle of another queue.
    ForeignHandle {
        reached: [bool; 3],
    },
    ForeignBatch {
        refused: bool,
    },
    Shrunk,
}

/// A batch as it shows itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BatchSeen {
    pub(super) len: usize,
    pub(super) front: Option<Seen>,
    pub(super) latest: Option<Tick>,
}

/// Everything that can be seen after a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Observation {
    pub(super) queue: Vec<Seen>,
    pub(super) len: usize,
    pub(super) next: Option<Tick>,
    pub(super) batches: Vec<BatchSeen>,
    pub(super) released: usize,
}

/// What is left when the queue is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Remains {
    /// Items released by dropping the queue alone.
    pub(super) released: usize,
    /// What the batches still gave after that.
    pub(super) batches: Vec<Vec<Seen>>,
    /// Whether every item was released exactly once in the end.
    pub(super) each_once: bool,
}

/// Twins in the second queue; more would make long schedules slow and reach nothing new.
pub(super) const TWINS: usize = 48;

/// How a batch is dispatched: [`process`], or a loop of its own that says what `process` should do.
type Dispatch = for<'w> fn(&mut AnyBatch<'w, Token>, Script, &RefCell<Vec<Seen>>, &Cell<usize>) -> End;

pub(super) struct Side<'w> {
    queue: AnyQueue<'w, Token>,
    handles: Vec<Handle>,
    batches: Vec<AnyBatch<'w, Token>>,
    ledger: Rc<Ledger>,
    other: AnyQueue<'w, Token>,
    other_handles: Vec<Handle>,
    other_ledger: Rc<Ledger>,
    dispatch: Dispatch,
}

impl<'w> Side<'w> {
    /// The structure that is examined.
    pub(super) fn subject(bench: &Bench<'w, Token>) -> Self {
        Self::new(bench, through_process)
    }

    /// The structure that says what is right.
    pub(super) fn oracle(bench: &Bench<'w, Token>) -> Self {
        Self::new(bench, by_hand)
    }

    fn new(bench: &Bench<'w, Token>, dispatch: Dispatch) -> Self {
        Self {
            queue: bench.queue(),
            handles: Vec::new(),
            batches: Vec::new(),
            ledger: Rc::default(),
            other: bench.queue(),
            other_handles: Vec::new(),
            other_ledger: Rc::default(),
            dispatch,
        }
    }

    pub(super) fn act(&mut self, action: &Action) -> Answer {
        let answer = match *action {
            Action::Enqueue { expiry } => {
                let handle = self.queue.enqueue(expiry, Token::new(&self.ledger));
                Answer::Enqueued { fresh: self.keep(handle, expiry) }
            }
            Action::Take { now, limit } => {
                let batch = self.queue.take(now, limit);
                self.batches.push(batch);
                Answer::Taken
            }
            Action::Process { batch, script } => self.process(batch, script),
            Action::Advance { batch } => {
                let timer = self.batches[batch].advance();
                Answer::Advanced(timer.map(|(expiry, token)| Seen::of(expiry, &token)))
            }
            Action::Requeue { batch } => Answer::Requeued(self.queue.requeue(self.batches.remove(batch))),
            Action::Drop { batch } => {
                drop(self.batches.remove(batch));
                Answer::Dropped
            }
            Action::Get { .. } | Action::Cancel { .. } | Action::Reschedule { .. } => self.by_handle(action),
            Action::ForeignHandle { ticket, expiry } => self.foreign_handle(ticket, expiry),
            Action::ForeignBatch => self.foreign_batch(),
            Action::Shrink => self.shrink(),
        };
        self.queue.check();
        answer
    }

    /// Keeps a handle under the next ticket, and gives it a twin of the same place in the second queue.
    fn keep(&mut self, handle: Handle, expiry: Tick) -> bool {
        let fresh = !self.handles.iter().any(|known| self.queue.same(*known, handle));
        self.handles.push(handle);
        if self.other_handles.len() < TWINS {
            let twin = self.other.enqueue(expiry, Token::new(&self.other_ledger));
            self.other_handles.push(twin);
        }
        fresh
    }

    fn process(&mut self, batch: usize, script: Script) -> Answer {
        let (seen, reads) = (RefCell::default(), Cell::default());
        let batch = &mut self.batches[batch];
        let before = batch.len();
        let ended = (self.dispatch)(batch, script, &seen, &reads);
        Answer::Processed { seen: seen.take(), reads: reads.get(), done: before - batch.len(), ended }
    }

    fn by_handle(&mut self, action: &Action) -> Answer {
        match *action {
            Action::Get { ticket } => {
                let timer = self.queue.get(self.handles[ticket]);
                Answer::Got(timer.map(|(expiry, token)| Seen::of(expiry, token)))
            }
            Action::Cancel { ticket } => {
                let expiry = self.queue.get(self.handles[ticket]).map(|(expiry, _)| expiry);
                let token = self.queue.cancel(self.handles[ticket]);
                Answer::Cancelled(token.map(|token| Seen::of(expiry.unwrap_or_default(), &token)))
            }
            Action::Reschedule { ticket, expiry } => {
                let handle = self.queue.reschedule(self.handles[ticket], expiry);
                let fresh = handle.is_some_and(|handle| self.keep(handle, expiry));
                Answer::Rescheduled { moved: handle.is_some(), fresh }
            }
            ref other => unreachable!("{other:?} needs no handle"),
        }
    }

    fn foreign_handle(&mut self, ticket: usize, expiry: Tick) -> Answer {
        let twin = self.other_handles[ticket];
        let got = self.queue.get(twin).is_some();
        let moved = self.queue.reschedule(twin, expiry).is_some();
        let cancelled = self.queue.cancel(twin).is_some();
        Answer::ForeignHandle { reached: [got, moved, cancelled] }
    }

    fn foreign_batch(&mut self) -> Answer {
        let batch = self.other.take(Tick::MAX, 1);
        let refused = quiet::caught(|| self.queue.requeue(batch)).is_err();
        self.other.check();
        Answer::ForeignBatch { refused }
    }

    fn shrink(&mut self) -> Answer {
        let before = self.queue.container_bytes();
        self.queue.shrink();
        let after = self.queue.container_bytes();
        assert!(after <= before, "shrink grew the container from {before} to {after} bytes");
        Answer::Shrunk
    }

    pub(super) fn look(&mut self) -> Observation {
        let queue: Vec<_> =
            self.queue.timers().into_iter().map(|(expiry, token)| Seen::of(expiry, token)).collect();
        let (bytes, least) = (self.queue.container_bytes(), queue.len() * size_of::<Token>());
        assert!(bytes >= least, "container_bytes() is {bytes}, the items alone are {least}");
        let batches = self.batches.iter_mut().map(|batch| {
            let front = batch.front().map(|(expiry, token)| Seen::of(expiry, token));
            assert_eq!(batch.is_empty(), batch.len() == 0, "is_empty() of a batch against its len()");
            BatchSeen { len: batch.len(), front, latest: batch.latest() }
        });
        Observation {
            batches: batches.collect(),
            len: self.queue.len(),
            next: self.queue.next_expiry(),
            queue,
            released: self.ledger.total.get(),
        }
    }

    /// Drops the queue, then looks into the batches, then lets go of all.
    pub(super) fn finish(self) -> Remains {
        let Self { queue, batches, ledger, other, .. } = self;
        let before = ledger.total.get();
        drop(queue);
        let released = ledger.total.get() - before;
        let emptied = batches.into_iter().map(|mut batch| {
            let mut left = Vec::new();
            while let Some((expiry, token)) = batch.advance() {
                left.push(Seen::of(expiry, &token));
            }
            left
        });
        let batches = emptied.collect();
        drop(other);
        let each_once = ledger.times.borrow().iter().all(|times| *times == 1);
        Remains { released, batches, each_once }
    }
}

/// What a handler of a script does in its `call`-th call.
fn handle(script: Script, seen: &RefCell<Vec<Seen>>, expiry: Tick, token: &mut Token) -> Result<Flow, ()> {
    token.touched += 1;
    seen.borrow_mut().push(Seen::of(expiry, token));
    let calls = seen.borrow().len();
    match script.then {
        _ if calls <= script.after => Ok(Flow::Continue),
        Then::GoOn => Ok(Flow::Continue),
        Then::Stop => Ok(Flow::Stop),
        Then::Fail => Err(()),
        Then::Panic => quiet::silent_panic(),
    }
}

/// The time that the handlers of a script have taken.
fn clock(script: Script, seen: &RefCell<Vec<Seen>>) -> Tick {
    script.cost * seen.borrow().len() as Tick
}

fn through_process(
    batch: &mut AnyBatch<'_, Token>,
    script: Script,
    seen: &RefCell<Vec<Seen>>,
    reads: &Cell<usize>,
) -> End {
    let before = batch.len();
    let read = || {
        reads.set(reads.get() + 1);
        clock(script, seen)
    };
    let outcome = quiet::caught(|| {
        process(batch, read, script.window, |expiry, token| handle(script, seen, expiry, token))
    });
    let Ok(processed) = outcome else { return End::Panicked };
    assert_eq!(processed.done, before - batch.len(), "process says how many have left the batch");
    match processed.ended {
        Ended::Drained => End::Drained,
        Ended::WindowClosed => End::WindowClosed,
        Ended::Stopped => End::Stopped,
        Ended::Failed(()) => End::Failed,
    }
}

fn by_hand(
    batch: &mut AnyBatch<'_, Token>,
    script: Script,
    seen: &RefCell<Vec<Seen>>,
    reads: &Cell<usize>,
) -> End {
    for call in 0.. {
        let Some((expiry, token)) = batch.front() else { return End::Drained };
        reads.set(reads.get() + 1);
        if script.cost * call >= script.window {
            return End::WindowClosed;
        }
        match quiet::caught(|| handle(script, seen, expiry, token)) {
            Ok(Ok(Flow::Continue)) => drop(batch.advance()),
            Ok(Ok(Flow::Stop)) => return End::Stopped,
            Ok(Err(())) => return End::Failed,
            Err(_) => return End::Panicked,
        }
    }
    unreachable!("a batch has an end")
}
