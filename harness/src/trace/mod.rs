//! Recorded timers in the neutral format: one row per operation, in order.
//!
//! ```text
//! a trace as CSV     --> csv::Rows --\
//! a trace as Parquet --> parquet ------> Trace --> validate --> a replay's operation stream
//! ```
//!
//! `datasets/README.md` describes the columns. What is read is kept exactly: a number that does not fit is
//! refused, never rounded.

pub mod csv;
mod error;
mod form;
#[cfg(feature = "tables")]
pub mod parquet;
mod source;
mod tally;
pub mod validate;

use std::fs::File;
use std::io::{BufReader, Cursor, Read, Seek};
use std::path::Path;

use serde::{Deserialize, Serialize};

pub use error::TraceError;
pub use form::Form;
pub use source::{Source, SourceError};
pub use tally::{event, statistics};
pub use validate::{Finding, Repair, Rule, Severity, Validation, repair, validate};

/// What a row says was done. The numbers are those of the Parquet form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[repr(u8)]
pub enum Op {
    /// A timer that was not armed is.
    Start = 1,
    /// An armed timer gets another due time and keeps its handle.
    Rearm,
    /// An armed timer is cancelled.
    Cancel,
    /// A cancel that finds its timer not armed.
    Miss,
    /// An armed timer expires; one with a period is armed again at once.
    Expire,
    /// A handler returned.
    Returned,
    /// The clock moved with nothing due.
    Advance,
    /// Events were lost: nothing is armed any more, unless it is `Present` next.
    Gap,
    /// A timer was armed before the trace began.
    Present,
    /// A re-arm that was asked for and left out by the source.
    Absorbed,
    /// A dispatcher cut off all that was due.
    Take,
    /// One timer of a batch was handled.
    Done,
    /// A timer of a batch was put back.
    PutBack,
    /// A handle was allocated.
    Allocate,
    /// A handle was freed.
    Free,
}

impl Op {
    /// Every operation, in order of its code.
    pub const ALL: [Self; 15] = [
        Self::Start,
        Self::Rearm,
        Self::Cancel,
        Self::Miss,
        Self::Expire,
        Self::Returned,
        Self::Advance,
        Self::Gap,
        Self::Present,
        Self::Absorbed,
        Self::Take,
        Self::Done,
        Self::PutBack,
        Self::Allocate,
        Self::Free,
    ];

    const LETTERS: &'static [u8; 15] = b"SRCNEXAGPBTDQIF";

    /// The letter of the CSV form.
    pub fn letter(self) -> char {
        char::from(Self::LETTERS[usize::from(self.code() - 1)])
    }

    /// The code of the Parquet form.
    pub fn code(self) -> u8 {
        self as u8
    }

    /// The operation of a letter.
    pub fn from_letter(letter: &[u8]) -> Option<Self> {
        let [letter] = letter else { return None };
        let at = Self::LETTERS.iter().position(|known| known == letter)?;
        Some(Self::ALL[at])
    }

    /// The operation of a code.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code.checked_sub(1)?)).copied()
    }

    /// Whether the row must name a timer.
    pub fn needs_timer(self) -> bool {
        !matches!(self, Self::Advance | Self::Gap | Self::Take | Self::Done | Self::Returned)
    }
}

/// The columns, in the order in which they are written.
pub const COLUMNS: [&str; 9] =
    ["time_ns", "op", "timer_id", "due_ns", "period_ns", "slack_ns", "ctx", "cpu", "aux"];

/// One operation of a recorded program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// When it happened, since the trace began.
    pub time_ns: u64,
    /// What it was.
    pub op: Op,
    /// The timer; each new life of a reused address has a number of its own.
    pub timer_id: Option<u64>,
    /// When the timer is due, on the same clock. Wider than any column, so that every number is exact.
    pub due_ns: Option<i128>,
    /// 0 for one expiry; else the timer is armed again at due + period.
    pub period_ns: u64,
    /// It may expire from due to due + slack.
    pub slack_ns: u64,
    /// Who owns it: an index of [`Trace::contexts`].
    pub ctx: Option<u32>,
    /// The queue it belongs to.
    pub cpu: Option<u16>,
    /// Depends on the operation: lateness, events lost, or the batch.
    pub aux: Option<i64>,
    /// The line of the CSV file, or the row of the Parquet file, counted from 1.
    pub line: u64,
}

impl Row {
    /// A row with only what every row has.
    pub fn new(time_ns: u64, op: Op) -> Self {
        Self {
            time_ns,
            op,
            timer_id: None,
            due_ns: None,
            period_ns: 0,
            slack_ns: 0,
            ctx: None,
            cpu: None,
            aux: None,
            line: 0,
        }
    }

    /// Whether two rows say the same, wherever they stand.
    pub fn same(&self, other: &Self) -> bool {
        Self { line: 0, ..*self } == Self { line: 0, ..*other }
    }
}

/// What a trace says of itself: `key: value` pairs in the order of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metadata(Vec<(String, String)>);

impl Metadata {
    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }

    /// Adds or replaces a pair.
    pub fn set(&mut self, key: &str, value: impl Into<String>) {
        match self.0.iter_mut().find(|(known, _)| known == key) {
            Some((_, known)) => *known = value.into(),
            None => self.0.push((key.to_owned(), value.into())),
        }
    }

    /// All pairs.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// How fine the due times of the source are; 1 ns unless it says otherwise.
    pub fn granularity_ns(&self) -> u64 {
        self.get("due-granularity-ns").and_then(|text| text.parse().ok()).unwrap_or(1)
    }

    /// How many rows of an operation there must be, if the trace says so.
    pub fn count(&self, op: Op) -> Option<u64> {
        self.get(&format!("count-{}", op.letter())).and_then(|text| text.parse().ok())
    }

    /// Why a version of the format cannot be read, unless this is the one or none is named.
    fn wrong_version(&self) -> Option<String> {
        let version = self.get("timer-trace")?;
        (version != "1").then(|| format!("`timer-trace: {version}` is a version that is not known; 1 is"))
    }
}

/// A trace in memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// What it is called in messages: its file.
    pub name: String,
    /// What it says of itself.
    pub metadata: Metadata,
    /// What [`Row::ctx`] points at.
    pub contexts: Vec<String>,
    /// The rows.
    pub rows: Vec<Row>,
}

impl Trace {
    /// Rows of each operation, in order of the codes.
    pub fn counts(&self) -> [(Op, u64); 15] {
        let mut counts = Op::ALL.map(|op| (op, 0));
        for row in &self.rows {
            counts[usize::from(row.op.code() - 1)].1 += 1;
        }
        counts
    }

    /// Whether two traces say the same, wherever their rows stand and whatever their files are called.
    pub fn same(&self, other: &Self) -> bool {
        let context =
            |trace: &Self, row: &Row| row.ctx.and_then(|at| trace.contexts.get(at as usize).cloned());
        let pair = |(a, b): (&Row, &Row)| {
            context(self, a) == context(other, b) && Row { ctx: None, ..*a }.same(&Row { ctx: None, ..*b })
        };
        self.metadata == other.metadata
            && self.rows.len() == other.rows.len()
            && self.rows.iter().zip(&other.rows).all(pair)
    }
}

/// Reads a trace, as CSV or Parquet by what it begins with.
pub fn read(path: &Path) -> Result<Trace, TraceError> {
    let name = path.display().to_string();
    let file = File::open(path).map_err(|error| TraceError::open(&name, &error))?;
    read_from(&name, BufReader::new(file))
}

/// Reads a trace that is in memory. `name` is what it is called in messages.
pub fn read_bytes(name: &str, bytes: &[u8]) -> Result<Trace, TraceError> {
    read_from(name, Cursor::new(bytes.to_vec()))
}

/// The first bytes of every Parquet file.
const PARQUET: &[u8; 4] = b"PAR1";

fn read_from<R: Read + Seek + Send + Sync + 'static>(name: &str, mut from: R) -> Result<Trace, TraceError> {
    let mut start = Vec::new();
    let io = |error: std::io::Error| TraceError::open(name, &error);
    from.by_ref().take(PARQUET.len() as u64).read_to_end(&mut start).map_err(io)?;
    from.rewind().map_err(io)?;
    if start != PARQUET {
        return csv::Rows::new(name, from)?.into_trace();
    }
    read_parquet(name, from)
}

#[cfg(feature = "tables")]
fn read_parquet<R: Read + Seek + Send + Sync + 'static>(
    name: &str,
    mut from: R,
) -> Result<Trace, TraceError> {
    let mut bytes = Vec::new();
    from.read_to_end(&mut bytes).map_err(|error| TraceError::open(name, &error))?;
    parquet::read(name, bytes)
}

#[cfg(not(feature = "tables"))]
fn read_parquet<R>(name: &str, _: R) -> Result<Trace, TraceError> {
    Err(TraceError::whole(
        name,
        "is Parquet, which this build cannot read",
        "build with the feature `tables`, or convert the file to CSV",
    ))
}
