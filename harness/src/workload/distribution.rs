//! How long timers run: named distributions, drawn the same bit for bit on every machine.
//!
//! ```text
//! "camel(humps=2,mass=0.7,width=0.001)" --> Distribution --> 0.61 1.37 0.63 ...
//! ```
//!
//! `u` is uniform in (0, 1), and is never 0 or 1; `CV` is the standard deviation divided by the mean. All have mean
//! 1, as the hold model wants it, or the `mean` that is asked for: `uniform(mean=5)`. Those that name their own
//! values (`median` of log-normal, `least` of pareto, the constants of a mixture) have the mean that follows.
//!
//! | name                | draw, before scaling                                             | mean before | CV    | source |
//! |---------------------|------------------------------------------------------------------|-------------|-------|--------|
//! | `constant`          | 1                                                                | 1           | 0     |        |
//! | `uniform`           | 2 u                                                              | 1           | 0.577 | Jones  |
//! | `exponential`       | -ln u                                                            | 1           | 1     | Jones  |
//! | `biased`            | 0.9 + 0.2 u                                                      | 1           | 0.058 | Jones  |
//! | `bimodal`           | 0.95238 u, and 9.5238 more if u < 0.1: the same u                | 1.43        | 1.907 | Jones  |
//! | `triangular`        | 1.5 sqrt(u)                                                      | 1           | 0.354 | Jones  |
//! | `negative-triangular` | 3 (1 - sqrt(1 - u))                                            | 1           | 0.707 | R & A  |
//! | `camel`             | one of `humps` humps, `width`/`humps` wide, with probability `mass`; else in a gap | 0.5 | 0.422 | R & A |
//! | `pareto`            | `least` u^(-1/`alpha`)                                           | alpha/(alpha-1) | none | T & G & T |
//! | `log-normal`        | `median` exp(`sigma` z), z normal                                | median exp(sigma²/2) | sqrt(exp(sigma²) - 1) | |
//! | `mixture(w*c,...)`  | constant c with probability w / sum of all w                     | sum of w c  |       |        |
//! | `change(A,B,n)`     | n draws of A, n of B, and so on                                  | of A and B  |       | R & A  |
//!
//! Jones: CACM 29(4), 1986, as public benchmarks code it. R & A: Rönngren and Ayani, TOMACS 7(2), 1997. T & G & T:
//! Tang, Goh and Thng, TOMACS 15(3), 2005 (the ladder queue).
//!
//! The standard library's `ln`, `exp` and `pow`, which `rand_distr` calls, may differ in their last bit between
//! machines; so all is drawn here, with `libm`.

mod text;

use std::f64::consts::TAU;

use rand::Rng as _;
use serde::{Deserialize, Serialize};

pub use self::text::{DistributionError, KNOWN, Known};
use super::Random;
use super::draw::draws_at;

/// No draw is longer, in ticks, so that many of them never leave the clock's range.
const TICKS_MOST: f64 = (1_u64 << 60) as f64;

/// A pareto draw is at most this many times its `least`: reached with probability 1e-9 for alpha 1, and
/// 3e-14 for alpha 1.5, whose mean it lowers by 2 in 100,000.
const PARETO_MOST: f64 = 1e9;

/// A distribution, written as text in definitions and on the command line; see the module.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Distribution {
    shape: Shape,
    /// What a draw of the shape is multiplied with.
    factor: f64,
    /// As it was written.
    text: String,
}

/// What is drawn before it is scaled.
#[derive(Clone, Debug, PartialEq)]
enum Shape {
    Constant,
    Uniform,
    Exponential,
    Biased,
    Bimodal,
    Triangular,
    NegativeTriangular,
    Camel(Camel),
    Pareto {
        alpha: f64,
    },
    LogNormal {
        sigma: f64,
    },
    /// Constants with the probability that it is this one or one before it.
    Mixture(Vec<(f64, f64)>),
    Change(Box<Distribution>, Box<Distribution>, u64),
}

/// Humps and gaps over 0 to 1: gap, hump, gap, hump, ..., gap.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Camel {
    humps: f64,
    mass: f64,
    width: f64,
}

/// Uniform in (0, 1): the middles of 2^52 equal parts, each an exact number.
fn open01(random: &mut Random) -> f64 {
    ((random.next_u64() >> 12) as f64 + 0.5) / (1_u64 << 52) as f64
}

/// Standard normal, by the cosine half of Box and Muller's transform.
fn normal(random: &mut Random) -> f64 {
    let radius = (-2.0 * libm::log(open01(random))).sqrt();
    radius * libm::cos(TAU * open01(random))
}

impl Camel {
    fn hump(self) -> f64 {
        self.width / self.humps
    }

    fn gap(self) -> f64 {
        (1.0 - self.width) / (self.humps + 1.0)
    }

    /// Where hump or gap `k` starts.
    fn start(self, is_hump: bool, k: f64) -> f64 {
        k * (self.gap() + self.hump()) + if is_hump { self.gap() } else { 0.0 }
    }

    fn raw(self, random: &mut Random) -> f64 {
        let is_hump = open01(random) < self.mass;
        let (count, wide) = if is_hump { (self.humps, self.hump()) } else { (self.humps + 1.0, self.gap()) };
        // One number says which of them, and with what is left of it where inside.
        let place = open01(random) * count;
        let k = place.floor().min(count - 1.0);
        self.start(is_hump, k) + (place - k) * wide
    }

    fn variance(self) -> f64 {
        let part = |is_hump: bool, count: f64, wide: f64, mass: f64| -> f64 {
            let squares = (0..count as u32).map(|k| {
                let middle = self.start(is_hump, f64::from(k)) + wide / 2.0 - 0.5;
                wide * wide / 12.0 + middle * middle
            });
            squares.sum::<f64>() * mass / count
        };
        part(true, self.humps, self.hump(), self.mass)
            + part(false, self.humps + 1.0, self.gap(), 1.0 - self.mass)
    }
}

/// The two parts of a bimodal draw, as they are published.
const BIMODAL: (f64, f64) = (0.95238, 9.5238);

impl Shape {
    /// Draw number `index`, before scaling.
    fn raw(&self, index: u64, random: &mut Random) -> f64 {
        match self {
            Self::Constant => 1.0,
            Self::Uniform => 2.0 * open01(random),
            Self::Exponential => -libm::log(open01(random)),
            Self::Biased => 0.9 + 0.2 * open01(random),
            Self::Bimodal => {
                let u = open01(random);
                BIMODAL.0 * u + if u < 0.1 { BIMODAL.1 } else { 0.0 }
            }
            Self::Triangular => 1.5 * open01(random).sqrt(),
            Self::NegativeTriangular => 3.0 * (1.0 - (1.0 - open01(random)).sqrt()),
            Self::Camel(camel) => camel.raw(random),
            Self::Pareto { alpha } => libm::pow(open01(random), -1.0 / alpha).min(PARETO_MOST),
            Self::LogNormal { sigma } => libm::exp(sigma * normal(random)),
            Self::Mixture(parts) => {
                let u = open01(random);
                let part = parts.iter().find(|(_, until)| u < *until).or(parts.last());
                part.expect("a mixture has a part").0
            }
            Self::Change(first, second, count) => {
                let now = if (index / count).is_multiple_of(2) { first } else { second };
                now.draw(index, random)
            }
        }
    }

    /// The mean before scaling, if there is one.
    fn mean(&self) -> Option<f64> {
        Some(match self {
            Self::Constant | Self::Uniform | Self::Exponential | Self::Biased => 1.0,
            Self::Triangular | Self::NegativeTriangular => 1.0,
            Self::Bimodal => BIMODAL.0 / 2.0 + BIMODAL.1 / 10.0,
            Self::Camel(_) => 0.5,
            Self::Pareto { alpha } if *alpha <= 1.0 => return None,
            Self::Pareto { alpha } => alpha / (alpha - 1.0),
            Self::LogNormal { sigma } => libm::exp(sigma * sigma / 2.0),
            Self::Mixture(parts) => moment(parts, 1),
            Self::Change(first, second, _) => f64::midpoint(first.mean()?, second.mean()?),
        })
    }

    /// The variance before scaling, if there is one.
    fn variance(&self) -> Option<f64> {
        Some(match self {
            Self::Constant => 0.0,
            Self::Uniform => 1.0 / 3.0,
            Self::Exponential => 1.0,
            Self::Biased => 0.04 / 12.0,
            Self::Bimodal => {
                let (low, high) = BIMODAL;
                let mean = low / 2.0 + high / 10.0;
                low * low / 3.0 + low * high / 100.0 + high * high / 10.0 - mean * mean
            }
            Self::Triangular => 0.125,
            Self::NegativeTriangular => 0.5,
            Self::Camel(camel) => camel.variance(),
            Self::Pareto { alpha } if *alpha <= 2.0 => return None,
            Self::Pareto { alpha } => alpha / ((alpha - 1.0) * (alpha - 1.0) * (alpha - 2.0)),
            Self::LogNormal { sigma } => {
                let square = libm::exp(sigma * sigma);
                square * (square - 1.0)
            }
            Self::Mixture(parts) => moment(parts, 2) - moment(parts, 1) * moment(parts, 1),
            Self::Change(first, second, _) => {
                let half = (first.mean()? - second.mean()?) / 2.0;
                f64::midpoint(first.variance()?, second.variance()?) + half * half
            }
        })
    }
}

/// The mean of a mixture's constants to this power.
fn moment(parts: &[(f64, f64)], power: i32) -> f64 {
    let mut before = 0.0;
    let terms = parts.iter().map(|(value, until)| {
        let probability = until - std::mem::replace(&mut before, *until);
        (0..power).fold(probability, |product, _| product * value)
    });
    terms.sum()
}

impl Distribution {
    /// Draw number `index`. Only `change` asks which one it is.
    pub fn draw(&self, index: u64, random: &mut Random) -> f64 {
        self.shape.raw(index, random) * self.factor
    }

    /// As [`Distribution::draw`], in ticks: times `unit`, rounded, and at most 2^60.
    pub fn ticks(&self, unit: f64, index: u64, random: &mut Random) -> u64 {
        (self.draw(index, random) * unit + 0.5).min(TICKS_MOST) as u64
    }

    /// `count` draws in ticks, from number `first` on, made on all cores.
    pub fn many(&self, unit: f64, first: u64, count: usize, random: &mut Random) -> Vec<u64> {
        draws_at(random, count, |index, random| self.ticks(unit, first + index as u64, random))
    }

    /// The mean, if there is one. Pareto's is that without its clamp at 1e9 times `least`.
    pub fn mean(&self) -> Option<f64> {
        Some(self.shape.mean()? * self.factor)
    }

    /// The variance, if there is one.
    pub fn variance(&self) -> Option<f64> {
        Some(self.shape.variance()? * self.factor * self.factor)
    }
}

#[cfg(test)]
mod tests;
