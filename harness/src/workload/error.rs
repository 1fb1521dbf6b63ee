//! What can be wrong with a workload: what, where, how to mend.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::suggest::did_you_mean;
use crate::trace::TraceError;

/// Why a workload cannot be had.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct WorkloadError(#[from] Kind);

#[derive(Debug, thiserror::Error)]
pub(super) enum Kind {
    /// Nothing is called so.
    #[error("no workload is called `{name}`{hint}\n    `harness list workloads` prints all of them")]
    Unknown { name: String, hint: String },
    /// A definition that is malformed, with its file and line. How to mend it may stand in lines of its own.
    #[error("{place}: {message}")]
    File { place: Place, message: String },
    /// A parameter on the command line.
    #[error("workload `{workload}`: {message}")]
    Parameter { workload: String, message: String },
    /// A number of timers that cannot be.
    #[error("workload `{workload}`: {message}")]
    Size { workload: String, message: String },
    /// A file that cannot be read.
    #[error("{}: {source}; check the name and that the file may be read", .path.display())]
    Io { path: PathBuf, source: io::Error },
    /// A trace.
    #[error(transparent)]
    Trace(#[from] TraceError),
}

/// A line of a file.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) file: String,
    pub(super) line: Option<usize>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        self.line.map_or(Ok(()), |line| write!(f, ":{line}"))
    }
}

impl WorkloadError {
    /// Whether the command line is to blame (exit code 2) and not a file (exit code 1).
    pub fn is_usage(&self) -> bool {
        matches!(self.0, Kind::Unknown { .. } | Kind::Parameter { .. } | Kind::Size { .. })
    }

    pub(super) fn unknown<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        Kind::Unknown { name: name.to_owned(), hint: did_you_mean(name, known) }.into()
    }

    pub(super) fn parameter(workload: &str, message: impl Into<String>) -> Self {
        Kind::Parameter { workload: workload.to_owned(), message: message.into() }.into()
    }

    pub(super) fn size(workload: &str, message: impl Into<String>) -> Self {
        Kind::Size { workload: workload.to_owned(), message: message.into() }.into()
    }

    pub(super) fn io(path: &Path, source: io::Error) -> Self {
        Kind::Io { path: path.to_owned(), source }.into()
    }

    pub(super) fn file(file: &str, line: Option<usize>, message: impl Into<String>) -> Self {
        Kind::File { place: Place { file: file.to_owned(), line }, message: message.into() }.into()
    }
}

impl WorkloadError {
    /// Adds how to mend a malformed definition, in a line of its own.
    pub(super) fn mend(mut self, how: String) -> Self {
        if let Kind::File { message, .. } = &mut self.0
            && !how.is_empty()
        {
            message.push_str("\n    ");
            message.push_str(&how);
        }
        self
    }
}

impl From<TraceError> for WorkloadError {
    fn from(error: TraceError) -> Self {
        Kind::Trace(error).into()
    }
}

/// A message of serde with the nearest of the names it expected.
///
/// serde lists them after the wrong one, all between backquotes: "unknown field `stpe`, expected one of ...".
pub(super) fn mended(message: &str) -> String {
    let first = message.lines().next().unwrap_or_default();
    let mut quoted = first.split('`').skip(1).step_by(2);
    let Some(wrong) = quoted.next().filter(|_| first.starts_with("unknown ")) else {
        return message.trim().replace('\n', "; ");
    };
    let known: Vec<&str> = quoted.collect();
    let what = if first.starts_with("unknown variant") { "no value is called" } else { "there is no key" };
    let list =
        if known.is_empty() { String::new() } else { format!("\n    there is `{}`", known.join("`, `")) };
    format!("{what} `{wrong}`{}{list}", did_you_mean(wrong, known.iter().copied()))
}
