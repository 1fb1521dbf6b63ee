//! What an import read, and what it could not.

use std::collections::BTreeMap;

use crate::error::Error;
use crate::format::fixed;
use crate::grid::Grid;
use crate::trace::{Metadata, Op};

/// Counts of an import.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// The file.
    pub file: String,
    /// Its form.
    pub form: String,
    /// Lines that were read; 0 for a form that has none.
    pub lines: u64,
    /// Bytes of the file.
    pub bytes: u64,
    /// Events by their name in the source.
    pub events: BTreeMap<String, u64>,
    /// Rows of each operation, in order of the codes.
    pub rows: [u64; 15],
    /// Lines that gave nothing, by the reason.
    pub skipped: BTreeMap<&'static str, Places>,
    /// What the reader of the trace should know.
    pub notes: BTreeMap<&'static str, Places>,
    /// Gaps: the line, and how many events were lost if it is known.
    pub gaps: Vec<(u64, Option<u64>)>,
    /// Most timers armed at once.
    pub armed_max: u64,
    /// Timers armed at the end.
    pub armed_at_end: u64,
    /// How long it took.
    pub seconds: f64,
    /// What the trace says of itself.
    pub metadata: Metadata,
}

/// How often something was met, and the first lines where it was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// How often.
    pub count: u64,
    /// The first lines.
    pub lines: Vec<u64>,
}

impl Places {
    /// Lines that are kept.
    pub const KEPT: usize = 5;

    fn add(&mut self, line: u64) {
        self.count += 1;
        if line > 0 && self.lines.len() < Self::KEPT {
            self.lines.push(line);
        }
    }

    fn shown(&self) -> String {
        let lines: Vec<_> = self.lines.iter().map(u64::to_string).collect();
        let more = if self.count > self.lines.len() as u64 { ", ..." } else { "" };
        if lines.is_empty() { String::new() } else { format!("line {}{more}", lines.join(", ")) }
    }
}

impl Report {
    /// Names of events that are counted; a file that has more is no trace of timers.
    const KINDS: usize = 1000;

    pub(super) fn new(file: &str, form: &str) -> Self {
        Self { file: file.to_owned(), form: form.to_owned(), ..Self::default() }
    }

    /// Rows of an operation.
    pub fn count(&self, op: Op) -> u64 {
        self.rows[usize::from(op.code() - 1)]
    }

    pub(super) fn event(&mut self, kind: &str) {
        if let Some(count) = self.events.get_mut(kind) {
            *count += 1;
            return;
        }
        let kind = if self.events.len() < Self::KINDS { kind } else { "(other)" };
        *self.events.entry(kind.to_owned()).or_default() += 1;
    }

    pub(super) fn skip(&mut self, line: u64, reason: &'static str) {
        self.skipped.entry(reason).or_default().add(line);
    }

    pub(super) fn note(&mut self, line: u64, what: &'static str) {
        self.notes.entry(what).or_default().add(line);
    }

    /// Why there is no trace.
    pub(super) fn nothing(&self) -> Error {
        let mut what = format!("{}: no timer was found in it, read as {}", self.file, self.form);
        if self.lines > 0 {
            what.push_str(&format!(" ({} lines)", self.lines));
        }
        let most = self.skipped.iter().max_by_key(|(_, places)| places.count);
        if let Some((reason, places)) = most {
            what.push_str(&format!(
                "; {} lines are {reason}, the first is {}",
                places.count, places.lines[0]
            ));
        }
        Error::failed(what).mend("name its form with --form, or record it with timer events")
    }

    /// What was read, as tables.
    pub fn grids(&self) -> Vec<Grid> {
        let mut grids = vec![self.operations(), self.kinds()];
        for (title, places) in [("Skipped lines", &self.skipped), ("Notes", &self.notes)] {
            grids.push(Self::places(title, places));
        }
        grids.push(self.lost());
        grids.retain(|grid| !grid.rows.is_empty());
        grids
    }

    fn operations(&self) -> Grid {
        let title = format!("{} as {}: rows of each operation", self.file, self.form);
        let mut grid = Grid { title, ..Grid::default() };
        let there: Vec<_> = Op::ALL.into_iter().filter(|op| self.count(*op) > 0).collect();
        grid.name_column("op", there.iter().map(|op| op.letter().to_string()).collect());
        grid.name_column("operation", there.iter().map(|op| format!("{op:?}").to_lowercase()).collect());
        grid.column("rows", there.iter().map(|op| whole(self.count(*op))).collect());
        grid.notes.push(format!(
            "{} timers were armed before, {} at most at once, {} at the end.",
            whole(self.count(Op::Present)),
            whole(self.armed_max),
            whole(self.armed_at_end)
        ));
        grid
    }

    fn kinds(&self) -> Grid {
        let mut grid = Grid { title: "Events of the source".to_owned(), ..Grid::default() };
        grid.name_column("event", self.events.keys().cloned().collect());
        grid.column("count", self.events.values().map(|count| whole(*count)).collect());
        grid
    }

    fn places(title: &str, places: &BTreeMap<&'static str, Places>) -> Grid {
        let mut grid = Grid { title: title.to_owned(), ..Grid::default() };
        grid.name_column("what", places.keys().map(|what| (*what).to_owned()).collect());
        grid.name_column("where", places.values().map(Places::shown).collect());
        grid.column("count", places.values().map(|places| whole(places.count)).collect());
        grid
    }

    fn lost(&self) -> Grid {
        let mut grid = Grid { title: "Gaps".to_owned(), ..Grid::default() };
        let first = self.gaps.iter().take(20);
        let lost = |lost: &Option<u64>| lost.map_or_else(|| "unknown".to_owned(), whole);
        grid.column("line", first.clone().map(|(line, _)| line.to_string()).collect());
        grid.column("events lost", first.map(|(_, count)| lost(count)).collect());
        if self.gaps.len() > 20 {
            grid.notes.push(format!("and {} more", self.gaps.len() - 20));
        }
        grid
    }
}

fn whole(count: u64) -> String {
    fixed(count as f64, 0)
}
