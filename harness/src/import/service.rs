//! How long a request takes, where only its arrival is known.
//!
//! ```text
//! log-normal:684ms,2.36      median, and the standard deviation of the logarithm
//! exponential:200ms          mean
//! fixed:5ms
//! ```
//!
//! The default is the execution time of cloud functions: "Serverless in the Wild" (Shahrad et al., ATC 2020) fits
//! log-normal averages with a log mean of -0.38 and a log deviation of 2.36, in seconds. The draws are the same on
//! every machine: logarithm, cosine and exponential come from `libm`, never from the system.

use std::fmt;
use std::str::FromStr;

use rand::RngExt as _;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::text;

/// A distribution of service times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Service {
    /// Its logarithm is normal.
    LogNormal {
        /// Half of the requests take less.
        median_ns: u64,
        /// Standard deviation of the natural logarithm.
        sigma: f64,
    },
    /// Completions without memory.
    Exponential {
        /// The mean.
        mean_ns: u64,
    },
    /// All take the same time.
    Fixed(
        /// How long, in ns.
        u64,
    ),
}

impl Default for Service {
    fn default() -> Self {
        Self::LogNormal { median_ns: 684 * text::MILLISECOND, sigma: 2.36 }
    }
}

impl Service {
    /// A service time in ns. Three draws at most, so that a seed gives the same times everywhere.
    pub(super) fn draw(self, random: &mut Xoshiro256PlusPlus) -> u64 {
        match self {
            Self::Fixed(ns) => ns,
            Self::Exponential { mean_ns } => (-libm::log(open(random)) * mean_ns as f64) as u64,
            Self::LogNormal { median_ns, sigma } => {
                let radius = libm::sqrt(-2.0 * libm::log(open(random)));
                let normal = radius * libm::cos(std::f64::consts::TAU * open(random));
                (median_ns as f64 * libm::exp(sigma * normal)) as u64
            }
        }
    }
}

/// A number above 0 and at most 1.
fn open(random: &mut Xoshiro256PlusPlus) -> f64 {
    1.0 - random.random::<f64>()
}

impl FromStr for Service {
    type Err = String;

    fn from_str(spec: &str) -> Result<Self, String> {
        let (name, values) = spec.split_once(':').unwrap_or((spec, ""));
        let time = super::options::duration;
        match name {
            "log-normal" => {
                let (median, sigma) = values.split_once(',').ok_or("log-normal:MEDIAN,SIGMA needs both")?;
                let sigma = sigma.trim().parse().ok().filter(|sigma| (0.0..=10.0).contains(sigma));
                let sigma = sigma.ok_or("the sigma of log-normal:MEDIAN,SIGMA is a number from 0 to 10")?;
                Ok(Self::LogNormal { median_ns: time(median)?, sigma })
            }
            "exponential" => Ok(Self::Exponential { mean_ns: time(values)? }),
            "fixed" => Ok(Self::Fixed(time(values)?)),
            _ => Err(format!(
                "no service time is called `{name}`; there is log-normal:MEDIAN,SIGMA, exponential:MEAN and fixed:TIME"
            )),
        }
    }
}

impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LogNormal { median_ns, sigma } => write!(f, "log-normal:{median_ns}ns,{sigma}"),
            Self::Exponential { mean_ns } => write!(f, "exponential:{mean_ns}ns"),
            Self::Fixed(ns) => write!(f, "fixed:{ns}ns"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng as _;

    fn drawn(spec: &str) -> Vec<u64> {
        let service: Service = spec.parse().unwrap();
        let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
        let mut drawn: Vec<u64> = (0..20_000).map(|_| service.draw(&mut random)).collect();
        drawn.sort_unstable();
        drawn
    }

    #[test]
    fn a_log_normal_time_has_its_median_and_its_spread() {
        let drawn = drawn("log-normal:684ms,2.36");
        let seconds = |at: usize| drawn[at] as f64 / 1e9;
        // Of 20,000 draws, quantiles of the logarithm stray by some 0.03.
        assert!((seconds(10_000) / 0.684).ln().abs() < 0.1, "{}", seconds(10_000));
        assert!(((seconds(16_827) / seconds(10_000)).ln() / 2.36 - 1.0).abs() < 0.1, "one sigma above");
    }

    #[test]
    fn an_exponential_time_has_its_mean_and_a_fixed_one_is_itself() {
        let sum: u64 = drawn("exponential:2ms").iter().sum();
        assert!((sum as f64 / 20_000.0 / 2e6 - 1.0).abs() < 0.05);
        assert!(drawn("fixed:5ms").iter().all(|ns| *ns == 5_000_000));
    }

    #[test]
    fn what_it_says_is_read_back_and_mistakes_are_named() {
        for service in [Service::default(), Service::Exponential { mean_ns: 7 }, Service::Fixed(0)] {
            assert_eq!(service.to_string().parse(), Ok(service));
        }
        for bad in
            ["", "normal:1s", "fixed", "fixed:1", "log-normal:1s", "log-normal:1s,x", "log-normal:1s,NaN"]
        {
            assert!(bad.parse::<Service>().is_err(), "{bad}");
        }
    }
}
