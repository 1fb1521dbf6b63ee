//! The timer workbench.

pub mod allocator;
pub mod clock;
pub mod drive;
pub mod measure;
pub mod payload;
pub mod spec;
pub mod stream;
pub mod suggest;
pub mod trace;
pub mod truth;
pub mod worker;
pub mod workload;
