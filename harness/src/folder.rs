//! The folder of a run: where it lies, what stands in it, and how it is found again.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::journal::{self, Journal};
use crate::machine::{Build, Machine, Revision};
use crate::plan::{Plan, Shard};
use crate::record::SCHEMA_VERSION;
use crate::suggest::did_you_mean;

/// Where runs lie unless `--out` says otherwise.
pub const RESULTS: &str = "results";

/// How a run came about: all that is needed to judge its figures and to make it again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of manifest, journal and tables.
    pub schema_version: u64,
    /// Name of the run.
    pub run: String,
    /// Its label.
    pub label: Option<String>,
    /// The command line, word by word.
    pub command: Vec<String>,
    /// When it started, UTC.
    pub started: String,
    /// When it last wrote its tables, UTC; null while it has not.
    pub written: Option<String>,
    /// Whether every cell of the plan is finished.
    pub complete: bool,
    /// The machine.
    pub machine: Machine,
    /// The build.
    pub build: Build,
    /// The revision of the source, when it lies in a clone.
    pub revision: Option<Revision>,
    /// Options of each allocator as read back from it by a worker.
    pub allocators: BTreeMap<String, BTreeMap<String, String>>,
    /// Which cells there are.
    pub plan: Plan,
    /// Of a run that was merged: where its shards come from. `machine` is the first one's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shards: Vec<ShardOf>,
}

/// Where a shard of a merged run comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardOf {
    /// Which of how many.
    pub shard: Shard,
    /// Name of the run.
    pub run: String,
    /// The command line, word by word.
    pub command: Vec<String>,
    /// When it started, UTC.
    pub started: String,
    /// Its machine.
    pub machine: Machine,
    /// The processor that its timed cells stayed on, if any.
    pub cpu: Option<usize>,
}

impl ShardOf {
    /// Of the run that has this manifest.
    pub fn new(shard: Shard, manifest: &Manifest) -> Self {
        Self {
            shard,
            run: manifest.run.clone(),
            command: manifest.command.clone(),
            started: manifest.started.clone(),
            machine: manifest.machine.clone(),
            cpu: manifest.plan.cpu,
        }
    }
}

/// The file of the manifest in a run's folder.
pub const MANIFEST: &str = "manifest.json";

impl Manifest {
    /// Of a run that starts now.
    pub fn new(run: String, label: Option<String>, plan: Plan) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            run,
            label,
            command: std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect(),
            started: now(),
            written: None,
            complete: false,
            machine: Machine::here(),
            build: Build::this(),
            revision: Revision::here(),
            allocators: BTreeMap::new(),
            plan,
            shards: Vec::new(),
        }
    }

    /// Reads the manifest of a run's folder.
    pub fn read(folder: &Path) -> Result<Self, Error> {
        let path = folder.join(MANIFEST);
        let text = fs::read_to_string(&path).map_err(|error| {
            Error::file("read", &path, &error)
                .mend("is it the folder of a run? `harness list runs` prints them")
        })?;
        let version = serde_json::from_str::<serde_json::Value>(&text)
            .ok()
            .and_then(|manifest| manifest.get("schema_version")?.as_u64());
        match version {
            Some(SCHEMA_VERSION) => {}
            Some(other) => {
                let what = format!(
                    "{} has schema version {other}; this harness reads {SCHEMA_VERSION}",
                    path.display()
                );
                return Err(Error::failed(what).mend("use the harness that made it, or start a new run"));
            }
            None => return Err(Error::failed(format!("{} is no manifest of a run", path.display()))),
        }
        serde_json::from_str(&text).map_err(|error| Error::failed(format!("{}: {error}", path.display())))
    }

    /// Writes it to a run's folder, whole or not at all.
    pub fn write(&self, folder: &Path) -> Result<(), Error> {
        let path = folder.join(MANIFEST);
        journal::replace(&path, |file| {
            let text =
                serde_json::to_string_pretty(self).map_err(|error| Error::failed(error.to_string()))?;
            writeln!(file, "{text}").map_err(|error| Error::file("write", &path, &error))
        })
    }
}

/// The time now, UTC, to the second.
pub fn now() -> String {
    Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Makes the folder of a new run: `out`, or one under `results/` that is named for the time and the label.
pub fn create(out: Option<&Path>, label: Option<&str>) -> Result<PathBuf, Error> {
    match out {
        Some(folder) => claim(folder),
        None => create_named(Path::new(RESULTS), label),
    }
}

/// A folder that holds nothing, made if need be.
fn claim(folder: &Path) -> Result<PathBuf, Error> {
    let refused = |error: io::Error| {
        Error::file("use the folder", folder, &error).mend("name another with --out, or mend its permissions")
    };
    fs::create_dir_all(folder).map_err(refused)?;
    if fs::read_dir(folder).map_err(refused)?.next().is_some() {
        return Err(Error::failed(format!("the folder {} is not empty", folder.display())).mend(
            "a run never replaces another: name a new folder with --out, or go on with it by --resume",
        ));
    }
    // Whether it can be written is only known by writing.
    tempfile::tempfile_in(folder).map_err(refused)?;
    Ok(folder.to_owned())
}

fn create_named(results: &Path, label: Option<&str>) -> Result<PathBuf, Error> {
    fs::create_dir_all(results).map_err(|error| {
        Error::file("make the folder", results, &error)
            .mend("run from another folder, or name one with --out")
    })?;
    let name = Timestamp::now().strftime("%Y%m%dT%H%M%SZ").to_string();
    let name = label.map_or(name.clone(), |label| format!("{name}-{}", file_name(label)));
    for suffix in 1_u32.. {
        let folder = results.join(if suffix == 1 { name.clone() } else { format!("{name}-{suffix}") });
        match fs::create_dir(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => {
                return Err(Error::file("make the folder", &folder, &error).mend("name another with --out"));
            }
        }
    }
    unreachable!("two runs in one second are few")
}

/// A label as a part of a file's name: letters, digits, `.`, `_` and `-`.
fn file_name(label: &str) -> String {
    let plain = |letter: char| if letter.is_alphanumeric() || "._-".contains(letter) { letter } else { '-' };
    label.chars().take(60).map(plain).collect()
}

/// The folder of a run that is named by its path, its name under `results/`, or `latest`.
pub fn find(run: &str) -> Result<PathBuf, Error> {
    if run == "latest" {
        return runs().pop().ok_or_else(|| Error::failed("there is no run under results/ yet"));
    }
    let candidates = [PathBuf::from(run), Path::new(RESULTS).join(run)];
    if let Some(folder) = candidates.iter().find(|folder| folder.join(MANIFEST).is_file()) {
        return Ok(folder.clone());
    }
    Err(match candidates.iter().find(|folder| folder.is_dir()) {
        Some(folder) => {
            let what = format!("{} has no {MANIFEST}, so what was to be run is not known", folder.display());
            Error::failed(what).mend("is it the folder of a run? If the file was lost, start a new run")
        }
        None => unknown(run),
    })
}

fn unknown(run: &str) -> Error {
    let known: Vec<_> = runs().iter().filter_map(|run| Some(run.file_name()?.to_str()?.to_owned())).collect();
    let hint = did_you_mean(run, known.iter().map(String::as_str));
    Error::failed(format!("no run is called `{run}`{hint}")).mend("`harness list runs` prints all of them")
}

/// The folders of all runs under `results/`, oldest first.
pub fn runs() -> Vec<PathBuf> {
    let entries = fs::read_dir(RESULTS).into_iter().flatten().flatten();
    let mut runs: Vec<_> =
        entries.map(|entry| entry.path()).filter(|path| path.join(MANIFEST).is_file()).collect();
    runs.sort();
    runs
}

/// Runs that are never removed: those that are committed.
pub const REFERENCE: &str = "reference";

/// The runs under `results/` that were interrupted and are not going on, oldest first, each with its manifest.
pub fn interrupted() -> Vec<(PathBuf, Manifest)> {
    let kept = |folder: &PathBuf| folder.file_name().is_some_and(|name| name == REFERENCE);
    let runs = runs().into_iter().filter(|folder| !kept(folder) && !journal::is_going_on(folder));
    let read = |folder: PathBuf| Some((folder.clone(), Manifest::read(&folder).ok()?));
    runs.filter_map(read).filter(|(_, manifest)| !manifest.complete).collect()
}

/// Removes an interrupted run. One that somebody goes on with meanwhile is left as it is.
pub fn remove(folder: &Path) -> Result<(), Error> {
    let _locked = Journal::open(folder)?;
    fs::remove_dir_all(folder).map_err(|error| Error::file("remove", folder, &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_runs_in_one_second_get_two_folders() {
        let results = tempfile::tempdir().unwrap();
        let folders: Vec<_> = (0..3).map(|_| create_named(results.path(), Some("a b/c")).unwrap()).collect();
        assert_eq!(fs::read_dir(results.path()).unwrap().count(), 3);
        assert!(folders.iter().all(|folder| folder.to_str().unwrap().contains("Z-a-b-c")));
    }

    #[test]
    fn a_folder_that_holds_something_is_refused_and_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("mine"), "kept").unwrap();
        assert!(claim(folder.path()).unwrap_err().to_string().contains("is not empty"));
        assert_eq!(fs::read_to_string(folder.path().join("mine")).unwrap(), "kept");
    }

    #[test]
    fn a_manifest_of_another_version_is_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(MANIFEST), r#"{"schema_version": 99}"#).unwrap();
        assert!(Manifest::read(folder.path()).unwrap_err().to_string().contains("has schema version 99"));
        fs::write(folder.path().join(MANIFEST), "{}").unwrap();
        assert!(Manifest::read(folder.path()).unwrap_err().to_string().contains("is no manifest"));
    }
}
