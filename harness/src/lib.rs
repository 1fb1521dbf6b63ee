//! The timer workbench.

pub mod spec;
pub mod stream;
