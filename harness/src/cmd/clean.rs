//! `clean`: interrupted runs under results/, listed, and removed when that is said.

use std::fs;
use std::path::Path;

use super::outcome::{can_print, csv, json};
use super::print;
use crate::cli::{CleanArgs, Format};
use crate::error::{Error, Exit};
use crate::folder::{self, Manifest, REFERENCE, RESULTS};
use crate::grid::Grid;
use crate::journal;
use crate::record::row;
use crate::select::thousands;

row! {
    /// An interrupted run.
    InterruptedRun {
        /// Name of the run: its folder
        run: String,
        /// When it started, UTC
        started: String,
        /// Cells that it has finished
        cells_finished: u64,
        /// Cells that it was to have
        cells_planned: u64,
        /// Bytes in its folder
        disk_bytes: u64,
        /// 1 when it was removed, else 0
        removed: u64,
    }
}

/// Lists interrupted runs, and removes them with `--yes`. A run that is going on is none of them, nor is a reference.
pub fn clean(args: &CleanArgs) -> Result<Exit, Error> {
    can_print(args.format)?;
    let mut rows = Vec::new();
    for (folder, manifest) in folder::interrupted() {
        let row = described(&folder, &manifest)?;
        if args.yes {
            folder::remove(&folder)?;
        }
        rows.push(InterruptedRun { removed: args.yes.into(), ..row });
    }
    print(&match args.format {
        Format::Table | Format::Md => grid(&rows, args.yes).render(args.format),
        Format::Csv => csv(&rows)?,
        Format::Json => json(&rows)?,
    })?;
    Ok(Exit::Done)
}

fn described(folder: &Path, manifest: &Manifest) -> Result<InterruptedRun, Error> {
    let cells: usize = manifest.plan.own_groups().iter().map(|group| group.cells.len()).sum();
    Ok(InterruptedRun {
        run: folder.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        started: manifest.started.clone(),
        cells_finished: journal::read(folder)?.len() as u64,
        cells_planned: cells as u64,
        disk_bytes: bytes(folder),
        removed: 0,
    })
}

/// Bytes of all files below a folder, as far as they can be looked at.
fn bytes(folder: &Path) -> u64 {
    let of = |entry: fs::DirEntry| match entry.metadata() {
        Ok(found) if found.is_dir() => bytes(&entry.path()),
        Ok(found) => found.len(),
        Err(_) => 0,
    };
    fs::read_dir(folder).into_iter().flatten().flatten().map(of).sum()
}

fn grid(rows: &[InterruptedRun], removed: bool) -> Grid {
    let mut grid = Grid { title: format!("Interrupted runs under {RESULTS}/"), ..Grid::default() };
    grid.name_column("run", rows.iter().map(|row| row.run.clone()).collect());
    grid.name_column("started", rows.iter().map(|row| row.started.clone()).collect());
    let cells = |row: &InterruptedRun| {
        format!("{} of {}", thousands(row.cells_finished), thousands(row.cells_planned))
    };
    grid.column("cells finished", rows.iter().map(cells).collect());
    grid.column("size, KiB", rows.iter().map(|row| thousands(row.disk_bytes.div_ceil(1024))).collect());
    let note = match (rows.len(), removed) {
        (0, _) => "There is none.",
        (_, true) => "Removed.",
        (_, false) => "`harness clean --yes` removes them; `harness --resume RUN` goes on with one.",
    };
    grid.notes.push(note.into());
    grid.notes.push(format!("A run that is going on is not listed, nor is {RESULTS}/{REFERENCE}."));
    grid
}
