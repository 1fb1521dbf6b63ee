//! Rows of one workload and size, brought together over blocks and repeats for the terminal.

use itertools::Itertools;

use crate::format::median;
use crate::plan::Plan;
use crate::record::{Key, Keyed, Measurement, Memory, word};
use crate::rows::Tables;
use crate::select::Structure;
use crate::spec::AllocatorKind;

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
    /// One for each structure and allocator, in the order of the run.
    pub structures: Vec<Of<'a>>,
}

/// Everything about one structure, with one allocator, in a summary.
#[derive(Debug)]
pub struct Of<'a> {
    /// Its name with parameters, and behind it the allocator where there are several: `heap:arity=2 (system)`.
    pub name: String,
    measurements: Vec<&'a Keyed<Measurement>>,
    memory: Vec<&'a Keyed<Memory>>,
    /// The heap pass, which has dhat's allocator: its rows are those of the first allocator, and shown beside all.
    heap: Heap<'a>,
}

/// Rows of the heap pass that count as another allocator's.
#[derive(Debug, Default)]
struct Heap<'a> {
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
            structures: Rows { rows, memory }.structures(plan),
        })
    };
    places.iter().filter_map(summary).collect()
}

/// The rows of one workload and size.
struct Rows<'a> {
    rows: Vec<&'a Keyed<Measurement>>,
    memory: Vec<&'a Keyed<Memory>>,
}

impl<'a> Rows<'a> {
    /// One for each structure and allocator that has rows, in the order of the plan.
    fn structures(&self, plan: &Plan) -> Vec<Of<'a>> {
        let here = |name: &String| self.rows.first().is_some_and(|row| row.key.workload == *name);
        let workload = plan.workloads.iter().position(|planned| here(&planned.name));
        let allocators = workload.map_or(&[][..], |workload| plan.allocators_of(workload));
        let turns = plan.structures.iter().flat_map(|of| allocators.iter().map(move |with| (of, *with)));
        turns.filter_map(|(structure, allocator)| self.of(structure, allocator, allocators)).collect()
    }

    /// The rows of one structure with one allocator, if it has any.
    fn of(&self, structure: &Structure, allocator: AllocatorKind, all: &[AllocatorKind]) -> Option<Of<'a>> {
        let (label, parameters, with) = (structure.label(), structure.parameter_text(), word(&allocator));
        let (dhat, first) = (word(&AllocatorKind::Dhat), all.first() == Some(&allocator));
        let same = |key: &Key| key.structure == label && key.parameters == parameters;
        let own = |key: &Key| same(key) && (key.allocator == with || first && key.allocator == dhat);
        let lent = |key: &Key| same(key) && !first && key.allocator == dhat;
        let measurements: Vec<_> = self.rows.iter().copied().filter(|row| own(&row.key)).collect();
        let name = if all.len() > 1 { format!("{structure} ({with})") } else { structure.to_string() };
        (!measurements.is_empty()).then(|| Of {
            name,
            measurements,
            memory: self.memory.iter().copied().filter(|row| own(&row.key)).collect(),
            heap: Heap {
                measurements: self.rows.iter().copied().filter(|row| lent(&row.key)).collect(),
                memory: self.memory.iter().copied().filter(|row| lent(&row.key)).collect(),
            },
        })
    }
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

    /// Rows of the memory time lines of all structures.
    pub fn memory(&self) -> impl Iterator<Item = &Keyed<Memory>> {
        self.structures.iter().flat_map(|of| of.memory.iter().copied())
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
        let rows = self.memory.iter().chain(&self.heap.memory);
        let here = rows.map(|row| &row.own).filter(|own| own.point == point);
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
        self.measurements.iter().chain(&self.heap.measurements).map(|row| &row.own)
    }
}
