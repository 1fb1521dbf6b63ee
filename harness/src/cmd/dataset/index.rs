//! `dataset index`: the part of datasets/README.md that lists every workload and every trace with its figures.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use rayon::prelude::*;

use super::source;
use super::stat::{grids, named};
use crate::cli::Format;
use crate::cmd::print;
use crate::error::{Error, Exit};
use crate::format::fixed;
use crate::grid::Grid;
use crate::journal;
use crate::select::thousands;
use crate::stream::Stream;
use crate::truth::outcome;
use crate::workload::{Workload, builtin_traces, resolve};

/// Options of `dataset index`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Streams are made at n = 1,000 with seed 1 to be counted, so that it takes a moment only; a replay has the size of
its trace. What is written stands between two marks in the file, and nothing else of it is touched.")]
pub struct IndexArgs {
    /// Exit with 1 if the file does not say what would be printed
    #[arg(long)]
    pub check: bool,
    /// Put it into the file
    #[arg(long, conflicts_with = "check")]
    pub write: bool,
    /// The file
    #[arg(long, value_name = "FILE", default_value = "datasets/README.md")]
    pub file: PathBuf,
}

const BEGIN: &str = "<!-- harness dataset index: what follows is generated, up to the next such mark -->";
const END: &str = "<!-- harness dataset index: end -->";

/// Timers in the streams that are counted.
const N: u64 = 1000;

/// Prints the part, writes it, or says whether the file has it.
pub fn index(args: &IndexArgs) -> Result<Exit, Error> {
    let generated = generated()?;
    if !args.check && !args.write {
        print(&generated)?;
        return Ok(Exit::Done);
    }
    let path = &args.file;
    let text = fs::read_to_string(path).map_err(|error| {
        Error::file("read", path, &error).mend("go to the root of the repository, or name it with --file")
    })?;
    let (before, old, after) = parts(&text).ok_or_else(|| {
        let what = format!("{} has no part to write to", path.display());
        Error::failed(what).mend(format!("put these two lines where it is to stand:\n{BEGIN}\n{END}"))
    })?;
    if args.check {
        return up_to_date(args, old, &generated);
    }
    journal::replace(path, |file| {
        let written = write!(file, "{before}{BEGIN}\n\n{generated}\n{END}{after}");
        written.map_err(|error| Error::file("write", path, &error))
    })?;
    Ok(Exit::Done)
}

fn up_to_date(args: &IndexArgs, old: &str, generated: &str) -> Result<Exit, Error> {
    if old.trim() == generated.trim() {
        return Ok(Exit::Done);
    }
    let differs = generated.trim().lines().find(|line| !old.lines().any(|known| known == *line));
    let differs = differs.map_or_else(String::new, |line| format!(": it does not say\n{line}"));
    let what = format!("{} is not up to date{differs}", args.file.display());
    Err(Error::failed(what).mend("`harness dataset index --write` mends it, in the root of the repository"))
}

/// What stands before the part, in it, and behind it.
fn parts(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once(BEGIN)?;
    let (old, after) = rest.split_once(END)?;
    Some((before, old, after))
}

fn generated() -> Result<String, Error> {
    let workloads = resolve("all").map_err(|error| Error::failed(error.to_string()))?;
    let rows: Result<Vec<Line>, Error> = workloads.par_iter().map(line).collect();
    let rows = rows?;
    let traces: Result<Vec<_>, Error> = builtin_traces().map(|name| named(source(name)?)).collect();
    let traces = traces?;
    let mut text = [counts(&rows), words(&rows)].map(|grid| grid.render(Format::Md)).join("\n");
    for grid in grids(&traces, 5) {
        text.push('\n');
        text.push_str(&grid.render(Format::Md));
    }
    Ok(text)
}

/// A workload with what its stream amounts to.
struct Line {
    workload: Workload,
    n: u64,
    stream: Stream,
    arms: u64,
    shares: [u64; 3],
    missed: u64,
}

fn line(workload: &Workload) -> Result<Line, Error> {
    let n = workload.sizes(&[N])[0];
    let stream = workload.stream(n, 1).map_err(|error| Error::failed(error.to_string()))?;
    let found = outcome(&stream, true, 1);
    Ok(Line {
        workload: workload.clone(),
        n,
        arms: found.enqueued + found.rescheduled,
        shares: [found.rescheduled, found.cancelled, found.dispatched],
        missed: found.cancel_missed,
        stream,
    })
}

impl Line {
    fn name(&self) -> String {
        format!("`{}`", self.workload.name())
    }

    fn share(&self, of: usize) -> String {
        format!("{} %", fixed(self.shares[of] as f64 / self.arms.max(1) as f64 * 100.0, 1))
    }

    /// Sizes when none is asked for, and how many operations the largest has at most.
    fn sizes(&self) -> (String, String) {
        let sizes = self.workload.sizes(&[]);
        let most =
            sizes.iter().map(|n| self.workload.stream_bytes(*n) / size_of::<crate::stream::Op>() as u64);
        let texts: Vec<String> = sizes.iter().map(|n| thousands(*n)).collect();
        (texts.join(", "), thousands(most.max().unwrap_or(0)))
    }
}

fn counts(lines: &[Line]) -> Grid {
    let mut grid = Grid { title: "Workloads: what they ask of a queue".into(), ..Grid::default() };
    let column = |text: &dyn Fn(&Line) -> String| lines.iter().map(text).collect::<Vec<_>>();
    grid.name_column("workload", column(&Line::name));
    grid.name_column("model", column(&|line| line.workload.definition().model.clone()));
    grid.name_column("payload", column(&|line| line.workload.payload().to_string()));
    grid.column("n unless asked", column(&|line| line.sizes().0));
    grid.column("operations then, at most", column(&|line| line.sizes().1));
    grid.column("n counted", column(&|line| thousands(line.n)));
    grid.column("operations", column(&|line| thousands(line.stream.ops.len() as u64)));
    grid.column("arms", column(&|line| thousands(line.arms)));
    grid.column("re-armed", column(&|line| line.share(0)));
    grid.column("cancelled", column(&|line| line.share(1)));
    grid.column("dispatched", column(&|line| line.share(2)));
    grid.column("cancels that miss", column(&|line| thousands(line.missed)));
    grid.column("queued, most", column(&|line| thousands(line.stream.header.population)));
    grid.notes.push(format!(
        "Counted on a stream for n = {} timers with seed 1, or on the whole trace; shares are of arms (enqueues and \
         re-arms), as the reference answers.",
        thousands(N)
    ));
    grid
}

fn words(lines: &[Line]) -> Grid {
    let mut grid = Grid { title: "Workloads: what they are".into(), ..Grid::default() };
    // A bar would end the cell.
    let column =
        |text: &dyn Fn(&Line) -> &str| lines.iter().map(|line| text(line).replace('|', "\\|")).collect();
    grid.name_column("workload", lines.iter().map(Line::name).collect());
    grid.name_column("asks a structure to", column(&|line| &line.workload.definition().summary));
    grid.name_column("favours", column(&|line| &line.workload.definition().favours));
    grid.name_column("hurts", column(&|line| &line.workload.definition().hurts));
    grid.name_column("source", column(&|line| &line.workload.definition().source));
    grid
}
