//! The file that an import makes: whole, or not at all.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::error::Error;
use crate::trace::csv::{RowWriter, Used};
use crate::trace::{Metadata, Row};

/// Which form of a trace is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Csv,
    Parquet,
}

impl Kind {
    /// By the file's name.
    pub(super) fn of(path: &Path) -> Result<Self, Error> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let kind = match () {
            () if name.ends_with(".tt.csv") => Self::Csv,
            () if name.ends_with(".tt.parquet") => Self::Parquet,
            () => {
                return Err(Error::usage(format!("{}: a trace is .tt.csv or .tt.parquet", path.display()))
                    .mend("let the name of --out end in one of them"));
            }
        };
        match kind {
            Self::Parquet if cfg!(not(feature = "tables")) => {
                Err(Error::usage("this build cannot write Parquet")
                    .mend("let the name of --out end in .tt.csv"))
            }
            kind => Ok(kind),
        }
    }
}

/// Refuses a name that is taken. It is asked again when the file gets it.
pub(super) fn vacant(path: &Path) -> Result<(), Error> {
    match path.symlink_metadata() {
        Ok(_) => Err(taken(path)),
        Err(_) => Ok(()),
    }
}

fn taken(path: &Path) -> Error {
    Error::failed(format!("{} is there already", path.display()))
        .mend("remove it, or give --out another name")
}

/// The folder that a file lies in.
pub(super) fn folder(path: &Path) -> PathBuf {
    path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new(".")).to_owned()
}

/// What stands in the file besides rows.
pub(super) struct Contents<'a> {
    pub(super) metadata: &'a Metadata,
    pub(super) owners: &'a [String],
    pub(super) used: Used,
}

/// Takes rows.
pub(super) trait Sink {
    fn row(&mut self, row: &Row) -> Result<(), Error>;
}

/// Writes a file and gives it its name, unless something fails or the name is taken.
pub(super) fn publish(
    path: &Path,
    kind: Kind,
    contents: &Contents<'_>,
    fill: &mut dyn FnMut(&mut dyn Sink) -> Result<(), Error>,
) -> Result<(), Error> {
    let unwritable = |error: io::Error| Error::file("write", path, &error);
    let file = NamedTempFile::with_prefix_in(".import-", folder(path)).map_err(unwritable)?;
    match kind {
        Kind::Csv => {
            let writer =
                RowWriter::new(file.as_file(), contents.metadata, contents.used).map_err(unwritable)?;
            let mut sink = Csv { path, owners: contents.owners, writer };
            fill(&mut sink)?;
            sink.writer.finish().map_err(unwritable)?;
        }
        Kind::Parquet => parquet(path, file.as_file(), contents, fill)?,
    }
    file.as_file().sync_all().map_err(unwritable)?;
    permit(&file).map_err(unwritable)?;
    file.persist_noclobber(path).map_err(|error| match error.error.kind() {
        io::ErrorKind::AlreadyExists => taken(path),
        _ => unwritable(error.error),
    })?;
    Ok(())
}

/// A temporary file is the owner's alone; a result is as any other file.
fn permit(file: &NamedTempFile) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.as_file().set_permissions(std::fs::Permissions::from_mode(0o644))
}

struct Csv<'a, W: Write> {
    path: &'a Path,
    owners: &'a [String],
    writer: RowWriter<W>,
}

impl<W: Write> Sink for Csv<'_, W> {
    fn row(&mut self, row: &Row) -> Result<(), Error> {
        let owner = row.ctx.and_then(|at| self.owners.get(at as usize)).map_or("", String::as_str);
        self.writer.row(row, owner).map_err(|error| Error::file("write", self.path, &error))
    }
}

#[cfg(feature = "tables")]
fn parquet(
    path: &Path,
    file: &std::fs::File,
    contents: &Contents<'_>,
    fill: &mut dyn FnMut(&mut dyn Sink) -> Result<(), Error>,
) -> Result<(), Error> {
    use crate::trace::{TraceError, parquet};
    fn failed(error: TraceError) -> Error {
        Error::failed(error.to_string())
    }
    struct Groups<'a, W: Write>(parquet::RowWriter<'a, W>);
    impl<W: Write> Sink for Groups<'_, W> {
        fn row(&mut self, row: &Row) -> Result<(), Error> {
            self.0.row(row).map_err(failed)
        }
    }
    let name = path.display().to_string();
    let writer = parquet::RowWriter::new(file, &name, contents.metadata, contents.owners).map_err(failed)?;
    let mut sink = Groups(writer);
    fill(&mut sink)?;
    sink.0.finish().map_err(failed)
}

#[cfg(not(feature = "tables"))]
fn parquet(
    path: &Path,
    _: &std::fs::File,
    _: &Contents<'_>,
    _: &mut dyn FnMut(&mut dyn Sink) -> Result<(), Error>,
) -> Result<(), Error> {
    Kind::of(path).map(|_| ())
}
