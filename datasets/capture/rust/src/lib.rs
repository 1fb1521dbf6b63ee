//! Logs the timers of a service in the neutral trace format, so that the workbench can replay them.
//!
//! ```text
//! threads of the service --> [ one bounded buffer ] --> a writer thread --> FILE.tt.csv
//!        start, rearm, ...     in order of time           rows, gaps, counts
//! ```
//!
//! ```
//! use std::time::{Duration, Instant};
//! use timer_log::Log;
//!
//! let file = std::env::temp_dir().join(format!("timer-log-{}.tt.csv", std::process::id()));
//! let log = Log::create(&file)?;
//! let id = log.new_id();
//! log.start(id, Instant::now() + Duration::from_secs(5), Duration::ZERO, "session");
//! log.rearm(id, Instant::now() + Duration::from_secs(9));
//! log.cancel(id, true);
//! let summary = log.finish()?;
//! assert_eq!((summary.rows, summary.lost), (3, 0));
//! # std::fs::remove_file(&file)?;
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! # Costs
//!
//! | call      | time                              | allocates                   | because                    |
//! |-----------|-----------------------------------|-----------------------------|----------------------------|
//! | an operation | O(1): one clock reading, one lock | nothing                  | the buffer was made before |
//! | `create`  | O(rows)                           | twice `rows` rows, a thread | two buffers take turns     |
//! | `finish`  | what is still buffered            | nothing                     | it waits for the writer    |
//!
//! A row takes 56 bytes in memory. The writer keeps 24 bytes and a hash table's overhead for each timer that
//! is armed, to give each expiry its lateness. `cargo run --example overhead -p timer-log` measures an operation.
//!
//! # Invariants
//!
//! 1. The clock is read under the lock, so times never fall, whichever thread asks.
//! 2. Rows written and rows lost add up to the operations logged before `finish`.
//! 3. A gap stands where rows were lost; a timer armed unseen stands as P before the row that needs it.

#![forbid(unsafe_code)]

mod buffer;
mod writer;

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use buffer::{Op, Row, Shared};
use writer::Writer;

pub use writer::Summary;

/// How a log is made: see [`Log::create`] for the defaults.
#[derive(Clone, Debug)]
pub struct Options {
    source: String,
    licence: String,
    rows: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            source: "recorded: a service, not described (Options::source was not set)".to_owned(),
            licence: "not stated (Options::licence was not set)".to_owned(),
            rows: 1 << 16,
        }
    }
}

impl Options {
    /// What was recorded, and under which load: the `source` line of the trace. Name nobody.
    pub fn source(mut self, text: &str) -> Self {
        self.source = text.to_owned();
        self
    }

    /// On which terms the trace may be passed on: its `licence` line.
    pub fn licence(mut self, text: &str) -> Self {
        self.licence = text.to_owned();
        self
    }

    /// Rows that are held while the writer is busy, 56 bytes each and twice; at least 2. Further ones are lost
    /// and counted.
    pub fn rows(mut self, rows: usize) -> Self {
        self.rows = rows.max(2);
        self
    }

    /// Makes the file and starts the writer.
    ///
    /// # Errors
    ///
    /// The file exists (a recorded trace is never written over), cannot be made, or no thread can be started.
    pub fn create(self, path: impl AsRef<Path>) -> io::Result<Log> {
        let path = path.as_ref();
        let file = new_file(path)?;
        let writer = Writer::new(file, &self).map_err(|error| named(path, &error))?;
        let shared = Arc::new(Shared::new(self.rows));
        let served = Arc::clone(&shared);
        let run = move || writer.run(&served, self.rows);
        let thread = std::thread::Builder::new().name("timer-log".to_owned()).spawn(run)?;
        Ok(Log {
            shared,
            next_id: AtomicU64::new(0),
            thread: Mutex::new(Some(thread)),
            name: path.display().to_string(),
        })
    }
}

fn new_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => io::Error::new(
            error.kind(),
            format!(
                "{}: the file exists, and a recorded trace is never written over; choose another name",
                path.display()
            ),
        ),
        _ => named(path, &error),
    })
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// A trace that is being recorded. Share it by reference, in an `Arc` or in a static; any thread may log.
#[derive(Debug)]
pub struct Log {
    shared: Arc<Shared>,
    next_id: AtomicU64,
    thread: Mutex<Option<JoinHandle<io::Result<Summary>>>>,
    name: String,
}

impl Log {
    /// Starts a trace in a new file, with room for 65,536 rows while the writer is busy.
    ///
    /// # Errors
    ///
    /// Those of [`Options::create`].
    pub fn create(path: impl AsRef<Path>) -> io::Result<Self> {
        Options::default().create(path)
    }

    /// A number for a timer. Numbers of the caller's own do as well, if no two timers have the same one.
    pub fn new_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// Timer `id` was armed: due at `due`, and every `period` from then on unless that is zero. `class` says
    /// what kind of timer it is ("retry", "session"). Of a timer that is armed, this is a re-arm.
    pub fn start(&self, id: u64, due: Instant, period: Duration, class: &'static str) {
        let due = self.shared.since_origin(due);
        self.shared.push(Row { op: Op::Start, id, due, period: nanos(period), class, time: 0 });
    }

    /// Timer `id`, which is armed, got another due time. It keeps its class and its period.
    pub fn rearm(&self, id: u64, due: Instant) {
        let due = self.shared.since_origin(due);
        self.shared.push(Row { op: Op::Rearm, due, ..Row::of(id) });
    }

    /// Timer `id` was asked to be cancelled. `found` is whether it was armed: a cancel that misses is recorded too.
    pub fn cancel(&self, id: u64, found: bool) {
        let op = if found { Op::Cancel } else { Op::Miss };
        self.shared.push(Row { op, ..Row::of(id) });
    }

    /// Timer `id` expired; call it before its handler. One with a period is armed again by that.
    pub fn expire(&self, id: u64) {
        self.shared.push(Row { op: Op::Expire, ..Row::of(id) });
    }

    /// Ends the trace: what is buffered is written, and then the counts. Operations logged later are passed over.
    /// A log that is dropped ends too, but says no error; one in a static is never dropped.
    ///
    /// # Errors
    ///
    /// The file could not be written (the trace is cut short), or `finish` was called before.
    pub fn finish(&self) -> io::Result<Summary> {
        self.shared.close();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        let thread =
            thread.ok_or_else(|| io::Error::other(format!("{}: the trace is finished", self.name)))?;
        let ended = thread.join().unwrap_or_else(|_| Err(io::Error::other("the writer panicked")));
        ended.map_err(|error| named(self.name.as_ref(), &error))
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        _ = self.finish();
    }
}

/// Whole nanoseconds; 584 years and more are the most that the format holds.
fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
