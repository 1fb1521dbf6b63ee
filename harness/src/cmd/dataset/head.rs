//! `dataset head`: the first rows of a trace, for eyes.

use clap::Args;

use super::{source, unreadable};
use crate::cmd::print;
use crate::error::{Error, Exit};
use crate::grid::Grid;
use crate::statistics::span;
use crate::trace::{Op, Row};

/// Options of `dataset head`.
#[derive(Args, Clone, Debug)]
pub struct HeadArgs {
    /// The trace: a file, or the name of a built-in one
    #[arg(value_name = "FILE")]
    pub file: String,
    /// How many rows
    #[arg(short, value_name = "N", default_value_t = 20)]
    pub n: usize,
}

/// Prints what the trace says of itself and its first rows.
pub fn head(args: &HeadArgs) -> Result<Exit, Error> {
    let source = source(&args.file)?;
    let metadata: String =
        source.metadata().pairs().map(|(key, value)| format!("{key}: {value}\n")).collect();
    let title = format!("{}\n{metadata}", source.name());
    let mut rows: Vec<[String; HEADINGS.len()]> = Vec::new();
    let read = source.each(|row, owner| {
        if rows.len() < args.n {
            rows.push(texts(row, owner));
        }
        rows.len() < args.n
    });
    read.map_err(|error| unreadable(&error))?;
    let mut grid = Grid { title, ..Grid::default() };
    for (at, heading) in HEADINGS.into_iter().enumerate() {
        grid.column(heading, rows.iter().map(|row| row[at].clone()).collect());
    }
    print(&grid.to_string())?;
    Ok(Exit::Done)
}

const HEADINGS: [&str; 9] =
    ["line", "time, s", "operation", "timer", "due, s", "delay", "period", "owner", "aux"];

fn texts(row: &Row, owner: Option<&str>) -> [String; HEADINGS.len()] {
    let seconds = |ns: f64| format!("{:.6}", ns / 1e9);
    let arms = matches!(row.op, Op::Start | Op::Rearm);
    let delay = row.due_ns.filter(|_| arms).map(|due| span((due - i128::from(row.time_ns)) as f64));
    let text = |value: Option<String>| value.unwrap_or_default();
    [
        row.line.to_string(),
        seconds(row.time_ns as f64),
        format!("{} {}", row.op.letter(), word(row.op)),
        text(row.timer_id.map(|timer| timer.to_string())),
        text(row.due_ns.map(|due| seconds(due as f64))),
        text(delay),
        text((row.period_ns > 0).then(|| span(row.period_ns as f64))),
        owner.unwrap_or_default().to_owned(),
        text(row.aux.map(|aux| aux.to_string())),
    ]
}

fn word(op: Op) -> &'static str {
    match op {
        Op::Start => "start",
        Op::Rearm => "re-arm",
        Op::Cancel => "cancel",
        Op::Miss => "cancel, missed",
        Op::Expire => "expire",
        Op::Returned => "handler returned",
        Op::Advance => "clock moved",
        Op::Gap => "gap",
        Op::Present => "present",
        Op::Absorbed => "re-arm, absorbed",
        Op::Take => "take",
        Op::Done => "done",
        Op::PutBack => "put back",
        Op::Allocate => "allocate",
        Op::Free => "free",
    }
}
