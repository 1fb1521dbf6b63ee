//! What is retained of a burst, by whom, and until when: from the memory rows of a workload of the model `retention`.
//!
//! ```text
//! memory rows by step, less the same cell's `empty`  --> median over repeats --> Held, one a look
//!   resident pass: process, allocator, structure                                  |
//!   heap pass, same step: live heap                                               v
//! fill drain idle idle ... | purge | shrink purge | drop idle  ------------->  Study --> show: tables, words
//! ```
//!
//! Three may hold what is left. The structure: what it has requested. The allocator: pages that were requested once,
//! and are free. The process: all that the system has not got back, those two and touched pages of its files.

pub mod curve;
mod show;

use std::collections::BTreeMap;

use itertools::Itertools;

pub use self::curve::HalfLife;
pub use self::show::{answers, grids};
use crate::format::median;
use crate::record::{Key, Keyed, Memory};
use crate::rows::Tables;

/// What is held at one look, in bytes above the empty worker: medians over the repeats. `None` where nobody keeps
/// the figure.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Held {
    /// Milliseconds of idling since the queue was last asked something.
    pub idle_ms: u64,
    /// The structure: what it has requested, what items own excluded.
    pub container: Option<f64>,
    /// The live heap: all that was requested, from dhat (`heap` pass, the same look).
    pub live: Option<f64>,
    /// The process: RSS.
    pub resident: Option<f64>,
    /// Anonymous pages of that.
    pub anonymous: Option<f64>,
    /// Of RSS, what was given back and may still be taken.
    pub lazy_free: Option<f64>,
    /// The allocator: what it says is in use.
    pub allocated: Option<f64>,
    /// Its pages that hold something in use.
    pub active: Option<f64>,
    /// Its pages in memory.
    pub allocator_resident: Option<f64>,
    /// Address space that it keeps and that is not in memory.
    pub retained: Option<f64>,
}

impl Held {
    /// What was requested: the live heap, or the structure alone where that was not measured.
    pub fn requested(&self) -> Option<f64> {
        self.live.or(self.container)
    }

    /// What the allocator keeps: anonymous pages in memory that nobody has requested.
    pub fn kept_free(&self) -> Option<f64> {
        Some((self.anonymous? - self.requested()?).max(0.0))
    }
}

/// What one structure and one allocator retain of a burst.
#[derive(Clone, Debug, PartialEq)]
pub struct Study {
    /// Name of the workload.
    pub workload: String,
    /// Timers of each burst.
    pub size: u64,
    /// What each timer carries.
    pub payload: String,
    /// The structure, with its parameters.
    pub structure: String,
    /// The allocator.
    pub allocator: String,
    /// Highest RSS of the first burst, above the empty worker.
    pub peak: Option<f64>,
    /// With all timers queued.
    pub filled: Held,
    /// After the first burst, and so long after it as `idle_ms` says. The first look is at 0.
    pub curve: Vec<Held>,
    /// A burst and then a purge at once.
    pub purge: [Held; 2],
    /// A burst, then shrink, then a purge.
    pub shrink: [Held; 3],
    /// A burst, then the drop of the queue, then idle time.
    pub drop: Vec<Held>,
}

impl Study {
    /// How long it took until half of what the process held after the burst was given back.
    pub fn half_life(&self) -> HalfLife {
        curve::half_life(&self.resident())
    }

    /// Area under the curve of RSS above the empty worker, in MiB s.
    pub fn area_mib_s(&self) -> Option<f64> {
        curve::area(&self.resident()).map(|area| area / f64::from(1 << 20))
    }

    /// The part of the peak that the process still held right after the burst.
    pub fn retained_share(&self) -> Option<f64> {
        let (held, peak) = (self.curve.first()?.resident?, self.peak?);
        (peak > 0.0).then(|| held / peak)
    }

    /// Seconds and RSS bytes.
    fn resident(&self) -> Vec<(f64, f64)> {
        let point = |held: &Held| Some((held.idle_ms as f64 / 1000.0, held.resident?));
        self.curve.iter().filter_map(point).collect()
    }
}

/// The studies of a run: one for each workload of the model, size, structure and allocator.
pub fn studies(tables: &Tables) -> Vec<Study> {
    studies_of(tables.memory.iter())
}

/// The studies that some memory rows hold, in the order of their first rows.
pub fn studies_of<'a>(rows: impl Iterator<Item = &'a Keyed<Memory>>) -> Vec<Study> {
    let rows: Vec<_> = rows.filter(|row| row.own.phase.is_some()).collect();
    let subject = |key: &Key| {
        (key.workload.clone(), key.size, key.payload.clone(), key.structure.clone(), key.parameters.clone())
    };
    let resident = rows.iter().filter(|row| row.key.pass == "resident");
    let subjects = resident.map(|row| (subject(&row.key), row.key.allocator.clone())).unique();
    let study = |(which, allocator): (_, String)| {
        let own = rows.iter().copied().filter(|row| subject(&row.key) == which);
        let (heap, rest): (Vec<_>, Vec<_>) = own.partition(|row| row.key.pass == "heap");
        let rest = rest.into_iter().filter(|row| row.key.allocator == allocator).collect();
        Looks::new(rest, &heap).study()
    };
    subjects.filter_map(study).collect()
}

/// All looks of one structure and allocator, by step.
struct Looks<'a> {
    rows: BTreeMap<u64, Vec<&'a Keyed<Memory>>>,
    /// By run and cell: the row of the empty worker.
    empty: BTreeMap<(&'a str, u64), &'a Memory>,
    live: BTreeMap<u64, f64>,
}

impl<'a> Looks<'a> {
    fn new(rows: Vec<&'a Keyed<Memory>>, heap: &[&'a Keyed<Memory>]) -> Self {
        let is_empty = |row: &&&'a Keyed<Memory>| row.own.point == "empty";
        let empty = rows.iter().filter(is_empty);
        let empty = empty.map(|row| ((row.key.run.as_str(), row.key.cell), &row.own)).collect();
        let live = heap.iter().filter_map(|row| Some((row.own.step, row.own.live_bytes? as f64)));
        let live =
            live.into_group_map().into_iter().filter_map(|(step, bytes)| Some((step, median(&bytes)?)));
        let rows = rows.into_iter().map(|row| (row.own.step, row)).into_group_map();
        Self { rows: rows.into_iter().collect(), empty, live: live.collect() }
    }

    /// Nothing where the rows are not of the model.
    fn study(&self) -> Option<Study> {
        let one = |phase, point| self.at(phase, point).into_iter().next();
        let key = &self.rows.values().next()?.first()?.key;
        let parameters = if key.parameters.is_empty() { "" } else { ":" };
        let mut curve = self.at("drain", "drained");
        curve.extend(self.at("idle", "idle"));
        let mut drop = vec![one("drop-drain", "drained")?];
        drop.extend(self.at("drop", "dropped"));
        drop.extend(self.at("drop", "idle"));
        Some(Study {
            workload: key.workload.clone(),
            size: key.size,
            payload: key.payload.clone(),
            structure: format!("{}{parameters}{}", key.structure, key.parameters),
            allocator: key.allocator.clone(),
            peak: self.peak(),
            filled: one("fill", "filled")?,
            curve,
            purge: [one("purge-drain", "drained")?, one("purge", "purged")?],
            shrink: [one("shrink-drain", "drained")?, one("shrink", "shrunk")?, one("shrink", "purged")?],
            drop,
        })
    }

    fn steps(&self, phase: &str, point: &str) -> impl Iterator<Item = (u64, &[&'a Keyed<Memory>])> {
        let is_it = |row: &Memory| row.phase.as_deref() == Some(phase) && row.point == point;
        let found = self.rows.iter().filter(move |(_, rows)| rows.iter().any(|row| is_it(&row.own)));
        found.map(|(step, rows)| (*step, rows.as_slice())).collect::<Vec<_>>().into_iter()
    }

    fn at(&self, phase: &str, point: &str) -> Vec<Held> {
        self.steps(phase, point).map(|(step, rows)| self.held(step, rows)).collect()
    }

    /// Before a second burst the highest RSS is that of the first.
    fn peak(&self) -> Option<f64> {
        let (_, rows) = self.steps("drain", "drained").next()?;
        let above = |row: &&&Keyed<Memory>| {
            let floor = self.empty(row)?.resident_bytes?;
            Some(row.own.resident_peak_bytes? as f64 - floor as f64)
        };
        median(&rows.iter().filter_map(|row| above(&row)).collect::<Vec<_>>())
    }

    fn empty(&self, row: &Keyed<Memory>) -> Option<&'a Memory> {
        self.empty.get(&(row.key.run.as_str(), row.key.cell)).copied()
    }

    fn held(&self, step: u64, rows: &[&'a Keyed<Memory>]) -> Held {
        let above = |column: fn(&Memory) -> Option<u64>| {
            let one = |row: &&Keyed<Memory>| {
                Some(column(&row.own)? as f64 - column(self.empty(row)?).unwrap_or(0) as f64)
            };
            median(&rows.iter().filter_map(one).collect::<Vec<_>>())
        };
        let live_empty = self.live.get(&0).copied().unwrap_or(0.0);
        Held {
            idle_ms: rows.iter().filter_map(|row| row.own.idle_ms).next().unwrap_or(0),
            container: above(|own| own.container_bytes),
            live: self.live.get(&step).map(|live| live - live_empty),
            resident: above(|own| own.resident_bytes),
            anonymous: above(|own| own.resident_anon_bytes),
            lazy_free: above(|own| own.resident_lazy_free_bytes),
            allocated: above(|own| own.allocator_allocated_bytes),
            active: above(|own| own.allocator_active_bytes),
            allocator_resident: above(|own| own.allocator_resident_bytes),
            retained: above(|own| own.allocator_retained_bytes),
        }
    }
}
