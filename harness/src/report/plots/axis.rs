//! An axis: its range, its scale and where its labels stand.

use plotters::coord::ranged1d::{BoldPoints, Ranged};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::IntoLogRange;

use crate::format::{decimals, fixed};

/// How values are laid along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Evenly.
    Linear,
    /// By their logarithm.
    Log,
    /// Shares by how many nines they have: 0.9, 0.99, 0.999.
    Nines,
}

/// One axis of a plot.
#[derive(Clone, Debug)]
pub struct Axis {
    /// What it shows, with the unit.
    pub label: String,
    /// How values are laid along it.
    pub scale: Scale,
    /// Where it begins, as a value.
    pub low: f64,
    /// Where it ends, as a value.
    pub high: f64,
    /// Labels, each at a value.
    pub ticks: Vec<(f64, String)>,
}

impl Axis {
    /// A linear axis from 0 to the greatest of some values, with at most `most` labels.
    pub fn linear(label: &str, values: impl Iterator<Item = f64>, most: usize) -> Self {
        let high = values.fold(0.0, f64::max).max(f64::MIN_POSITIVE) * 1.04;
        let points = RangedCoordf64::from(0.0..high).key_points(BoldPoints(most));
        Self { label: label.into(), scale: Scale::Linear, low: 0.0, high, ticks: labelled(points) }
    }

    /// A linear axis that holds some values, from the least to the greatest.
    pub fn between(label: &str, values: impl Iterator<Item = f64>, most: usize) -> Self {
        let (low, high) =
            values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
        let (low, high) = if low > high { (0.0, 1.0) } else { (low, high) };
        let room = ((high - low) * 0.06).max(high.abs() * 1e-3).max(f64::MIN_POSITIVE);
        let (low, high) = (low - room, high + room);
        let points = RangedCoordf64::from(low..high).key_points(BoldPoints(most));
        Self { label: label.into(), scale: Scale::Linear, low, high, ticks: labelled(points) }
    }

    /// A logarithmic axis that holds some values; those that are not above 0 have no place on it.
    pub fn log(label: &str, values: impl Iterator<Item = f64>, most: usize) -> Self {
        let above = values.filter(|value| *value > 0.0 && value.is_finite());
        let (low, high) =
            above.fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), v| (low.min(v), high.max(v)));
        let (low, high) = if low > high { (1.0, 10.0) } else { (low * 0.82, high * 1.22) };
        let ticks = labelled(log_points(low, high, most));
        Self { label: label.into(), scale: Scale::Log, low, high, ticks }
    }

    /// An axis of quantiles up to the last that has `calls` enough to be told.
    pub fn nines(label: &str, calls: f64) -> Self {
        let high = 1.0 - 1.0 / calls.max(10.0);
        let ticks = [
            (0.0, "0"),
            (0.5, "50"),
            (0.9, "90"),
            (0.99, "99"),
            (0.999, "99.9"),
            (0.9999, "99.99"),
            (0.99999, "99.999"),
        ];
        let ticks = ticks
            .into_iter()
            .filter(|(share, _)| *share <= high)
            .map(|(share, text)| (share, text.to_owned()));
        Self { label: label.into(), scale: Scale::Nines, low: 0.0, high, ticks: ticks.collect() }
    }

    /// An axis with a label at each of some whole numbers from 0.
    pub fn steps(label: &str, names: &[String]) -> Self {
        let ticks = names.iter().enumerate().map(|(i, name)| (i as f64, name.clone())).collect();
        let high = names.len().max(2) as f64 - 1.0;
        Self { label: label.into(), scale: Scale::Linear, low: 0.0, high, ticks }
    }

    /// Room on both sides, as a share of the whole.
    #[must_use]
    pub fn widened(mut self, share: f64) -> Self {
        let more = (self.at(self.high) - self.at(self.low)) * share;
        match self.scale {
            Scale::Log => {
                (self.low, self.high) = (self.low / libm::pow(10.0, more), self.high * libm::pow(10.0, more))
            }
            Scale::Linear => (self.low, self.high) = (self.low - more, self.high + more),
            Scale::Nines => {}
        }
        self
    }

    /// Where a value stands on the axis.
    pub fn at(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear => value,
            Scale::Log => libm::log10(value.max(f64::MIN_POSITIVE)),
            Scale::Nines => -libm::log10((1.0 - value).max(1e-12)),
        }
    }

    /// From where to where, and where labels stand.
    pub fn range(&self) -> (std::ops::Range<f64>, Vec<f64>) {
        let ticks = self.ticks.iter().map(|(value, _)| self.at(*value)).collect();
        (self.at(self.low)..self.at(self.high), ticks)
    }

    /// The label at a place.
    pub fn label_at(&self, place: f64) -> String {
        let found = self.ticks.iter().find(|(value, _)| (self.at(*value) - place).abs() < 1e-9);
        found.map_or_else(String::new, |(_, text)| text.clone())
    }
}

/// Powers of ten, thinned to `most`; with few of them also 2 and 5 times each.
fn log_points(low: f64, high: f64, most: usize) -> Vec<f64> {
    let decades = libm::log10(high / low);
    if decades > 2.0 {
        // The library's own points, of which only whole powers of ten stay.
        let points = plotters::coord::combinators::LogCoord::<f64>::from((low..high).log_scale())
            .key_points(BoldPoints(40));
        let powers: Vec<f64> = points.into_iter().filter(|point| is_power(*point)).collect();
        let step = powers.len().div_ceil(most.max(2));
        return powers.into_iter().step_by(step.max(1)).collect();
    }
    let first = libm::floor(libm::log10(low)) as i32;
    let within = |points: &[f64]| -> Vec<f64> {
        let decade = |power: i32| points.iter().map(move |times| times * libm::pow(10.0, f64::from(power)));
        (first..=first + 3).flat_map(decade).filter(|point| (low..=high).contains(point)).collect()
    };
    let sets: [&[f64]; 4] = [
        &[1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0],
        &[1.0, 1.5, 2.0, 3.0, 5.0, 7.0],
        &[1.0, 2.0, 5.0],
        &[1.0, 3.0],
    ];
    sets.into_iter().map(within).find(|points| points.len() <= most).unwrap_or_else(|| within(&[1.0]))
}

fn is_power(value: f64) -> bool {
    let power = libm::log10(value);
    (power - power.round()).abs() < 1e-9
}

fn labelled(points: Vec<f64>) -> Vec<(f64, String)> {
    let decimals = decimals(&points.iter().copied().filter(|p| *p < 1e3).map(Some).collect::<Vec<_>>());
    points.into_iter().map(|point| (point, short(point, decimals))).collect()
}

/// A number of an axis: 20k, 1.5M, 0.01.
pub fn short(value: f64, most: usize) -> String {
    let (scaled, suffix) = match value.abs() {
        1e9.. => (value / 1e9, "G"),
        1e6.. => (value / 1e6, "M"),
        1e4.. => (value / 1e3, "k"),
        _ => (value, ""),
    };
    let decimals = if suffix.is_empty() && value.abs() < 1e3 { most } else { 3 };
    let text = fixed(scaled, decimals);
    let trimmed = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{trimmed}{suffix}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_lie_within_the_axis_and_are_not_more_than_asked() {
        for (low, high) in [(3.0, 4.0), (1.0, 10.0), (20.0, 900_000.0), (1e-6, 1e9), (0.5, 0.7)] {
            let axis = Axis::log("x", [low, high].into_iter(), 6);
            assert!((1..=6).contains(&axis.ticks.len()), "{low} {high}: {:?}", axis.ticks);
            assert!(
                axis.ticks.iter().all(|(value, _)| (axis.low..=axis.high).contains(value)),
                "{:?}",
                axis.ticks
            );
        }
    }

    #[test]
    fn a_share_with_one_nine_more_stands_one_further() {
        let axis = Axis::nines("share", 1e6);
        let steps: Vec<f64> = [0.9, 0.99, 0.999].iter().map(|share| axis.at(*share)).collect();
        assert!((steps[1] - steps[0] - 1.0).abs() < 1e-9 && (steps[2] - steps[1] - 1.0).abs() < 1e-9);
    }

    #[test]
    fn numbers_of_an_axis_are_short() {
        let texts = [short(20_000.0, 0), short(1.5e6, 0), short(0.01, 2), short(9_000.0, 0)];
        assert_eq!(texts, ["20k", "1.5M", "0.01", "9,000"]);
    }
}
