//! `check`: one small round of each cell against the reference, so that no long run starts on a mistake.

use std::time::Duration;

use super::print;
use super::run::{own_executable, planned, workloads};
use crate::cli::CheckArgs;
use crate::error::{Error, Exit};
use crate::grid::Grid;
use crate::journal::{Entry, Status};
use crate::plan::{Cell, Order, Plan};
use crate::progress::Progress;
use crate::record::word;
use crate::run::{Run, interrupt_flag};
use crate::select::{self, thousands};
use crate::spawn::Launcher;
use crate::spec::{AllocatorKind, ClockKind, Pass};

/// Seconds after which a cell of a check is given up.
const TIMEOUT_S: u64 = 60;

/// Runs each structure once on each workload, and says what passed and what differs.
pub fn check(args: &CheckArgs) -> Result<Exit, Error> {
    let workloads = workloads(&args.workload)?;
    let plan = Plan {
        structures: select::structures(&args.structures)?,
        workloads: workloads
            .iter()
            .map(|workload| planned(workload, &[args.n], None))
            .collect::<Result<_, _>>()?,
        passes: vec![Pass::Time],
        // The block that a run discards is all there is.
        blocks: 0,
        seed: args.seed,
        clock: ClockKind::Wall,
        allocators: vec![AllocatorKind::Jemalloc],
        timeout_s: TIMEOUT_S,
        keep_samples: false,
        order: Order::AllFirst,
        cpu: None,
        shard: None,
        budget: None,
    };
    let folder =
        tempfile::tempdir().map_err(|error| Error::failed(format!("cannot make a folder: {error}")))?;
    let launcher = Launcher {
        executable: own_executable()?,
        timeout: Duration::from_secs(TIMEOUT_S),
        interrupted: interrupt_flag()?,
    };
    let progress = Progress::silent();
    let run = Run {
        plan: &plan,
        workloads: &workloads,
        folder: folder.path(),
        launcher,
        finished: Vec::new(),
        progress,
    };
    let entries = run.execute()?;
    let cells = plan.cells();
    print(&grid(&plan, &cells, &entries).to_string())?;
    Ok(exit(&entries, cells.len()))
}

fn grid(plan: &Plan, cells: &[Cell], entries: &[Entry]) -> Grid {
    let cell = |entry: &Entry| &cells[entry.cell as usize];
    let texts = |of: &dyn Fn(&Entry) -> String| entries.iter().map(of).collect::<Vec<_>>();
    let mut grid = Grid { title: "Answers against the reference's".into(), ..Grid::default() };
    grid.name_column("structure", texts(&|entry| cell(entry).structure.to_string()));
    grid.name_column("workload", texts(&|entry| plan.workloads[cell(entry).workload].name.clone()));
    grid.name_column("n", texts(&|entry| thousands(cell(entry).size)));
    grid.name_column(
        "answer",
        texts(&|entry| match entry.status {
            Status::Ok => "pass".into(),
            status => word(&status),
        }),
    );
    let why = |entry: &Entry| {
        let words = entry.check.clone().or_else(|| entry.detail.clone()).unwrap_or_default();
        match entry.reproduced {
            Some([reproduced, of, extra]) => {
                let [reproduced, of, extra] = [reproduced, of, extra].map(thousands);
                format!("{words}; {reproduced} of {of} recorded expiries reproduced, {extra} not recorded")
            }
            None => words,
        }
    };
    grid.name_column("checked as, or first difference", texts(&why));
    grid.notes.push(format!(
        "{} of {} pass",
        entries.iter().filter(|entry| entry.status == Status::Ok).count(),
        cells.len()
    ));
    grid
}

fn exit(entries: &[Entry], cells: usize) -> Exit {
    let any = |status: Status| entries.iter().any(|entry| entry.status == status);
    if any(Status::Wrong) {
        Exit::Wrong
    } else if entries.len() < cells || any(Status::Interrupted) {
        Exit::Interrupted
    } else if entries.iter().all(|entry| matches!(entry.status, Status::Ok | Status::Unsupported)) {
        Exit::Done
    } else {
        Exit::Failed
    }
}
