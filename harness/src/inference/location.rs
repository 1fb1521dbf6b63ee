//! Two sides that are no pairs: the difference of their means, and which side tends to be greater.

use itertools::Itertools;
use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

use super::interval::Interval;

/// Numbers in the smaller side up to which the U test counts arrangements, as scipy does.
const COUNTED: usize = 8;

/// Numbers in both sides together beyond which counting arrangements takes too long for what it adds.
const COUNTED_IN_ALL: usize = 200;

/// Welch's t test: two means whose variances need not be equal (Welch 1947).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Welch {
    /// The statistic; above 0 when the first mean is greater.
    pub t: f64,
    /// Degrees of freedom (Satterthwaite 1946).
    pub df: f64,
    /// Two-sided.
    pub p: f64,
    /// First mean less second, in the unit of the numbers.
    pub difference: f64,
    /// Of the difference.
    pub interval: Interval,
}

/// Compares the means of `a` and `b`. `None` when a side has fewer than two numbers, one that is not finite,
/// or neither has any spread.
pub fn welch(a: &[f64], b: &[f64], confidence: f64) -> Option<Welch> {
    let (a, b) = (Moments::of(a)?, Moments::of(b)?);
    let (u, v) = (a.variance / a.n, b.variance / b.n);
    let difference = a.mean - b.mean;
    let error = (u + v).sqrt();
    let t = difference / error;
    let df = (u + v).powi(2) / (u * u / (a.n - 1.0) + v * v / (b.n - 1.0));
    let student = StudentsT::new(0.0, 1.0, df).ok().filter(|_| t.is_finite())?;
    let reach = error * quantile(&student, f64::midpoint(1.0, confidence))?;
    Some(Welch {
        t,
        df,
        p: 2.0 * student.cdf(-t.abs()),
        difference,
        interval: Interval { low: difference - reach, high: difference + reach, confidence },
    })
}

fn quantile(student: &StudentsT, part: f64) -> Option<f64> {
    (0.5..1.0).contains(&part).then(|| student.inverse_cdf(part)).filter(|value| value.is_finite())
}

#[derive(Clone, Copy)]
struct Moments {
    n: f64,
    mean: f64,
    variance: f64,
}

impl Moments {
    fn of(numbers: &[f64]) -> Option<Self> {
        let n = numbers.len() as f64;
        let mean = numbers.iter().sum::<f64>() / n;
        let squares: f64 = numbers.iter().map(|number| (number - mean).powi(2)).sum();
        (numbers.len() > 1 && squares.is_finite()).then(|| Self { n, mean, variance: squares / (n - 1.0) })
    }
}

/// The U test of Mann and Whitney (1947): whether one side tends to be greater. It does not compare medians.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MannWhitney {
    /// Pairs of a number of the first side and one of the second in which the first is greater; ties count half.
    pub u: f64,
    /// Two-sided. Exact without ties where a side has at most eight numbers; else from the normal distribution
    /// with corrections for ties and continuity.
    pub p: f64,
    /// The chance that a number of the first side is greater than one of the second, ties counted half
    /// (Vargha and Delaney 2000): 0.5 is no tendency.
    pub a12: f64,
}

/// Compares `a` with `b`. `None` when a side is empty or has a NaN. All equal: p is 1. Cost: O(|a| |b|).
pub fn mann_whitney(a: &[f64], b: &[f64]) -> Option<MannWhitney> {
    if a.is_empty() || b.is_empty() || a.iter().chain(b).any(|number| number.is_nan()) {
        return None;
    }
    let won = |x: &f64| -> f64 { b.iter().map(|y| if x > y { 1.0 } else { f64::from(x == y) / 2.0 }).sum() };
    let u: f64 = a.iter().map(won).sum();
    let pairs = (a.len() * b.len()) as f64;
    let greater = u.max(pairs - u);
    let ties: Vec<usize> = a
        .iter()
        .chain(b)
        .sorted_by(|x, y| x.total_cmp(y))
        .dedup_with_count()
        .map(|(count, _)| count)
        .collect();
    let few = a.len().min(b.len()) <= COUNTED && a.len() + b.len() <= COUNTED_IN_ALL;
    let p = match few && ties.iter().all(|count| *count == 1) {
        true => counted_tail(greater as usize, a.len(), b.len()),
        false => normal_tail(greater, a.len() as f64, b.len() as f64, &ties),
    };
    Some(MannWhitney { u, p: (2.0 * p).min(1.0), a12: u / pairs })
}

/// The chance that U is at least `u` when all arrangements of the two sides are equally likely. The number of
/// arrangements with each U is a Gaussian binomial coefficient: the product of (1 - x^(m+i)) / (1 - x^i).
fn counted_tail(u: usize, n: usize, m: usize) -> f64 {
    let (few, many) = (n.min(m), n.max(m));
    let mut ways = vec![0.0; n * m + 1];
    ways[0] = 1.0;
    for i in 1..=few {
        for at in (many + i..ways.len()).rev() {
            ways[at] -= ways[at - many - i];
        }
        for at in i..ways.len() {
            ways[at] += ways[at - i];
        }
    }
    let all: f64 = ways.iter().sum();
    ways.iter().skip(u).sum::<f64>() / all
}

/// The same from the normal distribution. Where all numbers are equal it has no width, and p is 1.
fn normal_tail(u: f64, n: f64, m: f64, ties: &[usize]) -> f64 {
    let all = n + m;
    let tied: f64 = ties.iter().map(|count| *count as f64).map(|count| count.powi(3) - count).sum();
    let deviation = (n * m / 12.0 * (all + 1.0 - tied / (all * (all - 1.0)))).sqrt();
    let z = (u - n * m / 2.0 - 0.5) / deviation;
    if deviation > 0.0 { Normal::standard().sf(z) } else { 1.0 }
}
