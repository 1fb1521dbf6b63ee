//! Figures against those of scipy 1.14 for the same numbers. Each expected value stands beside the call that gave it.

use crate::inference::{benjamini_hochberg, holm, mann_whitney, median_interval, sign_test, spearman, welch};

const A: [f64; 9] = [12.1, 11.4, 13.0, 12.7, 11.9, 12.3, 15.2, 12.0, 11.8];
const B: [f64; 9] = [10.9, 11.1, 11.6, 12.2, 10.7, 11.3, 11.0, 11.5, 12.9];

/// Equal to 1 part in 10^9.
#[track_caller]
fn assert_equal(ours: f64, scipy: f64) {
    assert!((ours - scipy).abs() <= 1e-9 * scipy.abs().max(1.0), "{ours} here, {scipy} in scipy");
}

#[test]
fn welch_is_ttest_ind() {
    // ttest_ind(A, B, equal_var=False), .df and .confidence_interval(0.95)
    let test = welch(&A, &B, 0.95).unwrap();
    assert_equal(test.t, 2.319_102_562_585_430_7);
    assert_equal(test.df, 13.380_939_467_005_746);
    assert_equal(test.p, 0.036_795_593_588_767_05);
    assert_equal(test.interval.low, 0.072_715_735_943_122_5);
    assert_equal(test.interval.high, 1.971_728_708_510_602);
}

#[test]
fn mann_whitney_is_mannwhitneyu() {
    // mannwhitneyu(A, B, method="asymptotic"): nine a side are too many to count arrangements.
    let normal = mann_whitney(&A, &B).unwrap();
    assert_equal(normal.u, 67.0);
    assert_equal(normal.p, 0.021_684_111_364_991_994);
    assert_equal(normal.a12, 67.0 / 81.0);
    // mannwhitneyu(A[:5], B[:4], method="exact")
    let exact = mann_whitney(&A[..5], &B[..4]).unwrap();
    assert_equal(exact.u, 16.0);
    assert_equal(exact.p, 0.190_476_190_476_190_47);
    // The sides exchanged: the same p, also where the first has fewer numbers.
    let exchanged = mann_whitney(&B[..4], &A[..5]).unwrap();
    assert_equal(exchanged.p, exact.p);
    assert_equal(exchanged.u, 4.0);
}

#[test]
fn families_are_adjusted_as_false_discovery_control_does() {
    let p = [0.01, 0.04, 0.03, 0.005, 0.2];
    // false_discovery_control(p, method="bh")
    for (ours, scipy) in benjamini_hochberg(&p).into_iter().zip([0.025, 0.05, 0.05, 0.025, 0.2]) {
        assert_equal(ours, scipy);
    }
    // Holm by hand: 5 x 0.005, 4 x 0.01, 3 x 0.03, then 2 x 0.04 raised to what stands before it.
    for (ours, expected) in holm(&p).into_iter().zip([0.04, 0.09, 0.09, 0.025, 0.2]) {
        assert_equal(ours, expected);
    }
}

#[test]
fn sign_test_is_binomtest() {
    let of = |below: usize, above: usize| {
        let numbers: Vec<f64> = [vec![-1.0; below], vec![1.0; above], vec![0.0; 3]].concat();
        sign_test(&numbers)
    };
    // binomtest(2, 9).pvalue and binomtest(1, 12).pvalue; zeros are left out.
    assert_equal(of(2, 7), 0.179_687_5);
    assert_equal(of(1, 11), 0.006_347_656_25);
    assert_equal(of(0, 0), 1.0);
}

#[test]
fn spearman_is_spearmanr() {
    // spearmanr([1, 2, 3, 4, 5, 6, 7], [2, 1, 4, 3, 7, 6, 5])
    let order: Vec<f64> = (1..=7).map(f64::from).collect();
    let (rank, p) = spearman(&order, &[2.0, 1.0, 4.0, 3.0, 7.0, 6.0, 5.0]).unwrap();
    assert_equal(rank, 0.785_714_285_714_285_7);
    assert_equal(p, 0.036_238_462_679_827_15);
}

#[test]
fn order_statistics_have_the_binomial_confidence() {
    // 1 - 2 binom.cdf(left, n, 0.5) for the most that can be left out at each end.
    let expected = [
        (6, 0.968_75),
        (9, 0.960_937_5),
        (12, 0.961_425_781_25),
        (15, 0.964_843_75),
        (17, 0.950_958_251_953_125),
        (20, 0.958_610_534_667_968_8),
    ];
    for (n, confidence) in expected {
        let numbers: Vec<f64> = (0..n).map(f64::from).collect();
        let interval = median_interval(&numbers, 0.95).unwrap().interval.unwrap();
        assert_equal(interval.confidence, confidence);
    }
}
