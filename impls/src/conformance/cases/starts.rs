//! Expiries far away, past and large; clocks that jump; the next expiry; wheels' levels.

use super::{A, B, Bench, C, D, cases, expiries, filled, gives, rest, shows};
use crate::queue::{Batch, Tick};

cases! {
    "FC-001" Expiry a_start_years_ahead_is_stored_exactly,
    "FC-002" Expiry the_largest_start_never_fires_early,
    "FC-003" Expiry starts_above_31_and_32_bits_keep_their_order,
    "FC-004" Expiry ordering_compares_whole_64_bit_starts,
    "FC-005" Expiry inserting_works_however_long_the_queue_has_lived,
    "FC-006" Expiry the_tick_count_passes_31_bits_without_a_pause,
    "FC-007" Expiry a_fresh_timer_is_not_due_because_the_clock_is_large,
    "FC-008" Expiry a_past_start_is_due_at_once,
    "FC-009" Expiry a_past_start_does_not_pull_the_clock_back,
    "FC-010" Expiry an_earlier_timer_moves_the_next_expiry,
    "FC-011" Expiry the_next_expiry_is_the_minimum_and_not_the_first_stored,
    "FC-012" Expiry an_overdue_head_and_a_fresh_short_timer_both_come_out,
    "FC-027" Expiry a_start_more_than_one_turn_ahead_waits_for_its_turn,
    "FC-028" Expiry rounds_are_counted,
    "FC-029" Expiry the_reach_of_the_wheel_is_measured_from_now,
    "FC-030" Expiry a_repeat_every_ten_ticks_stays_every_ten_ticks,
    "FC-031" Expiry the_nearest_start_wins_across_levels,
    "FC-032" Expiry due_at_the_start_and_not_one_unit_after,
    "FC-033" Expiry a_move_between_levels_is_not_a_delivery,
    "FC-034" Expiry one_long_step_gives_everything_in_order,
    "FC-062" Expiry a_smaller_now_is_harmless,
    "FC-065" Expiry after_a_jump_the_clock_is_really_there,
    "FC-067" Expiry the_next_start_comes_from_the_last_start,
    "contract" Expiry a_smaller_now_takes_what_is_due_by_it_and_no_more,
    "contract" Expiry everything_is_taken_at_the_end_of_time,
    "contract" Expiry an_empty_stretch_of_any_length_is_crossed_in_one_step,
    "contract" Expiry every_power_of_two_is_due_at_itself,
    "contract" Tick a_coarse_tick_is_never_early_and_late_by_less_than_a_tick,
    "contract" Tick a_coarse_tick_takes_everything_at_the_end_of_time,
    "contract" Tick the_next_expiry_of_a_coarse_tick_is_the_first_now_that_gives_something,
}

fn a_start_years_ahead_is_stored_exactly(bench: &Bench<'_, u64>) {
    let (mut queue, _) = filled(bench, &[(99_999_999_000, A)]);
    assert_eq!((queue.len(), queue.next_expiry()), (1, Some(99_999_999_000)));
    assert_eq!(gives(&mut queue, 99_999_998_999), []);
    assert_eq!(gives(&mut queue, 99_999_999_000), [A]);
}

fn the_largest_start_never_fires_early(bench: &Bench<'_, u64>) {
    let mut queue = bench.queue();
    assert!(queue.take(1_000, usize::MAX).is_empty());
    queue.enqueue(Tick::MAX, A);
    assert_eq!(gives(&mut queue, Tick::MAX - 1), []);
    assert_eq!(queue.next_expiry(), Some(Tick::MAX));
    assert_eq!(gives(&mut queue, Tick::MAX), [A]);
}

fn starts_above_31_and_32_bits_keep_their_order(bench: &Bench<'_, u64>) {
    let (mut queue, _) = filled(bench, &[(1 << 31, A), (1 << 32, B), (10, C)]);
    assert_eq!(shows(&queue), [C, A, B]);
    assert_eq!(gives(&mut queue, 11), [C]);
    assert_eq!(gives(&mut queue, Tick::MAX), [A, B]);
}

fn ordering_compares_whole_64_bit_starts(bench: &Bench<'_, u64>) {
    let starts = [0, (1 << 31) + 1, (1 << 32) + 5, 1 << 63];
    for code in 0..24 {
        let (mut left, mut code) = (starts.to_vec(), code);
        let mut queue = bench.queue();
        for choices in (1..=4).rev() {
            let start = left.remove(code % choices);
            code /= choices;
            queue.enqueue(start, A);
        }
        assert_eq!(expiries(queue.take(Tick::MAX, usize::MAX)), starts);
    }
}

fn inserting_works_however_long_the_queue_has_lived(bench: &Bench<'_, u64>) {
    let mut queue = bench.queue();
    let start = (1 << 36) + 10_000;
    assert_eq!(gives(&mut queue, 1 << 36), []);
    queue.enqueue(start, A);
    assert_eq!(gives(&mut queue, start - 1), []);
    assert_eq!(gives(&mut queue, start), [A]);
}

fn the_tick_count_passes_31_bits_without_a_pause(bench: &Bench<'_, u64>) {
    for middle in [1 << 31, 1 << 32, 1 << 63] {
        let mut queue = bench.queue();
        assert_eq!(gives(&mut queue, middle - 2), []);
        for start in [middle - 1, middle, middle + 1] {
            queue.enqueue(start, start);
        }
        for start in [middle - 1, middle, middle + 1] {
            assert_eq!(gives(&mut queue, start), [start]);
        }
    }
}

fn a_fresh_timer_is_not_due_because_the_clock_is_large(bench: &Bench<'_, u64>) {
    let mut queue = bench.queue();
    assert_eq!(gives(&mut queue, 4_312_767_330), []);
    queue.enqueue(4_312_785_130, A);
    assert_eq!(gives(&mut queue, 4_312_767_330), []);
    assert_eq!(queue.next_expiry(), Some(4_312_785_130));
}

fn a_past_start_is_due_at_once(bench: &Bench<'_, u64>) {
    let mut queue = bench.queue();
    assert_eq!(gives(&mut queue, 1_000), []);
    queue.enqueue(954, A);
    assert_eq!(queue.next_expiry(), Some(954));
    assert_eq!(gives(&mut queue, 1_000), [A]);
}

fn a_past_start_does_not_pull_the_clock_back(bench: &Bench<'_, u64>) {
    let mut queue = bench.queue();
    assert_eq!(gives(&mut queue, 500), []);
    queue.enqueue(400, A);
    queue.enqueue(600, B);
    assert_eq!(gives(&mut queue, 500), [A]);
    assert_eq!(gives(&mut queue, 599), []);
    assert_eq!(gives(&mut queue, 600), [B]);
}

fn an_earlier_timer_moves_the_next_expiry(bench: &Bench<'_, u64>) {
    let (mut queue, _) = filled(bench, &[(10_000, A)]);
    assert_eq!(queue.next_expiry(), Some(10_000));
    queue.enqueue(600, B);
    assert_eq!(queue.next_expiry(), Some(600));
    assert_eq!(gives(&mut queue, 600), [B]);
    assert_eq!(queue.next_expiry(), Some(10_000));
}

fn the_next_expiry_is_the_minimum_and_not_the_first_stored(bench: &Bench<'_, u64>) {
    let (mut queue, _) = filled(bench, &[(50, A), (20, B), (30, C)]);
    assert_eq!(queue.next_expiry(), Some(20));
    assert_eq!(gives(&mut queue, 25), [B]);
    assert_eq!(queue.next_expiry(), Some(30));
}

fn an_overdue_head_and_a_fresh_short_timer_both_come_out(bench: &Bench<'_, u64>) {
    let (mut queue, _) = filled(bench, &[(500, A), (1_001, B)]);
    assert_eq!(queue.next_expiry(), Some(500));
    assert_eq!(gives(&mut queue, 1_001), [A, B]);
}

fn a_start_more_than_one_turn_ahead_waits_for_its_turn(bench: &Bench<'_, u64>) {
    let mut queue = bench.queue();
    assert_eq!(gives(&mut queue, 200), []);
    queue.enqueue(800, A);
    assert_eq!(gives(&mut queue, 288), []);
    assert_eq!(gives(&mut queue, 799), []);
    assert_eq!(gives(&mut queue, 800), [A]);
}

fn rounds_are_counted(bench: &Bench<'_, u64>) {
    let (mut queue, _) = filled(bench, &[(20, A)]);
    for now in [4, 12, 19] {
        assert_eq!(gives(&mut queue, now), []);
    }
    assert_eq!(gives(&mut queue, 20), [A]);
}

fn the_reach_of_the_wheel_is_measured_from_now(bench: &Bench<'_, u64>) {
    for bits in 3..63 {
        let (mut queue, reach) = (bench.queue(), 1 << bits);
        assert_eq!(gives(&mut queue, 10_000), []);
        let starts = [10_000 + reach - 1, 10_000 + reach, 10_000 + reach + 1];
        starts.iter().for_each(|start| _ = queue.enqueue(*start, *start));
        assert_eq!(gives(&mut queue, starts[0] - 1), []);
        for start in starts {
            assert_eq!(queue.next_expiry(), Some(start));
            assert_eq!(gives(&mut queue, start), [start]);
        }
    }
}

fn a_repeat_every_ten_ticks_stays_every_ten_ticks(bench: &Bench<'_, u64>) {
    let (mut queue, _) = filled(bench, &[(10, A)]);
    let mut deliveries = Vec::new();
    for now in 0..=10_000 {
        let mut batch = queue.take(now, usize::MAX);
        while let Some((expiry, item)) = batch.advance() {
            deliveries.push(now);
            queue.enqueue(expiry + 10, item);
        }
    }
    let right: Vec<_> = (1..=1_000).map(|k| 10 * k).collect();
    assert_eq!(deliveries, right);
}

fn the_nearest_start_wins_across_levels(bench: &Bench<'_, u64>) {
    let (mut queue, _) = filled(bench, &[(300, A)]);
    assert_eq!(gives(&mut queue, 250), []);
    queue.enqueue(400, B);
    assert_eq!(queue.next_expiry(), Some(300));
    assert_eq!(gives(&mut queue, 300), [A]);
}

fn due_at_the_start_and_not_one_unit_after(bench: &Bench<'_, u64>) {
    let (mut queue, _) = filled(bench, &[(60, A), (3_600, B)]);
    assert_eq!(gives(&mut queue, 59), []);
    assert_eq!(gives(&mut queue, 60), [A]);
    assert_eq!(gives(&mut queue, 3_599), []);
    assert_eq!(gives(&mut queue, 3_600), [B]);
}

fn a_move_between_levels_is_not_a_delivery(bench: &Bench<'_, u64>) {
    let mut queue = bench.queue();
    assert_eq!(gives(&mut queue, 100), []);
    queue.enqueue(248, A);
    for now in [130, 200] {
        assert_eq!(gives(&mut queue, now), []);
        assert_eq!((queue.next_expiry(), queue.len()), (Some(248), 1));
    }
    assert_eq!(gives(&mut queue, 248), [A]);
}

fn one_long_step_gives_everything_in_order(bench: &Bench<'_, u64>) {
    let (mut queue, _) = filled(bench, &[(300_000, 4), (70, 2), (3, 1), (5_000, 3)]);
    assert_eq!(gives(&mut queue, 300_000), [1, 2, 3, 4]);
    assert_eq!(queue.next_expiry(), None);
}

fn a_smaller_now_is_harmless(bench: &Bench<'_, u64>) {
    let (mut queue, _) = filled(bench, &[(95, A), (105, B)]);
    assert_eq!(gives(&mut queue, 100), [A]);
    assert_eq!(gives(&mut queue, 90), []);
    assert_eq!(gives(&mut queue, 105), [B]);
}

fn after_a_jump_the_clock_is_really_there(bench: &Bench<'_, u64>) {
    let (mut queue, _) = filled(bench, &[(10, A), (20, B)]);
    assert_eq!(gives(&mut queue, 1_000_000), [A, B]);
    queue.enqueue(1_000_005, C);
    assert_eq!(gives(&mut queue, 1_000_004), []);
    assert_eq!(gives(&mut queue, 1_000_005), [C]);
}

fn the_next_start_comes_from_the_last_start(bench: &Bench<'_, u64>) {
    let (mut queue, _) = filled(bench, &[(10, A)]);
    for round in 1..=1_000 {
        let late = round * 10 + 3;
        let (expiry, item) = queue.take(late, 1).advance().expect("a timer is due");
        assert_eq!(expiry, round * 10);
        queue.enqueue(expiry + 10, item);
    }
}

fn a_smaller_now_takes_what_is_due_by_it_and_no_more(bench: &Bench<'_, u64>) {
    let (mut queue, _) = filled(bench, &[(5, A), (2_000, B), (9_000, C)]);
    assert_eq!(rest(queue.take(10_000, 0)), []);
    assert_eq!(queue.next_expiry(), Some(5));
    assert_eq!(gives(&mut queue, 4), []);
    assert_eq!(gives(&mut queue, 1_999), [A]);
    assert_eq!(gives(&mut queue, 2_000), [B]);
    queue.enqueue(7, A);
    assert_eq!(gives(&mut queue, 6), []);
    assert_eq!(gives(&mut queue, 7), [A]);
    assert_eq!(gives(&mut queue, 9_000), [C]);
}

fn everything_is_taken_at_the_end_of_time(bench: &Bench<'_, u64>) {
    let (mut queue, _) = filled(bench, &[(Tick::MAX, B), (0, A), (Tick::MAX - 1, D), (Tick::MAX, C)]);
    assert_eq!(gives(&mut queue, 0), [A]);
    assert_eq!(gives(&mut queue, Tick::MAX).len(), 3);
    queue.enqueue(3, A);
    assert_eq!((queue.next_expiry(), queue.len()), (Some(3), 1));
    assert_eq!(gives(&mut queue, Tick::MAX), [A]);
}

fn an_empty_stretch_of_any_length_is_crossed_in_one_step(bench: &Bench<'_, u64>) {
    let (mut queue, _) = filled(bench, &[(1 << 62, A)]);
    for bits in 0..62 {
        assert_eq!(gives(&mut queue, (1 << bits) + 1), []);
    }
    assert_eq!(queue.next_expiry(), Some(1 << 62));
    assert_eq!(gives(&mut queue, 1 << 62), [A]);
}

fn every_power_of_two_is_due_at_itself(bench: &Bench<'_, u64>) {
    let mut queue = bench.queue();
    let starts: Vec<Tick> = (2..64).flat_map(|bits| [(1 << bits) - 1, 1 << bits]).collect();
    starts.iter().rev().for_each(|start| _ = queue.enqueue(*start, *start));
    for start in starts {
        assert_eq!(queue.next_expiry(), Some(start));
        assert_eq!(gives(&mut queue, start - 1), []);
        assert_eq!(gives(&mut queue, start), [start]);
    }
}

fn a_coarse_tick_is_never_early_and_late_by_less_than_a_tick(bench: &Bench<'_, u64>) {
    for start in [0, 1, bench.tick - 1, bench.tick, bench.tick + 1, 9 * bench.tick + 3] {
        let mut queue = bench.queue();
        queue.enqueue(start, A);
        let mut now = start.saturating_sub(2);
        while gives(&mut queue, now).is_empty() {
            now += 1;
        }
        assert!(start <= now && now - start < bench.tick, "start {start} came at {now}");
        assert_eq!(now % bench.tick, 0, "start {start} came at {now}, which is no multiple of the tick");
    }
}

fn a_coarse_tick_takes_everything_at_the_end_of_time(bench: &Bench<'_, u64>) {
    let (mut queue, _) = filled(bench, &[(Tick::MAX, B), (Tick::MAX - 1, A)]);
    assert_eq!(queue.next_expiry().map(|next| next >= Tick::MAX - 1), Some(true));
    assert_eq!(gives(&mut queue, Tick::MAX), [A, B]);
}

fn the_next_expiry_of_a_coarse_tick_is_the_first_now_that_gives_something(bench: &Bench<'_, u64>) {
    for start in [1, bench.tick, 3 * bench.tick - 1, 1 << 40, (1 << 40) + 1] {
        let (mut queue, _) = filled(bench, &[(start, A)]);
        let next = queue.next_expiry().expect("a timer is queued");
        assert_eq!(gives(&mut queue, next - 1), []);
        assert_eq!(gives(&mut queue, next), [A]);
    }
}
