//! A run that is read again: its tables, made anew from the journal, and what can be asked of them.
//!
//! ```text
//! Study::read -> tables -> series (one metric of one structure at one place, a value a block)
//!                            -> Comparison (against a baseline, block by block)
//! ```

pub mod compare;
pub mod diff;
pub mod filter;
pub mod gate;
pub mod grids;
pub mod metric;
pub mod pareto;
pub mod pivot;
pub mod rank;
pub mod scaling;
pub mod series;
pub mod unpaired;
pub mod whole_run;
pub mod worst;

use std::path::{Path, PathBuf};

use itertools::Itertools;

pub use self::metric::{Better, Metric, Scope};
pub use self::series::{Place, Series};
use crate::calibration;
use crate::error::Error;
use crate::folder::{self, Manifest};
use crate::journal::{self, Entry, Status};
use crate::machine::Machine;
use crate::record::Key;
use crate::rows::{self, Tables};
use crate::select::Structure;

/// A run as it was measured.
#[derive(Clone, Debug)]
pub struct Study {
    /// The folder that it was read from.
    pub folder: PathBuf,
    /// How it came about.
    pub manifest: Manifest,
    /// Its rows.
    pub tables: Tables,
}

/// Cells of one structure, place and pass that gave no figures.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Failure {
    /// The structure, with parameters.
    pub structure: String,
    /// The workload.
    pub workload: String,
    /// Timers asked for.
    pub size: u64,
    /// What was to be measured.
    pub pass: String,
    /// How it ended, as in the column `status`.
    pub status: String,
    /// What went wrong, in words.
    pub detail: String,
    /// How many cells.
    pub cells: usize,
}

impl Study {
    /// Reads a run that is named by its folder, its name under `results/`, or `latest`.
    pub fn read(run: &str) -> Result<Self, Error> {
        Self::in_folder(&folder::find(run)?)
    }

    /// Reads the run in a folder. One that has finished nothing is refused.
    pub fn in_folder(folder: &Path) -> Result<Self, Error> {
        let manifest = Manifest::read(folder)?;
        let entries = journal::read(folder)?;
        if entries.iter().all(|entry| entry.status == Status::Interrupted) {
            return Err(Error::failed(format!("{} has no finished cell", folder.display()))
                .mend(format!("go on with it: `harness --resume {}`", folder.display())));
        }
        Ok(Self::of(folder.to_owned(), manifest, &entries))
    }

    /// A run from what was read of it.
    pub fn of(folder: PathBuf, manifest: Manifest, entries: &[Entry]) -> Self {
        let tables = rows::tables(&manifest, entries);
        Self { folder, manifest, tables }
    }

    /// The run's name.
    pub fn name(&self) -> &str {
        &self.manifest.run
    }

    /// The structures that have rows, with parameters, in the order of the plan.
    pub fn structures(&self) -> Vec<String> {
        let named = self.tables.measurements.iter().map(|row| structure(&row.key)).unique();
        let planned: Vec<String> = self.manifest.plan.structures.iter().map(Structure::to_string).collect();
        let place = |name: &String| planned.iter().position(|known| known == name).unwrap_or(planned.len());
        named.sorted_by_key(place).collect()
    }

    /// Cells that gave no figures, with the reason.
    pub fn failures(&self) -> Vec<Failure> {
        let failed = self.tables.measurements.iter().map(|row| &row.key).filter(|key| key.status != "ok");
        let failure = |key: &Key| Failure {
            structure: structure(key),
            workload: key.workload.clone(),
            size: key.size,
            pass: key.pass.clone(),
            status: key.status.clone(),
            detail: key.detail.clone().unwrap_or_default(),
            cells: 0,
        };
        let counted = failed.map(failure).counts();
        counted.into_iter().map(|(failure, cells)| Failure { cells, ..failure }).sorted().collect()
    }

    /// Every series of a metric, in the order of the rows: by workload and size, operation, and structure as
    /// it was planned.
    pub fn series(&self, metric: &'static Metric) -> Vec<Series> {
        series::of(self, metric)
    }
}

/// One of several runs that are looked at together: its structures bear its name behind theirs.
#[derive(Clone, Copy, Debug)]
pub struct Together<'a> {
    study: &'a Study,
    alone: bool,
}

/// Runs to be looked at together. One alone keeps the names of its structures.
pub fn together(studies: &[Study]) -> Vec<Together<'_>> {
    studies.iter().map(|study| Together { study, alone: studies.len() == 1 }).collect()
}

impl Together<'_> {
    /// The structures' names.
    pub fn structures(&self) -> Vec<String> {
        self.study.structures().iter().map(|name| self.name(name)).collect()
    }

    /// As [`Study::series`].
    pub fn series(&self, metric: &'static Metric) -> Vec<Series> {
        self.named(self.study.series(metric))
    }

    /// As [`whole_run::cpu_seconds`].
    pub fn cpu_seconds(&self) -> Vec<Series> {
        self.named(whole_run::cpu_seconds(self.study))
    }

    fn name(&self, structure: &str) -> String {
        if self.alone { structure.to_owned() } else { format!("{structure} ({})", self.study.name()) }
    }

    fn named(&self, mut series: Vec<Series>) -> Vec<Series> {
        series.iter_mut().for_each(|series| series.structure = self.name(&series.structure));
        series
    }
}

/// Relative differences up to this one are practically none: 1 %, or twice what identical structures differed
/// by on this machine at this place, if that was measured and is more.
pub fn delta(machine: &Machine, place: &Place, metric: &Metric) -> f64 {
    calibrated(machine, place, metric).unwrap_or(0.0).max(DELTA_LEAST)
}

/// The practical threshold without a calibration.
pub const DELTA_LEAST: f64 = 0.01;

/// The threshold of a machine that was calibrated.
fn calibrated(machine: &Machine, place: &Place, metric: &Metric) -> Option<f64> {
    calibration::delta(machine.key.as_deref()?, &place.workload, place.size, metric.name)
}

/// The structure that a row is of, with its parameters, as it is typed.
pub fn structure(key: &Key) -> String {
    if key.parameters.is_empty() {
        key.structure.clone()
    } else {
        format!("{}:{}", key.structure, key.parameters)
    }
}
