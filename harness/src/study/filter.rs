//! Which cells of a run are looked at: structures, workloads, sizes, operations and points by name or glob.

use glob::Pattern;
use itertools::Itertools;

use super::series::Series;
use super::{Study, structure};
use crate::error::Error;
use crate::select::thousands;
use crate::suggest::did_you_mean;

/// See the module. What is empty keeps everything.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    structures: Vec<Pattern>,
    workloads: Vec<Pattern>,
    operations: Vec<Pattern>,
    sizes: Vec<u64>,
}

impl Filter {
    /// From what was typed; each text is a name or a glob.
    pub fn new(
        structures: &[String],
        workloads: &[String],
        operations: &[String],
        sizes: &[u64],
    ) -> Result<Self, Error> {
        Ok(Self {
            structures: patterns(structures)?,
            workloads: patterns(workloads)?,
            operations: patterns(&operations.iter().map(|text| plain(text)).collect::<Vec<_>>())?,
            sizes: sizes.to_vec(),
        })
    }

    /// Whether a series is looked at. One that is of no operation is not asked for its own.
    pub fn keeps(&self, series: &Series) -> bool {
        let place = &series.place;
        any(&self.structures, &series.structure)
            && any(&self.workloads, &place.workload)
            && (self.sizes.is_empty() || self.sizes.contains(&place.size))
            && (place.part().is_empty() || self.keeps_part(&names(series)))
    }

    /// Whether a structure is looked at.
    pub fn keeps_structure(&self, name: &str) -> bool {
        any(&self.structures, name)
    }

    fn keeps_part(&self, names: &[String]) -> bool {
        self.operations.is_empty() || names.iter().any(|name| any(&self.operations, name))
    }

    /// Whether it names more than one workload or uses a glob, which makes a sweep of what is compared.
    pub fn is_sweep(&self) -> bool {
        self.workloads.len() > 1
            || self.workloads.iter().any(|pattern| pattern.as_str().contains(['*', '?', '[']))
    }

    /// An error with the nearest name for the first of what was typed that nothing in `studies` has.
    pub fn check(&self, studies: &[Study]) -> Result<(), Error> {
        let keys = || studies.iter().flat_map(|study| &study.tables.measurements).map(|row| &row.key);
        let structures: Vec<String> = keys().map(structure).unique().collect();
        known("structure", &self.structures, &structures)?;
        let workloads: Vec<String> = keys().map(|key| key.workload.clone()).unique().collect();
        known("workload", &self.workloads, &workloads)?;
        known("operation, phase or point", &self.operations, &parts(studies))?;
        let sizes: Vec<u64> = keys().map(|key| key.size).unique().collect();
        match self.sizes.iter().find(|size| !sizes.contains(size)) {
            Some(size) => Err(Error::usage(format!("nothing here has n = {}", thousands(*size)))
                .mend(format!("there is n = {}", sizes.iter().map(|size| thousands(*size)).join(", ")))),
            None => Ok(()),
        }
    }
}

fn patterns(texts: &[String]) -> Result<Vec<Pattern>, Error> {
    let pattern = |text: &String| {
        Pattern::new(text).map_err(|error| Error::usage(format!("`{text}` is no pattern: {error}")))
    };
    texts.iter().map(pattern).collect()
}

fn any(patterns: &[Pattern], name: &str) -> bool {
    patterns.is_empty() || patterns.iter().any(|pattern| pattern.matches(name) || pattern.as_str() == name)
}

/// Spaces, strokes and dashes are one to whoever types.
fn plain(text: &str) -> String {
    text.replace([' ', '-', '/'], "_")
}

/// The names of the part of a workload that a series is of: `take`, `drain`, `drain_take`.
fn names(series: &Series) -> Vec<String> {
    let place = &series.place;
    let single = [&place.phase, &place.operation, &place.point].into_iter().flatten();
    single.map(|name| plain(name)).chain([plain(&place.part())]).collect()
}

fn parts(studies: &[Study]) -> Vec<String> {
    let rows = studies.iter().flat_map(|study| &study.tables.measurements);
    let of_rows = rows.flat_map(|row| {
        let (phase, operation) = (row.own.phase.clone(), row.own.operation.clone());
        let both =
            phase.as_ref().zip(operation.as_ref()).map(|(phase, operation)| format!("{phase} {operation}"));
        [phase, operation, both]
    });
    let points = studies.iter().flat_map(|study| &study.tables.memory).map(|row| Some(row.own.point.clone()));
    of_rows.chain(points).flatten().map(|name| plain(&name)).unique().collect()
}

fn known(what: &str, patterns: &[Pattern], names: &[String]) -> Result<(), Error> {
    let missing = patterns
        .iter()
        .find(|pattern| names.iter().all(|name| !pattern.matches(name) && pattern.as_str() != name));
    match missing {
        None => Ok(()),
        Some(pattern) => {
            let hint = did_you_mean(pattern.as_str(), names.iter().map(String::as_str));
            Err(Error::usage(format!("no {what} here is called `{pattern}`{hint}"))
                .mend(format!("there is {}", names.join(", "))))
        }
    }
}
