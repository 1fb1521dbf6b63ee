//! Rows of one workload and size, brought together over blocks and repeats for the terminal.

use itertools::Itertools;

use crate::format::median;
use crate::plan::Plan;
use crate::record::{Key, Keyed, Measurement, Memory};
use crate::rows::Tables;
use crate::select::Structure;

/// A figure over blocks or repeats.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// The median.
    pub median: f64,
    /// The least.
    pub min: f64,
    /// The greatest.
    pub max: f64,
}

impl Figure {
    /// Over what was collected; `None` when nothing was.
    pub fn of(numbers: impl IntoIterator<Item = f64>) -> Option<Self> {
        let numbers: Vec<f64> = numbers.into_iter().collect();
        let median = median(&numbers)?;
        let (min, max) = numbers.iter().copied().minmax().into_option()?;
        Some(Self { median, min, max })
    }
}

/// Everything about one workload, size and payload.
#[derive(Debug)]
pub struct Summary<'a> {
    /// Name of the workload.
    pub workload: &'a str,
    /// Timers asked for.
    pub size: u64,
    /// What each timer carries.
    pub payload: &'a str,
    /// One for each structure, in the order of the run.
    pub structures: Vec<Of<'a>>,
}

/// Everything about one structure in a summary.
#[derive(Debug)]
pub struct Of<'a> {
    /// Its name with parameters.
    pub name: String,
    measurements: Vec<&'a Keyed<Measurement>>,
    memory: Vec<&'a Keyed<Memory>>,
}

/// Parts the rows of a run by workload and size, and within that by structure.
pub fn summaries<'a>(tables: &'a Tables, plan: &Plan) -> Vec<Summary<'a>> {
    let place = |row: &Keyed<Measurement>| (row.key.workload.clone(), row.key.size);
    let places: Vec<_> = tables.measurements.iter().map(place).unique().collect();
    let summary = |(workload, size): &(String, u64)| {
        let here = |key: &Key| key.workload == *workload && key.size == *size;
        let rows: Vec<_> = tables.measurements.iter().filter(|row| here(&row.key)).collect();
        let memory: Vec<_> = tables.memory.iter().filter(|row| here(&row.key)).collect();
        let first = &rows.first()?.key;
        Some(Summary {
            workload: &first.workload,
            size: *size,
            payload: &first.payload,
            structures: plan
                .structures
                .iter()
                .filter_map(|structure| of(structure, &rows, &memory))
                .collect(),
        })
    };
    places.iter().filter_map(summary).collect()
}

/// The rows of one structure, if it has any.
fn of<'a>(
    structure: &Structure,
    rows: &[&'a Keyed<Measurement>],
    memory: &[&'a Keyed<Memory>],
) -> Option<Of<'a>> {
    let parameters = structure.parameter_text();
    let own = |key: &Key| key.structure == structure.name && key.parameters == parameters;
    let measurements: Vec<_> = rows.iter().copied().filter(|row| own(&row.key)).collect();
    let memory = memory.iter().copied().filter(|row| own(&row.key)).collect();
    (!measurements.is_empty()).then(|| Of { name: structure.to_string(), measurements, memory })
}

/// A phase and an operation.
pub type Place = (String, String);

impl Summary<'_> {
    /// Operations of all structures in the order in which they first occur.
    pub fn operations(&self) -> Vec<Place> {
        let rows = self.structures.iter().flat_map(|of| &of.measurements);
        rows.filter_map(|row| Some((row.own.phase.clone()?, row.own.operation.clone()?))).unique().collect()
    }

    /// Points of the memory time line in order.
    pub fn points(&self) -> Vec<String> {
        let rows = self.structures.iter().flat_map(|of| &of.memory);
        rows.sorted_by_key(|row| row.own.step).map(|row| row.own.point.clone()).unique().collect()
    }

    /// Blocks of the timed passes.
    pub fn blocks(&self) -> usize {
        let rows = self.structures.iter().flat_map(|of| &of.measurements);
        let counts = |key: &Key| {
            key.block > 0 && key.status == "ok" && ["time", "latency"].contains(&key.pass.as_str())
        };
        rows.filter(|row| counts(&row.key)).map(|row| row.key.block).unique().count()
    }

    /// What stood in a column of some row, once each, in order.
    pub fn words(&self, of: impl Fn(&Keyed<Measurement>) -> Option<String>) -> Vec<String> {
        let rows = self.structures.iter().flat_map(|of| &of.measurements);
        rows.filter_map(|row| of(row)).unique().collect()
    }
}

impl Of<'_> {
    /// A figure of an operation over the blocks.
    pub fn operation(&self, place: &Place, column: impl Fn(&Measurement) -> Option<f64>) -> Option<Figure> {
        let here = |own: &&Measurement| {
            own.phase.as_ref() == Some(&place.0) && own.operation.as_ref() == Some(&place.1)
        };
        Figure::of(self.own().filter(here).filter_map(column))
    }

    /// A figure of the clock's empty loop.
    pub fn clock(&self, column: impl Fn(&Measurement) -> Option<f64>) -> Option<Figure> {
        Figure::of(self.own().filter(|own| own.scope == "clock").filter_map(column))
    }

    /// A figure of whole cells.
    pub fn whole(&self, column: impl Fn(&Measurement) -> Option<f64>) -> Option<Figure> {
        Figure::of(self.own().filter(|own| own.scope == "cell").filter_map(column))
    }

    /// A figure of whole cells that is the same in all cells of a block: one for each block.
    pub fn of_a_block(&self, column: impl Fn(&Measurement) -> Option<f64>) -> Option<Figure> {
        let cells = self.measurements.iter().filter(|row| row.own.scope == "cell");
        let figures = cells.filter_map(|row| Some((row.key.block, column(&row.own)?)));
        Figure::of(figures.unique_by(|(block, _)| *block).map(|(_, figure)| figure))
    }

    /// A figure at a point of the memory time line.
    pub fn point(&self, point: &str, column: impl Fn(&Memory) -> Option<u64>) -> Option<Figure> {
        let here = self.memory.iter().map(|row| &row.own).filter(|own| own.point == point);
        Figure::of(here.filter_map(column).map(|bytes| bytes as f64))
    }

    /// Whether no memory was looked at.
    pub fn memory_is_empty(&self) -> bool {
        self.memory.is_empty()
    }

    /// Cells that are not ok: pass, status, detail and how many.
    pub fn failures(&self) -> Vec<(String, String, String, usize)> {
        let failed = self.measurements.iter().map(|row| &row.key).filter(|key| key.status != "ok");
        let told =
            failed.map(|key| (key.pass.clone(), key.status.clone(), key.detail.clone().unwrap_or_default()));
        let counted = told.counts();
        counted
            .into_iter()
            .map(|((pass, status, detail), times)| (pass, status, detail, times))
            .sorted()
            .collect()
    }

    /// What stood in a column of some row, once each, in order.
    pub fn words(&self, of: impl Fn(&Keyed<Measurement>) -> Option<String>) -> Vec<String> {
        self.measurements.iter().filter_map(|row| of(row)).unique().collect()
    }

    fn own(&self) -> impl Iterator<Item = &Measurement> {
        self.measurements.iter().map(|row| &row.own)
    }
}
