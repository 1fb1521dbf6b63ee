//! Distributions as text: `name` or `name(key=value,...)`, and the list of names.

use std::fmt;
use std::str::FromStr;

use super::{Camel, Distribution, Shape};
use crate::suggest::did_you_mean;
use crate::workload::select::{commas, whole};

/// A distribution that can be asked for by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// Its name, with its parameters and their defaults.
    pub usage: &'static str,
    /// Formula, mean, spread and source, in one line.
    pub about: &'static str,
}

impl Known {
    /// The name alone.
    pub fn name(&self) -> &'static str {
        self.usage.split('(').next().unwrap_or(self.usage)
    }
}

/// Every distribution, as `harness list distributions --long` prints them.
pub const KNOWN: &[Known] = &[
    Known { usage: "constant(mean=1)", about: "1; CV 0" },
    Known { usage: "uniform(mean=1)", about: "2 u; mean 1, variance 1/3, CV 0.577; Jones, CACM 1986" },
    Known { usage: "exponential(mean=1)", about: "-ln u; mean 1, variance 1, CV 1; Jones, CACM 1986" },
    Known {
        usage: "biased(mean=1)",
        about: "0.9 + 0.2 u; mean 1, variance 1/300, CV 0.058; Jones, CACM 1986",
    },
    Known {
        usage: "bimodal(mean=1)",
        about: "0.95238 u, and 9.5238 more if the same u < 0.1; mean 1.43 as published, scaled to 1, CV 1.907; \
                Jones, CACM 1986",
    },
    Known {
        usage: "triangular(mean=1)",
        about: "1.5 sqrt(u), density rising to 1.5; mean 1, variance 1/8, CV 0.354; Jones, CACM 1986",
    },
    Known {
        usage: "negative-triangular(mean=1)",
        about: "3 (1 - sqrt(1 - u)), density falling to 3; mean 1, variance 1/2, CV 0.707; after Ronngren and \
                Ayani, TOMACS 1997, scaled to mean 1",
    },
    Known {
        usage: "camel(humps=2,mass=0.7,width=0.001,mean=1)",
        about: "with probability mass in one of the humps, which are width/humps wide, else in the gaps between \
                them, (1 - width)/(humps + 1) wide, over 0 to 2; mean 1, CV 0.422; after Ronngren and Ayani, TOMACS 1997",
    },
    Known {
        usage: "pareto(alpha=1.5,mean=1)",
        about: "least * u^(-1/alpha), at most 1e9 times least; alpha 1.5 has mean 3 least and no variance; alpha 1 and \
                below have no mean: give least (1) instead; Tang, Goh and Thng, TOMACS 2005",
    },
    Known {
        usage: "log-normal(sigma=1,mean=1)",
        about: "median * exp(sigma z), z normal; mean median * exp(sigma^2/2), CV sqrt(exp(sigma^2) - 1); give \
                median or mean; durations of requests and functions",
    },
    Known {
        usage: "mixture(9*1,1*11)",
        about: "weight*constant,...: each constant as often as its weight says; the mean is theirs, or mean=M",
    },
    Known {
        usage: "change(A,B,n)",
        about: "n draws of distribution A, n of B, and so on; the mean is theirs, or mean=M; Ronngren and Ayani, TOMACS 1997",
    },
];

/// Why a text is no distribution.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DistributionError(String);

fn refused<T>(message: impl Into<String>) -> Result<T, DistributionError> {
    Err(DistributionError(message.into()))
}

impl FromStr for Distribution {
    type Err = DistributionError;

    fn from_str(text: &str) -> Result<Self, DistributionError> {
        let text = text.trim();
        let (name, list) = match text.split_once('(') {
            None => (text, ""),
            Some((name, rest)) => match rest.strip_suffix(')') {
                Some(list) => (name.trim_end(), list),
                None => return refused(format!("`{text}` does not end with its `)`")),
            },
        };
        let mut arguments = Arguments::read(name, list)?;
        let shape = arguments.shape()?;
        let factor = arguments.factor(&shape)?;
        arguments.all_known()?;
        Ok(Self { shape, factor, text: text.to_owned() })
    }
}

impl TryFrom<String> for Distribution {
    type Error = DistributionError;

    fn try_from(text: String) -> Result<Self, DistributionError> {
        text.parse()
    }
}

impl From<Distribution> for String {
    fn from(distribution: Distribution) -> Self {
        distribution.text
    }
}

impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// What stands between the parentheses, and what of it nobody has asked for yet.
struct Arguments<'a> {
    name: &'a str,
    plain: Vec<&'a str>,
    named: Vec<(&'a str, f64)>,
    asked: Vec<&'static str>,
}

impl<'a> Arguments<'a> {
    fn read(name: &'a str, list: &'a str) -> Result<Self, DistributionError> {
        let mut arguments = Self { name, plain: Vec::new(), named: Vec::new(), asked: Vec::new() };
        for part in commas(list).map(str::trim).filter(|part| !part.is_empty()) {
            match part.split_once('=').filter(|(key, _)| !key.contains('(')) {
                Some((key, value)) => arguments.add(key.trim(), number(value)?)?,
                None => arguments.plain.push(part),
            }
        }
        Ok(arguments)
    }

    fn add(&mut self, key: &'a str, value: f64) -> Result<(), DistributionError> {
        if self.named.iter().any(|(known, _)| *known == key) {
            return refused(format!("`{key}` is given twice"));
        }
        self.named.push((key, value));
        Ok(())
    }

    /// The parameter `key`, if it is given; it must be above 0.
    fn get(&mut self, key: &'static str) -> Result<Option<f64>, DistributionError> {
        self.asked.push(key);
        match self.named.iter().find(|(known, _)| *known == key) {
            Some((_, value)) if *value > 0.0 && value.is_finite() => Ok(Some(*value)),
            Some((_, value)) => refused(format!("`{key}={value}` of `{}` must be above 0", self.name)),
            None => Ok(None),
        }
    }

    fn shape(&mut self) -> Result<Shape, DistributionError> {
        Ok(match self.name {
            "constant" => Shape::Constant,
            "uniform" => Shape::Uniform,
            "exponential" => Shape::Exponential,
            "biased" => Shape::Biased,
            "bimodal" => Shape::Bimodal,
            "triangular" => Shape::Triangular,
            "negative-triangular" => Shape::NegativeTriangular,
            "camel" => self.camel()?,
            "pareto" => Shape::Pareto { alpha: self.get("alpha")?.unwrap_or(1.5) },
            "log-normal" => self.log_normal()?,
            "mixture" => self.mixture()?,
            "change" => self.change()?,
            other => {
                let hint = did_you_mean(other, KNOWN.iter().map(Known::name));
                return refused(format!(
                    "no distribution is called `{other}`{hint} `harness list distributions` prints all of them"
                ));
            }
        })
    }

    fn camel(&mut self) -> Result<Shape, DistributionError> {
        let humps = self.get("humps")?.unwrap_or(2.0);
        if humps.fract() != 0.0 || humps > 1e6 {
            return refused("`humps` of `camel` is their number, 1 to 1,000,000");
        }
        let mass = self.get("mass")?.unwrap_or(0.7);
        let width = self.get("width")?.unwrap_or(0.001);
        if mass > 1.0 || width >= 1.0 {
            return refused("`mass` of `camel` is at most 1, and `width` is below 1");
        }
        Ok(Shape::Camel(Camel { humps, mass, width }))
    }

    fn log_normal(&mut self) -> Result<Shape, DistributionError> {
        let sigma = self.get("sigma")?.unwrap_or(1.0);
        if sigma > 10.0 {
            return refused("`sigma` of `log-normal` is that of the logarithm, at most 10");
        }
        Ok(Shape::LogNormal { sigma })
    }

    fn mixture(&mut self) -> Result<Shape, DistributionError> {
        let usage = "`mixture` wants weight*constant,weight*constant,... such as `mixture(9*1,1*11)`";
        let mut parts = Vec::new();
        let mut sum = 0.0;
        for part in std::mem::take(&mut self.plain) {
            let Some((weight, value)) = part.split_once('*') else { return refused(usage) };
            let (weight, value) = (number(weight)?, number(value)?);
            if !(weight > 0.0 && value >= 0.0) {
                return refused(format!("{usage}; a weight is above 0, a constant 0 or more"));
            }
            sum += weight;
            parts.push((value, sum));
        }
        if parts.is_empty() || !sum.is_finite() {
            return refused(usage);
        }
        parts.iter_mut().for_each(|(_, until)| *until /= sum);
        Ok(Shape::Mixture(parts))
    }

    fn change(&mut self) -> Result<Shape, DistributionError> {
        let usage = "`change` wants two distributions and the number of draws of each, such as \
                     `change(exponential,triangular,1000)`";
        let [first, second, count] = std::mem::take(&mut self.plain)[..] else { return refused(usage) };
        match whole(count).and_then(|count| u64::try_from(count).ok()) {
            Some(count) if count > 0 => {
                Ok(Shape::Change(Box::new(first.parse()?), Box::new(second.parse()?), count))
            }
            _ => refused(usage),
        }
    }

    /// What a draw is multiplied with, so that the mean is as asked for.
    fn factor(&mut self, shape: &Shape) -> Result<f64, DistributionError> {
        let own = match shape {
            Shape::Pareto { .. } => self.get("least")?,
            Shape::LogNormal { .. } => self.get("median")?,
            _ => None,
        };
        match (self.get("mean")?, own, shape.mean()) {
            (Some(_), Some(_), _) => {
                refused(format!("`mean` of `{}` follows; give one of the two", self.name))
            }
            (Some(_), None, None) => {
                refused(format!("`{}` has no mean with an alpha up to 1; leave `mean` away", self.name))
            }
            (Some(_), None, Some(0.0)) => {
                refused(format!("`{}` is always 0; `mean` cannot be set", self.name))
            }
            (Some(mean), None, Some(raw)) => Ok(mean / raw),
            (None, Some(own), _) => Ok(own),
            (None, None, raw) if !matches!(shape, Shape::Mixture(_) | Shape::Change(..)) => {
                Ok(1.0 / raw.unwrap_or(1.0))
            }
            (None, None, _) => Ok(1.0),
        }
    }

    /// Refuses what nobody asked for.
    fn all_known(&self) -> Result<(), DistributionError> {
        if let Some(plain) = self.plain.first() {
            return refused(format!("`{plain}` of `{}` is not key=value", self.name));
        }
        match self.named.iter().find(|(key, _)| !self.asked.contains(key)) {
            Some((key, _)) => {
                let hint = did_you_mean(key, self.asked.iter().copied());
                let list = self.asked.join("`, `");
                refused(format!("`{}` has no `{key}`{hint} there is `{list}`", self.name))
            }
            None => Ok(()),
        }
    }
}

fn number(text: &str) -> Result<f64, DistributionError> {
    let text = text.trim();
    let exact = whole(text).map(|number| number as f64);
    exact
        .or_else(|| text.parse().ok())
        .filter(|number| number.is_finite())
        .ok_or_else(|| DistributionError(format!("`{text}` is not a number")))
}
