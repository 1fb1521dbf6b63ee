//! Facts of the wheel alone. What it shares with the others stands in the conformance suite.

use super::*;
use crate::probe::{Counting, Counts};

fn wheel() -> Wheel<u64, Counting> {
    Counting::drain();
    Wheel::with(&Params::default()).unwrap()
}

fn drain(batch: &mut SlotBatch<u64>) -> Vec<u64> {
    std::iter::from_fn(|| batch.advance()).map(|(_, item)| item).collect()
}

#[test]
fn the_clock_jumps_over_an_empty_stretch() {
    let mut wheel = wheel();
    wheel.enqueue(1 << 60, 0);
    assert!(wheel.take((1 << 60) - 1, usize::MAX).is_empty());
    let Counts { cascaded, visited, .. } = Counting::drain();
    assert!(cascaded <= level::LEVELS as u64 && visited == 0, "{cascaded} cascaded, {visited} visited");
    assert_eq!(drain(&mut wheel.take(1 << 60, usize::MAX)), [0]);
}

#[test]
fn a_cascade_keeps_arrival_order() {
    let mut wheel = wheel();
    for item in 0..100 {
        wheel.enqueue(5_000 + item % 2, item);
    }
    wheel.take(4_999, usize::MAX);
    assert!(Counting::drain().cascaded > 0, "nothing went down a level");
    wheel.enqueue(5_000, 100);
    let (even, odd) = ((0..=100).step_by(2), (1..100).step_by(2));
    assert!(drain(&mut wheel.take(5_001, usize::MAX)).into_iter().eq(even.chain(odd)));
}

#[test]
fn a_timer_cascades_at_most_once_a_level() {
    let mut wheel = wheel();
    wheel.enqueue(Tick::MAX - 1, 0);
    for bit in 0..64 {
        wheel.take(Tick::MAX >> (63 - bit), usize::MAX);
    }
    assert!(Counting::drain().cascaded < level::LEVELS as u64);
}

#[test]
fn the_first_unit_is_kept_and_not_looked_for_again() {
    let mut wheel = wheel();
    for item in 0..4_096 {
        wheel.enqueue(100_000 + item, item);
    }
    assert_eq!(wheel.next_expiry(), Some(100_000));
    Counting::drain();
    for _ in 0..100 {
        wheel.next_expiry();
    }
    assert_eq!(Counting::drain().visited, 0);
}

#[test]
fn stale_entries_of_the_ring_are_swept() {
    let mut wheel = wheel();
    wheel.take(10_000, usize::MAX);
    let late: Vec<_> = (0..10_000).map(|expiry| wheel.enqueue(expiry, expiry)).collect();
    for handle in late.iter().skip(1) {
        wheel.cancel(*handle);
        assert!(wheel.stale <= STALE_MIN || wheel.stale <= wheel.overdue.len() / 2 + 1);
    }
    assert_eq!(wheel.overdue.len() - wheel.stale, 1);
}

#[test]
fn after_a_shutdown_an_empty_wheel_starts_again() {
    let mut wheel = wheel();
    wheel.enqueue(Tick::MAX, 0);
    assert_eq!(wheel.take(Tick::MAX, usize::MAX).len(), 1);
    assert!(wheel.take(5, usize::MAX).is_empty());
    wheel.enqueue(9, 9);
    assert!(wheel.overdue.is_empty(), "what is queued after a restart goes into the wheel");
    assert_eq!(wheel.next_expiry(), Some(9));
}
