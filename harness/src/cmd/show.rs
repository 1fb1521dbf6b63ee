//! `show`: the worst calls of a cell, and what happened in each.

use clap::Args;

use super::output::{Output, rows_text};
use super::print;
use crate::cli::Format;
use crate::error::{Error, Exit};
use crate::format::{numbers, whole};
use crate::grid::Grid;
use crate::record::{Keyed, Slowest};
use crate::select::thousands;
use crate::study::Study;
use crate::study::worst::{CellName, happened, worst};

/// Options of `show`.
#[derive(Args, Clone, Debug)]
pub struct ShowArgs {
    /// Which cell: `wheel/burst`, `wheel/burst/200k`; without a size it is the largest
    #[arg(value_name = "CELL")]
    pub cell: String,
    /// The run: a folder, a name under results/, or `latest`
    #[arg(value_name = "RUN", default_value = "latest")]
    pub run: String,
    /// How many calls, of the ten that are kept of each block
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    pub top: u32,
    /// How it is printed
    #[command(flatten)]
    pub output: Output,
}

/// Prints the worst calls.
pub fn show(args: &ShowArgs) -> Result<Exit, Error> {
    args.output.can_print()?;
    let study = Study::read(&args.run)?;
    let cell = CellName::parse(&args.cell, &study)?;
    let calls = worst(&study, &cell, args.top as usize)?;
    let text = match args.output.format {
        Format::Table | Format::Md => grid(&study, &cell, &calls).render(args.output.format),
        format => rows_text(&calls.into_iter().cloned().collect::<Vec<_>>(), format)?,
    };
    print(&text)?;
    Ok(Exit::Done)
}

fn grid(study: &Study, cell: &CellName, calls: &[&Keyed<Slowest>]) -> Grid {
    let title = format!(
        "The slowest calls of {} on {}, n = {}, in {}",
        cell.structure,
        cell.workload,
        thousands(cell.size),
        study.name()
    );
    let mut grid = Grid { title, ..Grid::default() };
    let column = |number: fn(&Keyed<Slowest>) -> Option<u64>| {
        calls.iter().map(|row| number(row).map(|n| n as f64)).collect::<Vec<_>>()
    };
    let operation =
        |row: &&Keyed<Slowest>| format!("{} {}", row.own.phase, row.own.operation.replace('_', " "));
    grid.name_column("operation", calls.iter().map(operation).collect());
    grid.column("ns", numbers(&column(|row| Some(row.own.latency_ns))));
    grid.column("block", whole(&column(|row| Some(row.key.block))));
    grid.column("call\n(from 0)", whole(&column(|row| Some(row.own.call))));
    grid.column("timers queued\nbefore", whole(&column(|row| row.own.queue_length_before)));
    grid.column("timers queued\nafter", whole(&column(|row| row.own.queue_length)));
    grid.word_column("what happened", calls.iter().map(|row| happened(&row.own)).collect());
    let blocks = study.manifest.plan.blocks;
    grid.notes.push(format!(
        "Of {blocks} blocks, each of which keeps its ten slowest. Nanoseconds and switches are of the timed run; the rest is of an \
         untimed repetition of it on a structure that counts."
    ));
    grid
}
