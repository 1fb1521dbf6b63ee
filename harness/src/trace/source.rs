//! A trace by name, read row by row: a CSV file in the memory of one row, Parquet whole.

use std::fs::File;
use std::io::{BufReader, Cursor, Read};
use std::path::Path;

use super::{Metadata, PARQUET, Row, Trace, TraceError, csv};
use crate::suggest::did_you_mean;
use crate::workload::{builtin_trace, builtin_traces};

/// A trace whose rows have not been read.
#[derive(Debug)]
pub struct Source {
    name: String,
    rows: Rows,
}

enum Rows {
    Streamed(Box<csv::Rows<Box<dyn Read>>>),
    Held(Trace),
}

impl std::fmt::Debug for Rows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Streamed(_) => "Streamed",
            Self::Held(_) => "Held",
        })
    }
}

/// Why a trace cannot be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    /// Neither a file nor a built-in trace is called so.
    #[error("no file and no built-in trace is called `{name}`{hint}\n    built in: {known}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// The nearest name.
        hint: String,
        /// All names.
        known: String,
    },
    /// A file that cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
}

impl Source {
    /// Opens a file, or else the built-in trace of this name.
    pub fn open(name: &str) -> Result<Self, SourceError> {
        let path = Path::new(name);
        if path.is_file() {
            let file = File::open(path).map_err(|error| TraceError::open(name, &error))?;
            return Ok(Self::from_reader(name, Box::new(file))?);
        }
        if let Some((file, bytes)) = builtin_trace(name) {
            return Ok(Self::from_reader(file, Box::new(Cursor::new(bytes)))?);
        }
        if path.exists() || name.contains(['/', '.']) {
            let error = File::open(path).err().unwrap_or(std::io::ErrorKind::IsADirectory.into());
            return Err(TraceError::open(name, &error).into());
        }
        let known: Vec<&str> = builtin_traces().map(stem).collect();
        let hint = did_you_mean(name, known.iter().copied());
        Err(SourceError::Unknown { name: name.to_owned(), hint, known: known.join(" ") })
    }

    /// Reads what the bytes of a file say, as CSV or Parquet by what it begins with. `name` is what it is
    /// called in messages.
    pub fn from_reader(name: &str, from: Box<dyn Read>) -> Result<Self, TraceError> {
        let mut from = BufReader::with_capacity(1 << 16, from);
        let mut start = Vec::new();
        let io = |error: std::io::Error| TraceError::open(name, &error);
        from.by_ref().take(PARQUET.len() as u64).read_to_end(&mut start).map_err(io)?;
        let is_parquet = start == PARQUET;
        let whole = Cursor::new(start).chain(from);
        let rows = if is_parquet {
            Rows::Held(held(name, whole)?)
        } else {
            Rows::Streamed(Box::new(csv::Rows::new(name, Box::new(whole) as Box<dyn Read>)?))
        };
        Ok(Self { name: name.to_owned(), rows })
    }

    /// What it is called in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the trace says of itself.
    pub fn metadata(&self) -> &Metadata {
        match &self.rows {
            Rows::Streamed(rows) => rows.metadata(),
            Rows::Held(trace) => &trace.metadata,
        }
    }

    /// Shows each row and its owner to `see`, until it says false.
    pub fn each(self, mut see: impl FnMut(&Row, Option<&str>) -> bool) -> Result<(), TraceError> {
        match self.rows {
            Rows::Streamed(mut rows) => {
                while let Some(row) = rows.next() {
                    let row = row?;
                    let owner = row.ctx.and_then(|at| rows.contexts().get(at as usize));
                    if !see(&row, owner.map(String::as_str)) {
                        break;
                    }
                }
            }
            Rows::Held(trace) => {
                let owner = |row: &Row| row.ctx.and_then(|at| trace.contexts.get(at as usize));
                trace.rows.iter().all(|row| see(row, owner(row).map(String::as_str)));
            }
        }
        Ok(())
    }

    /// Reads all of it into memory.
    pub fn into_trace(self) -> Result<Trace, TraceError> {
        match self.rows {
            Rows::Streamed(rows) => rows.into_trace(),
            Rows::Held(trace) => Ok(trace),
        }
    }
}

#[cfg(feature = "tables")]
fn held(name: &str, mut from: impl Read) -> Result<Trace, TraceError> {
    let mut bytes = Vec::new();
    from.read_to_end(&mut bytes).map_err(|error| TraceError::open(name, &error))?;
    super::parquet::read(name, bytes)
}

#[cfg(not(feature = "tables"))]
fn held(name: &str, _: impl Read) -> Result<Trace, TraceError> {
    super::read_parquet(name, ())
}

/// The name of a trace without what follows its form.
fn stem(file: &str) -> &str {
    file.split(".tt.").next().unwrap_or(file)
}
