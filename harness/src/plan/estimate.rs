//! What a run needs, before anything of it was seen.

use super::{Group, Plan, forecast::Forecast};
use crate::spec::{Pass, PayloadKind};

/// Bytes that a timer needs in a structure and in the reference, without its payload. The largest of the
/// five takes about half of it.
const BYTES_PER_TIMER: u64 = 192;

/// Bytes of memory that a cell of this size needs in parent and worker together. Both have the stream; the
/// parent has the reference's timers and the worker its own.
pub fn memory_need(size: u64, payload: PayloadKind, stream_bytes: u64) -> u64 {
    let payload = match payload {
        PayloadKind::Inline(bytes) => u64::from(bytes),
        PayloadKind::Boxed(bytes) => u64::from(bytes) + 16,
    };
    let timers = size.saturating_mul(BYTES_PER_TIMER.saturating_add(2 * payload));
    timers.saturating_add(stream_bytes.saturating_mul(2))
}

/// Seconds that a cell takes, roughly, idling aside: what the five take on `burst` (2 cores, Rust 1.95, payload
/// box:16). A list out of order takes as long as the timeout allows.
pub fn seconds(pass: Pass, size: u64) -> f64 {
    let size = size as f64;
    match pass {
        Pass::Time | Pass::Latency | Pass::Count => 0.02 + size * 0.7e-6,
        Pass::Resident => 0.1 + size * 0.7e-6,
        Pass::Heap => 0.1 + size * 4e-6,
    }
}

/// Seconds that making a stream and its reference outcome takes, roughly.
pub fn preparation_seconds(size: u64) -> f64 {
    0.01 + size as f64 * 1.5e-6
}

/// What a run will take, roughly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Processes.
    pub cells: usize,
    /// Seconds.
    pub seconds: f64,
    /// Bytes that stay on disk.
    pub disk_bytes: u64,
}

impl Plan {
    /// What the groups will take.
    pub fn estimate(&self, groups: &[Group], forecast: &Forecast) -> Estimate {
        let cells = || groups.iter().flat_map(|group| &group.cells);
        let kept = |cell: &super::Cell| match cell.pass {
            // A timer is queued, dispatched and perhaps rearmed: 8 bytes for each call.
            Pass::Latency if self.keep_samples => 24 * cell.size + 80_000,
            Pass::Latency => 80_000,
            Pass::Heap => 20_000,
            _ => 10_000,
        };
        Estimate {
            cells: cells().count(),
            seconds: forecast.groups(groups),
            disk_bytes: cells().map(kept).sum(),
        }
    }
}
