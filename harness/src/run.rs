//! Carries a plan out: streams are laid down, workers run, and what they finish goes into the journal.
//!
//! ```text
//! group of cells -> stream on disk, and meanwhile the reference's outcomes (all processors, nothing timed runs)
//!                -> timed cells one at a time; the others side by side
//!                -> each: worker -> compare with the reference -> journal
//! ```

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rayon::ThreadPoolBuilder;
use rayon::prelude::*;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use tempfile::TempDir;

use crate::compare;
use crate::error::Error;
use crate::journal::{Entry, Journal, Status};
use crate::latency;
use crate::machine;
use crate::plan::{self, Cell, Group, Plan, timed};
use crate::progress::Progress;
use crate::record::word;
use crate::spawn::{Ending, Launcher};
use crate::spec::{AllocatorKind, Pass, Report, Spec};
use crate::stream::Stream;
use crate::truth::{self, Truth};
use crate::workload::Workload;
use crate::workload::replay::{Laid, reproduction};

/// A flag that SIGINT and SIGTERM set. The second signal ends the process at once.
pub fn interrupt_flag() -> Result<Arc<AtomicBool>, Error> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        flag::register_conditional_shutdown(signal, 130, Arc::clone(&interrupted))
            .and_then(|_| flag::register(signal, Arc::clone(&interrupted)))
            .map_err(|error| Error::failed(format!("cannot watch for signals: {error}")))?;
    }
    Ok(interrupted)
}

/// What is needed to carry a plan out.
#[derive(Debug)]
pub struct Run<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// The workloads that it names, in its order.
    pub workloads: &'a [Workload],
    /// The run's folder.
    pub folder: &'a Path,
    /// Starts the workers.
    pub launcher: Launcher,
    /// Cells that were finished before, and are not run again.
    pub finished: Vec<Entry>,
    /// Where to say how far it is.
    pub progress: Progress,
}

/// A stream that lies on the disk, with what it must come to.
struct Prepared {
    path: PathBuf,
    hash: String,
    phases: Vec<String>,
    /// By the tick that a structure rounds to.
    expected: BTreeMap<u64, Expected>,
}

/// What a structure that rounds to some tick must come to.
#[derive(Clone)]
struct Expected {
    truth: Truth,
    /// Of an exact replay: how many recorded expiries the reference reproduces, and of how many. A structure
    /// whose answers equal the reference's reproduces the same.
    reproduced: Option<[u64; 3]>,
}

impl<'a> Run<'a> {
    /// Runs every cell that is not finished, and gives all entries, old and new. It comes back early when the
    /// run was interrupted.
    pub fn execute(self) -> Result<Vec<Entry>, Error> {
        let mut journal = Journal::open(self.folder)?;
        let groups = self.plan.own_groups();
        self.execute_in(&mut journal, groups)
    }

    /// As [`Run::execute`], of these groups of the plan alone, into the folder's journal.
    pub fn execute_in(self, journal: &'a mut Journal, mut groups: Vec<Group>) -> Result<Vec<Entry>, Error> {
        let streams = tempfile::Builder::new().prefix(".streams-").tempdir_in(self.folder);
        let streams = streams.map_err(|error| Error::file("write", self.folder, &error))?;
        let working = Working::new(self, journal, streams)?;
        groups.iter_mut().for_each(|group| group.cells.retain(|cell| !working.is_finished(cell)));
        groups.retain(|group| !group.cells.is_empty());
        for some in groups.chunks(working.groups_at_once(&groups)) {
            working.chunk(some)?;
        }
        Ok(working.into_entries())
    }
}

/// A run that is being carried out.
struct Working<'a> {
    run: Run<'a>,
    streams: TempDir,
    written: Mutex<Written<'a>>,
    /// Milliseconds that the resident pass idles, by workload.
    idle_ms: Vec<u64>,
    /// Hashes of the streams that finished cells had, by workload, size and seed.
    hashes: BTreeMap<(usize, u64, u64), String>,
    /// What was found out before, by the stream's hash, whether payloads have ids, and tick: blocks of a
    /// workload that leaves nothing to chance share a stream.
    known: Mutex<HashMap<(u64, bool, u64), Expected>>,
}

/// What the cells that run side by side share.
struct Written<'a> {
    journal: &'a mut Journal,
    entries: Vec<Entry>,
    given_up: HashSet<Slow>,
}

/// What is not tried again after it took too long once: structure, workload, size, pass, allocator.
type Slow = (String, usize, u64, Pass, AllocatorKind);

fn slow(cell: &Cell) -> Slow {
    (cell.structure.to_string(), cell.workload, cell.size, cell.pass, cell.allocator)
}

impl<'a> Working<'a> {
    fn new(mut run: Run<'a>, journal: &'a mut Journal, streams: TempDir) -> Result<Self, Error> {
        let mut entries = std::mem::take(&mut run.finished);
        entries.retain(|entry| entry.status != Status::Interrupted);
        let cells = run.plan.cells();
        let mut given_up = HashSet::new();
        let mut hashes = BTreeMap::new();
        for entry in &entries {
            let Some(cell) = cells.get(entry.cell as usize) else { continue };
            if entry.status == Status::Timeout {
                given_up.insert(slow(cell));
            }
            hashes.insert((cell.workload, cell.size, cell.seed), entry.stream_hash.clone());
        }
        Ok(Self {
            idle_ms: run.workloads.iter().map(Workload::idle_ms).collect(),
            run,
            streams,
            written: Mutex::new(Written { journal, entries, given_up }),
            hashes,
            known: Mutex::default(),
        })
    }

    fn is_finished(&self, cell: &Cell) -> bool {
        self.written().entries.iter().any(|entry| entry.cell == cell.index)
    }

    fn written(&self) -> MutexGuard<'_, Written<'a>> {
        // A panic elsewhere leaves the journal as whole as it was.
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn interrupted(&self) -> bool {
        self.run.launcher.interrupted.load(Ordering::Relaxed)
    }

    /// Streams that are prepared side by side: as many as there are processors, if they are small.
    fn groups_at_once(&self, groups: &[Group]) -> usize {
        let bytes = |group: &Group| self.run.workloads[group.workload].stream_bytes(group.size);
        let large = groups.iter().any(|group| bytes(group) > 256 << 20);
        if large { 1 } else { rayon::current_num_threads() }
    }

    fn chunk(&self, groups: &[Group]) -> Result<(), Error> {
        if self.interrupted() {
            return Ok(());
        }
        self.run.progress.preparing();
        let prepared: Vec<Prepared> =
            groups.par_iter().map(|group| self.prepare(group)).collect::<Result<_, _>>()?;
        for (group, prepared) in groups.iter().zip(prepared) {
            self.group(group, &prepared)?;
            // Nothing depends on it: the folder that it lies in is removed as well.
            _ = fs::remove_file(&prepared.path);
        }
        Ok(())
    }

    fn prepare(&self, group: &Group) -> Result<Prepared, Error> {
        let workload = &self.run.workloads[group.workload];
        let exact = workload.replay().filter(|replay| replay.is_exact());
        let laid = exact.map(|replay| replay.lay_from(workload.name(), group.seed));
        let stream = match &laid {
            Some(laid) => Cow::Borrowed(&laid.stream),
            None => Cow::Owned(stream(workload, group.size, group.seed)?),
        };
        let hash = stream.hash();
        self.is_as_it_was(group, hash)?;
        let path = self.streams.path().join(group.cells[0].index.to_string());
        let write = || stream.write(&path).map_err(|error| Error::failed(error.to_string()));
        let (written, expected) = rayon::join(write, || self.expected(group, hash, &stream, laid.as_ref()));
        written?;
        let phases = stream.header.phases.clone();
        Ok(Prepared { hash: format!("{hash:016x}"), expected: expected?, phases, path })
    }

    /// The stream of a run that is gone on with must be the one that it was started with.
    fn is_as_it_was(&self, group: &Group, hash: u64) -> Result<(), Error> {
        let earlier = self.hashes.get(&(group.workload, group.size, group.seed));
        if earlier.is_none_or(|earlier| *earlier == format!("{hash:016x}")) {
            return Ok(());
        }
        let name = &self.run.plan.workloads[group.workload].name;
        Err(Error::failed(format!("{name} is not what it was when this run was started"))
            .mend("its file or the harness has changed since: start a new run"))
    }

    /// What the reference makes of the stream, for each tick that a structure of the group rounds to.
    fn expected(
        &self,
        group: &Group,
        hash: u64,
        stream: &Stream,
        laid: Option<&Laid>,
    ) -> Result<BTreeMap<u64, Expected>, Error> {
        let has_ids = group.cells[0].payload.has_id();
        let ticks: HashSet<u64> = group.cells.iter().map(|cell| cell.structure.tick()).collect();
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let find = |tick: u64| {
            if let Some(expected) = known().get(&(hash, has_ids, tick)) {
                return Ok((tick, expected.clone()));
            }
            let (truth, found) = rayon::join(
                || truth::truth(stream, has_ids, tick),
                || laid.map(|laid| reproduction(laid, tick)).transpose(),
            );
            let found = found.map_err(|error| Error::usage(error.to_string()))?;
            let reproduced = found.map(|found| [found.reproduced, found.recorded, found.extra]);
            let expected = Expected { truth, reproduced };
            known().insert((hash, has_ids, tick), expected.clone());
            Ok((tick, expected))
        };
        ticks.into_par_iter().map(find).collect()
    }

    fn group(&self, group: &Group, prepared: &Prepared) -> Result<(), Error> {
        if group.timed {
            group.cells.iter().try_for_each(|cell| self.cell(cell, prepared))
        } else {
            let long = |cell: &&Cell| plan::idles_long(self.idle_ms(cell));
            let (idle, rest): (Vec<&Cell>, Vec<&Cell>) = group.cells.iter().partition(long);
            let (rest, idle) = rayon::join(
                || rest.par_iter().try_for_each(|cell| self.cell(cell, prepared)),
                || self.side_by_side(&idle, prepared),
            );
            rest.and(idle)
        }
    }

    /// Cells that do next to nothing most of the time: more of them at once than there are processors.
    fn side_by_side(&self, cells: &[&Cell], prepared: &Prepared) -> Result<(), Error> {
        let Some(first) = cells.first() else { return Ok(()) };
        let bytes = self.run.workloads[first.workload].stream_bytes(first.size);
        let need = plan::memory_need(first.size, first.payload, bytes);
        let fit = machine::memory_available().map_or(1, |available| (available / need.max(1)) as usize);
        let most = plan::IDLE_AT_ONCE.max(rayon::current_num_threads());
        let threads = ThreadPoolBuilder::new().num_threads(fit.clamp(1, most)).build();
        let threads = threads.map_err(|error| Error::failed(format!("cannot start threads: {error}")))?;
        threads.install(|| cells.par_iter().with_max_len(1).try_for_each(|cell| self.cell(cell, prepared)))
    }

    /// Milliseconds that a cell idles. Only the resident pass does.
    fn idle_ms(&self, cell: &Cell) -> u64 {
        if cell.pass == Pass::Resident { self.idle_ms[cell.workload] } else { 0 }
    }

    fn cell(&self, cell: &Cell, prepared: &Prepared) -> Result<(), Error> {
        if self.interrupted() {
            return Ok(());
        }
        self.run.progress.cell(cell, &self.run.plan.workloads[cell.workload].name);
        let entry = self.measured(cell, prepared)?;
        self.run.progress.finished(cell, &entry);
        let mut written = self.written();
        if entry.status == Status::Timeout {
            written.given_up.insert(slow(cell));
        }
        written.journal.append(&entry)?;
        written.entries.push(entry);
        Ok(())
    }

    fn measured(&self, cell: &Cell, prepared: &Prepared) -> Result<Entry, Error> {
        let started_unix_ms =
            SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64;
        let start = Instant::now();
        let mut entry = Entry {
            cell: cell.index,
            status: Status::Ok,
            detail: None,
            stream_hash: prepared.hash.clone(),
            phases: prepared.phases.clone(),
            check: None,
            started_unix_ms,
            elapsed_ms: 0,
            report: None,
            calls: None,
            reproduced: None,
        };
        if self.written().given_up.contains(&slow(cell)) {
            entry.status = Status::Timeout;
            entry.detail = Some("skipped: it was given up before".into());
            return Ok(entry);
        }
        let spec = self.spec(cell, prepared)?;
        let ending = self.launcher(cell).run(&spec, cell.allocator)?;
        entry.elapsed_ms = start.elapsed().as_millis() as u64;
        match ending {
            Ending::Failure(status, detail) => (entry.status, entry.detail) = (status, Some(detail)),
            Ending::Answer(report) => self.judge(cell, prepared, &spec, *report, &mut entry)?,
        }
        Ok(entry)
    }

    /// What a cell idles does not count for its time-out.
    fn launcher(&self, cell: &Cell) -> Launcher {
        let launcher = self.run.launcher.clone();
        Launcher { timeout: launcher.timeout + Duration::from_millis(self.idle_ms(cell)), ..launcher }
    }

    fn judge(
        &self,
        cell: &Cell,
        prepared: &Prepared,
        spec: &Spec,
        report: Report,
        entry: &mut Entry,
    ) -> Result<(), Error> {
        let expected = &prepared.expected[&cell.structure.tick()];
        match compare::check(&cell.structure, &report.outcome, &expected.truth) {
            Ok(check) => entry.check = Some(check.to_owned()),
            Err(difference) => (entry.status, entry.detail) = (Status::Wrong, Some(difference)),
        }
        if let Some(samples) = &spec.samples {
            entry.calls = Some(latency::read(samples)?);
            if !self.run.plan.keep_samples {
                _ = fs::remove_file(samples);
            }
        }
        entry.reproduced = expected.reproduced;
        entry.report = Some(report);
        Ok(())
    }

    fn spec(&self, cell: &Cell, prepared: &Prepared) -> Result<Spec, Error> {
        let workload = &self.run.plan.workloads[cell.workload].name;
        let samples = (cell.pass == Pass::Latency).then(|| self.file("samples", "bin", cell, workload));
        let profile = (cell.pass == Pass::Heap).then(|| self.file("heap", "json", cell, workload));
        Ok(Spec {
            structure: cell.structure.name.clone(),
            parameters: cell.structure.parameters.clone(),
            payload: cell.payload,
            pass: cell.pass,
            clock: self.run.plan.clock,
            stream: absolute(&prepared.path)?,
            samples: samples.transpose()?,
            profile: profile.transpose()?,
            cpu: self.run.plan.cpu.filter(|_| timed(cell.pass)),
            busy: cell.structure.busy,
        })
    }

    /// A file of a cell: raw samples that are not kept lie with the streams.
    fn file(&self, kind: &str, extension: &str, cell: &Cell, workload: &str) -> Result<PathBuf, Error> {
        let kept = kind != "samples" || self.run.plan.keep_samples;
        let folder = if kept { self.run.folder.join(kind) } else { self.streams.path().to_owned() };
        fs::create_dir_all(&folder).map_err(|error| Error::file("make the folder", &folder, &error))?;
        let which = if timed(cell.pass) { cell.block } else { cell.repeat };
        let name = format!("{}-{workload}-{}-{}-{which}", cell.structure, cell.size, word(&cell.pass));
        let plain =
            |letter: char| if letter.is_alphanumeric() || "._-=,".contains(letter) { letter } else { '-' };
        let name: String = name.chars().take(150).map(plain).collect();
        absolute(&folder.join(format!("{name}-{}.{extension}", cell.index)))
    }

    fn into_entries(self) -> Vec<Entry> {
        self.run.progress.end();
        let written = self.written.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut entries = written.entries;
        entries.sort_by_key(|entry| entry.cell);
        entries
    }
}

/// A stream, with the errors that are the command's.
pub fn stream(workload: &Workload, size: u64, seed: u64) -> Result<Stream, Error> {
    workload.stream(size, seed).map_err(|error| match error.is_usage() {
        true => Error::usage(error.to_string()),
        false => Error::failed(error.to_string()),
    })
}

fn absolute(path: &Path) -> Result<PathBuf, Error> {
    std::path::absolute(path).map_err(|error| Error::file("find", path, &error))
}
