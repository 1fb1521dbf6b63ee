//! How far identical structures come out apart on a machine, and the threshold that follows from it.
//!
//! An A/A run measures one structure under two names in the same blocks. The *noise floor* of a metric is half
//! the width of the interval of such a ratio, the median over all comparisons of the run; a ratio whose interval
//! covers 1 has both ends within two floors of 1. So the threshold δ below which structures count as the same is
//!
//! ```text
//! δ = max(1 %, 2 x noise floor)
//! ```
//!
//! and identical structures come out as `same` wherever the interval is of the usual width. Floors are kept in
//! `results/calibration.json`, by machine, workload, size and metric. `harness doctor --calibrate` writes them.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::folder::RESULTS;
use crate::format::median;
use crate::journal;

/// δ is never less than this: below it lie code layout and the like, which blocks do not average out.
pub const DELTA_LEAST: f64 = 0.01;

/// Version of the file.
const VERSION: u64 = 1;

/// The noise floor of one metric, as it was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The machine, as `machine::Machine::stable_key` names it.
    pub machine: String,
    /// The workload.
    pub workload: String,
    /// Timers asked for.
    pub size: u64,
    /// The metric: a column's name.
    pub metric: String,
    /// Half the width of the interval of a ratio of identical structures, less 1: 0.02 is 2 %. The median of
    /// all comparisons.
    pub floor: f64,
    /// The greatest of them.
    pub floor_max: f64,
    /// Comparisons: structures times operations.
    pub comparisons: u64,
    /// Those that were said to differ (faster, slower, differs a little) at this entry's δ.
    pub false_verdicts: u64,
    /// Blocks.
    pub blocks: u64,
    /// Optimisation level of the workers.
    pub build_level: String,
    /// When, UTC.
    pub made: String,
    /// The A/A run.
    pub run: String,
}

impl Entry {
    /// The threshold: max(1 %, 2 x floor).
    pub fn delta(&self) -> f64 {
        delta_of(self.floor)
    }

    fn place(&self) -> (&str, &str, u64, &str) {
        (&self.machine, &self.workload, self.size, &self.metric)
    }
}

/// The threshold that follows from a noise floor.
pub fn delta_of(floor: f64) -> f64 {
    DELTA_LEAST.max(2.0 * floor)
}

/// Where a threshold was found, from the nearest to the farthest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// This workload at this size.
    Exact,
    /// This workload at the size that is nearest by ratio.
    OtherSize(u64),
    /// The median over so many workloads and sizes of the machine.
    Machine(usize),
}

impl Source {
    /// It in words.
    pub fn words(&self) -> String {
        match self {
            Self::Exact => "calibrated on this machine".into(),
            Self::OtherSize(size) => format!("calibrated on this machine at n = {size}"),
            Self::Machine(1) => "calibrated on this machine with another workload".into(),
            Self::Machine(many) => format!("the median of {many} calibrations of this machine"),
        }
    }
}

/// A threshold, and where it is from.
#[derive(Clone, Debug, PartialEq)]
pub struct Delta {
    /// The threshold, as a part of 1: 0.02 is 2 %.
    pub delta: f64,
    /// Where it was found.
    pub source: Source,
}

/// All calibrations that a file holds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Calibrations {
    version: u64,
    entries: Vec<Entry>,
}

/// The file that calibrations are kept in unless another is named.
pub fn file() -> PathBuf {
    Path::new(RESULTS).join("calibration.json")
}

/// The threshold of a metric, from the usual file; `None` where this machine was never calibrated for it.
///
/// Reads the file anew; for many questions use [`Calibrations::read`] once.
pub fn delta(machine: &str, workload: &str, size: u64, metric: &str) -> Option<f64> {
    let found = Calibrations::read(&file()).ok()?.delta(machine, workload, size, metric)?;
    Some(found.delta)
}

impl Calibrations {
    /// Reads a file; one that is not there holds none.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Ok(Self { version: VERSION, entries: Vec::new() });
            }
            Err(error) => return Err(Error::file("read", path, &error)),
        };
        let mend = "remove it, and run `harness doctor --calibrate` again";
        let read: Self = serde_json::from_str(&text).map_err(|error| {
            Error::failed(format!("{}: no calibrations: {error}", path.display())).mend(mend)
        })?;
        match read.version {
            VERSION => Ok(read),
            other => Err(Error::failed(format!(
                "{} has version {other}; this harness reads {VERSION}",
                path.display()
            ))
            .mend(mend)),
        }
    }

    /// Writes a file, whole or not at all. Its folder is made if need be.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(|error| Error::file("make the folder", folder, &error))?;
        }
        journal::replace(path, |file| {
            let text =
                serde_json::to_string_pretty(self).map_err(|error| Error::failed(error.to_string()))?;
            writeln!(file, "{text}").map_err(|error| Error::file("write", path, &error))
        })
    }

    /// The calibrations, in order of machine, workload, size and metric.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Adds calibrations. One of the same machine, workload, size and metric is replaced; all others are kept.
    pub fn merge(&mut self, new: Vec<Entry>) {
        self.entries.retain(|old| new.iter().all(|new| new.place() != old.place()));
        self.entries.extend(new);
        self.entries.sort_by(|a, b| a.place().cmp(&b.place()));
    }

    /// The threshold of a metric on a machine: of the workload at this size, else at the size nearest by ratio,
    /// else the median over the machine's workloads. `None` where the metric was never calibrated there.
    pub fn delta(&self, machine: &str, workload: &str, size: u64, metric: &str) -> Option<Delta> {
        let of_machine: Vec<&Entry> =
            self.entries.iter().filter(|entry| entry.machine == machine && entry.metric == metric).collect();
        let distance = |entry: &&&Entry| (entry.size.max(1) as f64 / size.max(1) as f64).ln().abs();
        let nearest = of_machine
            .iter()
            .filter(|entry| entry.workload == workload)
            .min_by(|a, b| distance(a).total_cmp(&distance(b)));
        if let Some(entry) = nearest {
            let source = if entry.size == size { Source::Exact } else { Source::OtherSize(entry.size) };
            return Some(Delta { delta: entry.delta(), source });
        }
        let floors: Vec<f64> = of_machine.iter().map(|entry| entry.floor).collect();
        Some(Delta { delta: delta_of(median(&floors)?), source: Source::Machine(floors.len()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(machine: &str, workload: &str, size: u64, floor: f64) -> Entry {
        Entry {
            machine: machine.into(),
            workload: workload.into(),
            size,
            metric: "time_ns_per_timer".into(),
            floor,
            floor_max: floor,
            comparisons: 4,
            false_verdicts: 0,
            blocks: 12,
            build_level: "3".into(),
            made: "2026-11-30T00:00:00Z".into(),
            run: "r".into(),
        }
    }

    fn of(entries: Vec<Entry>) -> Calibrations {
        let mut all = Calibrations { version: VERSION, entries: Vec::new() };
        all.merge(entries);
        all
    }

    #[test]
    fn what_is_written_is_read_and_the_folder_is_made() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results/calibration.json");
        assert_eq!(Calibrations::read(&path).unwrap().entries(), []);
        let all = of(vec![entry("m", "burst", 1_000, 0.02), entry("n", "burst", 1_000, 0.03)]);
        all.write(&path).unwrap();
        assert_eq!(Calibrations::read(&path).unwrap(), all);
    }

    #[test]
    fn a_merge_replaces_the_same_place_and_keeps_all_others() {
        let mut all = of(vec![
            entry("n", "burst", 1_000, 0.03),
            entry("m", "burst", 1_000, 0.02),
            entry("m", "hold", 1_000, 0.05),
        ]);
        all.merge(vec![entry("m", "burst", 1_000, 0.01), entry("m", "burst", 2_000, 0.04)]);
        let floors: Vec<_> = all
            .entries()
            .iter()
            .map(|entry| (entry.machine.as_str(), entry.workload.as_str(), entry.size, entry.floor))
            .collect();
        assert_eq!(
            floors,
            [
                ("m", "burst", 1_000, 0.01),
                ("m", "burst", 2_000, 0.04),
                ("m", "hold", 1_000, 0.05),
                ("n", "burst", 1_000, 0.03)
            ]
        );
    }

    #[test]
    fn a_threshold_falls_back_to_the_nearest_size_and_then_to_the_machine_and_never_to_another() {
        let all = of(vec![
            entry("m", "burst", 1_000, 0.02),
            entry("m", "burst", 100_000, 0.10),
            entry("m", "hold", 1_000, 0.001),
            entry("n", "grow", 1_000, 0.30),
        ]);
        let delta = |machine, workload, size| {
            all.delta(machine, workload, size, "time_ns_per_timer").map(|found| (found.delta, found.source))
        };
        assert_eq!(delta("m", "burst", 1_000), Some((0.04, Source::Exact)));
        assert_eq!(delta("m", "burst", 20_000), Some((0.20, Source::OtherSize(100_000))));
        assert_eq!(delta("m", "hold", 1_000), Some((DELTA_LEAST, Source::Exact)));
        assert_eq!(delta("m", "grow", 1_000), Some((0.04, Source::Machine(3))));
        assert_eq!(delta("x", "burst", 1_000), None);
        assert_eq!(all.delta("m", "burst", 1_000, "latency_ns_p99"), None);
    }

    #[test]
    fn a_file_that_is_none_is_refused_with_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("calibration.json");
        fs::write(&path, "{").unwrap();
        assert!(Calibrations::read(&path).unwrap_err().to_string().contains("doctor --calibrate"));
        fs::write(&path, r#"{"version": 9, "entries": []}"#).unwrap();
        assert!(Calibrations::read(&path).unwrap_err().to_string().contains("has version 9"));
    }
}
