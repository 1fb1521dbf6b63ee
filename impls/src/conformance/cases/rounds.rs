//! Windows, handlers that stop, fail and panic, and what handlers do to the queue.

use std::cell::Cell;

use super::{A, ALL, B, Bench, C, X, cases, filled, gives, rest};
use crate::conformance::quiet;
use crate::queue::{Batch, Ended, Flow, Processed, Requeued, process};

cases! {
    "FC-025" Expiry every_timer_is_counted_once_whatever_ends_it,
    "FC-050" Expiry a_handler_may_try_to_cancel_itself,
    "FC-051" Expiry cancelled_and_called_never_both_happen,
    "FC-052" Expiry a_handler_may_queue_into_the_bucket_it_came_from,
    "FC-053" Expiry a_self_renewing_timer_runs_once_per_round,
    "FC-054" Expiry a_round_is_what_was_due_when_it_began,
    "FC-056" Expiry a_failing_handler_stops_the_round_and_not_the_queue,
    "FC-057" Expiry a_failure_outranks_a_window_that_closed,
    "FC-063" Expiry the_window_uses_a_fresh_clock_reading_per_timer,
    "round" Expiry a_window_of_0_dispatches_nothing,
    "round" Expiry at_the_deadline_the_window_is_closed,
    "round" Expiry the_clock_is_not_read_for_an_empty_batch,
    "round" Expiry a_handler_that_panics_leaves_its_timer_first,
    "round" Expiry a_handler_that_stops_is_no_failure,
    "round" Expiry a_batch_processed_again_goes_on_where_it_stopped,
    "round" Expiry what_a_handler_does_to_its_item_stays_done,
}

/// Processes without a window.
fn each(
    batch: &mut impl Batch<u64>,
    mut handler: impl FnMut(u64) -> Result<Flow, &'static str>,
) -> Processed<&'static str> {
    process(batch, || 0, 1, |_, item| handler(*item))
}

fn every_timer_is_counted_once_whatever_ends_it(bench: &Bench<'_, u64>) {
    let mut queue = bench.queue();
    let handles: Vec<_> = (0..11).map(|item| queue.enqueue(200, item)).collect();
    let mut batch = queue.take(200, ALL);
    let mut cancelled = 0;
    let processed = each(&mut batch, |item| {
        let others = handles.iter().enumerate().filter(|(other, _)| *other as u64 != item);
        cancelled += others.filter(|(_, handle)| queue.cancel(**handle).is_some()).count();
        if item == 0 { Ok(Flow::Continue) } else { Ok(Flow::Stop) }
    });
    assert_eq!((processed.done, processed.ended), (1, Ended::Stopped));
    assert_eq!(queue.requeue(batch), Requeued::IntoEmpty);
    cancelled += usize::from(queue.cancel(handles[5]).is_some());
    let dispatched = processed.done + gives(&mut queue, 200).len();
    assert_eq!((dispatched + cancelled, queue.len()), (11, 0));
}

fn a_handler_may_try_to_cancel_itself(bench: &Bench<'_, u64>) {
    let (mut queue, handles) = filled(bench, &[(10, A)]);
    let mut batch = queue.take(10, ALL);
    let processed = each(&mut batch, |_| {
        assert_eq!(queue.cancel(handles[0]), None);
        Ok(Flow::Continue)
    });
    assert_eq!((processed.done, batch.len(), queue.len()), (1, 0, 0));
}

fn cancelled_and_called_never_both_happen(bench: &Bench<'_, u64>) {
    let (mut queue, handles) = filled(bench, &[(10, A), (10, B)]);
    let mut batch = queue.take(10, ALL);
    let (mut called, mut cancelled) = (Vec::new(), 0);
    each(&mut batch, |item| {
        called.push(item);
        cancelled += usize::from(queue.cancel(handles[1]).is_some());
        Ok(Flow::Continue)
    });
    called.sort_unstable();
    assert_eq!((called, cancelled), (vec![A, B], 0));
}

fn a_handler_may_queue_into_the_bucket_it_came_from(bench: &Bench<'_, u64>) {
    for turn in [8, 60, 64, 256, 512, 4_096] {
        let (mut queue, _) = filled(bench, &[(10, A)]);
        let mut batch = queue.take(10, ALL);
        let processed = each(&mut batch, |_| {
            queue.enqueue(10 + turn, B);
            Ok(Flow::Continue)
        });
        assert_eq!((processed.done, queue.len()), (1, 1));
        assert_eq!(gives(&mut queue, 9 + turn), []);
        assert_eq!(gives(&mut queue, 10 + turn), [B]);
    }
}

fn a_self_renewing_timer_runs_once_per_round(bench: &Bench<'_, u64>) {
    let (mut queue, _) = filled(bench, &[(10, A)]);
    for _ in 0..5 {
        let mut batch = queue.take(10, ALL);
        let processed = each(&mut batch, |item| {
            queue.enqueue(10, item);
            Ok(Flow::Continue)
        });
        assert_eq!((processed.done, queue.len()), (1, 1));
    }
    assert_eq!(queue.take(10, ALL).len(), 1);
}

fn a_round_is_what_was_due_when_it_began(bench: &Bench<'_, u64>) {
    let (mut queue, _) = filled(bench, &[(1, A), (2, B), (3, C)]);
    let mut batch = queue.take(5, ALL);
    let processed = each(&mut batch, |item| {
        queue.enqueue(item % 5, X);
        Ok(Flow::Continue)
    });
    assert_eq!((processed.done, processed.ended, queue.len()), (3, Ended::Drained, 3));
}

fn a_failing_handler_stops_the_round_and_not_the_queue(bench: &Bench<'_, u64>) {
    let (mut queue, _) = filled(bench, &[(1, A), (2, B), (3, C)]);
    let mut batch = queue.take(3, ALL);
    let processed = each(&mut batch, |item| if item == B { Err("B failed") } else { Ok(Flow::Continue) });
    assert_eq!((processed.done, processed.ended, batch.len()), (1, Ended::Failed("B failed"), 2));
    assert_eq!(queue.requeue(batch), Requeued::IntoEmpty);
    assert_eq!(gives(&mut queue, 3), [B, C]);
}

fn a_failure_outranks_a_window_that_closed(bench: &Bench<'_, u64>) {
    let (mut queue, _) = filled(bench, &[(1, A), (2, B), (3, C)]);
    let (mut batch, clock) = (queue.take(3, ALL), Cell::new(0));
    let processed = process(
        &mut batch,
        || clock.get(),
        10,
        |_, _| {
            clock.set(50);
            Err::<Flow, _>("the first failed")
        },
    );
    assert_eq!((processed.done, processed.ended, batch.len()), (0, Ended::Failed("the first failed"), 3));
}

fn the_window_uses_a_fresh_clock_reading_per_timer(bench: &Bench<'_, u64>) {
    let (mut queue, _) = filled(bench, &[(1, A), (2, B), (3, C), (4, X)]);
    let (mut batch, clock) = (queue.take(9, ALL), Cell::new(0));
    let mut reads = Vec::new();
    let read = || {
        reads.push(clock.get());
        clock.get()
    };
    let processed = process(&mut batch, read, 10, |_, _| {
        clock.set(clock.get() + 6);
        Ok::<_, ()>(Flow::Continue)
    });
    assert_eq!((processed.done, processed.ended), (2, Ended::WindowClosed));
    assert_eq!(reads, [0, 6, 12]);
    assert_eq!(rest(batch), [C, X]);
}

fn a_window_of_0_dispatches_nothing(bench: &Bench<'_, u64>) {
    let (mut queue, _) = filled(bench, &[(1, A)]);
    let mut batch = queue.take(9, ALL);
    let processed = process(&mut batch, || 7, 7, |_, _| Err("it was called"));
    assert_eq!((processed.done, processed.ended, batch.len()), (0, Ended::WindowClosed, 1));
}

fn at_the_deadline_the_window_is_closed(bench: &Bench<'_, u64>) {
    let (mut queue, _) = filled(bench, &[(1, A), (2, B), (3, C)]);
    let (mut batch, clock) = (queue.take(9, ALL), Cell::new(100));
    let tick = |_, _: &mut u64| {
        clock.set(clock.get() + 1);
        Ok::<_, ()>(Flow::Continue)
    };
    let processed = process(&mut batch, || clock.get(), 102, tick);
    assert_eq!((processed.done, processed.ended, batch.len()), (2, Ended::WindowClosed, 1));
}

fn the_clock_is_not_read_for_an_empty_batch(bench: &Bench<'_, u64>) {
    let mut batch = bench.queue().take(9, ALL);
    let processed =
        process(&mut batch, || panic!("the clock was read"), 0, |_, _| Ok::<_, ()>(Flow::Continue));
    assert_eq!((processed.done, processed.ended), (0, Ended::Drained));
}

fn a_handler_that_panics_leaves_its_timer_first(bench: &Bench<'_, u64>) {
    let (mut queue, handles) = filled(bench, &[(1, A), (2, B), (3, C)]);
    let mut batch = queue.take(3, ALL);
    let outcome = quiet::caught(|| {
        each(&mut batch, |item| if item == B { quiet::silent_panic() } else { Ok(Flow::Continue) })
    });
    assert!(outcome.is_err(), "the panic was swallowed");
    assert_eq!((batch.len(), batch.front().map(|(_, item)| *item)), (2, Some(B)));
    assert_eq!(queue.requeue(batch), Requeued::IntoEmpty);
    queue.check();
    assert_eq!(queue.get(handles[1]), Some((2, &B)));
    assert_eq!(gives(&mut queue, 3), [B, C]);
}

fn a_handler_that_stops_is_no_failure(bench: &Bench<'_, u64>) {
    let (mut queue, _) = filled(bench, &[(1, A), (2, B)]);
    let mut batch = queue.take(3, ALL);
    let processed = each(&mut batch, |_| Ok(Flow::Stop));
    assert_eq!((processed.done, processed.ended, batch.len()), (0, Ended::Stopped, 2));
    assert_eq!(rest(batch), [A, B]);
}

fn a_batch_processed_again_goes_on_where_it_stopped(bench: &Bench<'_, u64>) {
    let (mut queue, _) = filled(bench, &[(1, A), (2, B), (3, C)]);
    let mut batch = queue.take(3, ALL);
    let mut called = Vec::new();
    for _ in 0..3 {
        let mut calls = 0;
        each(&mut batch, |item| {
            calls += 1;
            called.push(item);
            Ok(if calls == 2 { Flow::Stop } else { Flow::Continue })
        });
    }
    assert_eq!(called, [A, B, B, C, C]);
    assert!(batch.is_empty());
}

fn what_a_handler_does_to_its_item_stays_done(bench: &Bench<'_, u64>) {
    let (mut queue, handles) = filled(bench, &[(1, A), (2, B)]);
    let mut batch = queue.take(3, ALL);
    process(
        &mut batch,
        || 0,
        1,
        |_, item| {
            *item += 1_000_000;
            Ok::<_, ()>(Flow::Stop)
        },
    );
    queue.requeue(batch);
    assert_eq!(queue.get(handles[0]), Some((1, &(A + 1_000_000))));
    assert_eq!(gives(&mut queue, 3), [A + 1_000_000, B]);
}
