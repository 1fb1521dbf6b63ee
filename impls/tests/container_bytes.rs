//! What a structure says it has requested is what it has requested, byte for byte, at every moment.
//!
//! The allocator counts per thread, so that the test runner's own allocations do not disturb. Handles, batches
//! and items that are out are made room for before the counting, or counted and taken off.

use allocation_counter::measure;
use impls::conformance;
use impls::queue::{Batch, Params, Tick, TimerQueue};
use impls::registry::{self, Entry, Role, Visit};

const TIMERS: u64 = 5_000;

/// A queue, and what it has requested so far by the allocator's count.
struct Watched<Q> {
    queue: Q,
    live: i64,
}

impl<Q: TimerQueue<u64>> Watched<Q> {
    fn new(params: &Params) -> Self {
        let mut queue = None;
        let info = measure(|| queue = Some(Q::with(params).expect("known parameters")));
        Self { queue: queue.expect("it was made"), live: info.bytes_current }
    }

    /// Does something that keeps nothing on the heap but the queue's own.
    fn by<R>(&mut self, work: impl FnOnce(&mut Q) -> R) -> R {
        let mut result = None;
        let info = measure(|| result = Some(work(&mut self.queue)));
        self.live += info.bytes_current;
        result.expect("the work was done")
    }

    #[track_caller]
    fn agrees(&mut self, moment: &str) {
        let said = self.by(|queue| queue.container_bytes());
        assert_eq!(said as i64, self.live, "{moment}: container_bytes() against the allocator's count");
    }

    fn fill(&mut self, timers: u64, handles: &mut Vec<Q::Handle>) {
        handles.reserve(timers as usize);
        self.by(|queue| {
            for nth in 0..timers {
                let expiry = if nth % 2 == 0 { nth } else { nth * 7_919 % timers * 50 };
                handles.push(queue.enqueue(expiry, nth));
            }
        });
    }
}

/// Takes a batch and lets go of it, which may give something back to the queue.
fn drain(queue: &mut impl TimerQueue<u64>, now: Tick, limit: usize, dispatched: usize) {
    let mut batch = queue.take(now, limit);
    (0..dispatched).for_each(|_| _ = batch.advance());
}

struct Moments<'a>(&'a Params);

impl Visit<u64> for Moments<'_> {
    type Out = ();
    fn visit<Q: TimerQueue<u64>>(self, _: Q) {
        through_bursts::<Q>(self.0);
        with_batches_out::<Q>(self.0);
        through_cancels::<Q>(self.0);
    }
}

fn through_bursts<Q: TimerQueue<u64>>(params: &Params) {
    let (mut watched, mut handles) = (Watched::<Q>::new(params), Vec::new());
    watched.agrees("fresh");
    watched.fill(TIMERS, &mut handles);
    watched.agrees("filled");
    watched.by(|queue| drain(queue, TIMERS / 2, 500, 500));
    watched.agrees("after a batch was dispatched");
    watched.by(|queue| drain(queue, TIMERS / 2, 500, 200));
    watched.agrees("after a batch was dropped");
    watched.by(|queue| {
        let left = queue.len() - 10;
        drain(queue, Tick::MAX, left, left);
    });
    watched.agrees("drained to 10");
    watched.by(Q::shrink);
    watched.agrees("shrunk to 10");
    watched.fill(TIMERS, &mut handles);
    watched.agrees("filled again");
    watched.by(|queue| drain(queue, Tick::MAX, usize::MAX, 0));
    watched.by(Q::shrink);
    watched.agrees("emptied and shrunk");
    let Watched { queue, live } = watched;
    assert_eq!(measure(|| drop(queue)).bytes_current, -live, "bytes given back by dropping the queue");
}

/// A batch has memory of its own, which is known when the queue and the batch are gone.
fn with_batches_out<Q: TimerQueue<u64>>(params: &Params) {
    let (mut watched, mut handles) = (Watched::<Q>::new(params), Vec::new());
    watched.fill(TIMERS, &mut handles);
    let mut batch = watched.by(|queue| queue.take(Tick::MAX, 2_000));
    let out = watched.live - watched.queue.container_bytes() as i64;
    assert!(out >= 0, "the batch owns {out} bytes");
    watched.fill(100, &mut handles);
    assert_eq!(
        watched.live - watched.queue.container_bytes() as i64,
        out,
        "what the batch owns, after enqueues"
    );
    watched.by(Q::shrink);
    assert_eq!(
        watched.live - watched.queue.container_bytes() as i64,
        out,
        "what the batch owns, after a shrink"
    );
    watched.by(|_| (0..700).for_each(|_| _ = batch.advance()));
    watched.by(|queue| queue.requeue(batch));
    watched.agrees("with the rest of a batch put back");
    let first = watched.by(|queue| queue.take(Tick::MAX, 1_000));
    let second = watched.by(|queue| queue.take(Tick::MAX, 1_000));
    watched.by(|queue| queue.requeue(first));
    watched.by(|_| drop(second));
    watched.agrees("with one batch merged and one dropped");
    watched.by(Q::shrink);
    watched.agrees("shrunk after that");
}

fn through_cancels<Q: TimerQueue<u64>>(params: &Params) {
    let (mut watched, mut handles) = (Watched::<Q>::new(params), Vec::new());
    watched.fill(TIMERS, &mut handles);
    let (stay, go) = handles.split_at(TIMERS as usize / 4);
    watched.by(|queue| go.iter().for_each(|handle| assert!(queue.cancel(*handle).is_some())));
    watched.agrees("after cancels");
    watched.by(Q::shrink);
    watched.agrees("shrunk after cancels");
    watched.by(|queue| stay.iter().for_each(|handle| assert!(queue.reschedule(*handle, 77).is_some())));
    watched.agrees("after reschedules");
    watched.by(|queue| drain(queue, 90, usize::MAX, 3));
    watched.by(Q::shrink);
    watched.agrees("emptied after reschedules");
}

/// The map of `reference` and the lists do not say how many bytes they hold; an oracle need not.
fn exact() -> impl Iterator<Item = (&'static Entry, Params)> {
    conformance::configurations().into_iter().filter(|(entry, _)| entry.role == Role::Structure)
}

#[test]
fn container_bytes_is_what_was_requested() {
    for (entry, params) in exact() {
        println!("{} {params}", entry.name);
        registry::visit(entry.name, &params, Moments(&params)).expect("known parameters");
    }
}

/// The bytes of items are not the container's: FC-021, with 100,000 items of 1 KiB each.
#[test]
fn cancelling_gives_the_bytes_of_items_back_now() {
    struct Cancels;
    impl Visit<Box<[u8; 1024]>> for Cancels {
        type Out = ();
        fn visit<Q: TimerQueue<Box<[u8; 1024]>>>(self, mut queue: Q) {
            let mut handles = Vec::with_capacity(100_000);
            let filled = measure(|| {
                (0..100_000).for_each(|_| handles.push(queue.enqueue(1 << 30, Box::new([0; 1024]))))
            });
            let items = 100_000 * 1_024;
            assert!(filled.bytes_current >= items, "{} bytes are live", filled.bytes_current);
            let cancelled = measure(|| handles.iter().for_each(|handle| drop(queue.cancel(*handle))));
            assert_eq!(queue.len(), 0);
            let live = filled.bytes_current + cancelled.bytes_current;
            assert!(live <= queue.container_bytes() as i64, "{live} bytes are live after all were cancelled");
        }
    }
    for (entry, params) in exact().filter(|(_, params)| params.pairs().next().is_none()) {
        println!("{}", entry.name);
        registry::visit(entry.name, &params, Cancels).expect("known parameters");
    }
}

/// FC-023: a steady fill and drain finds its room. A list has a node for each timer, and a batch is its own.
#[test]
fn a_steady_fill_and_drain_keeps_its_buffers() {
    struct Rounds;
    impl Visit<u64> for Rounds {
        type Out = ();
        fn visit<Q: TimerQueue<u64>>(self, mut queue: Q) {
            let mut round = |base: u64| {
                let filled = measure(|| (0..64).for_each(|nth| _ = queue.enqueue(base + nth % 7, nth)));
                drain(&mut queue, base + 5_000, usize::MAX, 64);
                (filled.count_total, queue.container_bytes())
            };
            (0..20).for_each(|base| _ = round(base * 10_240));
            let mut later = (20..1_000).map(|base| round(base * 10_240));
            let first = later.next();
            assert!(
                later.all(|each| Some(each) == first),
                "a later round allocated otherwise than {first:?}"
            );
        }
    }
    for (entry, params) in exact() {
        println!("{} {params}", entry.name);
        registry::visit(entry.name, &params, Rounds).expect("known parameters");
    }
}
