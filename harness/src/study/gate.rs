//! Whether a second run is dearer than a first by more than a threshold, with confidence.
//!
//! ```text
//! ratio of the second to the first     1            1 + threshold
//!   passed                     |----|               :
//!   passed                         |-----------|    :
//!   undecided                               |-------:----|
//!   regression                                      : |-----|
//! ```

use super::diff::{Change, Finding};

/// What a figure comes to at the gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Not dearer by more than the threshold.
    Passed,
    /// Dearer by more, with confidence.
    Regression,
    /// Neither is shown.
    Undecided,
}

impl Outcome {
    /// It in a word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Regression => "regression",
            Self::Undecided => "undecided",
        }
    }
}

/// Judges one change; `threshold` is relative: 0.05 for 5 %.
pub fn judge(change: &Change, threshold: f64) -> Outcome {
    let survives = change.adjusted.is_none_or(|p| p <= 0.05);
    match (&change.finding, change.interval) {
        (Finding::NotInA(_) | Finding::NotInB(_) | Finding::Unstable, _) | (_, None) => Outcome::Undecided,
        (_, Some(interval)) if interval.low > 1.0 + threshold && survives => Outcome::Regression,
        (_, Some(interval)) if interval.high <= 1.0 + threshold => Outcome::Passed,
        _ => Outcome::Undecided,
    }
}
