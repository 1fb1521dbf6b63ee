//! Is this machine fit to measure on? What it is set to, what that does to figures, and what would mend it;
//! and, from runs in which the answer is known, how small a difference it can show.
//!
//! Nothing is changed: commands are printed for whoever decides to type them.

pub mod fact;
mod facts;
pub mod identical;
mod limits;
pub mod sensitivity;

pub use fact::{Fact, Fitness};
pub use facts::{Own, facts};

#[cfg(test)]
mod tests;
