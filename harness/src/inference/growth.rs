//! How cost grows with size: which of the usual laws fits, how well, and the slope on a log-log scale.
//!
//! A law has one coefficient, chosen by least squares of the *relative* distances, so that the smallest size
//! counts as much as the largest. The laws have no constant part; where one is large the exponent says more.

use itertools::Itertools;

/// A law of growth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Law {
    /// The same at every size.
    Constant,
    /// With the logarithm (base 2).
    Logarithmic,
    /// With the size.
    Linear,
    /// With the size times its logarithm (base 2).
    Linearithmic,
    /// With the square of the size.
    Quadratic,
}

impl Law {
    /// All of them, slowest growth first.
    pub const ALL: [Self; 5] =
        [Self::Constant, Self::Logarithmic, Self::Linear, Self::Linearithmic, Self::Quadratic];

    /// As it is written: `n log n`.
    pub fn words(self) -> &'static str {
        match self {
            Self::Constant => "1",
            Self::Logarithmic => "log n",
            Self::Linear => "n",
            Self::Linearithmic => "n log n",
            Self::Quadratic => "n^2",
        }
    }

    /// Its value at a size, for a coefficient of 1.
    pub fn at(self, size: f64) -> f64 {
        match self {
            Self::Constant => 1.0,
            Self::Logarithmic => size.log2(),
            Self::Linear => size,
            Self::Linearithmic => size * size.log2(),
            Self::Quadratic => size * size,
        }
    }
}

/// One law fitted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    /// The law.
    pub law: Law,
    /// What the law is multiplied with, in the unit of the costs.
    pub coefficient: f64,
    /// Root of the mean squared relative distance of the law from the costs: 0.05 is 5 %.
    pub residual: f64,
}

/// How cost grows over some sizes.
#[derive(Clone, Debug, PartialEq)]
pub struct Growth {
    /// The law that fits best.
    pub law: Law,
    /// What it is multiplied with, in the unit of the costs.
    pub coefficient: f64,
    /// Root of its mean squared relative distance.
    pub residual: f64,
    /// Slope of the straight line through the logarithms: 1 is proportional, 2 quadratic, between 0 and 0.3
    /// mostly a logarithm.
    pub exponent: f64,
    /// Each point's relative distance (law less cost, over cost), in the order of the points.
    pub residuals: Vec<f64>,
    /// All laws, in the order of [`Law::ALL`].
    pub fits: Vec<Fit>,
}

impl Growth {
    /// Whether the best law stands out: its residual is at most half of the next one's.
    pub fn is_clear(&self) -> bool {
        let others = self.fits.iter().filter(|fit| fit.law != self.law);
        others.map(|fit| fit.residual).all(|residual| 2.0 * self.residual <= residual)
    }
}

/// Fits the laws to points of (size, cost).
///
/// `None` with fewer than three different sizes, a size below 2 (its logarithm is 0), or a cost that is not above 0 and
/// finite. Of laws that fit alike, the slowest growth is taken.
///
/// ```
/// let costs = [(1e3, 20.0), (1e4, 200.0), (1e5, 2000.0)];
/// let growth = harness::inference::growth(&costs).unwrap();
/// assert_eq!(growth.law.words(), "n");
/// assert!((growth.exponent - 1.0).abs() < 1e-12 && (growth.coefficient - 0.02).abs() < 1e-12);
/// ```
pub fn growth(points: &[(f64, f64)]) -> Option<Growth> {
    let is_usable =
        |(size, cost): &(f64, f64)| *size >= 2.0 && size.is_finite() && *cost > 0.0 && cost.is_finite();
    let sizes = points.iter().map(|point| point.0.to_bits()).unique().count();
    if sizes < 3 || !points.iter().all(is_usable) {
        return None;
    }
    let fits: Vec<Fit> = Law::ALL.iter().map(|law| fit(*law, points)).collect();
    // `min_by` keeps the first of equals.
    let best = *fits.iter().min_by(|a, b| a.residual.total_cmp(&b.residual))?;
    let Fit { law, coefficient, residual } = best;
    let residuals = points.iter().map(|(size, cost)| coefficient * law.at(*size) / cost - 1.0).collect();
    Some(Growth { law, coefficient, residual, exponent: slope(points), residuals, fits })
}

/// The coefficient with the least sum of (coefficient law / cost - 1)^2.
fn fit(law: Law, points: &[(f64, f64)]) -> Fit {
    let relative: Vec<f64> = points.iter().map(|(size, cost)| law.at(*size) / cost).collect();
    let squares: f64 = relative.iter().map(|part| part * part).sum();
    let coefficient = relative.iter().sum::<f64>() / squares;
    let distances: f64 = relative.iter().map(|part| (coefficient * part - 1.0).powi(2)).sum();
    Fit { law, coefficient, residual: (distances / points.len() as f64).sqrt() }
}

/// Least squares of log cost on log size.
fn slope(points: &[(f64, f64)]) -> f64 {
    let logs: Vec<(f64, f64)> = points.iter().map(|(size, cost)| (size.ln(), cost.ln())).collect();
    let mean = |of: fn(&(f64, f64)) -> f64| logs.iter().map(of).sum::<f64>() / logs.len() as f64;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let product: f64 = logs.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
    product / logs.iter().map(|point| (point.0 - x).powi(2)).sum::<f64>()
}
