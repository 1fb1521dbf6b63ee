//! Ties, the end of the queue, limits, and putting back.

use super::{A, ALL, B, Bench, C, D, X, cases, dispatch, filled, gives, rest, shows};
use crate::queue::{Batch, Requeued};

cases! {
    "FC-023" Expiry a_steady_fill_and_drain_does_not_keep_growing,
    "FC-038" Expiry emptying_by_a_take_and_then_adding_works,
    "FC-039" Expiry cancelling_the_last_timer_moves_the_end_back,
    "FC-040" Arrival the_whole_queue_taken_and_put_back_keeps_its_end,
    "FC-044" Arrival ties_come_out_in_arrival_order,
    "FC-045" Arrival ties_stay_stable_while_timers_leave,
    "FC-046" Expiry two_delays_merge_by_due_time,
    "FC-047" Arrival a_timer_moved_to_where_it_is_goes_behind_its_equals,
    "FC-048" Arrival several_timers_at_one_start_are_all_kept,
    "FC-055" Arrival the_limit_cuts_through_ties_cleanly,
    "FC-058" Expiry what_was_not_sent_comes_first_next_round,
    "FC-059" Arrival a_tie_at_the_head_still_goes_in_front,
    "FC-060" Expiry a_late_arrival_makes_the_put_back_merge,
    "FC-061" Expiry putting_back_never_copies,
    "round" Expiry a_late_arrival_before_the_batch_merges_too,
    "round" Expiry an_empty_queue_gives_an_empty_batch,
    "round" Arrival the_whole_queue_cut_short_and_put_back_has_its_end_at_its_end,
    "round" Expiry the_rest_of_an_emptied_queue_is_a_fresh_start,
    "contract" Expiry a_limit_of_0_takes_nothing,
    "contract" Arrival a_put_back_timer_stands_before_equals_that_came_later,
    "contract" Arrival put_back_in_the_other_order_merges_among_ties,
    "contract" Arrival three_batches_come_back_in_any_order,
    "contract" Expiry a_merge_behind_everything_moves_the_end,
    "contract" Arrival a_wide_merge_puts_each_into_its_place,
    "contract" Expiry a_batch_does_not_change_when_the_queue_does,
    "contract" Expiry latest_is_that_of_the_last_one_left,
}

fn a_steady_fill_and_drain_does_not_keep_growing(bench: &Bench<'_, u64>) {
    let mut queue = bench.queue();
    let mut full = Vec::new();
    for round in 0..1_000 {
        for item in 0..64 {
            queue.enqueue(round * 100 + item, item);
        }
        full.push(queue.container_bytes());
        assert_eq!(gives(&mut queue, round * 100 + 64).len(), 64);
    }
    let most = full.iter().max();
    assert_eq!(most, full[..100].iter().max(), "the container grew after a hundred equal rounds");
}

fn emptying_by_a_take_and_then_adding_works(bench: &Bench<'_, u64>) {
    let (mut queue, _) = filled(bench, &[(1, A)]);
    let first = queue.take(1, ALL);
    queue.enqueue(2, B);
    assert_eq!(queue.len(), 1);
    assert_eq!(gives(&mut queue, 2), [B]);
    assert_eq!(rest(first), [A]);
}

fn cancelling_the_last_timer_moves_the_end_back(bench: &Bench<'_, u64>) {
    let (mut queue, handles) = filled(bench, &[(1, A), (2, B), (3, C)]);
    assert_eq!(queue.cancel(handles[2]), Some(C));
    queue.enqueue(3, D);
    assert_eq!(shows(&queue), [A, B, D]);
    queue.enqueue(2, X);
    let order = gives(&mut queue, 3);
    assert_eq!((order[0], order[3], order.len()), (A, D, 4));
}

fn the_whole_queue_taken_and_put_back_keeps_its_end(bench: &Bench<'_, u64>) {
    let (mut queue, _) = filled(bench, &[(1, A), (2, B), (3, C)]);
    let batch = queue.take(3, ALL);
    assert_eq!(queue.requeue(batch), Requeued::IntoEmpty);
    queue.enqueue(3, X);
    assert_eq!(queue.len(), 4);
    queue.check();
    assert_eq!(gives(&mut queue, 3), [A, B, C, X]);
}

fn ties_come_out_in_arrival_order(bench: &Bench<'_, u64>) {
    let (mut queue, _) = filled(bench, &[(10, A), (10, B), (10, C)]);
    assert_eq!(gives(&mut queue, 10), [A, B, C]);
    for start in [70, 5_000, 300_000, 1 << 40] {
        let items: Vec<_> = (0..40).inspect(|item| _ = queue.enqueue(start, *item)).collect();
        assert_eq!(gives(&mut queue, start), items, "ties at {start}");
    }
}

fn ties_stay_stable_while_timers_leave(bench: &Bench<'_, u64>) {
    let (mut queue, mut order) = (bench.queue(), Vec::new());
    for item in 0..1_000 {
        queue.enqueue(5, item);
        if item % 2 == 1 {
            order.extend(rest(queue.take(5, 1)));
        }
    }
    order.extend(gives(&mut queue, 5));
    assert!(order.into_iter().eq(0..1_000));
}

fn two_delays_merge_by_due_time(bench: &Bench<'_, u64>) {
    let (mut queue, _) = filled(bench, &[(25, A), (35, C), (30, B)]);
    assert_eq!(gives(&mut queue, 40), [A, B, C]);
}

fn a_timer_moved_to_where_it_is_goes_behind_its_equals(bench: &Bench<'_, u64>) {
    let (mut queue, handles) = filled(bench, &[(1, A), (1, B)]);
    assert!(queue.reschedule(handles[0], 1).is_some());
    assert_eq!(gives(&mut queue, 1), [B, A]);
}

fn several_timers_at_one_start_are_all_kept(bench: &Bench<'_, u64>) {
    let (mut queue, _) = filled(bench, &[(10, A), (10, A), (10, B)]);
    assert_eq!(queue.len(), 3);
    assert_eq!(gives(&mut queue, 10), [A, A, B]);
}

fn the_limit_cuts_through_ties_cleanly(bench: &Bench<'_, u64>) {
    let (mut queue, _) = filled(bench, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map(|item| (5, item)));
    assert_eq!(rest(queue.take(5, 4)), [1, 2, 3, 4]);
    assert_eq!(rest(queue.take(5, 4)), [5, 6, 7, 8]);
    assert_eq!(rest(queue.take(5, 4)), [9, 10]);
}

fn what_was_not_sent_comes_first_next_round(bench: &Bench<'_, u64>) {
    let (mut queue, _) = filled(bench, &[(1, A), (2, B), (3, C)]);
    let mut batch = queue.take(1, ALL);
    dispatch(&mut batch, 0);
    assert_eq!(queue.requeue(batch), Requeued::InFront);
    assert_eq!(gives(&mut queue, 3), [A, B, C]);
}

fn a_tie_at_the_head_still_goes_in_front(bench: &Bench<'_, u64>) {
    let (mut queue, _) = filled(bench, &[(5, A)]);
    let batch = queue.take(5, ALL);
    queue.enqueue(5, X);
    assert_eq!(queue.requeue(batch), Requeued::InFront);
    assert_eq!(gives(&mut queue, 5), [A, X]);
}

fn a_late_arrival_makes_the_put_back_merge(bench: &Bench<'_, u64>) {
    let (mut queue, _) = filled(bench, &[(5, A), (9, B)]);
    let batch = queue.take(9, ALL);
    queue.enqueue(7, X);
    assert_eq!(queue.requeue(batch), Requeued::Merged(2));
    queue.check();
    assert_eq!(gives(&mut queue, 9), [A, X, B]);
}

fn putting_back_never_copies(bench: &Bench<'_, u64>) {
    let (mut queue, _) = filled(bench, &[(1, 1), (2, 2), (3, 3), (4, 4), (5, 5)]);
    for _ in 0..3 {
        let mut batch = queue.take(5, ALL);
        dispatch(&mut batch, 0);
        assert_eq!(queue.requeue(batch), Requeued::IntoEmpty);
        assert_eq!(queue.len(), 5);
    }
    assert_eq!(gives(&mut queue, 5), [1, 2, 3, 4, 5]);
}

fn a_late_arrival_before_the_batch_merges_too(bench: &Bench<'_, u64>) {
    let (mut queue, _) = filled(bench, &[(5, A), (9, B), (20, D)]);
    let batch = queue.take(9, ALL);
    queue.enqueue(2, X);
    assert_eq!(queue.requeue(batch), Requeued::Merged(2));
    queue.check();
    assert_eq!(gives(&mut queue, 20), [X, A, B, D]);
}

fn an_empty_queue_gives_an_empty_batch(bench: &Bench<'_, u64>) {
    let mut queue = bench.queue();
    let mut batch = queue.take(1_000, ALL);
    assert!(
        batch.is_empty() && batch.front().is_none() && batch.advance().is_none() && batch.latest().is_none()
    );
    assert_eq!(queue.requeue(batch), Requeued::Nothing);
    assert_eq!((queue.len(), queue.next_expiry()), (0, None));
}

fn the_whole_queue_cut_short_and_put_back_has_its_end_at_its_end(bench: &Bench<'_, u64>) {
    for dispatched in 0..4 {
        let (mut queue, _) = filled(bench, &[(1, 1), (2, 2), (2, 3), (4, 4)]);
        let mut batch = queue.take(9, ALL);
        dispatch(&mut batch, dispatched);
        assert_eq!(queue.requeue(batch), Requeued::IntoEmpty);
        queue.check();
        queue.enqueue(4, 5);
        queue.enqueue(3, X);
        let right: Vec<_> = [1, 2, 3, X, 4, 5].into_iter().filter(|item| *item > dispatched as u64).collect();
        assert_eq!(gives(&mut queue, 9), right, "{dispatched} dispatched");
    }
}

fn the_rest_of_an_emptied_queue_is_a_fresh_start(bench: &Bench<'_, u64>) {
    let (mut queue, _) = filled(bench, &[(8, A), (9, B)]);
    let batch = queue.take(9, ALL);
    queue.enqueue(3, C);
    queue.enqueue(4, D);
    queue.check();
    assert_eq!((shows(&queue), batch.len()), (vec![C, D], 2));
    assert_eq!(queue.requeue(batch), Requeued::Merged(2));
    assert_eq!(gives(&mut queue, 9), [C, D, A, B]);
}

fn a_limit_of_0_takes_nothing(bench: &Bench<'_, u64>) {
    let (mut queue, _) = filled(bench, &[(1, A)]);
    let batch = queue.take(9, 0);
    assert_eq!((batch.len(), queue.len()), (0, 1));
    assert_eq!(queue.requeue(batch), Requeued::Nothing);
    assert_eq!(gives(&mut queue, 9), [A]);
}

fn a_put_back_timer_stands_before_equals_that_came_later(bench: &Bench<'_, u64>) {
    let (mut queue, _) = filled(bench, &[(5, A), (9, B)]);
    let batch = queue.take(9, ALL);
    queue.enqueue(9, X);
    queue.enqueue(5, D);
    assert_eq!(queue.requeue(batch), Requeued::Merged(2));
    assert_eq!(gives(&mut queue, 9), [A, D, B, X]);
}

fn put_back_in_the_other_order_merges_among_ties(bench: &Bench<'_, u64>) {
    let (mut queue, _) = filled(bench, &[(5, A), (5, B)]);
    let (first, second) = (queue.take(5, 1), queue.take(5, 1));
    assert_eq!(queue.requeue(first), Requeued::IntoEmpty);
    assert_eq!(queue.requeue(second), Requeued::Merged(1));
    assert_eq!(shows(&queue), [A, B]);
    let (first, second) = (queue.take(5, 1), queue.take(5, 1));
    assert_eq!(queue.requeue(second), Requeued::IntoEmpty);
    assert_eq!(queue.requeue(first), Requeued::InFront);
    assert_eq!(gives(&mut queue, 5), [A, B]);
}

fn three_batches_come_back_in_any_order(bench: &Bench<'_, u64>) {
    for order in [[0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 1, 0], [2, 0, 0], [2, 1, 0]] {
        let (mut queue, handles) = filled(bench, &[1, 2, 3, 4, 5, 6].map(|item| (item / 2, item)));
        let mut batches: Vec<_> = (0..3).map(|_| queue.take(9, 2)).collect();
        queue.enqueue(1, X);
        for at in order {
            queue.requeue(batches.remove(at));
            queue.check();
        }
        assert_eq!(shows(&queue), [1, 2, 3, X, 4, 5, 6], "in the order {order:?}");
        assert_eq!(queue.cancel(handles[3]), Some(4), "in the order {order:?}");
    }
}

fn a_merge_behind_everything_moves_the_end(bench: &Bench<'_, u64>) {
    let (mut queue, _) = filled(bench, &[(5, A), (9, B)]);
    let batch = queue.take(9, ALL);
    queue.enqueue(1, C);
    assert_eq!(queue.requeue(batch), Requeued::Merged(2));
    queue.enqueue(10, D);
    queue.check();
    assert_eq!(gives(&mut queue, 10), [C, A, B, D]);
}

fn a_wide_merge_puts_each_into_its_place(bench: &Bench<'_, u64>) {
    let mut queue = bench.queue();
    for item in 0..300 {
        queue.enqueue(item / 3 * 2, item);
    }
    let batch = queue.take(120, ALL);
    assert_eq!(batch.len(), 183);
    for item in 300..400 {
        queue.enqueue((item - 300) * 2 + item % 2, item);
    }
    assert_eq!(queue.requeue(batch), Requeued::Merged(183));
    queue.check();
    let mut right: Vec<_> = (0..300).map(|item| (item / 3 * 2, item)).collect();
    right.extend((300..400).map(|item| ((item - 300) * 2 + item % 2, item)));
    right.sort_unstable();
    assert!(queue.timers().into_iter().map(|(expiry, item)| (expiry, *item)).eq(right));
}

fn a_batch_does_not_change_when_the_queue_does(bench: &Bench<'_, u64>) {
    let (mut queue, handles) = filled(bench, &[(1, A), (2, B), (3, C)]);
    let mut batch = queue.take(2, ALL);
    assert_eq!(batch.front().map(|(expiry, item)| (expiry, std::mem::replace(item, X))), Some((1, A)));
    queue.enqueue(0, D);
    assert_eq!(queue.cancel(handles[2]), Some(C));
    queue.shrink();
    assert_eq!((batch.len(), batch.latest()), (2, Some(2)));
    drop(queue);
    assert_eq!(rest(batch), [X, B]);
}

fn latest_is_that_of_the_last_one_left(bench: &Bench<'_, u64>) {
    let (mut queue, _) = filled(bench, &[(3, A), (8, B), (30, C)]);
    let mut batch = queue.take(10, ALL);
    assert_eq!(batch.latest(), Some(8));
    assert_eq!(batch.advance(), Some((3, A)));
    assert_eq!((batch.latest(), batch.len()), (Some(8), 1));
    assert_eq!(batch.advance(), Some((8, B)));
    assert_eq!((batch.latest(), batch.len()), (None, 0));
}
