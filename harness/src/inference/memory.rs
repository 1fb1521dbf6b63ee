//! Curves of memory over time: how soon it is given back, and how much is held for how long.
//!
//! A curve is points of (seconds, bytes) in order of time. The floor is what it is measured from: the empty or the last
//! level.

use itertools::Itertools;

/// Seconds from the first point until what lies above the floor has come down to half of what it was at first,
/// on straight lines between the points.
///
/// `None` when it never comes down so far within the curve, when nothing lies above the floor at first, or when a
/// number is not finite or time runs back.
///
/// ```
/// let held = [(0.0, 110.0), (1.0, 110.0), (3.0, 10.0)];
/// assert_eq!(harness::inference::half_life(&held, 10.0), Some(2.0));
/// ```
pub fn half_life(curve: &[(f64, f64)], floor: f64) -> Option<f64> {
    let &(start, most) = curve.first().filter(|_| is_curve(curve))?;
    let half = floor + (most - floor) / 2.0;
    if most <= floor || !floor.is_finite() {
        return None;
    }
    let (from, to) = curve.iter().tuple_windows().find(|(_, to)| to.1 <= half)?;
    let part = (from.1 - half) / (from.1 - to.1);
    Some(from.0 + part * (to.0 - from.0) - start)
}

/// The area between curve and floor by trapezia, in byte seconds; what lies below the floor counts against it.
///
/// `None` with fewer than two points, or when a number is not finite or time runs back.
pub fn area(curve: &[(f64, f64)], floor: f64) -> Option<f64> {
    let trapezium =
        |(from, to): (&(f64, f64), &(f64, f64))| (f64::midpoint(from.1, to.1) - floor) * (to.0 - from.0);
    let is_known = curve.len() > 1 && is_curve(curve) && floor.is_finite();
    is_known.then(|| curve.iter().tuple_windows().map(trapezium).sum())
}

fn is_curve(curve: &[(f64, f64)]) -> bool {
    curve.iter().all(|(time, bytes)| time.is_finite() && bytes.is_finite())
        && curve.iter().tuple_windows().all(|(from, to)| from.0 <= to.0)
}
