//! What can be wrong with a trace: `FILE:LINE: what; how to mend`.

use std::io;

/// Why a trace cannot be read or replayed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}{}: {what}; {mend}", .line.map(|line| format!(":{line}")).unwrap_or_default())]
pub struct TraceError {
    file: String,
    line: Option<u64>,
    what: String,
    mend: String,
}

impl TraceError {
    /// The line, counted from 1, unless the whole file is meant.
    pub fn line(&self) -> Option<u64> {
        self.line
    }

    pub(crate) fn at(file: &str, line: u64, what: impl Into<String>, mend: &str) -> Self {
        Self { file: file.to_owned(), line: Some(line), what: what.into(), mend: mend.to_owned() }
    }

    pub(crate) fn whole(file: &str, what: impl Into<String>, mend: &str) -> Self {
        Self { file: file.to_owned(), line: None, what: what.into(), mend: mend.to_owned() }
    }

    pub(crate) fn open(file: &str, error: &io::Error) -> Self {
        Self::whole(file, error.to_string(), "check the name and that the file may be read")
    }
}
