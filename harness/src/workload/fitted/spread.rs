//! A distribution as a table of quantiles: drawn from with one random number and no function whose last bit
//! could differ between machines.

use rand::RngExt;
use serde::{Deserialize, Serialize};

use super::super::model::Random;

/// The parts at which a table says what is not exceeded. Closer at both ends, where a mean is made.
pub(super) const LEVELS: [f64; 28] = [
    0.0, 0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65,
    0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.98, 0.99, 0.999, 1.0,
];

/// Always the same, or the quantiles at [`LEVELS`] with straight lines between them.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(untagged)]
pub(super) enum Spread {
    Same(f64),
    Levels(Vec<f64>),
}

impl Default for Spread {
    fn default() -> Self {
        Self::Same(0.0)
    }
}

impl Spread {
    /// That of some values, each rounded to four digits; `otherwise` when there is none.
    pub(super) fn of(mut values: Vec<f64>, otherwise: f64) -> Self {
        values.sort_by(f64::total_cmp);
        let Some(last) = values.len().checked_sub(1) else { return Self::Same(otherwise) };
        // A level between two values lies between them, as the quantiles of a straight line would.
        let at = |level: f64| {
            let place = level * last as f64;
            let (low, part) = (place.floor() as usize, place.fract());
            let next = values[(low + 1).min(last)];
            rounded(values[low] + (next - values[low]) * part)
        };
        let levels: Vec<f64> = LEVELS.map(at).into();
        if levels[0] == levels[LEVELS.len() - 1] { Self::Same(levels[0]) } else { Self::Levels(levels) }
    }

    /// One value.
    pub(super) fn draw(&self, random: &mut Random) -> f64 {
        match self {
            Self::Same(value) => *value,
            Self::Levels(levels) => {
                let part: f64 = random.random();
                let above = LEVELS.partition_point(|level| *level <= part).clamp(1, LEVELS.len() - 1);
                let (low, high) = (LEVELS[above - 1], LEVELS[above]);
                levels[above - 1] + (levels[above] - levels[above - 1]) * ((part - low) / (high - low))
            }
        }
    }

    /// The mean of what is drawn.
    pub(super) fn mean(&self) -> f64 {
        match self {
            Self::Same(value) => *value,
            Self::Levels(levels) => {
                let line = |at: usize| (LEVELS[at] - LEVELS[at - 1]) * (levels[at] + levels[at - 1]) / 2.0;
                (1..LEVELS.len()).map(line).sum()
            }
        }
    }

    /// The largest value.
    pub(super) fn max(&self) -> f64 {
        match self {
            Self::Same(value) => *value,
            Self::Levels(levels) => levels.last().copied().unwrap_or(0.0),
        }
    }

    /// Why it cannot be drawn from; values lie from 0 to `most`.
    pub(super) fn fault(&self, most: f64) -> Option<String> {
        let values = match self {
            Self::Same(value) => std::slice::from_ref(value),
            Self::Levels(levels) if levels.len() != LEVELS.len() => {
                return Some(format!(
                    "has {} quantiles; give {} or a single number",
                    levels.len(),
                    LEVELS.len()
                ));
            }
            Self::Levels(levels) => levels,
        };
        if !values.iter().all(|value| (0.0..=most).contains(value)) {
            return Some(format!("has a value that is not from 0 to {most}"));
        }
        (!values.is_sorted()).then(|| "has quantiles that fall".to_owned())
    }
}

/// Four digits.
pub(super) fn rounded(value: f64) -> f64 {
    format!("{value:.3e}").parse().expect("a number that was printed")
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_xoshiro::rand_core::SeedableRng;

    #[test]
    fn values_that_are_drawn_have_the_mean_and_the_quantiles_of_those_that_were_given() {
        let values: Vec<f64> = (0..10_000).map(|step| f64::from(step * step) / 1e4).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let spread = Spread::of(values, 0.0);
        assert!((spread.mean() / mean - 1.0).abs() < 0.01, "{} is not {mean}", spread.mean());
        let mut random = Random::seed_from_u64(5);
        let mut drawn: Vec<f64> = (0..20_000).map(|_| spread.draw(&mut random)).collect();
        drawn.sort_by(f64::total_cmp);
        let found = drawn.iter().sum::<f64>() / drawn.len() as f64;
        assert!((found / mean - 1.0).abs() < 0.03, "seed 5: {found} is not {mean}");
        assert!((drawn[10_000] / 2500.0 - 1.0).abs() < 0.06, "seed 5: {}", drawn[10_000]);
        assert!(drawn[0] >= 0.0 && drawn[19_999] <= spread.max());
    }

    #[test]
    fn equal_values_are_one_number_and_no_value_is_what_stands_for_it() {
        assert_eq!(Spread::of(vec![4e9; 7], 0.0), Spread::Same(4e9));
        assert_eq!(Spread::of(Vec::new(), 1.5), Spread::Same(1.5));
        assert_eq!(rounded(123_456.0), 123_500.0);
    }

    #[test]
    fn a_table_that_cannot_be_drawn_from_says_why() {
        assert_eq!(Spread::Same(0.5).fault(1.0), None);
        assert!(Spread::Same(f64::NAN).fault(1.0).unwrap().contains("not from 0 to 1"));
        assert!(Spread::Same(1.5).fault(1.0).unwrap().contains("not from 0 to 1"));
        assert!(Spread::Levels(vec![0.0, 1.0]).fault(1.0).unwrap().starts_with("has 2 quantiles"));
        let falls = (0..LEVELS.len()).map(|at| 1.0 - at as f64 / 100.0).collect();
        assert!(Spread::Levels(falls).fault(1.0).unwrap().contains("fall"));
    }
}
