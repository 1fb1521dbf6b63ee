//! The suite itself: it passes structures that keep a weaker promise, and fails them under a stronger one.
//!
//! No structure of the registry needs the weaker orders yet, so they are proven here, on one small structure
//! that keeps its timers by a key and is made late, early, unordered or useless by the rule for that key.

use std::collections::BTreeMap;
use std::collections::btree_map::OccupiedEntry;
use std::marker::PhantomData;

use impls::conformance::{self, Failure, Options, Promise, Reached};
use impls::queue::{
    Arrivals, Batch, ParamError, Params, Place, PlaceHandle, QueueId, Requeued, Tick, TimerQueue,
};
use impls::registry::Order;

/// What a timer is ordered by, and when it is due.
type Key = (Tick, u64);

trait Rule {
    fn key(place: Place) -> Key;
    fn due(key: Key) -> Tick;
    fn next(key: Key) -> Tick {
        Self::due(key)
    }
    const KEEPS: bool = true;
}

/// Scatters arrivals, and maps no two to one.
fn scramble(arrival: u64) -> u64 {
    arrival.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17)
}

/// By (expiry, arrival), as it should be.
struct Exact;
impl Rule for Exact {
    fn key(place: Place) -> Key {
        (place.expiry, place.arrival)
    }
    fn due(key: Key) -> Tick {
        key.0
    }
}

/// By expiry; ties stand in no order.
struct Shuffled;
impl Rule for Shuffled {
    fn key(place: Place) -> Key {
        (place.expiry, scramble(place.arrival))
    }
    fn due(key: Key) -> Tick {
        key.0
    }
}

/// In buckets of sixteen ticks without an order, each due at its end.
struct Late;
impl Rule for Late {
    fn key(place: Place) -> Key {
        (place.expiry / 16, scramble(place.arrival))
    }
    fn due(key: Key) -> Tick {
        key.0 * 16 + 15
    }
}

/// In the same buckets, each due at its beginning, which it does not admit.
struct Early;
impl Rule for Early {
    fn key(place: Place) -> Key {
        Late::key(place)
    }
    fn due(key: Key) -> Tick {
        key.0 * 16
    }
    fn next(key: Key) -> Tick {
        Late::due(key)
    }
}

/// Keeps nothing: it returns at once from everything.
struct Null;
impl Rule for Null {
    fn key(place: Place) -> Key {
        Exact::key(place)
    }
    fn due(key: Key) -> Tick {
        key.0
    }
    const KEEPS: bool = false;
}

type Timers<T> = BTreeMap<Key, (Place, T)>;

struct Keyed<T, R> {
    arrivals: Arrivals,
    timers: Timers<T>,
    rule: PhantomData<R>,
}

struct KeyedBatch<T> {
    queue: QueueId,
    timers: Timers<T>,
}

impl<T, R: Rule> TimerQueue<T> for Keyed<T, R> {
    type Batch = KeyedBatch<T>;
    type Handle = PlaceHandle;

    fn with(_: &Params) -> Result<Self, ParamError> {
        Ok(Self { arrivals: Arrivals::default(), timers: BTreeMap::new(), rule: PhantomData })
    }

    fn enqueue(&mut self, expiry: Tick, item: T) -> PlaceHandle {
        let place = self.arrivals.place(expiry);
        if R::KEEPS {
            self.timers.insert(R::key(place), (place, item));
        }
        self.arrivals.handle(place)
    }

    fn take(&mut self, now: Tick, limit: usize) -> KeyedBatch<T> {
        let mut timers = BTreeMap::new();
        while timers.len() < limit
            && let Some(first) = self.timers.first_entry()
            && R::due(*first.key()) <= now
        {
            let (key, timer) = first.remove_entry();
            timers.insert(key, timer);
        }
        KeyedBatch { queue: self.arrivals.queue(), timers }
    }

    fn requeue(&mut self, batch: KeyedBatch<T>) -> Requeued {
        self.arrivals.queue().owns(batch.queue);
        let head = self.timers.first_key_value().map(|(key, _)| *key);
        let how = match (batch.timers.last_key_value().map(|(key, _)| *key), head) {
            (None, _) => Requeued::Nothing,
            (_, None) => Requeued::IntoEmpty,
            (Some(last), Some(head)) if last < head => Requeued::InFront,
            _ => Requeued::Merged(batch.timers.len()),
        };
        self.timers.extend(batch.timers);
        how
    }

    fn get(&self, handle: PlaceHandle) -> Option<(Tick, &T)> {
        let (place, item) = self.timers.get(&R::key(self.arrivals.own(handle)?))?;
        Some((place.expiry, item))
    }

    fn cancel(&mut self, handle: PlaceHandle) -> Option<T> {
        self.timers.remove(&R::key(self.arrivals.own(handle)?)).map(|(_, item)| item)
    }

    fn reschedule(&mut self, handle: PlaceHandle, expiry: Tick) -> Option<PlaceHandle> {
        let item = self.cancel(handle)?;
        Some(self.enqueue(expiry, item))
    }

    fn next_expiry(&mut self) -> Option<Tick> {
        self.timers.first_key_value().map(|(key, _)| R::next(*key))
    }

    fn len(&self) -> usize {
        self.timers.len()
    }

    fn iter<'a>(&'a self) -> impl Iterator<Item = (Tick, &'a T)>
    where
        T: 'a,
    {
        self.timers.values().map(|(place, item)| (place.expiry, item))
    }

    fn container_bytes(&self) -> usize {
        self.timers.len() * size_of::<(Key, Place, T)>()
    }

    fn shrink(&mut self) {}

    fn check(&self) {}
}

impl<T> Batch<T> for KeyedBatch<T> {
    fn front(&mut self) -> Option<(Tick, &mut T)> {
        let (place, item) = self.timers.first_entry().map(OccupiedEntry::into_mut)?;
        Some((place.expiry, item))
    }

    fn advance(&mut self) -> Option<(Tick, T)> {
        self.timers.pop_first().map(|(_, (place, item))| (place.expiry, item))
    }

    fn len(&self) -> usize {
        self.timers.len()
    }

    fn latest(&self) -> Option<Tick> {
        self.timers.last_key_value().map(|(_, (place, _))| place.expiry)
    }
}

const EXACT: Promise = Promise { order: Order::Exact, tick: 1, bound: 0 };
const TIES: Promise = Promise { order: Order::TiesAnyOrder, tick: 1, bound: 0 };
const LATE: Promise = Promise { order: Order::LateBounded, tick: 1, bound: 15 };

fn examine<R: Rule>(promise: Promise) -> Result<Reached, Failure> {
    conformance::examine::<Keyed<_, R>>(&Params::default(), promise, Options::from_env())
}

fn passes<R: Rule>(promise: Promise) {
    examine::<R>(promise).unwrap_or_else(|failure| panic!("{failure}"));
}

fn fails<R: Rule>(promise: Promise, because: &str) {
    let failure = examine::<R>(promise).expect_err("the suite must notice").to_string();
    assert!(failure.contains(because), "it failed for another reason than `{because}`:\n{failure}");
    assert!(
        failure.contains("seed ") && failure.contains("Enqueue"),
        "how to see it again is missing:\n{failure}"
    );
}

#[test]
fn a_structure_passes_under_what_it_promises() {
    passes::<Exact>(EXACT);
    passes::<Shuffled>(TIES);
    passes::<Late>(LATE);
}

#[test]
fn a_stronger_structure_passes_under_a_weaker_promise() {
    passes::<Exact>(TIES);
    passes::<Exact>(LATE);
    passes::<Shuffled>(LATE);
}

#[test]
fn ties_out_of_order_fail_under_an_exact_order() {
    fails::<Shuffled>(EXACT, "(expiry, arrival)");
}

#[test]
fn a_late_timer_fails_under_every_bound_that_is_less() {
    fails::<Late>(TIES, "");
    fails::<Late>(Promise { bound: 14, ..LATE }, "15");
}

#[test]
fn an_early_timer_fails_under_every_promise() {
    fails::<Early>(LATE, "early");
    fails::<Early>(TIES, "");
    fails::<Early>(EXACT, "");
}

#[test]
fn a_structure_that_keeps_nothing_fails_under_every_promise() {
    fails::<Null>(EXACT, "len");
    fails::<Null>(TIES, "len");
    fails::<Null>(LATE, "len");
}

/// A suite that never got to a case has not proven it.
#[test]
fn a_run_that_did_not_reach_everything_fails() {
    let one = Options { first: 1, seeds: 1 };
    let outcome = conformance::examine::<Keyed<_, Exact>>(&Params::default(), EXACT, one);
    let failure = outcome.expect_err("one seed does not reach everything").to_string();
    assert!(failure.contains("never reached"), "it failed for another reason:\n{failure}");
}
