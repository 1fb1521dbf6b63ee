//! Each figure is what its name says.

use super::*;

fn arm(due: i128) -> Arm {
    Arm { due: Some(due), period: 0 }
}

fn counted(granularity: u64, events: &[(u64, What, u64)]) -> Statistics {
    let mut tally = Tally::new(granularity);
    for (time, what, timer) in events {
        tally.event(&Event { time: *time, what: *what, timer: Some(*timer), owner: Some(*timer as u32 % 2) });
    }
    tally.finish()
}

fn value(of: &Statistics, name: &str) -> Option<f64> {
    let found = figures(of).into_iter().find(|figure| figure.name == name);
    found.unwrap_or_else(|| panic!("no figure is called {name}")).value.map(Value::number)
}

#[test]
fn shares_are_of_arms_and_misses_of_cancels() {
    use What::{Absorbed, Cancel, Expire, Miss, Rearm, Start};
    let found = counted(
        1,
        &[
            (0, Start(arm(5)), 1),
            (1, Start(arm(9)), 2),
            (2, Rearm(arm(8)), 1),
            (3, Absorbed, 1),
            (4, Cancel, 2),
            (5, Miss, 2),
            (10, Expire(None), 1),
            (11, Miss, 1),
            (12, Start(arm(20)), 1),
        ],
    );
    let share = |name| value(&found, name).unwrap();
    assert_eq!((found.arms(), found.operations, found.timers, found.owners), (4, 8, 2, 2));
    assert_eq!(
        (share("rearmed_share"), share("cancelled_share"), share("expired_share")),
        (0.25, 0.25, 0.25)
    );
    assert_eq!((share("missed_share"), share("missed_after_expiry_share")), (2.0 / 3.0, 0.5));
    assert_eq!((share("absorbed_share"), share("early_share"), share("lateness_ns_max")), (0.25, 0.0, 2.0));
    assert_eq!((found.armed_max, found.armed_at_end, found.duration), (2, 1, 12));
}

#[test]
fn a_miss_follows_an_expiry_only_while_its_timer_has_not_been_started_since() {
    use What::{Cancel, Expire, Miss, Start};
    let found = counted(
        1,
        &[
            (0, Start(arm(1)), 7),
            (1, Expire(None), 7),
            (2, Start(arm(9)), 7),
            (3, Cancel, 7),
            (4, Miss, 7),
            (5, Miss, 8),
        ],
    );
    assert_eq!((found.misses, found.misses_after_expiry), (2, 0));
}

#[test]
fn the_mean_number_armed_is_weighted_by_time_and_begins_with_the_first_event() {
    use What::{Cancel, Start};
    let found = counted(
        1,
        &[(100, Start(arm(500)), 1), (110, Start(arm(500)), 2), (140, Cancel, 1), (200, Cancel, 2)],
    );
    assert_eq!(found.armed_mean, (10.0 + 2.0 * 30.0 + 60.0) / 100.0);
    let at_once = counted(1, &[(7, Start(arm(9)), 1), (7, Start(arm(9)), 2)]);
    assert_eq!((at_once.armed_mean, value(&at_once, "operations_per_s")), (2.0, None));
}

#[test]
fn delays_are_rounded_up_to_the_granularity_and_past_ones_are_none() {
    use What::{Rearm, Start};
    let found = counted(
        10,
        &[(1, Start(arm(30)), 1), (2, Rearm(arm(33)), 1), (3, Start(arm(-5)), 2), (13, Rearm(arm(33)), 1)],
    );
    assert_eq!(found.delays, BTreeMap::from([(0, 1), (20, 1), (30, 1), (40, 1)]).into_iter().collect());
    assert_eq!(found.common_delays(2), [(0, 1), (20, 1)]);
}

#[test]
fn a_timer_with_a_period_stays_armed_and_may_expire_more_often_than_it_is_armed() {
    use What::{Cancel, Expire, Start};
    let periodic = Arm { due: Some(10), period: 10 };
    let found =
        counted(1, &[(0, Start(periodic), 1), (11, Expire(None), 1), (23, Expire(None), 1), (25, Cancel, 1)]);
    assert_eq!((value(&found, "expired_share"), found.lateness.max()), (Some(2.0), Some(3.0)));
    assert_eq!((found.cancels, found.armed_at_end), (1, 0));
}

#[test]
fn a_gap_ends_all_and_a_batch_leaves_and_comes_back() {
    use What::{Done, Lost, PutBack, Start, Take};
    let found = counted(
        1,
        &[
            (0, Start(arm(5)), 1),
            (0, Start(arm(5)), 2),
            (0, Start(arm(50)), 3),
            (6, Take, 0),
            (7, Done, 1),
            (8, PutBack, 2),
        ],
    );
    assert_eq!((found.expiries, found.armed_at_end, found.armed_max), (1, 2, 3));
    let lost = counted(1, &[(0, Start(arm(5)), 1), (1, Lost, 0), (9, Start(arm(10)), 2)]);
    assert_eq!((lost.armed_at_end, lost.armed_max), (1, 1));
}

#[test]
fn delays_that_are_too_many_to_keep_are_counted() {
    let mut tally = Tally::new(1);
    let more = 10;
    for delay in 0..(Tally::DELAYS + more) as u64 {
        let what = What::Start(arm(i128::from(delay)));
        tally.event(&Event { time: 0, what, timer: Some(delay), owner: None });
    }
    let found = tally.finish();
    assert_eq!((found.delays.len(), found.delays_beyond), (Tally::DELAYS, more as u64));
    assert_eq!(found.delayed(), found.arms());
}

#[test]
fn the_distance_of_delays_is_the_largest_difference_of_their_shares() {
    let of = |delays: &[(u64, u64)]| Statistics {
        delays: delays.iter().copied().collect(),
        ..Statistics::default()
    };
    let (near, far) = (of(&[(1, 1), (2, 3)]), of(&[(1, 2), (2, 2)]));
    assert_eq!((near.delay_distance(&near), near.delay_distance(&far)), (0.0, 0.25));
    assert_eq!(near.delay_distance(&of(&[(9, 5)])), 1.0);
}

#[test]
fn a_time_is_told_in_its_unit() {
    let texts = [0.0, 732_311.0, 204e6, 1.5e9, 60e9, 7200e9, -205_796.0, 12_345_678.0].map(span);
    assert_eq!(texts, ["0 ns", "732.3 µs", "204 ms", "1.5 s", "60 s", "7,200 s", "-205.8 µs", "12.35 ms"]);
}
