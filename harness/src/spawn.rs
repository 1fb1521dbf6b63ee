//! One worker process: started, given its cell, waited for, and ended with all its children when it must be.

use std::fs::File;
use std::io::{Read, Seek, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use wait_timeout::ChildExt;

use crate::allocator;
use crate::error::Error;
use crate::journal::Status;
use crate::machine;
use crate::record::word;
use crate::spec::{AllocatorKind, Report, Spec};
use crate::worker::OUT_OF_MEMORY;

/// How often a wait looks whether the run was interrupted. A worker is not disturbed by it: it has a
/// processor of its own for as long as the parent sleeps.
const LOOK: Duration = Duration::from_millis(100);

/// Starts workers.
#[derive(Clone, Debug)]
pub struct Launcher {
    /// The executable; it is run with the one argument `worker`.
    pub executable: PathBuf,
    /// After which a worker is ended.
    pub timeout: Duration,
    /// Set when the run is to end.
    pub interrupted: Arc<AtomicBool>,
}

/// How a worker ended.
#[derive(Debug)]
pub enum Ending {
    /// With its answer.
    Answer(Box<Report>),
    /// Otherwise.
    Failure(Status, String),
}

impl Launcher {
    /// Runs one cell in a process of its own. An error is one of the system, not of the cell.
    pub fn run(&self, spec: &Spec, allocator: AllocatorKind) -> Result<Ending, Error> {
        let kills = machine::oom_kills();
        let mut worker = Worker::start(self, spec, allocator)?;
        let Some(status) = self.wait(&mut worker.child)? else {
            worker.end();
            let timeout = self.timeout.as_secs();
            return Ok(match self.interrupted.load(Ordering::Relaxed) {
                true => Ending::Failure(Status::Interrupted, "the run was interrupted".into()),
                false => Ending::Failure(Status::Timeout, format!("given up after {timeout} s")),
            });
        };
        // Whatever the worker started goes with it.
        worker.end();
        let killed_for_memory = machine::oom_kills() > kills;
        let (answer, words) = (text(&mut worker.answer)?, text(&mut worker.words)?);
        Ok(judge(status, &answer, &words, killed_for_memory))
    }

    /// Waits until the worker has ended; `None` when its time is up or the run was interrupted.
    fn wait(&self, child: &mut Child) -> Result<Option<ExitStatus>, Error> {
        let until = Instant::now() + self.timeout;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let ended = child.wait_timeout(left.min(LOOK));
            let ended = ended.map_err(|error| Error::failed(format!("cannot wait for a worker: {error}")))?;
            if ended.is_some() || left.is_zero() || self.interrupted.load(Ordering::Relaxed) {
                return Ok(ended);
            }
        }
    }
}

/// A process and the files that it writes to. Files, and not pipes: nobody has to read them meanwhile.
struct Worker {
    child: Child,
    answer: File,
    words: File,
}

impl Worker {
    fn start(launcher: &Launcher, spec: &Spec, allocator: AllocatorKind) -> Result<Self, Error> {
        let refused = |error: std::io::Error| {
            Error::failed(format!("cannot start a worker ({}): {error}", launcher.executable.display()))
        };
        let (answer, words) =
            (tempfile::tempfile().map_err(refused)?, tempfile::tempfile().map_err(refused)?);
        let mut command = Command::new(&launcher.executable);
        if allocator == AllocatorKind::JemallocBackground {
            command.env(allocator::OPTIONS, with_background_thread(std::env::var(allocator::OPTIONS).ok()));
        }
        let mut child = command
            .arg("worker")
            .env(allocator::VARIABLE, word(&allocator))
            .stdin(Stdio::piped())
            .stdout(answer.try_clone().map_err(refused)?)
            .stderr(words.try_clone().map_err(refused)?)
            .process_group(0)
            .spawn()
            .map_err(refused)?;
        let line = serde_json::to_string(spec).map_err(|error| Error::failed(error.to_string()))?;
        if let Some(mut stdin) = child.stdin.take() {
            // A worker that is gone already does not read; how it ended is told by its status.
            _ = writeln!(stdin, "{line}");
        }
        Ok(Self { child, answer, words })
    }

    /// Ends the process group, and takes note of the end of the process.
    fn end(&mut self) {
        if let Ok(group) = i32::try_from(self.child.id()) {
            // An error says that nobody is left in it.
            _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
        }
        _ = self.child.wait();
    }
}

/// jemalloc's options with the background thread behind those that are set: of two values the last counts.
fn with_background_thread(set: Option<String>) -> String {
    let set = set.filter(|options| !options.is_empty());
    set.map_or_else(|| allocator::BACKGROUND.to_owned(), |set| format!("{set},{}", allocator::BACKGROUND))
}

fn text(file: &mut File) -> Result<String, Error> {
    let mut bytes = Vec::new();
    let read = file.rewind().and_then(|()| file.read_to_end(&mut bytes));
    read.map_err(|error| Error::failed(format!("cannot read what a worker wrote: {error}")))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// What the end of a worker means.
fn judge(status: ExitStatus, answer: &str, words: &str, killed_for_memory: bool) -> Ending {
    let last_words = words.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
    if status.success() {
        return match serde_json::from_str(answer) {
            Ok(report) => Ending::Answer(Box::new(report)),
            Err(error) => Ending::Failure(Status::Crashed, format!("its answer cannot be read: {error}")),
        };
    }
    // std says so before it aborts; the kernel's own killer is known by its counter.
    if status.code() == Some(OUT_OF_MEMORY.into()) {
        return Ending::Failure(Status::Oom, last_words.to_owned());
    }
    let refused = words.lines().find(|line| line.starts_with("memory allocation of "));
    if let Some(line) = refused {
        return Ending::Failure(Status::Oom, line.to_owned());
    }
    match status.signal() {
        Some(signal) if signal == Signal::SIGKILL as i32 && killed_for_memory => {
            Ending::Failure(Status::Oom, "killed by the kernel for want of memory".into())
        }
        Some(signal) => {
            let name =
                Signal::try_from(signal).map_or_else(|_| signal.to_string(), |signal| signal.to_string());
            Ending::Failure(Status::Crashed, format!("ended by {name}: {last_words}"))
        }
        None => match last_words.strip_prefix("unsupported: ") {
            Some(what) => Ending::Failure(Status::Unsupported, what.to_owned()),
            None => Ending::Failure(
                Status::Crashed,
                format!("exit code {}: {last_words}", status.code().unwrap_or_default()),
            ),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(status: i32, words: &str, killed_for_memory: bool) -> (Status, String) {
        match judge(ExitStatus::from_raw(status), "", words, killed_for_memory) {
            Ending::Failure(status, detail) => (status, detail),
            Ending::Answer(report) => panic!("{report:?}"),
        }
    }

    #[test]
    fn a_kill_counts_as_want_of_memory_only_with_evidence() {
        assert_eq!(failure(9, "", false).0, Status::Crashed);
        assert_eq!(failure(9, "", true).0, Status::Oom);
        assert_eq!(failure(6, "memory allocation of 64 bytes failed\n", false).0, Status::Oom);
    }

    #[test]
    fn a_crash_is_told_with_its_signal_and_last_words() {
        let (status, detail) = failure(11, "one\nthe last\n\n", false);
        assert_eq!((status, detail.as_str()), (Status::Crashed, "ended by SIGSEGV: the last"));
        assert_eq!(failure(3 << 8, "", false).1, "exit code 3: it said nothing");
    }

    #[test]
    fn an_answer_that_cannot_be_read_is_a_crash_and_not_a_row_of_zeros() {
        assert_eq!(failure(0, "", false).0, Status::Crashed);
    }
}
