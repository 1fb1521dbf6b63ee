//! What an interval of a ratio says, in a word.

use super::interval::Interval;

/// What can be said of a structure beside its baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Verdict {
    /// The whole interval lies below what counts as the same.
    Faster,
    /// The whole interval lies above it.
    Slower,
    /// The whole interval lies within it: shown to be the same, not merely not shown to differ.
    Same,
    /// It differs from 1, but perhaps by no more than what counts as the same.
    DiffersALittle,
    /// There may be a difference or none.
    NotSeparated,
    /// A check of stability failed, so the interval is not to be relied on.
    Unstable,
}

impl Verdict {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Faster, Self::Slower, Self::Same, Self::DiffersALittle, Self::NotSeparated, Self::Unstable];

    /// The words for tables.
    pub fn words(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::Same => "same",
            Self::DiffersALittle => "differs a little",
            Self::NotSeparated => "not separated",
            Self::Unstable => "unstable",
        }
    }
}

/// The verdict on a ratio of costs, other to baseline, so that less is better.
///
/// ```text
///              1/(1+delta)        1        1+delta
///   <--faster-->|      <-differs a little->      |<--slower-->
///               |<------------same-------------->|
/// ```
///
/// `delta` is the difference that counts (0.01 for 1 %); below 0 or NaN it is 0. Sameness is shown by inclusion of the
/// interval in the band, which is an equivalence test. Without an interval, nothing is separated.
pub fn verdict(interval: Option<Interval>, delta: f64, unstable: bool) -> Verdict {
    let most = 1.0 + delta.max(0.0);
    let least = 1.0 / most;
    match interval {
        _ if unstable => Verdict::Unstable,
        Some(Interval { high, .. }) if high < least => Verdict::Faster,
        Some(Interval { low, .. }) if low > most => Verdict::Slower,
        Some(Interval { low, high, .. }) if low >= least && high <= most => Verdict::Same,
        Some(Interval { low, high, .. }) if low > 1.0 || high < 1.0 => Verdict::DiffersALittle,
        _ => Verdict::NotSeparated,
    }
}
