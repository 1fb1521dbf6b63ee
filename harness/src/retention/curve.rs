//! Figures of a curve of memory over idle time: half-life, and the area under it.

use std::fmt;

/// How long until half is given back. Memory is looked at now and then, so it is known between which looks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum HalfLife {
    /// There was nothing to give back.
    NothingHeld,
    /// More than half was there after so many seconds, and half or less after so many.
    Between {
        /// The last look at more than half.
        after_s: f64,
        /// The first look at half or less.
        by_s: f64,
    },
    /// More than half was there at the last look, after so many seconds.
    Longer {
        /// The last look.
        than_s: f64,
    },
}

impl fmt::Display for HalfLife {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NothingHeld => f.write_str("-"),
            Self::Between { after_s, by_s } => write!(f, "{after_s}..{by_s} s"),
            Self::Longer { than_s } => write!(f, ">{than_s} s"),
        }
    }
}

/// Half-life of a curve of (seconds, bytes) in order of time. The half is that of the first look.
pub fn half_life(curve: &[(f64, f64)]) -> HalfLife {
    let (Some(&(_, first)), Some(&(last_s, _))) = (curve.first(), curve.last()) else {
        return HalfLife::NothingHeld;
    };
    if first <= 0.0 {
        return HalfLife::NothingHeld;
    }
    match curve.iter().position(|(_, bytes)| *bytes <= first / 2.0) {
        // The first look is more than half of itself, so there is one before.
        Some(at) => HalfLife::Between { after_s: curve[at - 1].0, by_s: curve[at].0 },
        None => HalfLife::Longer { than_s: last_s },
    }
}

/// Area under a curve of (seconds, bytes) in order of time, in byte seconds: straight lines between the looks, and
/// nothing below zero. `None` for fewer than two looks.
pub fn area(curve: &[(f64, f64)]) -> Option<f64> {
    let trapezoid = |ends: &[(f64, f64)]| {
        let [(from, high), (to, low)] = [ends[0], ends[1]];
        (to - from) * f64::midpoint(high.max(0.0), low.max(0.0))
    };
    (curve.len() > 1).then(|| curve.windows(2).map(trapezoid).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_half_life_of_a_made_curve_lies_between_the_looks_around_it() {
        // Half every 4 s.
        let curve: Vec<(f64, f64)> =
            [0.0, 1.0, 3.0, 5.0, 10.0].map(|s: f64| (s, 1e6 * (-s / 4.0).exp2())).into();
        let found = half_life(&curve);
        assert_eq!(found, HalfLife::Between { after_s: 3.0, by_s: 5.0 });
        assert_eq!(found.to_string(), "3..5 s");
        assert_eq!(half_life(&curve[..3]), HalfLife::Longer { than_s: 3.0 });
        assert_eq!(half_life(&[(0.0, 8.0), (1.0, 4.0)]), HalfLife::Between { after_s: 0.0, by_s: 1.0 });
    }

    #[test]
    fn what_was_never_held_has_no_half_life() {
        assert_eq!(half_life(&[(0.0, 0.0), (1.0, 5.0)]), HalfLife::NothingHeld);
        assert_eq!(half_life(&[(0.0, -4096.0)]), HalfLife::NothingHeld);
        assert_eq!(half_life(&[]), HalfLife::NothingHeld);
    }

    #[test]
    fn the_area_is_that_of_trapezoids_and_never_negative() {
        assert_eq!(area(&[(0.0, 10.0), (2.0, 6.0), (10.0, 6.0)]), Some(16.0 + 48.0));
        assert_eq!(area(&[(0.0, -3.0), (4.0, -1.0)]), Some(0.0));
        assert_eq!(area(&[(0.0, 10.0)]), None);
    }
}
