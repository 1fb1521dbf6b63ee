//! Shards that were run on several machines, joined into the run that one machine would have made.
//!
//! ```text
//! shard 1/2   block 0 | blocks 1 to 6  | what is not timed \
//!                                                           > block 0 | blocks 1 to 12 | what is not timed
//! shard 2/2   block 0 | blocks 7 to 12                     /
//! ```
//!
//! Cells keep their numbers, because a shard has the numbers of the whole plan. Each shard has discarded a block 0;
//! of those the first that failed is kept, or else the first shard's.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use itertools::Itertools;
use serde_json::Value as Json;

use crate::error::Error;
use crate::folder::{self, Manifest, ShardOf};
use crate::journal::{self, Entry, Status};
use crate::plan::{Cell, Plan, Shard, timed};

/// A shard as it was read.
#[derive(Clone, Debug)]
pub struct Part {
    /// Its folder.
    pub folder: PathBuf,
    /// Its manifest.
    pub manifest: Manifest,
    /// Which of how many it is.
    pub shard: Shard,
    /// Its cells.
    pub entries: Vec<Entry>,
}

impl Part {
    /// Reads a shard that is named by its folder or its name under `results/`.
    pub fn read(run: &str) -> Result<Self, Error> {
        let folder = folder::find(run)?;
        let manifest = Manifest::read(&folder)?;
        let Some(shard) = manifest.plan.shard else {
            return Err(Error::failed(format!(
                "{} is no shard: it has all blocks of its plan",
                folder.display()
            ))
            .mend("merge joins runs that were made with --shard"));
        };
        let entries = journal::read(&folder)?;
        Ok(Self { folder, manifest, shard, entries })
    }

    fn shown(&self) -> String {
        format!("{} (shard {})", self.folder.display(), self.shard)
    }

    /// The plan without what one machine alone decides.
    fn plan(&self) -> Plan {
        Plan { shard: None, cpu: None, ..self.manifest.plan.clone() }
    }
}

/// Shards as one run.
#[derive(Clone, Debug)]
pub struct Merged {
    /// The whole plan.
    pub plan: Plan,
    /// Every cell of it, in order.
    pub entries: Vec<Entry>,
    /// Where each part comes from, in order of the shards.
    pub shards: Vec<ShardOf>,
    /// What differs between the machines, in words.
    pub differences: Vec<String>,
}

/// Joins all shards of a plan, in any order. Cost: all journals are in memory.
pub fn merge(mut parts: Vec<Part>) -> Result<Merged, Error> {
    parts.sort_by_key(|part| part.shard);
    let Some(first) = parts.first() else { return Err(Error::usage("there is nothing to merge")) };
    for other in &parts[1..] {
        agree(first, other)?;
    }
    let plan = first.plan();
    all_there(&parts)?;
    let cells = plan.cells();
    streams_agree(&parts, &cells)?;
    let entries = joined(&parts, &cells)?;
    let shards = parts.iter().map(|part| ShardOf::new(part.shard, &part.manifest)).collect();
    Ok(Merged { plan, entries, shards, differences: differences(&parts) })
}

/// Whether two shards are parts of one run.
fn agree(first: &Part, other: &Part) -> Result<(), Error> {
    let refuse = |what: String| {
        Err(Error::failed(format!("{} and {} are not of one run: {what}", first.shown(), other.shown()))
            .mend("run all shards with the same options and the same executable"))
    };
    if first.shard.count != other.shard.count {
        return refuse("the number of shards differs".into());
    }
    let json = |part: &Part| serde_json::to_value(part.plan()).unwrap_or_default();
    if let Some((key, one, two)) = differing(&json(first), &json(other)).into_iter().next() {
        return refuse(format!("in the plan, `{key}` is {one} and {two}"));
    }
    if first.manifest.build != other.manifest.build {
        return refuse("they were made by different builds".into());
    }
    if first.manifest.revision != other.manifest.revision {
        return refuse("they were made from different revisions of the source".into());
    }
    Ok(())
}

/// The fields of two objects that differ, with both values.
fn differing(one: &Json, two: &Json) -> Vec<(String, String, String)> {
    let keys =
        |value: &Json| value.as_object().into_iter().flat_map(|object| object.keys().cloned()).collect_vec();
    let all: BTreeSet<String> = keys(one).into_iter().chain(keys(two)).collect();
    let differs = all.into_iter().filter(|key| one[key.as_str()] != two[key.as_str()]);
    differs.map(|key| (key.clone(), one[&key].to_string(), two[&key].to_string())).collect()
}

/// Whether every shard is there once, and was done.
fn all_there(parts: &[Part]) -> Result<(), Error> {
    if let Some((one, two)) = parts.iter().tuple_windows().find(|(one, two)| one.shard == two.shard) {
        return Err(Error::failed(format!("{} and {} overlap", one.shown(), two.shown()))
            .mend("name each shard once"));
    }
    let interrupted: Vec<_> = parts.iter().filter(|part| !part.manifest.complete).collect();
    if let Some(one) = interrupted.first() {
        let names = interrupted.iter().map(|part| part.shown()).join(", ");
        return Err(Error::failed(format!("interrupted: {names}"))
            .mend(format!("`harness --resume {}` goes on with it, on its machine", one.folder.display())));
    }
    let count = parts[0].shard.count;
    let missing = (1..=count).filter(|index| parts.iter().all(|part| part.shard.index != *index));
    let missing = missing.map(|index| Shard { index, count }.to_string()).join(", ");
    if !missing.is_empty() {
        return Err(Error::failed(format!("not among the runs: shard {missing}")).mend(
            "name all shards; one that was never run is run with the same options and its own --shard",
        ));
    }
    Ok(())
}

/// Whether all asked the same of every structure.
fn streams_agree(parts: &[Part], cells: &[Cell]) -> Result<(), Error> {
    let mut seen: BTreeMap<(usize, u64, u64), (&Part, &str)> = BTreeMap::new();
    for part in parts {
        for entry in &part.entries {
            let cell = cell(part, cells, entry)?;
            let key = (cell.workload, cell.size, cell.seed);
            let (other, hash) = *seen.entry(key).or_insert((part, &entry.stream_hash));
            if hash != entry.stream_hash {
                let name = &part.plan().workloads[cell.workload].name;
                let (one, two) = (other.shown(), part.shown());
                return Err(Error::failed(format!("{name} asked something else in {one} than in {two}"))
                    .mend("its file differs between the machines: run the shards again with the same"));
            }
        }
    }
    Ok(())
}

fn cell<'a>(part: &Part, cells: &'a [Cell], entry: &Entry) -> Result<&'a Cell, Error> {
    cells.get(entry.cell as usize).ok_or_else(|| {
        Error::failed(format!("{} has a cell {} that its plan has not", part.shown(), entry.cell))
    })
}

fn joined(parts: &[Part], cells: &[Cell]) -> Result<Vec<Entry>, Error> {
    let mut all: BTreeMap<u32, (&Part, &Entry)> = BTreeMap::new();
    for part in parts {
        for entry in &part.entries {
            let cell = cell(part, cells, entry)?;
            let Some((other, earlier)) = all.insert(entry.cell, (part, entry)) else { continue };
            if !(timed(cell.pass) && cell.block == 0) {
                return Err(Error::failed(format!(
                    "{} and {} overlap: both have cell {}",
                    other.shown(),
                    part.shown(),
                    entry.cell
                )));
            }
            if entry.status == Status::Ok || earlier.status != Status::Ok {
                all.insert(entry.cell, (other, earlier));
            }
        }
    }
    if let Some(missing) = cells.iter().find(|cell| !all.contains_key(&cell.index)) {
        return Err(Error::failed(format!("no shard has cell {} of block {}", missing.index, missing.block)));
    }
    Ok(all.into_values().map(|(_, entry)| entry.clone()).collect())
}

/// What differs between the machines, a line for each field.
fn differences(parts: &[Part]) -> Vec<String> {
    let machines: Vec<(Shard, Json)> = parts
        .iter()
        .map(|part| (part.shard, serde_json::to_value(&part.manifest.machine).unwrap_or_default()))
        .collect();
    let Some((_, first)) = machines.first() else { return Vec::new() };
    let keys: BTreeSet<String> = machines
        .iter()
        .flat_map(|(_, machine)| differing(first, machine).into_iter().map(|(key, ..)| key))
        .collect();
    let line = |key: &String| {
        let mut values =
            machines.iter().map(|(shard, machine)| format!("{} ({shard})", machine[key.as_str()]));
        format!("{key}: {}", values.join(", "))
    };
    keys.iter().map(line).collect()
}

/// Copies what lies beside the tables of the shards, heap profiles and samples. Cells have names of their own, but
/// for those of the discarded blocks, of which the first shard's are taken.
pub fn copy_files(parts: &[Part], to: &Path) -> Result<(), Error> {
    for part in parts.iter().sorted_by_key(|part| part.shard) {
        for kind in ["heap", "samples"] {
            let (from, to) = (part.folder.join(kind), to.join(kind));
            if from.is_dir() {
                copy_new(&from, &to)?;
            }
        }
    }
    Ok(())
}

fn copy_new(from: &Path, to: &Path) -> Result<(), Error> {
    fs::create_dir_all(to).map_err(|error| Error::file("make the folder", to, &error))?;
    let files = fs::read_dir(from).map_err(|error| Error::file("read", from, &error))?;
    for file in files {
        let file = file.map_err(|error| Error::file("read", from, &error))?;
        let new = to.join(file.file_name());
        if !new.exists() {
            fs::copy(file.path(), &new).map_err(|error| Error::file("write", &new, &error))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::tests::entry;
    use crate::plan::tests::plan;
    use crate::spec::Pass;

    /// Shards of a plan with all their cells, each machine with a kernel of its own.
    fn parts(count: u32) -> Vec<Part> {
        let part = |index| {
            let shard = Shard { index, count };
            let plan =
                Plan { shard: Some(shard), cpu: Some(index as usize), ..plan(2, &[Pass::Time, Pass::Heap]) };
            let cells = plan.own_groups().into_iter().flat_map(|group| group.cells);
            let entry =
                |cell: Cell| Entry { stream_hash: cell.seed.to_string(), ..entry(cell.index, Status::Ok) };
            let entries = cells.map(entry).collect();
            let mut manifest = Manifest::new(format!("run-{index}"), None, plan);
            manifest.complete = true;
            manifest.machine.kernel = Some(format!("kernel {index}"));
            Part { folder: format!("run-{index}").into(), manifest, shard, entries }
        };
        (1..=count).map(part).collect()
    }

    fn refused(parts: Vec<Part>, said: &str) {
        let error = merge(parts).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }

    #[test]
    fn shards_in_any_order_make_the_whole_plan_and_differences_of_machines_are_told() {
        let mut some = parts(3);
        some.reverse();
        let merged = merge(some).unwrap();
        assert_eq!((merged.plan.shard, merged.plan.cpu), (None, None));
        let cells: Vec<u32> = merged.entries.iter().map(|entry| entry.cell).collect();
        assert_eq!(cells, (0..merged.plan.cells().len() as u32).collect::<Vec<_>>());
        assert_eq!(merged.shards.iter().map(|part| part.shard.index).collect::<Vec<_>>(), [1, 2, 3]);
        let kernels = r#"kernel: "kernel 1" (1/3), "kernel 2" (2/3), "kernel 3" (3/3)"#;
        assert_eq!(merged.differences, [kernels]);
    }

    #[test]
    fn a_discarded_cell_that_failed_on_one_machine_is_kept() {
        let mut some = parts(2);
        some[1].entries[0].status = Status::Crashed;
        assert_eq!(merge(some).unwrap().entries[0].status, Status::Crashed);
    }

    #[test]
    fn what_does_not_make_one_run_is_refused_by_name() {
        let with = |change: &dyn Fn(&mut Vec<Part>)| {
            let mut some = parts(3);
            change(&mut some);
            some
        };
        refused(with(&|parts| _ = parts.remove(1)), "not among the runs: shard 2/3");
        refused(with(&|parts| parts[2] = parts[1].clone()), "overlap");
        refused(with(&|parts| parts[1].manifest.complete = false), "interrupted: run-2 (shard 2/3)");
        refused(with(&|parts| parts[1].manifest.plan.seed = 8), "in the plan, `seed` is 7 and 8");
        refused(with(&|parts| parts[1].manifest.build.level = "9".into()), "different builds");
        refused(with(&|parts| parts[1].manifest.revision = None), "different revisions");
        refused(
            with(&|parts| parts[1].entries[0].stream_hash = "other".into()),
            "burst asked something else",
        );
        refused(with(&|parts| parts[1].entries.truncate(5)), "no shard has cell");
        let foreign = |parts: &mut Vec<Part>| {
            let last = parts[0].entries.last().unwrap().clone();
            parts[1].entries.push(last);
        };
        refused(with(&foreign), "overlap: both have cell");
    }
}
