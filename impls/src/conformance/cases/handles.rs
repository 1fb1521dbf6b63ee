//! Handles of queued, moved, cancelled, dispatched and foreign timers.

use super::{A, ALL, B, Bench, C, D, X, cases, filled, gives, rest, shows};
use crate::conformance::quiet;
use crate::queue::{Batch, Params, Requeued, Tick};

cases! {
    "FC-013" Expiry moving_a_timer_earlier_takes_effect_at_once,
    "FC-014" Expiry one_timer_one_delivery_at_the_last_start_set,
    "FC-015" Expiry moving_a_timer_into_the_past_makes_it_due_now,
    "FC-016" Expiry a_due_timer_can_be_moved_to_the_future_and_back_out,
    "FC-017" Arrival neighbours_of_a_taken_timer_can_still_be_moved_and_cancelled,
    "FC-018" Expiry cancelling_the_earlier_timer_leaves_the_later_one,
    "FC-019" Expiry a_cancelled_timer_is_never_the_next_due,
    "FC-020" Expiry removing_the_last_timer_makes_the_queue_empty_in_every_sense,
    "FC-021" Expiry cancelling_empties_the_container,
    "FC-024" Expiry room_is_always_used_again,
    "FC-026" Expiry a_second_cancel_changes_nothing,
    "FC-035" Expiry a_stale_handle_does_nothing,
    "FC-036" Expiry a_timer_queued_by_a_handler_survives_the_handler,
    "FC-037" Expiry equal_items_are_different_timers,
    "FC-041" Expiry cancelling_inside_the_heap_keeps_the_order,
    "FC-042" Expiry random_cancels_never_break_a_drain,
    "FC-043" Expiry reschedule_moves_up_and_down,
    "FC-049" Arrival cancelling_one_of_several_at_a_start_leaves_the_rest,
    "contract" Expiry a_timer_out_in_a_batch_cannot_be_reached,
    "contract" Expiry a_put_back_timer_is_reached_by_its_old_handle,
    "contract" Expiry a_handle_is_stale_once_its_timer_was_moved,
    "contract" Expiry a_stale_handle_never_reaches_whoever_has_its_room_now,
    "contract" Expiry a_handle_of_another_queue_reaches_nothing,
    "contract" Expiry a_batch_of_another_queue_is_refused_before_anything_is_touched,
    "contract" Expiry handles_stay_good_through_a_shrink,
    "contract" Expiry a_shrink_gives_back_the_room_of_a_burst,
    "contract" Expiry an_unknown_parameter_is_named,
}

fn moving_a_timer_earlier_takes_effect_at_once(bench: &Bench<'_, u64>) {
    let (mut queue, handles) = filled(bench, &[(200, A)]);
    assert_eq!(gives(&mut queue, 1), []);
    assert_eq!(gives(&mut queue, 3), []);
    assert!(queue.reschedule(handles[0], 5).is_some());
    assert_eq!(queue.next_expiry(), Some(5));
    assert_eq!(gives(&mut queue, 4), []);
    assert_eq!(gives(&mut queue, 5), [A]);
    assert_eq!(gives(&mut queue, 200), []);
}

fn one_timer_one_delivery_at_the_last_start_set(bench: &Bench<'_, u64>) {
    let (mut queue, handles) = filled(bench, &[(100, A), (100, B)]);
    assert!(queue.reschedule(handles[0], 300).is_some());
    assert!(queue.reschedule(handles[1], 50).is_some());
    assert_eq!(gives(&mut queue, 50), [B]);
    assert_eq!(gives(&mut queue, 100), []);
    assert_eq!(gives(&mut queue, 300), [A]);
    assert_eq!(gives(&mut queue, Tick::MAX), []);
}

fn moving_a_timer_into_the_past_makes_it_due_now(bench: &Bench<'_, u64>) {
    let (mut queue, handles) = filled(bench, &[(1_000, A)]);
    assert_eq!(gives(&mut queue, 500), []);
    assert!(queue.reschedule(handles[0], 400).is_some());
    assert_eq!(queue.next_expiry(), Some(400));
    assert_eq!(gives(&mut queue, 500), [A]);
}

fn a_due_timer_can_be_moved_to_the_future_and_back_out(bench: &Bench<'_, u64>) {
    let mut queue = bench.queue();
    assert_eq!(gives(&mut queue, 100), []);
    let first = queue.enqueue(50, A);
    let second = queue.reschedule(first, 500).expect("it is queued");
    let third = queue.reschedule(second, 700).expect("it is queued");
    assert_eq!(queue.cancel(third), Some(A));
    assert_eq!(queue.len(), 0);
    queue.enqueue(600, B);
    assert_eq!(gives(&mut queue, 700), [B]);
}

fn neighbours_of_a_taken_timer_can_still_be_moved_and_cancelled(bench: &Bench<'_, u64>) {
    let (mut queue, handles) = filled(bench, &[(4_096, A), (4_096, B), (4_096, C)]);
    assert_eq!(rest(queue.take(4_096, 1)), [A]);
    assert!(queue.reschedule(handles[1], 5_000).is_some());
    assert_eq!(queue.cancel(handles[2]), Some(C));
    assert_eq!(gives(&mut queue, 5_000), [B]);
}

fn cancelling_the_earlier_timer_leaves_the_later_one(bench: &Bench<'_, u64>) {
    let (mut queue, handles) = filled(bench, &[(3_000, A), (2_000, B)]);
    assert_eq!(queue.cancel(handles[1]), Some(B));
    assert_eq!(queue.next_expiry(), Some(3_000));
    assert_eq!(gives(&mut queue, 2_000), []);
    assert_eq!(gives(&mut queue, 3_000), [A]);
}

fn a_cancelled_timer_is_never_the_next_due(bench: &Bench<'_, u64>) {
    let (mut queue, handles) = filled(bench, &[(5, A), (50, B)]);
    assert_eq!(queue.cancel(handles[0]), Some(A));
    assert_eq!(queue.next_expiry(), Some(50));
}

fn removing_the_last_timer_makes_the_queue_empty_in_every_sense(bench: &Bench<'_, u64>) {
    let (mut queue, handles) = filled(bench, &[(9, A)]);
    assert_eq!(queue.cancel(handles[0]), Some(A));
    assert_eq!((queue.len(), queue.next_expiry()), (0, None));
    assert!(queue.timers().is_empty());
    assert_eq!(gives(&mut queue, Tick::MAX), []);
    queue.enqueue(7, B);
    assert_eq!(queue.next_expiry(), Some(7));
}

/// That the items are released is counted in `lifetime`.
fn cancelling_empties_the_container(bench: &Bench<'_, u64>) {
    let mut queue = bench.queue();
    let handles: Vec<_> = (0..2_000).map(|item| queue.enqueue(1_000_000_000, item)).collect();
    let cancelled = handles.into_iter().filter_map(|handle| queue.cancel(handle));
    assert!(cancelled.eq(0..2_000));
    queue.shrink();
    assert_eq!((queue.len(), queue.next_expiry()), (0, None));
    let (bytes, fresh) = (queue.container_bytes(), bench.queue().container_bytes());
    assert!(bytes <= fresh + 1_024, "an emptied container holds {bytes} bytes, a fresh one {fresh}");
}

fn room_is_always_used_again(bench: &Bench<'_, u64>) {
    let mut queue = bench.queue();
    let mut handles: Vec<_> = (0..10).map(|item| queue.enqueue(100 + item, item)).collect();
    let mut most = 0;
    for round in 0..20_000 {
        let newest = handles.pop().expect("ten are queued");
        assert!(queue.cancel(newest).is_some());
        handles.push(queue.enqueue(100 + round % 50, round));
        if round == 100 {
            most = queue.container_bytes();
        }
    }
    let bytes = queue.container_bytes();
    assert!(bytes <= most, "the container grew from {most} to {bytes} bytes");
}

fn a_second_cancel_changes_nothing(bench: &Bench<'_, u64>) {
    let (mut queue, handles) = filled(bench, &[(3, A), (8, B)]);
    assert_eq!(queue.cancel(handles[0]), Some(A));
    assert_eq!(queue.cancel(handles[0]), None);
    assert_eq!((queue.len(), queue.next_expiry()), (1, Some(8)));
}

fn a_stale_handle_does_nothing(bench: &Bench<'_, u64>) {
    let (mut queue, handles) = filled(bench, &[(10, A)]);
    assert_eq!(gives(&mut queue, 10), [A]);
    queue.enqueue(20, B);
    assert_eq!(queue.cancel(handles[0]), None);
    assert_eq!(queue.len(), 1);
    assert_eq!(gives(&mut queue, 20), [B]);
}

fn a_timer_queued_by_a_handler_survives_the_handler(bench: &Bench<'_, u64>) {
    let (mut queue, handles) = filled(bench, &[(10, A)]);
    let mut batch = queue.take(10, ALL);
    assert_eq!(queue.cancel(handles[0]), None);
    queue.enqueue(20, B);
    assert_eq!(batch.advance(), Some((10, A)));
    assert_eq!(queue.requeue(batch), Requeued::Nothing);
    assert_eq!(queue.len(), 1);
    assert_eq!(gives(&mut queue, 20), [B]);
}

fn equal_items_are_different_timers(bench: &Bench<'_, u64>) {
    let (mut queue, handles) = filled(bench, &[(10, A), (10, A)]);
    assert_eq!(queue.cancel(handles[0]), Some(A));
    assert_eq!(queue.len(), 1);
    assert_eq!(queue.cancel(handles[1]), Some(A));
    assert_eq!(queue.len(), 0);
}

fn cancelling_inside_the_heap_keeps_the_order(bench: &Bench<'_, u64>) {
    let (mut queue, handles) = filled(bench, &[0, 1, 4, 2, 5, 6, 7, 3].map(|start| (start, start)));
    assert_eq!(queue.cancel(handles[4]), Some(5));
    assert_eq!(gives(&mut queue, 9), [0, 1, 2, 3, 4, 6, 7]);
}

fn random_cancels_never_break_a_drain(bench: &Bench<'_, u64>) {
    use crate::conformance::rng::Rng;
    for seed in 1..=100 {
        let (mut rng, mut queue) = (Rng::new(seed), bench.queue());
        let mut left = Vec::new();
        let handles: Vec<_> = (0..200).map(|item| (item, rng.below(1_000))).collect();
        let handles: Vec<_> =
            handles.iter().map(|(item, start)| (queue.enqueue(*start, *item), *start)).collect();
        for (handle, start) in handles {
            if rng.chance(33) {
                assert!(queue.cancel(handle).is_some(), "seed {seed}");
            } else {
                left.push(start);
            }
        }
        left.sort_unstable();
        queue.check();
        assert_eq!(super::expiries(queue.take(1_000, ALL)), left, "seed {seed}");
    }
}

fn reschedule_moves_up_and_down(bench: &Bench<'_, u64>) {
    let (mut queue, handles) = filled(bench, &[1, 2, 3, 4, 5, 6, 7].map(|start| (start, start)));
    assert!(queue.reschedule(handles[6], 0).is_some());
    assert!(queue.reschedule(handles[0], 9).is_some());
    queue.check();
    let timers: Vec<_> = queue.timers().into_iter().map(|(expiry, item)| (expiry, *item)).collect();
    assert_eq!(timers, [(0, 7), (2, 2), (3, 3), (4, 4), (5, 5), (6, 6), (9, 1)]);
    assert_eq!(gives(&mut queue, 9), [7, 2, 3, 4, 5, 6, 1]);
}

fn cancelling_one_of_several_at_a_start_leaves_the_rest(bench: &Bench<'_, u64>) {
    let (mut queue, handles) = filled(bench, &[(10, A), (10, B), (10, C)]);
    assert_eq!(queue.cancel(handles[1]), Some(B));
    assert_eq!(queue.next_expiry(), Some(10));
    assert_eq!(gives(&mut queue, 10), [A, C]);
    assert_eq!(queue.next_expiry(), None);
}

fn a_timer_out_in_a_batch_cannot_be_reached(bench: &Bench<'_, u64>) {
    let (mut queue, handles) = filled(bench, &[(10, A)]);
    let batch = queue.take(10, ALL);
    assert_eq!((queue.get(handles[0]).is_none(), queue.reschedule(handles[0], 5).is_none()), (true, true));
    assert_eq!((queue.cancel(handles[0]), queue.len(), batch.len()), (None, 0, 1));
}

fn a_put_back_timer_is_reached_by_its_old_handle(bench: &Bench<'_, u64>) {
    let (mut queue, handles) = filled(bench, &[(10, A), (11, B), (12, C)]);
    let batch = queue.take(12, ALL);
    queue.enqueue(11, D);
    queue.requeue(batch);
    assert_eq!(queue.get(handles[1]), Some((11, &B)));
    assert_eq!(queue.cancel(handles[2]), Some(C));
    let moved = queue.reschedule(handles[0], 30).expect("it is queued");
    assert_eq!(queue.get(moved), Some((30, &A)));
    assert_eq!(shows(&queue).last(), Some(&A));
    assert_eq!(queue.len(), 3);
}

fn a_handle_is_stale_once_its_timer_was_moved(bench: &Bench<'_, u64>) {
    let (mut queue, handles) = filled(bench, &[(10, A)]);
    let moved = queue.reschedule(handles[0], 10).expect("it is queued");
    assert_eq!(queue.get(handles[0]), None);
    assert_eq!(queue.cancel(handles[0]), None);
    assert!(queue.reschedule(handles[0], 3).is_none());
    assert_eq!(queue.cancel(moved), Some(A));
}

fn a_stale_handle_never_reaches_whoever_has_its_room_now(bench: &Bench<'_, u64>) {
    let (mut queue, handles) = filled(bench, &[(10, A), (20, B)]);
    let mut stale = vec![handles[0]];
    assert_eq!(queue.cancel(handles[0]), Some(A));
    for round in 0..300 {
        let handle = queue.enqueue(10, round);
        for old in &stale {
            assert_eq!(queue.get(*old), None, "round {round}");
            assert_eq!(queue.cancel(*old), None, "round {round}");
        }
        match round % 3 {
            0 => assert_eq!(queue.cancel(handle), Some(round)),
            1 => drop(queue.take(10, ALL)),
            _ => assert_eq!(rest(queue.take(10, ALL)), [round]),
        }
        stale.push(handle);
    }
    assert_eq!(queue.get(handles[1]), Some((20, &B)));
}

fn a_handle_of_another_queue_reaches_nothing(bench: &Bench<'_, u64>) {
    let (mut queue, here) = filled(bench, &[(10, A), (20, B)]);
    let (mut other, there) = filled(bench, &[(10, C), (20, D)]);
    for handle in there {
        assert_eq!(queue.get(handle), None);
        assert!(queue.reschedule(handle, 5).is_none());
        assert_eq!(queue.cancel(handle), None);
    }
    assert_eq!(other.cancel(here[0]), None);
    assert_eq!((shows(&queue), shows(&other)), (vec![A, B], vec![C, D]));
}

fn a_batch_of_another_queue_is_refused_before_anything_is_touched(bench: &Bench<'_, u64>) {
    let (mut queue, _) = filled(bench, &[(10, A), (20, B)]);
    let (mut other, _) = filled(bench, &[(10, C), (20, D)]);
    for limit in [1, 0] {
        let batch = other.take(10, limit);
        let refused = quiet::caught(|| queue.requeue(batch));
        assert!(refused.is_err(), "it was put back: {refused:?}");
        queue.check();
        other.check();
        assert_eq!((shows(&queue), shows(&other)), (vec![A, B], vec![D]));
    }
}

fn handles_stay_good_through_a_shrink(bench: &Bench<'_, u64>) {
    let mut queue = bench.queue();
    let handles: Vec<_> = (0..600).map(|item| queue.enqueue(item * 7 % 600, item)).collect();
    let batch = queue.take(99, 50);
    for (item, handle) in handles.iter().enumerate().filter(|(item, _)| item % 5 > 0) {
        assert_eq!(queue.cancel(*handle).is_some(), item * 7 % 600 >= 50);
    }
    queue.shrink();
    queue.requeue(batch);
    queue.shrink();
    queue.check();
    for (item, handle) in handles.iter().enumerate() {
        let (expiry, item) = (item as u64 * 7 % 600, item as u64);
        let right = (item % 5 == 0 || expiry < 50).then_some((expiry, item));
        assert_eq!(queue.get(*handle).map(|(expiry, item)| (expiry, *item)), right);
    }
}

fn a_shrink_gives_back_the_room_of_a_burst(bench: &Bench<'_, u64>) {
    let mut queue = bench.queue();
    for item in 0..20_000 {
        queue.enqueue(item, item);
    }
    let cancelled = queue.enqueue(0, X);
    assert_eq!(queue.cancel(cancelled), Some(X));
    let full = queue.container_bytes();
    assert!(full >= 20_000 * size_of::<u64>(), "{full} bytes hold 20,000 timers");
    assert_eq!(gives(&mut queue, 19_989).len(), 19_990);
    queue.shrink();
    let bytes = queue.container_bytes();
    assert!(bytes <= bench.queue().container_bytes() + 8_192, "10 timers left hold {bytes} of {full} bytes");
    assert_eq!(gives(&mut queue, 20_000), (19_990..20_000).collect::<Vec<_>>());
}

fn an_unknown_parameter_is_named(bench: &Bench<'_, u64>) {
    let mut params = Params::default();
    params.set("no-such-parameter", "1");
    let error = bench.with(&params).expect_err("an unknown parameter is an error");
    assert_eq!(error.key, "no-such-parameter");
}
