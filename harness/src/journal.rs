//! What a run has finished, cell by cell: one line of JSON each, on the disk before the next cell starts.
//!
//! Tables are made from the journal and from nothing else, so a run that was interrupted, or whose machine
//! went down, loses the cell that was running and no more. A last line that was torn is passed over.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::latency::CallTimes;
use crate::spec::Report;

/// How a cell ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Measured, and its answers are the reference's.
    Ok,
    /// Its answers differ from the reference's.
    Wrong,
    /// Its process ended without an answer.
    Crashed,
    /// It was given up, or skipped because an earlier block of it was.
    Timeout,
    /// It was ended for want of memory.
    Oom,
    /// The structure cannot do what the workload asks.
    Unsupported,
    /// The run was interrupted while it was running.
    Interrupted,
}

/// One finished cell.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Entry {
    /// The cell's place in the plan.
    pub cell: u32,
    /// How it ended.
    pub status: Status,
    /// What went wrong, in words.
    pub detail: Option<String>,
    /// Hash of its stream, in hexadecimal.
    pub stream_hash: String,
    /// Names of the stream's phases.
    pub phases: Vec<String>,
    /// Which check its answers passed: `exact`, `ties-any-order` or `late<=bound`.
    pub check: Option<String>,
    /// Milliseconds since 1970, when it started.
    pub started_unix_ms: u64,
    /// Milliseconds that its process lived.
    pub elapsed_ms: u64,
    /// What it measured.
    pub report: Option<Report>,
    /// Its single calls (`latency`), as far as they are kept.
    pub calls: Option<CallTimes>,
    /// Recorded expiries of a trace: how many were reproduced, of how many.
    pub reproduced: Option<[u64; 3]>,
}

/// A journal that is being written.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
}

impl Journal {
    /// Its name in the run's folder.
    pub const NAME: &str = "journal.jsonl";

    /// Its name when it was packed by gzip, as in runs that are committed. It is read, and never added to.
    pub const PACKED: &str = "journal.jsonl.gz";

    /// Opens the journal of a run's folder to add to it, which one process at a time may do. A torn last line is cut off first, or what is added
    /// would stand behind it.
    pub fn open(folder: &Path) -> Result<Self, Error> {
        let path = folder.join(Self::NAME);
        if folder.join(Self::PACKED).exists() {
            let what = format!("the journal in {} is packed, and nothing is added to one", folder.display());
            return Err(Error::failed(what).mend("start a new run, or unpack it by `gunzip`"));
        }
        let file = OpenOptions::new().create(true).append(true).open(&path);
        let file = file.map_err(|error| Error::file("write", &path, &error))?;
        // The lock goes with the process, however it ends.
        file.try_lock().map_err(|_| {
            Error::failed(format!("the run in {} is going on", folder.display()))
                .mend("wait for it, or stop it; `--resume` is for a run that was interrupted")
        })?;
        let whole = whole_lines(&path)?;
        file.set_len(whole.len() as u64).map_err(|error| Error::file("write", &path, &error))?;
        Ok(Self { path, file })
    }

    /// Adds a cell, and comes back when it is on the disk.
    pub fn append(&mut self, entry: &Entry) -> Result<(), Error> {
        let mut line = serde_json::to_vec(entry).map_err(|error| Error::failed(error.to_string()))?;
        line.push(b'\n');
        let written = self.file.write_all(&line).and_then(|()| self.file.sync_data());
        written.map_err(|error| {
            Error::file("write", &self.path, &error)
                .mend("make room; what was finished is kept, and `--resume` goes on with it")
        })
    }
}

/// Whether somebody is adding to the journal of a run's folder.
pub fn is_going_on(folder: &Path) -> bool {
    let file = File::open(folder.join(Journal::NAME));
    file.is_ok_and(|file| file.try_lock().is_err())
}

/// Writes the journal of a run whose cells were finished elsewhere.
pub fn write(folder: &Path, entries: &[Entry]) -> Result<(), Error> {
    let path = folder.join(Journal::NAME);
    replace(&path, |file| {
        let mut file = BufWriter::new(file);
        for entry in entries {
            let line = serde_json::to_string(entry).map_err(|error| Error::failed(error.to_string()))?;
            writeln!(file, "{line}").map_err(|error| Error::file("write", &path, &error))?;
        }
        file.flush().map_err(|error| Error::file("write", &path, &error))
    })
}

/// All cells that a run's folder has finished, the latest of each, in order of the plan.
pub fn read(folder: &Path) -> Result<Vec<Entry>, Error> {
    let plain = folder.join(Journal::NAME);
    let packed = folder.join(Journal::PACKED);
    let (path, text) = match packed.is_file() && !plain.exists() {
        true => (packed.clone(), unpacked(&packed)?),
        false => (plain.clone(), whole_lines(&plain)?),
    };
    let mut entries = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        entries.push(serde_json::from_str::<Entry>(line).map_err(|error| {
            Error::failed(format!("{}:{number}: not a line of a journal: {error}", path.display()))
                .mend("it was made by another version, or edited; start a new run")
        })?);
    }
    // A cell that was interrupted and run again stands twice; the sort is stable, so the later one wins.
    entries.sort_by_key(|entry| entry.cell);
    entries.reverse();
    entries.dedup_by_key(|entry| entry.cell);
    entries.reverse();
    Ok(entries)
}

/// The text up to the last line end; nothing when there is no file yet.
fn whole_lines(path: &Path) -> Result<String, Error> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(Error::file("read", path, &error)),
    };
    let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
    Ok(String::from_utf8_lossy(&bytes[..end]).into_owned())
}

/// The text of a packed journal.
fn unpacked(path: &Path) -> Result<String, Error> {
    let refused = |error: io::Error| Error::file("read", path, &error);
    let mut text = String::new();
    let file = File::open(path).map_err(refused)?;
    MultiGzDecoder::new(file).read_to_string(&mut text).map_err(refused)?;
    Ok(text)
}

/// Writes a file so that its old or its new content is there, and never a part of it.
pub fn replace(path: &Path, write: impl FnOnce(&mut File) -> Result<(), Error>) -> Result<(), Error> {
    let file = written_beside(path, write)?;
    file.persist(path).map_err(|error| Error::file("write", path, &error.error))?;
    Ok(())
}

/// Writes a new file, whole or not at all. One that is there is refused, also when it came meanwhile.
pub fn create(path: &Path, write: impl FnOnce(&mut File) -> Result<(), Error>) -> Result<(), Error> {
    let there = || {
        let what = format!("{} is there already", path.display());
        Error::failed(what).mend("name another file, or remove that one")
    };
    if path.exists() {
        return Err(there());
    }
    let file = written_beside(path, write)?;
    file.persist_noclobber(path).map_err(|error| match error.error.kind() {
        io::ErrorKind::AlreadyExists => there(),
        _ => Error::file("write", path, &error.error),
    })?;
    Ok(())
}

/// A whole file that has not got its name yet.
fn written_beside(
    path: &Path,
    write: impl FnOnce(&mut File) -> Result<(), Error>,
) -> Result<tempfile::NamedTempFile, Error> {
    let refused = |error: &io::Error| Error::file("write", path, error);
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(|error| refused(&error))?;
    write(file.as_file_mut())?;
    file.as_file().sync_all().map_err(|error| refused(&error))?;
    readable_by_all(file.as_file()).map_err(|error| refused(&error))?;
    Ok(file)
}

/// A temporary file is its owner's alone; a result is meant to be read.
fn readable_by_all(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(fs::Permissions::from_mode(0o644))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn entry(cell: u32, status: Status) -> Entry {
        Entry {
            cell,
            status,
            detail: None,
            stream_hash: "0".into(),
            phases: vec!["fill".into()],
            check: None,
            started_unix_ms: 0,
            elapsed_ms: 0,
            report: None,
            calls: None,
            reproduced: None,
        }
    }

    fn cells(folder: &Path) -> Vec<(u32, Status)> {
        read(folder).unwrap().iter().map(|entry| (entry.cell, entry.status)).collect()
    }

    #[test]
    fn a_torn_last_line_is_passed_over_and_written_over() {
        let folder = tempfile::tempdir().unwrap();
        Journal::open(folder.path()).unwrap().append(&entry(0, Status::Ok)).unwrap();
        let path = folder.path().join(Journal::NAME);
        let mut torn = fs::read(&path).unwrap();
        torn.extend_from_slice(b"{\"cell\":1,\"sta");
        fs::write(&path, torn).unwrap();
        assert_eq!(cells(folder.path()), [(0, Status::Ok)]);
        Journal::open(folder.path()).unwrap().append(&entry(2, Status::Crashed)).unwrap();
        assert_eq!(cells(folder.path()), [(0, Status::Ok), (2, Status::Crashed)]);
    }

    #[test]
    fn the_later_line_of_a_cell_wins() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = Journal::open(folder.path()).unwrap();
        for (cell, status) in [(1, Status::Interrupted), (0, Status::Ok), (1, Status::Ok)] {
            journal.append(&entry(cell, status)).unwrap();
        }
        assert_eq!(cells(folder.path()), [(0, Status::Ok), (1, Status::Ok)]);
    }

    #[test]
    fn a_packed_journal_is_read_as_the_plain_one() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = Journal::open(folder.path()).unwrap();
        (0..3).for_each(|cell| journal.append(&entry(cell, Status::Ok)).unwrap());
        let plain = cells(folder.path());
        let packed = File::create(folder.path().join(Journal::PACKED)).unwrap();
        let mut packed = flate2::write::GzEncoder::new(packed, flate2::Compression::best());
        packed.write_all(&fs::read(folder.path().join(Journal::NAME)).unwrap()).unwrap();
        packed.finish().unwrap();
        fs::remove_file(folder.path().join(Journal::NAME)).unwrap();
        assert_eq!(cells(folder.path()), plain);
        fs::write(folder.path().join(Journal::PACKED), "no gzip").unwrap();
        assert!(read(folder.path()).unwrap_err().to_string().contains(Journal::PACKED));
    }

    #[test]
    fn a_bad_line_is_named_with_its_number() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(Journal::NAME), "{}\n").unwrap();
        let error = read(folder.path()).unwrap_err().to_string();
        assert!(error.contains("journal.jsonl:1: not a line of a journal"), "{error}");
    }

    #[test]
    fn a_run_that_is_going_on_is_not_gone_on_with_by_another() {
        let folder = tempfile::tempdir().unwrap();
        let going_on = Journal::open(folder.path()).unwrap();
        let error = Journal::open(folder.path()).unwrap_err().to_string();
        assert!(error.contains("is going on"), "{error}");
        drop(going_on);
        Journal::open(folder.path()).unwrap();
    }

    #[test]
    fn a_file_that_could_not_be_written_whole_keeps_its_old_content() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.csv");
        fs::write(&path, "old").unwrap();
        let half = replace(&path, |file| {
            file.write_all(b"ne").unwrap();
            Err(Error::failed("the pen broke"))
        });
        assert!(half.is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
