//! One cell in one process: what the parent starts for everything that is measured.
//!
//! A worker reads one [`Spec`] as JSON from its standard input and writes one [`Report`] to its standard
//! output. It dies with its parent. When it cannot do its cell it says why in one line on standard error.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use impls::probe::Counting;
use impls::queue::{ParamError, Params, TimerQueue};
use impls::registry::{self, Visit};
use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::unistd::Pid;
use thiserror::Error;

use crate::allocator;
use crate::clock::Clock;
use crate::drive::{Meter, drive_with};
use crate::measure::count::Count;
use crate::measure::heap::Heap;
use crate::measure::latency::Latency;
use crate::measure::resident::Resident;
use crate::measure::slow::Slow;
use crate::measure::time::Time;
use crate::measure::{Counted, Look};
use crate::payload::{Boxed, Payload, PayloadError, WithPayload, with_payload};
use crate::spec::{AllocatorKind, Pass, Report, SlowDetail, Spec};
use crate::stream::{Outcome, Stream, StreamError};

/// The hidden verb that makes a process a worker.
pub const VERB: &str = "worker";

/// The exit code when there is no memory for the operation stream. When a structure runs out of memory
/// the process aborts, after a line with `memory allocation of N bytes failed`.
pub const OUT_OF_MEMORY: u8 = 12;

/// A run that took longer is not repeated to see what happened in its slowest calls: its time-out is near.
const REPEATED_MOST: Duration = Duration::from_secs(5);

/// Why a worker did not do its cell.
#[derive(Debug, Error)]
pub enum WorkerError {
    /// What was read from standard input is no cell.
    #[error("a cell is expected as one line of JSON on standard input: {0}")]
    Spec(#[from] serde_json::Error),
    /// The operation stream.
    #[error("{0}")]
    Stream(#[from] StreamError),
    /// The structure.
    #[error("no structure is called `{0}`; `harness list impls` prints all of them")]
    Structure(String),
    /// A parameter of the structure.
    #[error("{0}: {1}")]
    Parameter(String, ParamError),
    /// What the structure, or this build of it, cannot do.
    #[error("{0}")]
    Unsupported(String),
    /// The payload.
    #[error("{0}")]
    Payload(#[from] PayloadError),
    /// The allocator.
    #[error("{VARIABLE}={found} will not do for the {pass:?} pass, which needs {needed}", VARIABLE = allocator::VARIABLE)]
    Allocator {
        /// What the variable says.
        found: String,
        /// The pass.
        pass: Pass,
        /// What would do.
        needed: &'static str,
    },
    /// jemalloc was asked for a background thread, and has none.
    #[error("jemalloc says that its background thread is off; {OPTIONS} must have `{BACKGROUND}` in it", OPTIONS = allocator::OPTIONS, BACKGROUND = allocator::BACKGROUND)]
    NoBackgroundThread,
    /// The pass needs a file to write to.
    #[error("the {0:?} pass needs a file to write to, and the cell names none")]
    NoFile(Pass),
    /// A file that cannot be written or read.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// The kernel said no.
    #[error("cannot {what}: {error}")]
    System {
        /// What was asked of it.
        what: String,
        /// Why not.
        error: nix::Error,
    },
}

/// Does the cell that standard input describes.
pub fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            match &error {
                // The parent knows it by its first word.
                WorkerError::Unsupported(what) => eprintln!("unsupported: {what}"),
                error => eprintln!("harness worker: {error}"),
            }
            match error {
                WorkerError::Stream(error) if error.is_out_of_memory() => ExitCode::from(OUT_OF_MEMORY),
                _ => ExitCode::FAILURE,
            }
        }
    }
}

fn run() -> Result<(), WorkerError> {
    set_pdeathsig(Signal::SIGKILL).map_err(|error| system("die with the parent", error))?;
    let spec: Spec = serde_json::from_reader(io::stdin().lock())?;
    if let Some(cpu) = spec.cpu {
        pin(cpu).map_err(|error| system(&format!("stay on processor {cpu}"), error))?;
    }
    let mut line = serde_json::to_string(&cell(&spec)?)?;
    line.push('\n');
    let written = io::stdout().lock().write_all(line.as_bytes());
    written.map_err(|error| file(Path::new("standard output"), error))
}

fn system(what: &str, error: nix::Error) -> WorkerError {
    WorkerError::System { what: what.to_owned(), error }
}

fn file(path: &Path, error: io::Error) -> WorkerError {
    WorkerError::File { path: path.to_owned(), error }
}

fn pin(cpu: usize) -> nix::Result<()> {
    let mut set = CpuSet::new();
    set.set(cpu)?;
    sched_setaffinity(Pid::from_raw(0), &set)
}

/// Does one cell in this process.
pub fn cell(spec: &Spec) -> Result<Report, WorkerError> {
    allocator_fits(spec.pass)?;
    if registry::find(&spec.structure).is_none() {
        return Err(WorkerError::Structure(spec.structure.clone()));
    }
    let mut params = Params::default();
    for (key, value) in &spec.parameters {
        params.set(key, value);
    }
    let stream = Stream::read(&spec.stream)?;
    let mut report = Report { allocator: allocator::read_back(), build: build(), ..Report::default() };
    Cell { spec, params, stream }.measure(&mut report)?;
    Ok(report)
}

/// A figure of one allocator never stands in the column of another.
fn allocator_fits(pass: Pass) -> Result<(), WorkerError> {
    let named = std::env::var(allocator::VARIABLE).ok();
    let known = named.as_deref().is_none_or(|name| allocator::parse(name).is_some());
    let dhat = allocator::chosen() == AllocatorKind::Dhat;
    let needed = match pass {
        Pass::Heap if !dhat => "dhat",
        Pass::Time | Pass::Latency | Pass::Resident if dhat => "jemalloc or system",
        _ if !known => "jemalloc, jemalloc-background, system or dhat",
        _ => return background_thread_is_on(),
    };
    let found = named.unwrap_or_else(|| allocator::name(allocator::chosen()).to_owned());
    Err(WorkerError::Allocator { found, pass, needed })
}

fn background_thread_is_on() -> Result<(), WorkerError> {
    let wanted = allocator::chosen() == AllocatorKind::JemallocBackground;
    if wanted && !allocator::has_background_thread() { Err(WorkerError::NoBackgroundThread) } else { Ok(()) }
}

/// How this binary was built.
fn build() -> Vec<(String, String)> {
    let mut facts = vec![("debug_assertions".to_owned(), cfg!(debug_assertions).to_string())];
    let level = option_env!("TWB_OPT_LEVEL");
    facts.extend(level.map(|level| ("opt_level".to_owned(), level.to_owned())));
    facts
}

/// A cell that has been looked at as far as can be without a queue.
struct Cell<'a> {
    spec: &'a Spec,
    params: Params,
    stream: Stream,
}

impl Cell<'_> {
    fn measure(&self, report: &mut Report) -> Result<(), WorkerError> {
        match self.spec.pass {
            Pass::Time => self.time(report),
            Pass::Latency => self.latency(report),
            Pass::Resident => self.resident(report),
            Pass::Heap => self.heap(report),
            Pass::Count => self.count(report),
        }
    }

    fn time(&self, report: &mut Report) -> Result<(), WorkerError> {
        let mut meter = Time::new(Clock::new(self.spec.clock), &self.stream).slowed(self.spec.busy);
        report.outcome = self.drive(&mut meter)?;
        meter.report(&self.stream, report);
        Ok(())
    }

    fn latency(&self, report: &mut Report) -> Result<(), WorkerError> {
        let path = self.writable(self.spec.samples.as_deref())?;
        let mut meter = Latency::new(Clock::new(self.spec.clock), &self.stream);
        let start = Instant::now();
        report.outcome = self.drive(&mut Look::AtCalls(&mut meter))?;
        let took = start.elapsed();
        let slowest = meter.slowest();
        meter.report(&self.stream, path, report).map_err(|error| file(path, error))?;
        if took <= REPEATED_MOST {
            report.slow = self.slow(slowest)?;
        }
        Ok(())
    }

    /// What happened in the calls at these positions. What the timed run left with the allocator goes back
    /// first, so that memory is touched for the first time once more.
    fn slow(&self, positions: Vec<u64>) -> Result<Vec<SlowDetail>, WorkerError> {
        allocator::purge();
        let mut meter = Slow::new(positions);
        self.drive_counting(&mut Counted::Calls(&mut meter))?;
        Ok(meter.into_details())
    }

    fn resident(&self, report: &mut Report) -> Result<(), WorkerError> {
        let opened = Resident::new(&self.stream);
        let mut meter = opened.map_err(|error| file(Path::new("/proc/self/status"), error))?;
        report.outcome = self.drive(&mut Look::AtSegments(&mut meter))?;
        meter.report(&self.stream, report);
        Ok(())
    }

    fn heap(&self, report: &mut Report) -> Result<(), WorkerError> {
        let path = self.writable(self.spec.profile.as_deref())?;
        let mut meter = Heap::new(&self.stream, path.to_owned());
        report.outcome = self.drive(&mut Look::AtSegments(&mut meter))?;
        meter.report(&self.stream, report);
        profile_written(path)
    }

    fn count(&self, report: &mut Report) -> Result<(), WorkerError> {
        let mut meter = Count::new(&self.stream);
        report.outcome = self.drive_counting(&mut Counted::Segments(&mut meter))?;
        meter.report(&self.stream, report);
        Ok(())
    }

    /// Counts do not depend on what is queued, so counting structures are compiled for one payload. What
    /// depends on it is whether a timer can be told by it, and a block of 8 bytes or none does that too.
    fn drive_counting(&self, meter: &mut Counted<'_>) -> Result<Outcome, WorkerError> {
        let recipe = if self.spec.payload.has_id() { 8 } else { 0 };
        let work = OnQueue::<Boxed, _> { cell: self, recipe, meter };
        let done = registry::visit_probed::<Boxed, Counting, _>(&self.spec.structure, &self.params, work);
        self.parameters(done)
    }

    fn drive<M: Meter>(&self, meter: &mut M) -> Result<Outcome, WorkerError> {
        with_payload(self.spec.payload, OnPayload { cell: self, meter })?
    }

    fn parameters<T>(&self, done: Result<T, ParamError>) -> Result<T, WorkerError> {
        done.map_err(|error| WorkerError::Parameter(self.spec.structure.clone(), error))
    }

    /// The file that a pass writes in the end. It is made now, so that no cell runs for nothing.
    fn writable<'p>(&self, path: Option<&'p Path>) -> Result<&'p Path, WorkerError> {
        let path = path.ok_or(WorkerError::NoFile(self.spec.pass))?;
        File::create(path).map(|_| path).map_err(|error| file(path, error))
    }
}

/// dhat says on standard error that it could not write, and goes on.
fn profile_written(path: &Path) -> Result<(), WorkerError> {
    match fs::metadata(path) {
        Ok(found) if found.len() > 0 => Ok(()),
        Ok(_) => Err(file(path, io::Error::other("no heap profile was written"))),
        Err(error) => Err(file(path, error)),
    }
}

/// The cell with a payload.
struct OnPayload<'a, M> {
    cell: &'a Cell<'a>,
    meter: &'a mut M,
}

impl<M: Meter> WithPayload for OnPayload<'_, M> {
    type Out = Result<Outcome, WorkerError>;

    fn run<P: Payload>(self, recipe: P::Recipe) -> Self::Out {
        let structure = &self.cell.spec.structure;
        let entry = registry::find(structure);
        if !P::COMMON && entry.is_some_and(|entry| entry.common_items_only) {
            return Err(WorkerError::Unsupported(format!(
                "{structure} is compiled for payloads of 16 bytes and for blocks (box:BYTES) only"
            )));
        }
        let work = OnQueue::<P, M> { cell: self.cell, recipe, meter: self.meter };
        self.cell.parameters(registry::visit::<P, _>(structure, &self.cell.params, work))
    }
}

/// The cell with a payload and a structure.
struct OnQueue<'a, P: Payload, M> {
    cell: &'a Cell<'a>,
    recipe: P::Recipe,
    meter: &'a mut M,
}

impl<P: Payload, M: Meter> Visit<P> for OnQueue<'_, P, M> {
    type Out = Outcome;

    const COMMON: bool = P::COMMON;

    /// The queue that is handed in only names its type: the one that is measured is made once everything
    /// else has been set aside, so that what it takes is seen.
    fn visit<Q: TimerQueue<P>>(self, queue: Q) -> Outcome {
        drop(queue);
        let make = || Q::with(&self.cell.params).expect("a queue was made with these parameters before");
        drive_with(&self.cell.stream, self.recipe, make, self.meter)
    }
}
