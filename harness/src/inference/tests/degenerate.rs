//! Input that has no answer, or an odd one: none of it panics, and what cannot be said is `None`.

use itertools::Itertools;

use crate::inference::{
    Costs, Flag, Interval, Process, Verdict, area, benjamini_hochberg, crossover, geometric_mean, growth,
    half_life, holm, mann_whitney, median_interval, outliers, pair_stability, paired_ratio,
    process_stability, sign_test, simultaneous, spearman, stability, verdict, welch,
};

/// Numbers that break arithmetic.
const ODD: [f64; 9] =
    [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, -1.0, f64::MIN_POSITIVE, f64::MAX, 1.0];

#[test]
fn nothing_panics_whatever_the_numbers_are() {
    for length in 0..=4 {
        for numbers in (0..length).map(|_| ODD).multi_cartesian_product() {
            everything(&numbers);
        }
    }
    (0..40).for_each(|length| everything(&vec![1.0; length]));
}

fn everything(numbers: &[f64]) {
    let pairs: Vec<(f64, f64)> = numbers.iter().copied().circular_tuple_windows().collect();
    let odd = numbers.first().copied().unwrap_or(0.95);
    for confidence in [0.95, odd] {
        median_interval(numbers, confidence);
        welch(numbers, &numbers[numbers.len() / 2..], confidence);
        let interval = Interval { low: odd, high: 1.0, confidence };
        verdict(Some(interval), odd, false);
    }
    // Drawing blocks takes most of the time, so not for every combination.
    if numbers.len() < 3 {
        paired_ratio(&pairs, odd, 1);
        geometric_mean(&[numbers.to_vec(), numbers.to_vec()], 0.95, 1);
        let costs: Vec<Costs> =
            numbers.iter().map(|size| Costs { size: *size, blocks: numbers.to_vec() }).collect();
        crossover(&costs, &costs, 0.95, 1);
    }
    sign_test(numbers);
    holm(numbers);
    benjamini_hochberg(numbers);
    simultaneous(odd, numbers.len());
    mann_whitney(numbers, &ODD[3..]);
    spearman(numbers, numbers);
    stability(numbers);
    pair_stability(&pairs);
    outliers(numbers);
    growth(&pairs);
    half_life(&pairs, odd);
    area(&pairs, odd);
    let processes =
        numbers.iter().map(|wall| Process { wall_ns: *wall, system_ns: Some(odd), switches: None });
    process_stability(&processes.collect::<Vec<_>>());
}

#[test]
fn too_few_blocks_have_a_median_and_no_interval() {
    let five = median_interval(&[5.0, 1.0, 4.0, 2.0, 3.0], 0.95).unwrap();
    assert_eq!((five.median, five.interval), (3.0, None));
    assert!(median_interval(&[], 0.95).is_none());
    // Ten comparisons at once need nine blocks, which is why `--quick` has nine.
    let needed =
        |n: usize| median_interval(&vec![1.0; n], simultaneous(0.95, 10)).unwrap().interval.is_some();
    assert!(!needed(8) && needed(9));
    assert_eq!(verdict(None, 0.01, false), Verdict::NotSeparated);
}

#[test]
fn zeros_are_ties_or_the_far_end() {
    // Counts that are equal in all blocks, zeros among them: the ratio is 1 exactly.
    let equal =
        paired_ratio(&[(0.0, 0.0), (3.0, 3.0), (0.0, 0.0), (5.0, 5.0), (1.0, 1.0), (2.0, 2.0)], 0.95, 1);
    let equal = equal.unwrap();
    assert_eq!((equal.estimate, equal.ties, equal.p), (1.0, 6, 1.0));
    // One block without any cost on one side moves the end of the interval, not the estimate.
    let mut pairs = vec![(2.0, 4.0); 5];
    pairs.push((0.0, 4.0));
    let ratio = paired_ratio(&pairs, 0.95, 1).unwrap();
    assert!((ratio.estimate - 2.0).abs() < 1e-12);
    assert_eq!(ratio.interval.unwrap().high, f64::INFINITY);
    // More than half of them: there is no ratio.
    assert!(paired_ratio(&[(0.0, 4.0); 6], 0.95, 1).is_none());
    assert!(paired_ratio(&[(1.0, -4.0); 6], 0.95, 1).is_none());
}

#[test]
fn the_band_of_sameness_is_left_by_the_whole_interval_only() {
    let of = |low: f64, high: f64| verdict(Some(Interval { low, high, confidence: 0.95 }), 0.02, false);
    assert_eq!(of(1.021, 1.3), Verdict::Slower);
    assert_eq!(of(0.5, 0.98), Verdict::Faster);
    assert_eq!(of(0.99, 1.02), Verdict::Same);
    assert_eq!(of(1.01, 1.05), Verdict::DiffersALittle);
    assert_eq!(of(0.95, 1.05), Verdict::NotSeparated);
    let unstable = verdict(Some(Interval { low: 3.0, high: 4.0, confidence: 0.95 }), 0.02, true);
    assert_eq!(unstable, Verdict::Unstable);
}

#[test]
fn flags_name_what_they_were_made_to_find() {
    let found = |blocks: &[f64]| stability(blocks).iter().map(Flag::words).collect_vec();
    let steady = [100.0, 101.0, 99.0, 100.5, 99.5, 100.2, 99.8, 100.1, 99.9, 100.3, 99.7, 100.4];
    assert!(found(&steady).is_empty(), "{:?}", found(&steady));
    let changed = |change: fn(usize, f64) -> f64| {
        steady.iter().enumerate().map(|(block, cost)| change(block, *cost)).collect_vec()
    };
    assert!(found(&changed(|b, c| if b == 0 { 1.2 * c } else { c })).contains(&"slow first block"));
    assert!(found(&changed(|b, c| c * (1.0 + b as f64 / 50.0))).contains(&"drift"));
    assert!(found(&changed(|b, c| if b % 2 == 0 { 1.3 * c } else { c })).contains(&"two clusters"));
    assert!(found(&changed(|b, c| if b == 7 { 3.0 * c } else { c })).contains(&"outliers"));
    assert!(found(&changed(|b, c| if b == 7 { 3.0 * c } else { c })).contains(&"wide range"));
    assert!(found(&changed(|b, c| c * (1.0 + (b * 7 % 5) as f64 / 10.0))).contains(&"wide spread"));
    // A ratio that walks instead of jumping about.
    let walk = (0..20).map(|block| (1.0, 1.0 + f64::from(block) / 20.0)).collect_vec();
    assert!(matches!(pair_stability(&walk)[..], [Flag::Correlated(_)]));
    let busy = Process { wall_ns: 1e9, system_ns: Some(2e8), switches: Some(100.0) };
    let words = process_stability(&[busy; 3]).iter().map(Flag::words).collect_vec();
    assert_eq!(words, ["system time", "context switches"]);
}

type Law = fn(f64) -> f64;

#[test]
fn growth_finds_the_law_that_made_the_points() {
    let sizes = [1e3, 1e4, 1e5, 1e6];
    let laws: [(&str, Law); 5] = [
        ("1", |_| 40.0),
        ("log n", |n| 3.0 * n.log2()),
        ("n", |n| 0.2 * n),
        ("n log n", |n| 0.2 * n * n.log2()),
        ("n^2", |n| n * n / 1e3),
    ];
    for (words, law) in laws {
        let noise = |place: usize| [1.03, 0.98, 1.01, 0.97][place];
        let points = sizes.iter().enumerate().map(|(at, n)| (*n, law(*n) * noise(at))).collect_vec();
        let growth = growth(&points).unwrap();
        assert_eq!(growth.law.words(), words);
        assert!(growth.residual < 0.05 && growth.is_clear(), "{growth:?}");
    }
    assert!(growth(&[(1e3, 1.0), (1e4, 1.0)]).is_none());
    assert!(growth(&[(1.0, 1.0), (10.0, 1.0), (100.0, 1.0)]).is_none());
}

#[test]
fn curves_that_do_not_cross_have_no_crossover() {
    let curve = |costs: [f64; 3]| {
        let sizes = [1e3, 1e4, 1e5];
        sizes.into_iter().zip(costs).map(|(size, cost)| Costs { size, blocks: vec![cost; 12] }).collect_vec()
    };
    let (flat, steep) = (curve([10.0, 10.0, 10.0]), curve([1.0, 10.0, 100.0]));
    let crossing = crossover(&flat, &steep, 0.95, 1).unwrap();
    // They touch at the middle size and part there.
    assert!((crossing.size - 1e4).abs() < 1.0 && crossing.first_wins_beyond && crossing.crossings == 1);
    assert!(crossover(&flat, &curve([20.0, 20.0, 20.0]), 0.95, 1).is_none());
    assert!(crossover(&flat, &flat, 0.95, 1).is_none());
    let reversed = crossover(&steep, &flat, 0.95, 1).unwrap();
    assert!(!reversed.first_wins_beyond);
}

#[test]
fn memory_that_comes_down_later_has_its_half_life() {
    let curve = [(0.0, 100.0), (1.0, 100.0), (5.0, 20.0), (10.0, 20.0)];
    // 60 is half of what lies above 20; on the straight line from 100 to 20 it is passed after 3 s.
    assert_eq!(half_life(&curve, 20.0), Some(3.0));
    assert_eq!(area(&curve, 20.0), Some(80.0 + 160.0));
    assert_eq!(half_life(&[(0.0, 100.0), (9.0, 99.0)], 0.0), None);
    assert_eq!(half_life(&[(0.0, 100.0), (0.0, 10.0)], 0.0), Some(0.0));
    assert_eq!(area(&[(1.0, 5.0), (0.0, 5.0)], 0.0), None);
}
