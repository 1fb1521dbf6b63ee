//! Measures: checks all that was asked, plans, carries the plan out, writes the tables and prints them.

use std::env;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::outcome::{Finished, can_print};
use super::planning;
use crate::cli::RunArgs;
use crate::error::{Error, Exit};
use crate::folder::{self, Manifest};
use crate::journal::{self, Entry, Journal, Status};
use crate::machine::{Build, Machine, Revision};
use crate::pin::{self, Pin};
use crate::plan::{BLOCKS_TO_SEPARATE, Forecast, Group, Plan};
use crate::progress::{Progress, duration};
use crate::run::{Run, interrupt_flag};
use crate::select::thousands;
use crate::spawn::Launcher;
use crate::spec::Pass;
use crate::workload::Workload;

pub(super) use super::outcome::say;
pub(super) use super::planning::{has_room, of_workload, planned, workloads};

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

/// A run whose folder and manifest stand. Its journal is locked from before the manifest can be seen.
struct Started {
    folder: PathBuf,
    manifest: Manifest,
    workloads: Vec<Workload>,
    journal: Journal,
    finished: Vec<Entry>,
}

fn new(args: &RunArgs) -> Result<Started, Error> {
    let (mut plan, workloads) = planning::asked(args)?;
    if let Some(budget) = plan.budget {
        plan.blocks = guessed_blocks(&plan, &workloads, budget.seconds);
    }
    let folder = folder::create(args.out.as_deref(), args.label.as_deref())?;
    let name = folder.file_name().map_or_else(|| ".".into(), |name| name.to_string_lossy().into_owned());
    let manifest = Manifest::new(name, args.label.clone(), plan);
    let journal = Journal::open(&folder)?;
    manifest.write(&folder)?;
    Ok(Started { folder, manifest, workloads, journal, finished: Vec::new() })
}

/// A run that is there: its folder, its manifest, and the workloads that it names.
pub(super) fn resumable(run: &str) -> Result<(PathBuf, Manifest, Vec<Workload>), Error> {
    let folder = folder::find(run)?;
    let manifest = Manifest::read(&folder)?;
    let selectors: Vec<_> = manifest.plan.workloads.iter().map(|planned| planned.selector.clone()).collect();
    let workloads = workloads(&selectors)?;
    Ok((folder, manifest, workloads))
}

fn resumed(run: &str) -> Result<Started, Error> {
    let (folder, mut manifest, workloads) = resumable(run)?;
    let journal = Journal::open(&folder)?;
    let finished = journal::read(&folder)?;
    let shown = folder.display();
    if (&manifest.build, &manifest.revision) != (&Build::this(), &Revision::here()) {
        say(Some(format!(
            "warning: {shown} was started by another build or revision; its rows will not be of one kind"
        )));
    }
    if !manifest.machine.is_like(&Machine::here()) {
        say(Some(format!("warning: {shown} was started on another machine; its blocks are not of one kind")));
    }
    if let Some(cpu) = manifest.plan.cpu.filter(|cpu| !pin::usable().contains(cpu)) {
        manifest.plan.cpu = Pin::Auto.cpu()?;
        say(Some(format!("warning: {shown} was started on processor {cpu}, which cannot be used here")));
        manifest.write(&folder)?;
    }
    Ok(Started { folder, manifest, workloads, journal, finished })
}

/// What is known beforehand of how long things take: what the workloads idle.
pub(super) fn forecast(plan: &Plan, workloads: &[Workload]) -> Forecast {
    let idle = |(index, workload): (usize, &Workload)| match plan.passes_of(index).contains(&Pass::Resident) {
        true => workload.idle_ms() as f64 / 1000.0,
        false => 0.0,
    };
    Forecast::new(workloads.iter().enumerate().map(idle).collect())
}

/// The blocks that fit into a budget for all that is known before the discarded block.
pub(super) fn guessed_blocks(plan: &Plan, workloads: &[Workload], seconds: u64) -> u32 {
    let forecast = forecast(plan, workloads);
    forecast.blocks_within(plan, seconds as f64 - forecast.groups(&discarded(plan)))
}

fn discarded(plan: &Plan) -> Vec<Group> {
    plan.own_groups().into_iter().filter(Group::is_discarded).collect()
}

/// Carries out a new run for a command that looks at it itself, and gives its folder. An interrupted one is an error.
pub(super) fn measured(args: &RunArgs) -> Result<PathBuf, Error> {
    let started = new(args)?;
    say(started.manifest.build.warning());
    let (finished, entries) = started.executed()?;
    finished.keep(&entries)
}

impl Started {
    fn carry_out(self, args: &RunArgs) -> Result<Exit, Error> {
        let (finished, entries) = self.executed()?;
        finished.tell(&entries, args.format, args.fail_on_error)
    }

    /// Runs what is left, and gives all entries, old and new.
    fn executed(mut self) -> Result<(Finished, Vec<Entry>), Error> {
        let launcher = Launcher {
            executable: own_executable()?,
            timeout: Duration::from_secs(self.manifest.plan.timeout_s),
            interrupted: interrupt_flag()?,
        };
        self.finished.retain(|entry| entry.status != Status::Interrupted);
        let mut forecast =
            forecast(&self.manifest.plan, &self.workloads).after(&self.manifest.plan, &self.finished);
        self.announce(&forecast);
        if !self.manifest.plan.is_settled() {
            self.settle(&launcher, &mut forecast)?;
        }
        if self.manifest.plan.is_settled() {
            self.finished = self.execute(&launcher, &forecast, |_| true)?;
        }
        Ok((Finished { folder: self.folder, manifest: self.manifest }, self.finished))
    }

    /// Runs what is left of some groups, and gives all entries, old and new.
    fn execute(
        &mut self,
        launcher: &Launcher,
        forecast: &Forecast,
        wanted: impl Fn(&Group) -> bool,
    ) -> Result<Vec<Entry>, Error> {
        let finished = std::mem::take(&mut self.finished);
        let groups: Vec<Group> = self.manifest.plan.own_groups().into_iter().filter(|g| wanted(g)).collect();
        let done = |index| finished.iter().any(|entry| entry.cell == index);
        let left = groups.iter().flat_map(|group| &group.cells).filter(|cell| !done(cell.index));
        let progress = Progress::new(left, forecast.clone());
        let run = Run {
            plan: &self.manifest.plan,
            workloads: &self.workloads,
            folder: &self.folder,
            launcher: launcher.clone(),
            finished,
            progress,
        };
        run.execute_in(&mut self.journal, groups)
    }

    /// Runs the discarded blocks, and sets the number of those that count by what they took. Unless it is
    /// interrupted; then that is left to whoever goes on.
    fn settle(&mut self, launcher: &Launcher, forecast: &mut Forecast) -> Result<(), Error> {
        let (groups, fresh, start) =
            (discarded(&self.manifest.plan), self.finished.is_empty(), Instant::now());
        self.finished = self.execute(launcher, forecast, Group::is_discarded)?;
        let cells: usize = groups.iter().map(|group| group.cells.len()).sum();
        let done = self.finished.iter().filter(|entry| entry.status != Status::Interrupted).count();
        if done < cells {
            return Ok(());
        }
        let plan = &mut self.manifest.plan;
        let Some(budget) = &mut plan.budget else { return Ok(()) };
        let in_cells = self.finished.iter().map(|entry| entry.elapsed_ms).sum::<u64>() as f64 / 1000.0;
        let spent = start.elapsed().as_secs_f64().max(in_cells);
        let seconds = budget.seconds as f64;
        budget.settled = true;
        *forecast = forecast.clone().after(plan, &self.finished);
        if fresh {
            forecast.learn_preparing(&groups, spent - in_cells);
        }
        plan.blocks = forecast.blocks_within(plan, seconds - spent);
        self.manifest.write(&self.folder)?;
        self.say_blocks(seconds, spent, forecast);
        Ok(())
    }

    fn say_blocks(&self, budget: f64, spent: f64, forecast: &Forecast) {
        let plan = &self.manifest.plan;
        let rest: Vec<_> = plan.own_groups().into_iter().filter(|group| !group.is_discarded()).collect();
        let takes = spent + forecast.groups(&rest);
        say(Some(format!(
            "{} blocks are what {} hold: about {} with the discarded one, which took {}",
            thousands(plan.blocks.into()),
            duration(budget),
            duration(takes),
            duration(spent)
        )));
        if takes > budget {
            say(Some("warning: that is more than the budget; there is no run with fewer blocks".into()));
        }
        say(too_few(plan.blocks));
    }

    fn announce(&self, forecast: &Forecast) {
        say(Some(format!("{} in {}", announcement(&self.manifest.plan, forecast), self.folder.display())));
    }
}

/// What a plan will take, in words.
pub(super) fn announcement(plan: &Plan, forecast: &Forecast) -> String {
    let estimate = plan.estimate(&plan.own_groups(), forecast);
    let part = plan.shard.map_or_else(String::new, |shard| format!(" of shard {shard}"));
    let guess = match plan.is_settled() {
        true => String::new(),
        false => format!(" if {} blocks fit, which the discarded one will tell", plan.blocks),
    };
    format!(
        "{} cells{part}, each a process: about {}{guess}, {:.1} MB",
        thousands(estimate.cells as u64),
        duration(estimate.seconds),
        estimate.disk_bytes as f64 / 1e6
    )
}

/// A warning where blocks cannot tell anything apart.
pub(super) fn too_few(blocks: u32) -> Option<String> {
    (blocks < BLOCKS_TO_SEPARATE).then(|| {
        format!(
            "warning: with fewer than {BLOCKS_TO_SEPARATE} blocks no difference can be shown once several \
             comparisons are corrected for"
        )
    })
}

/// This executable, which is every worker's, too.
pub(super) fn own_executable() -> Result<PathBuf, Error> {
    env::current_exe().map_err(|error| Error::failed(format!("cannot find this executable: {error}")))
}
