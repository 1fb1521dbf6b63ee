//! Who releases an item, when, and how often: counted by items that tell when they go.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::thread;

use super::erased::{AnyBatch, AnyQueue, Bench, Handle, fact};
use super::{Failure, quiet};
use crate::queue::{Batch, Flow, Params, Requeued, Tick, TimerQueue, process};
use crate::registry::{self, Entry, Visit};

/// Counts releases, by item.
#[derive(Clone, Debug, Default)]
struct Tally(Rc<RefCell<Vec<u32>>>);

impl Tally {
    fn item(&self) -> Counted {
        let mut times = self.0.borrow_mut();
        times.push(0);
        Counted { id: times.len() - 1, tally: self.clone(), panics: false }
    }

    /// Items released so far; none of them twice.
    #[track_caller]
    fn released(&self) -> usize {
        let times = self.0.borrow();
        let twice = times.iter().position(|times| *times > 1);
        assert_eq!(twice, None, "item released more than once");
        times.iter().filter(|times| **times == 1).count()
    }
}

/// An item that counts its release, and panics in it when told to.
#[derive(Debug)]
pub struct Counted {
    id: usize,
    tally: Tally,
    panics: bool,
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.tally.0.borrow_mut()[self.id] += 1;
        if self.panics {
            quiet::silent_panic();
        }
    }
}

thread_local! {
    static NOTHINGS: Cell<i64> = const { Cell::new(0) };
}

/// An item without a size, of which there are as many as were made and not released.
#[derive(Debug)]
pub struct Nothing(());

impl Nothing {
    fn new() -> Self {
        NOTHINGS.set(NOTHINGS.get() + 1);
        Self(())
    }
}

impl Drop for Nothing {
    fn drop(&mut self) {
        NOTHINGS.set(NOTHINGS.get() - 1);
    }
}

/// An item of 448 bytes, all of which say who it is.
#[derive(Debug, PartialEq)]
pub struct Large([u64; 56]);

/// Checks every fact about the lifetime of items on `entry`; `rounds` is the length of the longest.
#[inline]
pub fn run(entry: &Entry, params: &Params, rounds: u64) -> Result<(), Failure> {
    struct Facts<'a>(&'a Params, u64);
    impl Visit<Counted> for Facts<'_> {
        type Out = Result<(), Failure>;
        fn visit<Q: TimerQueue<Counted>>(self, _: Q) -> Self::Out {
            counted::<Q>(self.0)
        }
    }
    impl Visit<Nothing> for Facts<'_> {
        type Out = Result<(), Failure>;
        fn visit<Q: TimerQueue<Nothing>>(self, _: Q) -> Self::Out {
            fact("items_without_a_size", || items_without_a_size(Bench::new::<Q>(self.0, 1).queue()))
        }
    }
    impl Visit<Large> for Facts<'_> {
        type Out = Result<(), Failure>;
        fn visit<Q: TimerQueue<Large>>(self, _: Q) -> Self::Out {
            fact("large_items_arrive_whole", || large_items_arrive_whole(Bench::new::<Q>(self.0, 1).queue()))
        }
    }
    impl Visit<u64> for Facts<'_> {
        type Out = Result<(), Failure>;
        fn visit<Q: TimerQueue<u64>>(self, queue: Q) -> Self::Out {
            flat(queue, self.1)
        }
    }
    let facts = || Facts(params, rounds);
    let outcomes = [
        registry::visit::<Counted, _>(entry.name, params, facts()),
        registry::visit::<Nothing, _>(entry.name, params, facts()),
        registry::visit::<Large, _>(entry.name, params, facts()),
        registry::visit::<u64, _>(entry.name, params, facts()),
    ];
    let flattened =
        outcomes.map(|outcome| outcome.map_err(|error| Failure::new(error.to_string())).flatten());
    flattened.into_iter().collect::<Result<_, _>>().map_err(|failure| failure.of(entry.name, params))
}

/// The facts that are counted, on `Q`.
pub fn counted<Q: TimerQueue<Counted>>(params: &Params) -> Result<(), Failure> {
    counted_on(&Bench::new::<Q>(params, 1))
}

fn counted_on(bench: &Bench<'_, Counted>) -> Result<(), Failure> {
    type Fact = (&'static str, fn(Desk<'_>));
    let facts: [Fact; 12] = [
        ("cancel_releases_now", cancel_releases_now),
        ("advance_releases_now", advance_releases_now),
        ("a_dispatched_timer_is_released_as_the_batch_moves_past_it", process_releases_one_by_one),
        ("putting_back_releases_nothing", putting_back_releases_nothing),
        ("moving_and_shrinking_release_nothing", moving_and_shrinking_release_nothing),
        ("dropping_a_batch_lets_go_of_every_item", dropping_a_batch_lets_go_of_every_item),
        ("dropping_the_queue_spares_batches_that_are_out", dropping_the_queue_spares_batches),
        ("a_refused_batch_lets_go_of_its_items_once", a_refused_batch_lets_go_of_its_items_once),
        ("FC-071 each_item_is_released_exactly_once", each_item_is_released_exactly_once),
        ("FC-072 a_panicking_destructor_in_a_queue", a_panicking_destructor_in_a_queue),
        ("FC-072 a_panicking_destructor_in_a_batch", a_panicking_destructor_in_a_batch),
        ("FC-072 a_panicking_destructor_of_a_dispatched_timer", a_panicking_destructor_when_dispatched),
    ];
    facts.into_iter().try_for_each(|(name, run)| fact(name, || run(Desk::new(bench))))
}

/// A queue with its tally.
struct Desk<'w> {
    queue: AnyQueue<'w, Counted>,
    other: AnyQueue<'w, Counted>,
    tally: Tally,
    handles: Vec<Handle>,
}

impl<'w> Desk<'w> {
    fn new(bench: &Bench<'w, Counted>) -> Self {
        let (queue, other) = (bench.queue(), bench.queue());
        Self { queue, other, tally: Tally::default(), handles: Vec::new() }
    }

    /// Adds a timer at each of these expiries.
    fn fill(&mut self, expiries: impl IntoIterator<Item = Tick>) {
        for expiry in expiries {
            self.handles.push(self.queue.enqueue(expiry, self.tally.item()));
        }
    }

    fn all(&mut self) -> AnyBatch<'w, Counted> {
        self.queue.take(Tick::MAX, usize::MAX)
    }
}

fn cancel_releases_now(mut desk: Desk<'_>) {
    desk.fill([5; 200]);
    for (done, handle) in desk.handles.iter().enumerate() {
        assert_eq!(desk.tally.released(), done);
        let item = desk.queue.cancel(*handle).expect("it is queued");
        assert_eq!((item.id, desk.tally.released()), (done, done));
    }
    assert_eq!((desk.tally.released(), desk.queue.len()), (200, 0));
}

fn advance_releases_now(mut desk: Desk<'_>) {
    desk.fill(0..50);
    let mut batch = desk.all();
    for done in 0..50 {
        let (_, item) = batch.advance().expect("it is left");
        assert_eq!((item.id, desk.tally.released()), (done, done));
        drop(item);
        assert_eq!(desk.tally.released(), done + 1);
    }
}

fn process_releases_one_by_one(mut desk: Desk<'_>) {
    desk.fill(0..50);
    let (mut batch, mut done) = (desk.all(), 0);
    process(
        &mut batch,
        || 0,
        1,
        |_, _| {
            assert_eq!(desk.tally.released(), done, "items released when the handler is called");
            done += 1;
            Ok::<_, ()>(Flow::Continue)
        },
    );
    assert_eq!(desk.tally.released(), 50);
}

fn putting_back_releases_nothing(mut desk: Desk<'_>) {
    desk.fill(0..60);
    let batch = desk.all();
    assert_eq!(desk.queue.requeue(batch), Requeued::IntoEmpty);
    let batch = desk.queue.take(30, 20);
    assert_eq!(desk.queue.requeue(batch), Requeued::InFront);
    let batch = desk.queue.take(1 << 30, 50);
    desk.fill([3, 12, 70]);
    assert_eq!(desk.queue.requeue(batch), Requeued::Merged(50));
    assert_eq!((desk.tally.released(), desk.queue.len()), (0, 63));
    drop(desk.queue);
    assert_eq!(desk.tally.released(), 63);
}

fn moving_and_shrinking_release_nothing(mut desk: Desk<'_>) {
    desk.fill(0..100);
    for (nth, handle) in desk.handles.iter_mut().enumerate() {
        let to = nth as Tick * 7_919 % 100;
        *handle = desk.queue.reschedule(*handle, to).expect("it is queued");
    }
    drop(desk.queue.take(1 << 20, 40));
    let batch = desk.queue.take(1 << 20, 30);
    assert_eq!(desk.tally.released(), 40);
    desk.queue.shrink();
    desk.queue.requeue(batch);
    desk.queue.shrink();
    assert_eq!((desk.tally.released(), desk.queue.len()), (40, 60));
}

fn dropping_a_batch_lets_go_of_every_item(mut desk: Desk<'_>) {
    desk.fill(0..100);
    let mut batch = desk.queue.take(1 << 20, 60);
    for _ in 0..10 {
        batch.advance();
    }
    assert_eq!(desk.tally.released(), 10);
    drop(batch);
    assert_eq!((desk.tally.released(), desk.queue.len()), (60, 40));
    drop(desk.queue);
    assert_eq!(desk.tally.released(), 100);
}

fn dropping_the_queue_spares_batches(mut desk: Desk<'_>) {
    desk.fill(0..90);
    let mut first = desk.queue.take(1 << 20, 30);
    let second = desk.queue.take(1 << 20, 30);
    drop(desk.queue);
    assert_eq!(desk.tally.released(), 30);
    let (_, item) = first.advance().expect("it is left");
    assert_eq!((item.id, first.len(), second.len()), (0, 29, 30));
    drop((item, first));
    assert_eq!(desk.tally.released(), 60);
    drop(second);
    assert_eq!(desk.tally.released(), 90);
}

fn a_refused_batch_lets_go_of_its_items_once(mut desk: Desk<'_>) {
    desk.fill(0..20);
    let batch = desk.all();
    assert!(quiet::caught(|| desk.other.requeue(batch)).is_err(), "a batch of another queue was put back");
    assert_eq!((desk.tally.released(), desk.other.len()), (20, 0));
    desk.fill(0..20);
    desk.queue.check();
    assert_eq!(desk.queue.len(), 20);
}

fn each_item_is_released_exactly_once(mut desk: Desk<'_>) {
    desk.fill((0..500).map(|nth| nth * 7_919 % 300));
    for handle in desk.handles.iter().step_by(5) {
        assert!(desk.queue.cancel(*handle).is_some());
    }
    let mut dispatched = desk.queue.take(1 << 20, 100);
    process(&mut dispatched, || 0, 1, |_, _| Ok::<_, ()>(Flow::Continue));
    let mut cut = desk.queue.take(1 << 20, 100);
    (0..50).for_each(|_| drop(cut.advance()));
    desk.queue.requeue(cut);
    let out = desk.queue.take(1 << 20, 100);
    assert_eq!((desk.tally.released(), desk.queue.len(), out.len()), (250, 150, 100));
    drop(desk.queue);
    assert_eq!(desk.tally.released(), 400);
    drop((out, dispatched));
    assert_eq!(desk.tally.released(), 500);
}

/// Five timers, of which the third panics when it is released.
fn with_a_bomb(desk: &mut Desk<'_>) {
    for nth in 0..5 {
        let mut item = desk.tally.item();
        item.panics = nth == 2;
        desk.queue.enqueue(nth, item);
    }
}

fn a_panicking_destructor_in_a_queue(mut desk: Desk<'_>) {
    with_a_bomb(&mut desk);
    let Desk { queue, tally, .. } = desk;
    assert!(quiet::caught(|| drop(queue)).is_err(), "the panic was swallowed");
    let released = tally.released();
    assert!((3..=5).contains(&released), "{released} of 5 released");
}

fn a_panicking_destructor_in_a_batch(mut desk: Desk<'_>) {
    with_a_bomb(&mut desk);
    let batch = desk.all();
    assert!(quiet::caught(|| drop(batch)).is_err(), "the panic was swallowed");
    let released = desk.tally.released();
    assert!((3..=5).contains(&released), "{released} of 5 released");
    desk.queue.check();
    desk.fill(0..20);
    desk.queue.check();
    assert_eq!(desk.all().len(), 20);
}

fn a_panicking_destructor_when_dispatched(mut desk: Desk<'_>) {
    with_a_bomb(&mut desk);
    let mut batch = desk.all();
    let outcome = quiet::caught(|| process(&mut batch, || 0, 1, |_, _| Ok::<_, ()>(Flow::Continue)));
    assert!(outcome.is_err(), "the panic was swallowed");
    assert_eq!((desk.tally.released(), batch.len()), (3, 2));
    assert_eq!(desk.queue.requeue(batch), Requeued::IntoEmpty);
    desk.queue.check();
    drop(desk.queue);
    assert_eq!(desk.tally.released(), 5);
}

fn items_without_a_size(mut queue: AnyQueue<'_, Nothing>) {
    let handles: Vec<_> = (0..300).map(|nth| queue.enqueue(nth * 7 % 100, Nothing::new())).collect();
    assert!(handles.iter().step_by(3).all(|handle| queue.cancel(*handle).is_some()));
    assert_eq!((NOTHINGS.get(), queue.len()), (200, 200));
    let mut batch = queue.take(Tick::MAX, 150);
    let (mut last, mut done) = (0, 0);
    process(
        &mut batch,
        || 0,
        1,
        |expiry, _| {
            assert!(last <= expiry, "{expiry} came after {last}");
            (last, done) = (expiry, done + 1);
            Ok::<_, ()>(if done == 100 { Flow::Stop } else { Flow::Continue })
        },
    );
    assert_eq!((NOTHINGS.get(), batch.len()), (101, 51));
    queue.requeue(batch);
    queue.check();
    assert_eq!((queue.timers().len(), queue.len()), (101, 101));
    drop(queue);
    assert_eq!(NOTHINGS.get(), 0);
}

fn large_items_arrive_whole(mut queue: AnyQueue<'_, Large>) {
    let item = |id: u64| Large(std::array::from_fn(|word| id * 1_000 + word as u64));
    for id in 0..200 {
        queue.enqueue(id * 7_919 % 200, item(id));
    }
    let batch = queue.take(Tick::MAX, 150);
    (200..300).for_each(|id| _ = queue.enqueue(id * 7_919 % 200, item(id)));
    queue.requeue(batch);
    queue.shrink();
    let mut batch = queue.take(Tick::MAX, usize::MAX);
    assert_eq!(batch.len(), 300);
    while let Some((expiry, large)) = batch.advance() {
        let id = large.0[0] / 1_000;
        assert_eq!((expiry, large), (id * 7_919 % 200, item(id)));
    }
}

/// Whether a container stays as large as it is, however often its timers go through batches.
pub fn flat<Q: TimerQueue<u64>>(queue: Q, rounds: u64) -> Result<(), Failure> {
    fact("the_container_stays_flat", || the_container_stays_flat(queue, rounds))
}

fn the_container_stays_flat(mut queue: impl TimerQueue<u64>, rounds: u64) {
    let (mut early, mut all) = (0, 0);
    for round in 0..rounds {
        for nth in 0..3 {
            queue.enqueue(round + nth, nth);
        }
        let mut batch = queue.take(round + 3, usize::MAX);
        match round % 4 {
            0 | 1 => while batch.advance().is_some() {},
            2 => drop(batch.advance()),
            _ => {
                batch.advance();
                queue.requeue(batch);
                batch = queue.take(round + 3, usize::MAX);
            }
        }
        drop(batch);
        all = all.max(queue.container_bytes());
        if round == rounds / 2 {
            early = all;
        }
    }
    drop(queue.take(Tick::MAX, usize::MAX));
    assert_eq!(queue.len(), 0);
    assert_eq!(all, early, "the container grew with the rounds");
}

/// Drops a batch and a queue of `timers` timers each on a stack of 256 KiB (FC-070).
#[inline]
pub fn deep(entry: &Entry, params: &Params, timers: u64) -> Result<(), Failure> {
    struct Deep(u64);
    impl Visit<u64> for Deep {
        type Out = ();
        fn visit<Q: TimerQueue<u64>>(self, mut queue: Q) {
            fill(&mut queue, self.0);
            let batch = queue.take(self.0, usize::MAX);
            assert_eq!(batch.len() as u64, self.0);
            drop(batch);
            fill(&mut queue, self.0);
            assert_eq!(queue.len() as u64, self.0);
        }
    }
    fn fill(queue: &mut impl TimerQueue<u64>, timers: u64) {
        (0..timers).for_each(|expiry| _ = queue.enqueue(expiry, 0));
    }
    let (name, given) = (entry.name, params.clone());
    let work = move || registry::visit(name, &given, Deep(timers));
    let worker = thread::Builder::new().stack_size(256 << 10).spawn(work);
    let ended = worker.map_err(|error| Failure::new(error.to_string()))?.join();
    let outcome = ended.map_err(|_| Failure::new("FC-070: it panicked".to_owned()).of(name, params))?;
    outcome.map_err(|error| Failure::new(error.to_string()))
}
