//! Measures: checks all that was asked, plans, carries the plan out, writes the tables and prints them.

use std::collections::BTreeMap;
use std::env;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::print;
use crate::cli::{Format, RunArgs};
use crate::error::{Error, Exit};
use crate::folder::{self, Manifest};
use crate::journal::{self, Entry, Status};
use crate::machine::{self, Build, Revision};
use crate::plan::{self, Plan, PlannedWorkload};
use crate::progress::{Progress, duration};
use crate::record::{Keyed, Measurement, Row, SCHEMA_VERSION};
use crate::rows::{self, Tables};
use crate::run::{Run, interrupt_flag};
use crate::select;
use crate::show;
use crate::spawn::Launcher;
use crate::spec::PayloadKind;
use crate::summary::summaries;
use crate::workload::{self, Workload};

/// Carries out a new plan, or goes on with an old one.
pub fn run(args: &RunArgs) -> Result<Exit, Error> {
    can_print(args.format)?;
    let started = match &args.resume {
        Some(run) => resumed(run)?,
        None => new(args)?,
    };
    say(started.manifest.build.warning());
    started.carry_out(args)
}

/// A run whose folder and manifest stand.
struct Started {
    folder: PathBuf,
    manifest: Manifest,
    workloads: Vec<Workload>,
    finished: Vec<Entry>,
}

fn new(args: &RunArgs) -> Result<Started, Error> {
    let workloads = workloads(&args.workload)?;
    let plan = plan(args, &workloads)?;
    fits(&plan, &workloads)?;
    let folder = folder::create(args.out.as_deref(), args.label.as_deref())?;
    let name = folder.file_name().map_or_else(|| ".".into(), |name| name.to_string_lossy().into_owned());
    let manifest = Manifest::new(name, args.label.clone(), plan);
    manifest.write(&folder)?;
    Ok(Started { folder, manifest, workloads, finished: Vec::new() })
}

fn resumed(run: &str) -> Result<Started, Error> {
    let folder = folder::find(run)?;
    let manifest = Manifest::read(&folder)?;
    let selectors: Vec<_> = manifest.plan.workloads.iter().map(|planned| planned.selector.clone()).collect();
    let workloads = workloads(&selectors)?;
    let finished = journal::read(&folder)?;
    if (&manifest.build, &manifest.revision) != (&Build::this(), &Revision::here()) {
        say(Some(format!(
            "warning: {} was started by another build or revision; its rows will not be of one kind",
            folder.display()
        )));
    }
    Ok(Started { folder, manifest, workloads, finished })
}

/// The workloads that all selectors name, each once.
pub(super) fn workloads(selectors: &[String]) -> Result<Vec<Workload>, Error> {
    let mut found: Vec<Workload> = Vec::new();
    for selector in selectors {
        for workload in workload::resolve(selector).map_err(|error| of_workload(&error))? {
            if found.iter().all(|known| known.name() != workload.name()) {
                found.push(workload);
            }
        }
    }
    Ok(found)
}

pub(super) fn of_workload(error: &workload::WorkloadError) -> Error {
    let words = error.to_string();
    if error.is_usage() { Error::usage(words) } else { Error::failed(words) }
}

fn plan(args: &RunArgs, workloads: &[Workload]) -> Result<Plan, Error> {
    if !args.n.is_empty() && workloads.iter().all(|workload| workload.replay().is_some()) {
        return Err(Error::usage("--n has nothing to set: a replay has the size of its trace")
            .mend("leave --n away, or name a workload that is made"));
    }
    let asked = args.payload.as_deref().map(payload).transpose()?;
    if let (Some(_), Some(own)) = (asked, workloads.iter().find(|workload| workload.names_payload())) {
        return Err(Error::usage(format!(
            "a payload is given twice: by --payload and by {}",
            own.selector()
        ))
        .mend("leave one of them away"));
    }
    let planned = workloads.iter().map(|workload| planned(workload, &args.n, asked));
    let mut passes = args.measure.clone();
    passes.sort_unstable();
    passes.dedup();
    Ok(Plan {
        structures: select::structures(&args.structures)?,
        workloads: planned.collect::<Result<_, _>>()?,
        passes,
        blocks: args.block_count(),
        seed: args.seed,
        clock: args.clock,
        allocator: args.alloc,
        timeout_s: args.timeout,
        keep_samples: args.keep_samples,
    })
}

/// A workload as a plan has it. Sizes are checked here.
pub(super) fn planned(
    workload: &Workload,
    sizes: &[u64],
    asked: Option<PayloadKind>,
) -> Result<PlannedWorkload, Error> {
    let mut sizes = workload.sizes(sizes);
    sizes.sort_unstable();
    sizes.dedup();
    for &size in &sizes {
        workload.check(size).map_err(|error| of_workload(&error))?;
    }
    let parameters = workload.parameters().into_iter().map(|(key, value)| format!("{key}={value}"));
    Ok(PlannedWorkload {
        selector: from_anywhere(workload.selector()),
        name: workload.name().to_owned(),
        parameters: parameters.collect::<Vec<_>>().join(","),
        sizes,
        payload: asked.unwrap_or(workload.payload()),
    })
}

fn payload(text: &str) -> Result<PayloadKind, Error> {
    let payload: PayloadKind = text.parse().map_err(|error| Error::usage(format!("--payload: {error}")))?;
    match payload {
        PayloadKind::Inline(bytes) if !PayloadKind::INLINE.contains(&bytes) => {
            Err(Error::usage(format!("--payload: {bytes} bytes inline are not compiled in"))
                .mend(format!("use 0, 16, 64 or 448, or `box:{bytes}`")))
        }
        payload => Ok(payload),
    }
}

/// The name of a workload with the path of its file made absolute, so that it is found from any folder.
fn from_anywhere(name: &str) -> String {
    let (form, rest) = if name.starts_with("replay:") { name.split_at("replay:".len()) } else { ("", name) };
    let ends = rest.match_indices(':').map(|(at, _)| at).chain([rest.len()]);
    let file = ends.map(|end| rest.split_at(end)).find(|(file, _)| Path::new(file).is_file());
    match file.and_then(|(file, rest)| Some((std::path::absolute(file).ok()?, rest))) {
        Some((file, parameters)) => format!("{form}{}{parameters}", file.display()),
        None => name.to_owned(),
    }
}

/// Whether every cell has room in memory.
fn fits(plan: &Plan, workloads: &[Workload]) -> Result<(), Error> {
    for (planned, workload) in plan.workloads.iter().zip(workloads) {
        planned.sizes.iter().try_for_each(|size| has_room(workload, *size, planned.payload))?;
    }
    Ok(())
}

/// Whether a cell has room in memory.
pub(super) fn has_room(workload: &Workload, size: u64, payload: PayloadKind) -> Result<(), Error> {
    let Some(available) = machine::memory_available() else { return Ok(()) };
    let need = plan::memory_need(size, payload, workload.stream_bytes(size));
    if need <= available {
        return Ok(());
    }
    let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
    Err(Error::failed(format!(
        "{} with n = {} needs about {:.1} GiB of memory, and {:.1} GiB can be had",
        workload.name(),
        select::thousands(size),
        gib(need),
        gib(available)
    ))
    .mend(smaller(workload, size, need, available)))
}

/// What would fit.
fn smaller(workload: &Workload, size: u64, need: u64, available: u64) -> String {
    match workload.replay() {
        Some(_) => "give fewer `copies`, or a larger `batch`".into(),
        None => {
            let fit = select::thousands(size_that_fits(size, need, available));
            format!("give a smaller --n; about {fit} fit")
        }
    }
}

/// A round size below what would fit.
fn size_that_fits(size: u64, need: u64, available: u64) -> u64 {
    let fits = (size as f64 * available as f64 / need as f64) as u64;
    let magnitude = 10_u64.pow(fits.max(1).ilog10());
    fits / magnitude * magnitude
}

impl Started {
    fn carry_out(mut self, args: &RunArgs) -> Result<Exit, Error> {
        let interrupted = interrupt_flag()?;
        let launcher = Launcher {
            executable: own_executable()?,
            timeout: Duration::from_secs(self.manifest.plan.timeout_s),
            interrupted,
        };
        let groups = self.manifest.plan.groups();
        self.announce(&groups);
        let finished = std::mem::take(&mut self.finished);
        let done =
            |index| finished.iter().any(|entry| entry.cell == index && entry.status != Status::Interrupted);
        let left = groups.iter().flat_map(|group| &group.cells).filter(|cell| !done(cell.index));
        let progress = Progress::new(left);
        let cells = groups.iter().map(|group| group.cells.len()).sum();
        let run = Run {
            plan: &self.manifest.plan,
            workloads: &self.workloads,
            folder: &self.folder,
            launcher,
            finished,
            progress,
        };
        let entries = run.execute()?;
        let tables = self.write(&entries, cells)?;
        self.print(&tables, args)?;
        Ok(self.exit(&entries, args))
    }

    fn announce(&self, groups: &[plan::Group]) {
        let estimate = self.manifest.plan.estimate(groups);
        say(Some(format!(
            "{} cells, each a process: about {}, {:.1} MB in {}",
            select::thousands(estimate.cells as u64),
            duration(estimate.seconds),
            estimate.disk_bytes as f64 / 1e6,
            self.folder.display()
        )));
    }

    fn write(&mut self, entries: &[Entry], cells: usize) -> Result<Tables, Error> {
        let unfinished = entries.iter().filter(|entry| entry.status == Status::Interrupted).count();
        self.manifest.complete = entries.len() - unfinished == cells;
        self.manifest.written = Some(folder::now());
        self.manifest.allocators = allocators(&self.manifest.plan, entries);
        let tables = rows::tables(&self.manifest, entries);
        #[cfg(feature = "tables")]
        crate::table::write_all(&self.folder, &tables)?;
        self.manifest.write(&self.folder)?;
        Ok(tables)
    }

    fn print(&self, tables: &Tables, args: &RunArgs) -> Result<(), Error> {
        print(&result(tables, &self.manifest, args.format)?)?;
        let shown = self.folder.display();
        if self.manifest.complete {
            say(Some(format!(
                "\nfiles: {shown} (measurements, latency, slowest and memory as .csv and .parquet)"
            )));
        } else {
            say(Some(format!(
                "\ninterrupted: what was finished is in {shown}\n    `{} --resume {}` goes on with it",
                us(),
                quoted(&shown.to_string())
            )));
        }
        let recorded = self.workloads[0].replay().is_some();
        let next = next(&self.manifest.plan, recorded);
        say(Some(format!("next:  {}\n       {}", next[0], next[1])));
        Ok(())
    }

    fn exit(&self, entries: &[Entry], args: &RunArgs) -> Exit {
        let any = |status: Status| entries.iter().find(|entry| entry.status == status);
        if let Some(wrong) = any(Status::Wrong) {
            let what = wrong.detail.as_deref().unwrap_or_default();
            say(Some(format!("error: an answer differs from the reference's: {what}")));
            return Exit::Wrong;
        }
        match self.manifest.complete {
            false => Exit::Interrupted,
            true if args.fail_on_error && entries.iter().any(|entry| entry.status != Status::Ok) => {
                Exit::Failed
            }
            true => Exit::Done,
        }
    }
}

/// This executable, which is every worker's, too.
pub(super) fn own_executable() -> Result<PathBuf, Error> {
    env::current_exe().map_err(|error| Error::failed(format!("cannot find this executable: {error}")))
}

/// What each allocator said of itself, once.
fn allocators(plan: &Plan, entries: &[Entry]) -> BTreeMap<String, BTreeMap<String, String>> {
    let cells: Vec<_> = plan.groups().into_iter().flat_map(|group| group.cells).collect();
    let told = |entry: &Entry| {
        let facts = entry.report.as_ref()?.allocator.iter().cloned();
        Some((crate::record::word(&cells.get(entry.cell as usize)?.allocator), facts.collect()))
    };
    entries.iter().filter_map(told).collect()
}

/// The result as it goes to standard output.
fn result(tables: &Tables, manifest: &Manifest, format: Format) -> Result<String, Error> {
    match format {
        Format::Table | Format::Md => {
            let grids = summaries(tables, &manifest.plan)
                .iter()
                .flat_map(|summary| show::grids(summary, manifest))
                .collect::<Vec<_>>();
            let texts: Vec<_> = grids.iter().map(|grid| grid.render(format)).collect();
            Ok(texts.join("\n"))
        }
        Format::Csv => csv(tables),
        Format::Json => json(tables),
    }
}

fn json(tables: &Tables) -> Result<String, Error> {
    let columns = Keyed::<Measurement>::columns();
    let row = |row: &Keyed<Measurement>| {
        let named = columns.iter().zip(row.values());
        named.map(|(column, value)| (column.name.to_owned(), value.json())).collect::<serde_json::Map<_, _>>()
    };
    let rows: Vec<_> = tables.measurements.iter().map(row).collect();
    let all = serde_json::json!({ "schema_version": SCHEMA_VERSION, "rows": rows });
    serde_json::to_string_pretty(&all)
        .map(|text| text + "\n")
        .map_err(|error| Error::failed(error.to_string()))
}

#[cfg(feature = "tables")]
fn csv(tables: &Tables) -> Result<String, Error> {
    let mut text = Vec::new();
    crate::table::csv(&tables.measurements, &mut text)?;
    String::from_utf8(text).map_err(|error| Error::failed(error.to_string()))
}

#[cfg(not(feature = "tables"))]
fn csv(_: &Tables) -> Result<String, Error> {
    Err(without_tables())
}

fn can_print(format: Format) -> Result<(), Error> {
    if format == Format::Csv && !cfg!(feature = "tables") { Err(without_tables()) } else { Ok(()) }
}

fn without_tables() -> Error {
    Error::usage("this build writes no CSV: its feature `tables` is off").mend("use --format json")
}

/// Says something on standard error, if anybody listens.
pub(super) fn say(words: Option<String>) {
    if let Some(words) = words {
        _ = writeln!(std::io::stderr(), "{words}");
    }
}

/// How this command was called, to be typed again.
fn us() -> String {
    if env::var_os("CARGO").is_some() {
        return "cargo run -p harness --".into();
    }
    env::args().next().map_or_else(|| "harness".into(), |name| quoted(&name))
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_alphanumeric() || "/._-:=,+@%".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Two commands to try next.
fn next(plan: &Plan, recorded: bool) -> [String; 2] {
    let (us, workload) = (us(), quoted(&plan.workloads[0].name));
    let first = plan.structures.first().map_or_else(String::new, ToString::to_string);
    // A trace has one size; what the structure does with it is the next question.
    let more = if recorded { "--measure count" } else { "--n 1k,10k,100k --quick" };
    let growth = format!("{us} --impl {} --workload {workload} {more}", quoted(&first));
    match plan.structures.len() {
        1 => [format!("{us} --impl five --workload {workload} --quick"), growth],
        _ => [growth, format!("{us} list workloads --long")],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_quoted_only_where_a_shell_needs_it() {
        assert_eq!(quoted("results/a-1"), "results/a-1");
        assert_eq!(quoted("my results/a b"), "'my results/a b'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }

    #[test]
    fn a_size_that_fits_is_round_and_below_what_is_there() {
        assert_eq!(size_that_fits(1_000_000, 1000, 250), 200_000);
        assert_eq!(size_that_fits(10, 1000, 1), 0);
    }

    #[test]
    fn a_workload_in_a_file_is_found_from_any_folder() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("mine.toml");
        std::fs::write(&file, "").unwrap();
        let name = format!("{}:step=5", file.display());
        assert_eq!(from_anywhere(&name), name);
        assert_eq!(from_anywhere("burst:step=5"), "burst:step=5");
    }
}
