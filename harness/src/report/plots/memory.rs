//! Memory over the phases of a burst: what the structure keeps, what else is in use, what the allocator keeps,
//! and the rest of the process, on top of each other.

use itertools::Itertools;

use super::axis::Axis;
use super::canvas::Page;
use super::panel::{Layer, Panel};
use super::{Measured, Plots, Words, Y_LABELS};
use crate::error::Error;
use crate::format::{median, memory_unit};
use crate::record::{Memory, row};
use crate::report::figure::{Figure, Key, Look, slug};
use crate::study::structure;

/// The bands, lowest first.
const BANDS: [&str; 4] = [
    "the structure (container)",
    "items, and all else in use",
    "kept by the allocator",
    "rest of the process (RSS)",
];

row! {
    /// Memory at a point of the workload, in bytes: medians over the repeats.
    MemoryRow {
        /// Name of the workload
        workload: String,
        /// Timers asked for
        size: u64,
        /// The structure, with parameters
        structure: String,
        /// The allocator that served
        allocator: String,
        /// Place in the time line, from 0
        step: u64,
        /// The point
        point: String,
        /// Timers queued then
        timers: u64,
        /// What the structure says it has requested
        container_bytes: Option<f64>,
        /// In use by the allocator's account
        allocator_allocated_bytes: Option<f64>,
        /// What the allocator says it has in memory
        allocator_resident_bytes: Option<f64>,
        /// Resident bytes of the process
        resident_bytes: Option<f64>,
        /// Upper end of the band of the structure
        band_structure_bytes: Option<f64>,
        /// Upper end of the band of all that is in use
        band_in_use_bytes: Option<f64>,
        /// Upper end of the band of the allocator
        band_allocator_bytes: Option<f64>,
        /// Upper end of all bands: the process
        band_process_bytes: Option<f64>,
    }
}

/// A figure for each workload whose memory was looked at, at its largest size.
pub fn figures(plots: &Plots<'_>) -> Result<Vec<Figure>, Error> {
    plots.workloads().iter().filter_map(|workload| figure(plots, workload).transpose()).collect()
}

fn figure(plots: &Plots<'_>, workload: &Measured) -> Result<Option<Figure>, Error> {
    let rows = rows(plots, workload);
    if rows.is_empty() {
        return Ok(None);
    }
    let words = Words {
        name: format!("memory-{}", slug(&workload.workload)),
        title: format!("Memory over the phases: {}", workload.workload),
        caption: vec![
            "The bands stand on top of each other, and their upper end is the resident memory (RSS) of the worker process. The structure: what it says it has requested. Kept by the allocator: in memory and not in use. Where the allocator counts pages that were never touched, its band ends at the RSS; its own figure stands in the table.".into(),
            plots.facts(&workload.workload, &[workload.largest()], &["resident"]),
        ],
    };
    let legend = BANDS.iter().enumerate().map(|(i, name)| Key { name: (*name).into(), look: Look::Band(i) });
    let figure = plots.paneled(words, legend.collect(), &rows, |_: Page| panels(&rows));
    figure.map(Some)
}

fn rows(plots: &Plots<'_>, workload: &Measured) -> Vec<MemoryRow> {
    let here = plots.study.tables.memory.iter().filter(|row| {
        row.key.workload == workload.workload
            && row.key.size == workload.largest()
            && row.key.pass == "resident"
    });
    let groups = here.into_group_map_by(|row| (structure(&row.key), row.key.allocator.clone(), row.own.step));
    let rows = groups.into_iter().filter_map(|((structure, allocator, step), repeats)| {
        let first = &repeats.first()?.own;
        let row = MemoryRow {
            workload: workload.workload.clone(),
            size: workload.largest(),
            structure,
            allocator,
            step,
            point: first.point.clone(),
            timers: first.timers,
            ..MemoryRow::default()
        };
        let owns = repeats.iter().map(|row| &row.own).collect_vec();
        banded(row, |column| middle(&owns, column))
    });
    rows.sorted_by_key(|row| (plots.style(&row.structure), row.allocator.clone(), row.step)).collect()
}

fn middle(repeats: &[&Memory], column: fn(&Memory) -> Option<u64>) -> Option<f64> {
    median(&repeats.iter().filter_map(|own| column(own)).map(|bytes| bytes as f64).collect_vec())
}

/// The bands of a point. What is not known takes no room; what is beyond the RSS is cut off.
fn banded(row: MemoryRow, middle: impl Fn(fn(&Memory) -> Option<u64>) -> Option<f64>) -> Option<MemoryRow> {
    let container = middle(|own| own.container_bytes);
    let allocated = middle(|own| own.allocator_allocated_bytes);
    let allocator = middle(|own| own.allocator_resident_bytes);
    let process = middle(|own| own.resident_bytes)?;
    let structure = container.unwrap_or(0.0).min(process);
    let in_use = allocated.unwrap_or(0.0).clamp(structure, process);
    Some(MemoryRow {
        container_bytes: container,
        allocator_allocated_bytes: allocated,
        allocator_resident_bytes: allocator,
        resident_bytes: Some(process),
        band_structure_bytes: Some(structure),
        band_in_use_bytes: Some(in_use),
        band_allocator_bytes: Some(allocator.unwrap_or(0.0).clamp(in_use, process)),
        band_process_bytes: Some(process),
        ..row
    })
}

fn panels(rows: &[MemoryRow]) -> Vec<Panel> {
    let (unit, bytes) = memory_unit(&rows.iter().map(|row| row.resident_bytes).collect_vec());
    let allocators = rows.iter().map(|row| &row.allocator).unique().count();
    let chunks = rows.iter().chunk_by(|row| (row.structure.clone(), row.allocator.clone()));
    let panel = |(structure, allocator): (String, String), line: Vec<&MemoryRow>| {
        let title = if allocators > 1 { format!("{structure}, {allocator}") } else { structure };
        let upper = [
            |row: &MemoryRow| row.band_structure_bytes,
            |row: &MemoryRow| row.band_in_use_bytes,
            |row: &MemoryRow| row.band_allocator_bytes,
            |row: &MemoryRow| row.band_process_bytes,
        ];
        let span = |i: usize, row: &MemoryRow, x: usize| {
            let low = i.checked_sub(1).and_then(|below| upper[below](row)).unwrap_or(0.0);
            (x as f64, low / bytes, upper[i](row).unwrap_or(0.0) / bytes)
        };
        let layer = |band: usize| Layer {
            band,
            spans: line.iter().enumerate().map(|(x, row)| span(band, row, x)).collect(),
        };
        let highest = rows.iter().filter_map(|row| row.resident_bytes).map(|resident| resident / bytes);
        Panel {
            title,
            x: Axis::steps("", &line.iter().map(|row| row.point.clone()).collect_vec()),
            y: Axis::linear(unit, highest, Y_LABELS),
            layers: (0..BANDS.len()).map(layer).collect(),
            lines: Vec::new(),
        }
    };
    chunks.into_iter().map(|(key, line)| panel(key, line.collect())).collect()
}
