//! `doctor`: whether the machine is fit to measure on, and how small a difference it can show.

use clap::{Args, Parser};
use itertools::Itertools;

use super::output::Output;
use super::{print, run};
use crate::calibration::{self, Calibrations};
use crate::cli::{Cli, Verb};
use crate::doctor::{Own, fact, facts, identical, sensitivity};
use crate::error::{Error, Exit};
use crate::grid::Grid;
use crate::record::Row;
use crate::select::{self, Structure};
use crate::study::Study;
use crate::system::System;

/// Options of `doctor`.
#[derive(Args, Clone, Debug)]
pub struct DoctorArgs {
    /// Measure how far identical structures come out apart, and keep it in results/calibration.json, from which the
    /// difference that counts follows
    #[arg(long, group = "what")]
    pub calibrate: bool,
    /// Compare structures with themselves, and count the verdicts: the five, unless others are named
    #[arg(long, group = "what")]
    pub identical: bool,
    /// Slow a structure down by 5 % and by 10 %, counted in instructions, and see whether a comparison finds it
    #[arg(long, group = "what")]
    pub sensitivity: bool,
    /// Look at an A/A run that was made before: a folder, a name under results/, or `latest`
    #[arg(long, value_name = "RUN", conflicts_with_all = ["sensitivity", "structures", "workload", "n"])]
    pub of: Option<String>,
    /// Structures, as for a run [default: wheel]
    #[arg(long = "impl", value_name = "NAMES", requires = "what")]
    pub structures: Vec<String>,
    /// Workloads, as for a run [default: burst; of --sensitivity grow-in-order]
    #[arg(long, value_name = "NAMES", requires = "what")]
    pub workload: Vec<String>,
    /// Sizes, as for a run
    #[arg(long, value_name = "SIZES", requires = "what")]
    pub n: Option<String>,
    /// The operation that --sensitivity looks at
    #[arg(long, value_name = "NAME", default_value = "enqueue")]
    pub operation: String,
    /// Blocks, as for a run, from 6 [default: 12]
    #[arg(long, value_name = "N", requires = "what", value_parser = clap::value_parser!(u32).range(6..=10_000))]
    pub blocks: Option<u32>,
    /// 20 blocks
    #[arg(long, requires = "what", conflicts_with = "blocks")]
    pub rigorous: bool,
    /// Where all randomness starts
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,
    /// How it is printed
    #[command(flatten)]
    pub output: Output,
}

/// Looks at the machine, or tries it out. Changes nothing but `results/`.
pub fn doctor(args: &DoctorArgs) -> Result<Exit, Error> {
    args.output.can_print()?;
    if args.calibrate {
        return calibrate(args);
    }
    if args.identical {
        return compare_identical(args);
    }
    if args.sensitivity {
        return find_known(args);
    }
    if args.of.is_some() {
        return Err(Error::usage("--of has nothing to do").mend("add --calibrate or --identical"));
    }
    let facts = facts(&System::here(), &Own::this());
    shown(args, &facts, vec![fact::grid(&facts)])
}

fn shown<R: Row>(args: &DoctorArgs, rows: &[R], grids: Vec<Grid>) -> Result<Exit, Error> {
    print(&args.output.text(|| grids, rows)?)?;
    Ok(Exit::Done)
}

fn calibrate(args: &DoctorArgs) -> Result<Exit, Error> {
    let study = twins(args, "wheel")?;
    let machine = key(&study)?;
    let entries = identical::floors(&study, &machine);
    if entries.is_empty() {
        return Err(Error::failed(format!("{} has no structure beside itself", study.name()))
            .mend("an A/A run is one of `--impl wheel,wheel@b` with six blocks or more"));
    }
    let path = calibration::file();
    let mut known = Calibrations::read(&path)?;
    known.merge(entries.clone());
    known.write(&path)?;
    run::say(Some(format!("kept in {}", path.display())));
    shown(args, &identical::rows(&entries), vec![identical::floors_grid(&entries)])
}

fn compare_identical(args: &DoctorArgs) -> Result<Exit, Error> {
    let study = twins(args, "five")?;
    let known = Calibrations::read(&calibration::file())?;
    let rows = identical::tally(&study, &known, &key(&study)?);
    let grid = identical::tally_grid(&rows);
    shown(args, &rows, vec![grid])
}

/// The key of the machine that a run was made on.
fn key(study: &Study) -> Result<String, Error> {
    study.manifest.machine.key.clone().ok_or_else(|| {
        Error::failed(format!("{} does not say on which machine it was made", study.name()))
            .mend("it is of an older version: make a new one")
    })
}

/// An A/A run: the one that is named, or a new one.
fn twins(args: &DoctorArgs, structures: &str) -> Result<Study, Error> {
    match &args.of {
        Some(run) => Study::read(run),
        None => {
            let structures = identical::with_twins(&chosen(args, structures)?);
            measured(args, &structures, "burst", "time,latency", "identical")
        }
    }
}

fn chosen(args: &DoctorArgs, default: &str) -> Result<Vec<Structure>, Error> {
    match args.structures.as_slice() {
        [] => select::structures(&[default.to_owned()]),
        named => select::structures(named),
    }
}

fn find_known(args: &DoctorArgs) -> Result<Exit, Error> {
    let chosen = chosen(args, "wheel")?;
    let [structure] = chosen.as_slice() else {
        return Err(Error::usage("--sensitivity slows one structure down").mend("write `--impl wheel`"));
    };
    let run = |structures: &[Structure], label| measured(args, structures, "grow-in-order", "time", label);
    let probe = run(&sensitivity::probes(structure), "sensitivity-scale")?;
    let scale = sensitivity::Scale::measured(&probe, &args.operation)?;
    let study = run(&sensitivity::slower(structure, &scale), "sensitivity")?;
    let rows = sensitivity::findings(&study, &args.operation, &scale)?;
    let grid = sensitivity::grid(&rows, &scale);
    shown(args, &rows, vec![grid])
}

/// Makes a run as `harness run` would, and reads it.
fn measured(
    args: &DoctorArgs,
    structures: &[Structure],
    workload: &str,
    passes: &str,
    label: &str,
) -> Result<Study, Error> {
    let structures = structures.iter().map(Structure::to_string).join(",");
    let mut words: Vec<String> =
        ["harness", "run", "--impl", &structures, "--measure", passes, "--label", label]
            .map(str::to_owned)
            .to_vec();
    let workloads = if args.workload.is_empty() { vec![workload.to_owned()] } else { args.workload.clone() };
    words.extend(workloads.into_iter().flat_map(|workload| ["--workload".to_owned(), workload]));
    words.extend(args.n.iter().flat_map(|sizes| ["--n".to_owned(), sizes.clone()]));
    words.extend(args.blocks.iter().flat_map(|blocks| ["--blocks".to_owned(), blocks.to_string()]));
    words.extend(args.rigorous.then(|| "--rigorous".to_owned()));
    words.extend(["--seed".to_owned(), args.seed.to_string()]);
    let cli = Cli::try_parse_from(words).map_err(|error| Error::usage(error.to_string()))?;
    match cli.verb {
        Some(Verb::Run(run)) => Study::in_folder(&run::measured(&run)?),
        _ => unreachable!("the words are those of a run"),
    }
}
