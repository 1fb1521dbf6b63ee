//! The timer workbench.

pub mod spec;
pub mod stream;
pub mod suggest;
pub mod trace;
pub mod truth;
pub mod workload;
