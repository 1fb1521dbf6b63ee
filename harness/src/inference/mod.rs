//! What can be concluded from a few processes: intervals, tests, verdicts, growth. Pure functions over numbers.
//!
//! ```text
//! one number a process --> pairs by block --> ratio with interval --> verdict
//!                    \--> across sizes ----> how cost grows, where two structures cross
//! ```
//!
//! The unit is the process. Calls within one share layout, allocator state and frequency, so they are first
//! brought together into one number (Georges, Buytaert and Eeckhout 2007; Kalibera and Jones 2013). What ran in
//! one block ran side by side, so a machine that drifts moves both sides of a pair and leaves their ratio.
//!
//! Distributions are those of `statrs`. Its U test is not used: with fewer numbers in the first side than in the
//! second its exact p is that of the other tail (version 0.19.1), and it visits all choices of a side, which takes
//! for ever where only one side is small. The rest is here because no library has it.
//!
//! `tests/` holds all of it against scipy's figures and against simulated data with known truth; how often each
//! interval held the truth is printed by
//! `cargo test -p harness --lib inference::tests::coverage -- --nocapture`.
//!
//! Nothing here panics, whatever the numbers are. A result that cannot be had is `None`.

mod bootstrap;
mod crossover;
mod family;
mod growth;
mod interval;
mod location;
mod memory;
mod rank;
mod ratio;
mod stability;
mod verdict;

#[cfg(test)]
mod tests;

pub use bootstrap::DRAWS;
pub use crossover::{Costs, Crossover, crossover};
pub use family::{benjamini_hochberg, holm, simultaneous};
pub use growth::{Fit, Growth, Law, growth};
pub use interval::{Estimate, Interval, median_interval};
pub use location::{MannWhitney, Welch, mann_whitney, welch};
pub use memory::{area, half_life};
pub use rank::{Rank, geometric_mean};
pub use ratio::{Ratio, paired_ratio, sign_test};
pub use stability::{Flag, Process, outliers, pair_stability, process_stability, spearman, stability};
pub use verdict::{Verdict, verdict};
