//! The slowest calls of a structure on a workload, over all blocks, and what happened in each.

use itertools::Itertools;

use super::{Study, structure};
use crate::error::Error;
use crate::format::{fixed, memory_unit};
use crate::record::{Keyed, Slowest};
use crate::select::{self, thousands};
use crate::suggest::did_you_mean;

/// A cell of a run as it is named: `impl/workload[/n[/pass]]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellName {
    /// The structure, with parameters.
    pub structure: String,
    /// The workload.
    pub workload: String,
    /// Timers asked for.
    pub size: u64,
}

/// How cells are named.
pub const FORM: &str = "write impl/workload/n, as wheel/burst/200k, or only wheel/burst";

/// Bytes from which on it is growth and not a node more.
const GROWTH: u64 = 4096;

impl CellName {
    /// Finds the cell that was meant among those of a run. Without a size it is the largest.
    pub fn parse(text: &str, study: &Study) -> Result<Self, Error> {
        let structures = study.structures();
        let (structure, rest) = leading(text, &structures).ok_or_else(|| {
            let word = text.split('/').next().unwrap_or(text);
            unknown("structure", word, &structures, study)
        })?;
        let workloads: Vec<String> = study.manifest.plan.workloads.iter().map(|w| w.name.clone()).collect();
        let (workload, rest) = leading(rest, &workloads).ok_or_else(|| match rest {
            "" => Error::usage(format!("`{text}` names a structure, and a cell has a workload")).mend(FORM),
            _ => unknown("workload", rest.split('/').next().unwrap_or(rest), &workloads, study),
        })?;
        let rest = without_pass(rest, text)?;
        let size = size_in(rest, text, &workload, study)?;
        Ok(Self { structure, workload, size })
    }
}

/// The longest of the names that `text` begins with, and what stands behind the stroke after it.
fn leading<'t>(text: &'t str, names: &[String]) -> Option<(String, &'t str)> {
    let behind = |name: &String| {
        let rest = text.strip_prefix(name.as_str())?;
        if rest.is_empty() { Some(rest) } else { rest.strip_prefix('/') }
    };
    let found = names.iter().filter_map(|name| Some((name.clone(), behind(name)?)));
    found.max_by_key(|(name, _)| name.len())
}

fn unknown(what: &str, word: &str, names: &[String], study: &Study) -> Error {
    let hint = did_you_mean(word, names.iter().map(String::as_str));
    Error::usage(format!("no {what} of {} is called `{word}`{hint}", study.name()))
        .mend(format!("it has {}", names.join(", ")))
}

fn without_pass<'t>(rest: &'t str, text: &str) -> Result<&'t str, Error> {
    const PASSES: [&str; 5] = ["time", "latency", "resident", "heap", "count"];
    let (before, last) = rest.rsplit_once('/').unwrap_or(("", rest));
    match PASSES.iter().find(|pass| **pass == last) {
        Some(&"latency") => Ok(before),
        Some(pass) => Err(Error::usage(format!("`{text}`: the pass {pass} times no single calls"))
            .mend("leave the pass away, or write latency; `harness cmp` shows the figures of all passes")),
        None => Ok(rest),
    }
}

fn size_in(rest: &str, text: &str, workload: &str, study: &Study) -> Result<u64, Error> {
    let planned = study.manifest.plan.workloads.iter().filter(|planned| planned.name == workload);
    let sizes: Vec<u64> = planned.flat_map(|planned| planned.sizes.clone()).collect();
    if rest.is_empty() {
        return sizes.iter().copied().max().ok_or_else(|| Error::usage(FORM));
    }
    let size = select::size(rest)
        .map_err(|error| Error::usage(format!("`{rest}` in `{text}`: {error}")).mend(FORM))?;
    if sizes.contains(&size) {
        return Ok(size);
    }
    let known = sizes.iter().map(|size| thousands(*size)).join(", ");
    Err(Error::usage(format!("{} has no {workload} with n = {}", study.name(), thousands(size)))
        .mend(format!("it has n = {known}")))
}

/// The slowest calls of a cell over all its blocks, slowest first, at most `most`.
pub fn worst<'a>(study: &'a Study, cell: &CellName, most: usize) -> Result<Vec<&'a Keyed<Slowest>>, Error> {
    let here = |row: &&Keyed<Slowest>| {
        structure(&row.key) == cell.structure
            && row.key.workload == cell.workload
            && row.key.size == cell.size
    };
    let rows = study.tables.slowest.iter().filter(here);
    let found: Vec<_> = rows.sorted_by_key(|row| std::cmp::Reverse(row.own.latency_ns)).take(most).collect();
    if found.is_empty() {
        return Err(nothing(study, cell));
    }
    Ok(found)
}

fn nothing(study: &Study, cell: &CellName) -> Error {
    let failed = study.failures().into_iter().find(|failure| {
        (&failure.structure, &failure.workload, failure.size) == (&cell.structure, &cell.workload, cell.size)
            && failure.pass == "latency"
    });
    let CellName { structure, workload, size } = cell;
    let what = format!(
        "{} has no single calls of {structure} on {workload}, n = {}",
        study.name(),
        thousands(*size)
    );
    match failed {
        Some(failure) => Error::failed(format!("{what}: {} ({})", failure.status, failure.detail)),
        None => Error::failed(what).mend(format!(
            "measure them: `harness --impl {structure} --workload {workload} --n {size} --measure latency`"
        )),
    }
}

/// What happened in a slow call, in words.
pub fn happened(call: &Slowest) -> String {
    let mut words = Vec::new();
    if call.switched > 0 {
        words.push("switched out by the kernel".to_owned());
    }
    let Some(after) = call.queue_length else {
        words.push("not looked at: the run took too long to repeat, or is of an older harness".into());
        return words.join("; ");
    };
    words.extend(change_of_container(call));
    let count =
        |n: Option<u64>, words: &str| n.filter(|n| *n > 0).map(|n| format!("{words} {}", thousands(n)));
    words.extend(count(call.entries_cascaded, "cascaded"));
    words.extend(count(call.entries_moved, "moved"));
    words.extend(count(call.entries_visited.filter(|n| *n >= 16), "visited"));
    let timers = call.queue_length_before.unwrap_or(after).abs_diff(after);
    words.extend((timers > 1).then(|| format!("{} timers in one call", thousands(timers))));
    words.extend(count(call.faults_minor, "page faults"));
    if words.is_empty() {
        words.push("nothing the structure did: a cache miss, an interrupt, another process".into());
    }
    words.join("; ")
}

/// Growth, or memory given back, beyond a node.
fn change_of_container(call: &Slowest) -> Option<String> {
    let (before, after) = (call.container_bytes_before?, call.container_bytes_after?);
    let per_timer = |bytes: u64, timers: Option<u64>| bytes as f64 / timers.unwrap_or(0) as f64;
    // Nodes of a list come and go with its timers: that is no growth.
    if per_timer(before, call.queue_length_before) == per_timer(after, call.queue_length) {
        return None;
    }
    let (unit, bytes) = memory_unit(&[Some(before as f64), Some(after as f64)]);
    let shown = |n: u64| fixed(n as f64 / bytes, usize::from(unit != "B"));
    (before.abs_diff(after) >= GROWTH).then(|| {
        let word = if after > before { "grew" } else { "shrank" };
        format!("{word}: {} to {} {unit}", shown(before), shown(after))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call() -> Slowest {
        Slowest {
            queue_length_before: Some(10),
            queue_length: Some(11),
            container_bytes_before: Some(1 << 20),
            container_bytes_after: Some(1 << 20),
            ..Slowest::default()
        }
    }

    #[test]
    fn each_thing_that_happened_has_its_words() {
        assert!(happened(&call()).starts_with("nothing the structure did"));
        let grew = Slowest { container_bytes_after: Some(2 << 20), faults_minor: Some(256), ..call() };
        assert_eq!(happened(&grew), "grew: 1,024.0 to 2,048.0 KiB; page faults 256");
        let cascade = Slowest { entries_cascaded: Some(1200), switched: 1, ..call() };
        assert_eq!(happened(&cascade), "switched out by the kernel; cascaded 1,200");
        let node = Slowest { container_bytes_after: Some((1 << 20) + 40), ..call() };
        assert!(happened(&node).starts_with("nothing"), "one node of a list is no growth");
        let old = Slowest { switched: 0, ..Slowest::default() };
        assert!(happened(&old).starts_with("not looked at"));
    }

    #[test]
    fn the_longest_name_is_the_one_that_was_meant() {
        let names = ["list".to_owned(), "list-known-tail".to_owned()];
        assert_eq!(leading("list-known-tail/burst", &names), Some(("list-known-tail".into(), "burst")));
        assert_eq!(leading("list/burst/10k", &names), Some(("list".into(), "burst/10k")));
        assert_eq!(leading("lis/burst", &names), None);
    }
}
