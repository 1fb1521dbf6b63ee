//! What goes wrong in the command, told as what, where and how to mend it, with the exit code that scripts see.

use std::fmt;
use std::io;
use std::path::Path;
use std::process::ExitCode;

/// How the command ended, as scripts see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// All done.
    Done = 0,
    /// A bad file, a folder that cannot be written, a size above memory.
    Failed = 1,
    /// A bad name, parameter or size.
    Usage = 2,
    /// A confident regression, in `gate`.
    Regression = 3,
    /// An answer that differs from the reference.
    Wrong = 4,
    /// Undecided, in `gate --strict`.
    Undecided = 5,
    /// Interrupted; what was finished is kept.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// An error as it is printed: what and where in the first line, how to mend it in the second.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    exit: Exit,
    what: String,
    mend: Option<String>,
}

impl Error {
    /// A bad name, parameter or size: exit code 2.
    pub fn usage(what: impl Into<String>) -> Self {
        Self { exit: Exit::Usage, what: what.into(), mend: None }
    }

    /// A bad file, a folder that cannot be written and the like: exit code 1.
    pub fn failed(what: impl Into<String>) -> Self {
        Self { exit: Exit::Failed, what: what.into(), mend: None }
    }

    /// Somebody wants it to end: exit code 130.
    pub fn interrupted(what: impl Into<String>) -> Self {
        Self { exit: Exit::Interrupted, what: what.into(), mend: None }
    }

    /// The system refused something about a file.
    pub fn file(doing: &str, path: &Path, error: &io::Error) -> Self {
        Self::failed(format!("cannot {doing} {}: {error}", path.display()))
    }

    /// Says how to mend it.
    #[must_use]
    pub fn mend(mut self, how: impl Into<String>) -> Self {
        self.mend = Some(how.into());
        self
    }

    /// The exit code.
    pub fn exit(&self) -> Exit {
        self.exit
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        match &self.mend {
            Some(how) => write!(f, "\n    {how}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_to_mend_it_stands_in_a_line_of_its_own() {
        let error =
            Error::usage("no structure is called `weel`").mend("`harness list impls` prints all of them");
        assert_eq!(
            error.to_string(),
            "no structure is called `weel`\n    `harness list impls` prints all of them"
        );
        assert_eq!(error.exit(), Exit::Usage);
    }
}
