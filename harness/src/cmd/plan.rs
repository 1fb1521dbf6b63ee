//! `plan`: the cells of a run, in the order in which they would run, and what they would take. Nothing is run.

use super::outcome::{can_print, csv, json, say};
use super::planning;
use super::print;
use super::run::{announcement, forecast, guessed_blocks, resumable, too_few};
use crate::cli::{Format, RunArgs};
use crate::error::{Error, Exit};
use crate::grid::Grid;
use crate::plan::{Plan, PlannedCell};
use crate::select::thousands;

/// Prints the cells that these options ask for, or those of a run that is there.
pub fn plan(args: &RunArgs) -> Result<Exit, Error> {
    can_print(args.format)?;
    let (mut plan, workloads) = match &args.resume {
        Some(run) => resumable(run).map(|(_, manifest, workloads)| (manifest.plan, workloads))?,
        None => planning::asked(args)?,
    };
    if let Some(budget) = plan.budget.filter(|budget| !budget.settled) {
        plan.blocks = guessed_blocks(&plan, &workloads, budget.seconds);
        say(too_few(plan.blocks));
    }
    let rows = plan.listing();
    let estimate = announcement(&plan, &forecast(&plan, &workloads));
    match args.format {
        Format::Table | Format::Md => print(&grid(&plan, &rows, estimate).render(args.format))?,
        Format::Csv | Format::Json => {
            print(&if args.format == Format::Csv { csv(&rows)? } else { json(&rows)? })?;
            say(Some(estimate));
        }
    }
    Ok(Exit::Done)
}

fn grid(plan: &Plan, rows: &[PlannedCell], estimate: String) -> Grid {
    let part = plan.shard.map_or_else(String::new, |shard| format!(", shard {shard}"));
    let title = format!("Cells in the order in which they run, seed {}{part}", plan.seed);
    let mut grid = Grid { title, ..Grid::default() };
    let texts = |of: &dyn Fn(&PlannedCell) -> String| rows.iter().map(of).collect::<Vec<_>>();
    let named = |row: &PlannedCell| match row.parameters.as_str() {
        "" => row.structure.clone(),
        parameters => format!("{}:{parameters}", row.structure),
    };
    grid.name_column("structure", texts(&named));
    grid.name_column("workload", texts(&|row| row.workload.clone()));
    grid.name_column("pass", texts(&|row| row.pass.clone()));
    grid.name_column("allocator", texts(&|row| row.allocator.clone()));
    grid.name_column("payload", texts(&|row| row.payload.clone()));
    grid.column("n", texts(&|row| thousands(row.size)));
    grid.column("cell", texts(&|row| row.cell.to_string()));
    grid.column("block", texts(&|row| row.block.to_string()));
    grid.column("position", texts(&|row| row.position.to_string()));
    grid.column("repeat", texts(&|row| row.repeat.to_string()));
    grid.column("seed", texts(&|row| row.seed.to_string()));
    grid.notes.push("Block 0 is run and discarded. What is not timed has the stream of block 1.".into());
    grid.notes.push(estimate);
    grid
}
