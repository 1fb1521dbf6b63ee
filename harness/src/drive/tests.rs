use impls::model::Model;
use impls::queue::{Batch, ParamError, Params, PlaceHandle, Requeued, Tick};
use impls::reference::Reference;

use super::*;
use crate::payload::{Boxed, Inline};
use crate::stream::{Header, Op};

type Timer = Inline<2>;

fn op(kind: Kind, at: u64, arg: u64, id: u32) -> Op {
    Op { at, arg, id, kind: kind as u8, batch: 0, reserved: 0 }
}

fn stream(ops: Vec<Op>) -> Stream {
    let header = Header {
        workload: "test".to_owned(),
        phases: vec!["all".to_owned()],
        timers: 100,
        population: 100,
        batches: 2,
        handles: true,
        handler_ticks: 10,
    };
    let stream = Stream { header, ops };
    assert_eq!(stream.check(), Ok(()));
    stream
}

/// Three timers, two of which are ties; all are dispatched.
fn ties() -> Stream {
    let enqueues = [(5, 0), (3, 1), (3, 2)].map(|(at, id)| op(Kind::Enqueue, at, 0, id));
    let round = [op(Kind::Take, 9, 100, 0), op(Kind::Dispatch, 9, u64::MAX, 0), op(Kind::Requeue, 0, 0, 0)];
    stream(enqueues.into_iter().chain(round).collect())
}

fn queue<Q: TimerQueue<Timer>>() -> Q {
    Q::with(&Params::default()).unwrap()
}

fn reference() -> Reference<Timer> {
    queue()
}

fn outcome(stream: &Stream) -> Outcome {
    drive(stream, reference(), &mut Unmetered)
}

/// A queue that is wrong in a way of its own.
struct Wrong<const HOW: usize>(Reference<Timer>);

const SWAPS_TIES: usize = 0;
const FORGETS: usize = 1;
const SWAPS_EXPIRIES: usize = 2;

struct WrongBatch(Vec<(Tick, Timer)>);

impl Batch<Timer> for WrongBatch {
    fn front(&mut self) -> Option<(Tick, &mut Timer)> {
        self.0.first_mut().map(|(expiry, item)| (*expiry, item))
    }
    fn advance(&mut self) -> Option<(Tick, Timer)> {
        (!self.0.is_empty()).then(|| self.0.remove(0))
    }
    fn len(&self) -> usize {
        self.0.len()
    }
    fn latest(&self) -> Option<Tick> {
        self.0.last().map(|(expiry, _)| *expiry)
    }
}

impl<const HOW: usize> TimerQueue<Timer> for Wrong<HOW> {
    type Batch = WrongBatch;
    type Handle = PlaceHandle;
    fn with(params: &Params) -> Result<Self, ParamError> {
        Reference::with(params).map(Self)
    }
    fn enqueue(&mut self, expiry: Tick, item: Timer) -> PlaceHandle {
        self.0.enqueue(expiry, item)
    }
    fn take(&mut self, now: Tick, limit: usize) -> WrongBatch {
        let mut batch = self.0.take(now, limit);
        let mut timers: Vec<_> = std::iter::from_fn(|| batch.advance()).collect();
        match HOW {
            SWAPS_TIES => timers.swap(0, 1),
            SWAPS_EXPIRIES => timers.swap(1, 2),
            _ => timers.clear(),
        }
        WrongBatch(timers)
    }
    fn requeue(&mut self, _: WrongBatch) -> Requeued {
        Requeued::Nothing
    }
    fn get(&self, handle: PlaceHandle) -> Option<(Tick, &Timer)> {
        self.0.get(handle)
    }
    fn cancel(&mut self, handle: PlaceHandle) -> Option<Timer> {
        self.0.cancel(handle)
    }
    fn reschedule(&mut self, handle: PlaceHandle, expiry: Tick) -> Option<PlaceHandle> {
        self.0.reschedule(handle, expiry)
    }
    fn next_expiry(&mut self) -> Option<Tick> {
        self.0.next_expiry()
    }
    fn len(&self) -> usize {
        self.0.len()
    }
    fn iter<'a>(&'a self) -> impl Iterator<Item = (Tick, &'a Timer)>
    where
        Timer: 'a,
    {
        self.0.iter()
    }
    fn container_bytes(&self) -> usize {
        self.0.container_bytes()
    }
    fn shrink(&mut self) {}
    fn check(&self) {}
}

#[test]
fn both_oracles_come_to_the_same_outcome() {
    let right = outcome(&ties());
    assert_eq!(right, drive(&ties(), queue::<Model<Timer>>(), &mut Unmetered));
    assert_eq!((right.enqueued, right.taken, right.dispatched, right.id_sum), (3, 3, 3, 3));
    assert_eq!((right.requeued_nothing, right.left, right.disorder), (1, 0, 0));
}

#[test]
fn two_ties_that_are_exchanged_give_another_digest_and_nothing_else() {
    let right = outcome(&ties());
    let wrong = drive(&ties(), queue::<Wrong<SWAPS_TIES>>(), &mut Unmetered);
    assert_ne!(wrong.digest, right.digest);
    assert_eq!(Outcome { digest: right.digest, ..wrong }, right);
}

#[test]
fn an_expiry_that_falls_is_counted_as_disorder() {
    let wrong = drive(&ties(), queue::<Wrong<SWAPS_EXPIRIES>>(), &mut Unmetered);
    assert_eq!((wrong.disorder, wrong.id_sum), (1, 3));
}

#[test]
fn a_queue_that_forgets_everything_fails() {
    let wrong = drive(&ties(), queue::<Wrong<FORGETS>>(), &mut Unmetered);
    let right = outcome(&ties());
    assert_ne!(wrong.digest, right.digest);
    assert_ne!(wrong.dispatched, right.dispatched);
}

#[test]
fn the_now_of_the_take_is_part_of_the_digest() {
    let mut later = ties();
    later.ops[3].at = 10;
    assert_ne!(outcome(&later).digest, outcome(&ties()).digest);
}

#[test]
fn payloads_do_not_change_what_a_run_amounts_to() {
    let right = outcome(&ties());
    let make = || Reference::<Boxed>::with(&Params::default()).unwrap();
    assert_eq!(drive_with(&ties(), 16, make, &mut Unmetered), right);
    let without_id = drive_with(&ties(), 7, make, &mut Unmetered);
    assert_eq!((without_id.dispatched, without_id.id_sum), (3, 0));
    assert_ne!(without_id.digest, right.digest);
}

#[test]
fn a_window_closes_by_the_virtual_clock_and_the_rest_is_put_back() {
    let mut stream = ties();
    // Handlers cost 10 ticks: the first begins at 0, the second at 10, and at 20 the window is closed.
    stream.ops[4] = op(Kind::Dispatch, 9, 20, 0);
    let outcome = outcome(&stream);
    assert_eq!((outcome.dispatched, outcome.windows_closed, outcome.put_back), (2, 1, 1));
    assert_eq!((outcome.requeued_into_empty, outcome.left), (1, 1));
}

#[test]
fn a_window_of_nothing_dispatches_nothing_and_no_window_never_closes() {
    let mut stream = ties();
    stream.ops[4] = op(Kind::Dispatch, 9, 0, 0);
    assert_eq!((outcome(&stream).dispatched, outcome(&stream).windows_closed), (0, 1));
    stream.ops[3] = op(Kind::Take, u64::MAX, 100, 0);
    stream.ops[4] = op(Kind::Dispatch, u64::MAX, u64::MAX, 0);
    assert_eq!((outcome(&stream).dispatched, outcome(&stream).windows_closed), (3, 0));
}

#[test]
fn a_take_leaves_as_many_as_it_is_told_to() {
    let mut stream = ties();
    stream.ops[3] = op(Kind::Take, 9, 100, 2);
    assert_eq!((outcome(&stream).taken, outcome(&stream).left), (1, 2));
    stream.ops[3] = op(Kind::Take, 9, 100, 7);
    assert_eq!(outcome(&stream).taken, 0);
}

#[test]
fn handles_reach_their_timers_and_a_miss_is_counted() {
    let outcome = outcome(&stream(vec![
        op(Kind::Enqueue, 5, 0, 0),
        op(Kind::Enqueue, 6, 0, 1),
        op(Kind::Get, 0, 0, 0),
        op(Kind::Cancel, 0, 0, 0),
        op(Kind::Cancel, 0, 0, 0),
        op(Kind::Cancel, 0, 0, 99),
        op(Kind::Get, 0, 0, 0),
        op(Kind::Rearm, 8, 0, 1),
        op(Kind::Rearm, 9, 0, 0),
        op(Kind::NextExpiry, 0, 0, 0),
        op(Kind::DropQueue, 0, 0, 0),
    ]));
    assert_eq!((outcome.enqueued, outcome.cancelled, outcome.cancel_missed), (3, 1, 2));
    assert_eq!((outcome.rescheduled, outcome.found, outcome.next_expiry_sum, outcome.left), (1, 1, 8, 2));
}

#[test]
fn batches_are_out_together_and_what_is_dropped_is_counted() {
    let mut second = op(Kind::Take, 9, 1, 0);
    second.batch = 1;
    let outcome = outcome(&stream(vec![
        op(Kind::Enqueue, 1, 0, 0),
        op(Kind::Enqueue, 2, 0, 1),
        op(Kind::Enqueue, 3, 0, 2),
        op(Kind::Take, 9, 1, 0),
        second,
        op(Kind::Requeue, 0, 0, 0),
    ]));
    assert_eq!((outcome.takes, outcome.requeued_in_front, outcome.dropped, outcome.left), (2, 1, 1, 2));
}

/// Notes what it is told, and stands for every meter that looks at each call.
#[derive(Default)]
struct Notes {
    segments: Vec<(Kind, Tally)>,
    calls: Vec<Kind>,
    open: bool,
    points: Vec<(Point, QueueSize)>,
}

impl Watch for Notes {
    fn leave(&mut self, kind: Kind, done: Tally) {
        self.segments.push((kind, done));
    }
    fn sample(&mut self, point: Point, queue: QueueSize) {
        self.points.push((point, queue));
    }
}

impl Meter for Notes {
    fn prepares(&self) -> bool {
        true
    }
    fn open(&mut self) {
        assert!(!self.open, "two calls are open");
        self.open = true;
    }
    fn close(&mut self, kind: Kind) {
        self.open = false;
        self.calls.push(kind);
    }
}

#[test]
fn each_call_and_each_dispatched_timer_is_opened_and_closed_once() {
    let mut notes = Notes::default();
    drive(&ties(), reference(), &mut notes);
    let tally = |calls, timers| Tally { calls, timers };
    let segments = [(Kind::Enqueue, 3, 3), (Kind::Take, 1, 3), (Kind::Dispatch, 1, 3), (Kind::Requeue, 1, 0)];
    assert_eq!(notes.segments, segments.map(|(kind, calls, timers)| (kind, tally(calls, timers))));
    let calls =
        [[Kind::Enqueue; 3].as_slice(), &[Kind::Take], &[Kind::Dispatch; 3], &[Kind::Requeue]].concat();
    assert_eq!(notes.calls, calls);
}

#[test]
fn prepared_payloads_reach_their_own_timers_also_after_a_rearm() {
    let timers = [
        op(Kind::Enqueue, 5, 0, 3),
        op(Kind::Rearm, 6, 0, 3),
        op(Kind::Rearm, 7, 0, 40),
        op(Kind::Take, 9, 9, 0),
        op(Kind::Dispatch, 9, u64::MAX, 0),
    ];
    let outcome = drive(&stream(timers.to_vec()), reference(), &mut Notes::default());
    assert_eq!((outcome.rescheduled, outcome.enqueued, outcome.id_sum), (1, 2, 43));
}

#[test]
fn a_dropped_queue_has_no_timers_and_no_container() {
    let point = |point: Point| op(Kind::Sample, 0, 0, point as u32);
    let ops = vec![
        point(Point::Empty),
        op(Kind::Enqueue, 1, 0, 0),
        point(Point::Filled),
        op(Kind::DropQueue, 0, 0, 0),
        point(Point::Dropped),
    ];
    let mut notes = Notes::default();
    drive(&stream(ops), reference(), &mut notes);
    let sizes: Vec<_> = notes.points.iter().map(|(_, size)| (size.timers, size.container_bytes)).collect();
    assert_eq!(sizes[0], (0, Some(0)));
    assert!(sizes[1].0 == 1 && sizes[1].1 > Some(0));
    assert_eq!(sizes[2], (0, None));
}
