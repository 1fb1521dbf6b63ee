//! The two forms of a file, by what its name ends with.

use std::io::Write;
use std::path::Path;

use super::{Trace, TraceError, csv};

/// How a trace is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Text.
    Csv,
    /// Columns.
    Parquet,
}

impl Form {
    /// The form that a file's name asks for.
    pub fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "csv" => Some(Self::Csv),
            "parquet" => Some(Self::Parquet),
            _ => None,
        }
    }

    /// Writes a trace.
    pub fn write(self, trace: &Trace, into: impl Write) -> Result<(), TraceError> {
        match self {
            Self::Csv => csv::write(trace, into).map_err(|error| {
                TraceError::whole(&trace.name, error.to_string(), "check that the folder can be written to")
            }),
            Self::Parquet => as_parquet(trace, into),
        }
    }
}

#[cfg(feature = "tables")]
fn as_parquet(trace: &Trace, into: impl Write) -> Result<(), TraceError> {
    super::parquet::write(trace, into)
}

#[cfg(not(feature = "tables"))]
fn as_parquet(trace: &Trace, _: impl Write) -> Result<(), TraceError> {
    let mend = "build with the feature `tables`, or write CSV";
    Err(TraceError::whole(&trace.name, "cannot become Parquet in this build", mend))
}
