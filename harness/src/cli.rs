//! The command line: what can be asked, and the page that explains it.

use std::path::PathBuf;

use clap::builder::PossibleValue;
use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::cmd::cmp::CmpArgs;
use crate::cmd::complexity::ComplexityArgs;
use crate::cmd::dataset::DatasetArgs;
use crate::cmd::diff::DiffArgs;
use crate::cmd::doctor::DoctorArgs;
use crate::cmd::gate::GateArgs;
use crate::cmd::pareto::ParetoArgs;
use crate::cmd::rank::RankArgs;
use crate::cmd::report::ReportArgs;
use crate::cmd::show::ShowArgs;
use crate::pin::Pin;
use crate::plan::{Budget, Shard};
use crate::select;
use crate::spec::{AllocatorKind, ClockKind, Pass};

/// Measures timer queues: time per operation, slowest calls, memory held now and after a burst.
///
/// Without a verb it runs: every structure is measured on every workload, each cell in a process of its own,
/// and a table is printed. Results go to standard output, everything else to standard error.
#[derive(Debug, Parser)]
#[command(name = "harness", version, args_conflicts_with_subcommands = true, after_long_help = EXAMPLES)]
#[command(after_help = "`harness --help` explains every option, with examples and exit codes.")]
pub struct Cli {
    /// What to do, if not to run.
    #[command(subcommand)]
    pub verb: Option<Verb>,
    /// What to run.
    #[command(flatten)]
    pub run: RunArgs,
}

const EXAMPLES: &str = "\
Examples, each of which works as typed:
  harness --impl wheel --workload burst          one structure, one table
  harness --workload burst --quick               the five side by side, fewer repetitions
  harness --impl heap:arity=2,heap:arity=8 --workload burst --n 1k,200k
  harness --impl wheel,array --workload burst --measure latency --clock cpu
  harness --impl wheel --workload cycle:due=10+1000 --n 1k,10k    a sweep: a workload for each value
  harness --impl wheel --workload burst --format csv > burst.csv
  harness --impl wheel,wheel@b --workload burst  twice the same: what two equal structures differ by
  harness --impl wheel --workload burst --alloc jemalloc,system    an allocator beside another
  harness --workload documents --budget 10m      the source documents' workloads, as many blocks as fit
  harness plan --workload documents --quick      which cells that is, and what they would take
  harness check --impl all --workload all        is every answer right? (no timing)
  harness list workloads --long                  what can be asked of a structure
  harness explain wheel/burst                    what is timed and what is not, delays, queue length

From a clone of the repository, `cargo run -p harness --` stands for `harness`.

A run is a folder, results/<UTC time>, with its tables as Parquet and CSV, a manifest that says
how it came about, and a journal that is written cell by cell, so that an interrupted run can be
gone on with (--resume).

Exit codes:
  0    done, also with a row that says crashed or timeout, and when a reader closes the pipe
  1    a bad file, a folder that cannot be written or is not empty, a size above memory, shards that
       do not make one run;
       with --fail-on-error also a row that is not ok
  2    a bad name, parameter or size
  4    a structure gave an answer that differs from the reference's
  130  interrupted; what was finished is kept and can be resumed";

/// What can be done.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Measure (also without a verb): `harness run --impl wheel --workload burst`
    Run(RunArgs),
    /// Print what there is, one name a line: `harness list impls`
    List(ListArgs),
    /// Import, look at, check, convert or imitate recorded traces: `harness dataset stat node-http-keepalive`
    Dataset(DatasetArgs),
    /// The cells of a run and what they would take, without running any: `harness plan --workload burst --quick`
    Plan(RunArgs),
    /// Join the shards of a run: `harness merge shards/1 shards/2 --out whole`
    Merge(MergeArgs),
    /// List interrupted runs under results/, and remove them with --yes
    Clean(CleanArgs),
    /// One small round of each cell against the reference: `harness check --impl all --workload all`
    Check(CheckArgs),
    /// What a workload asks, what of it is timed, and what is not: `harness explain wheel/burst`
    Explain(ExplainArgs),
    /// The structures of a run against each other, with intervals and verdicts: `harness cmp latest`
    Cmp(CmpArgs),
    /// One number for each structure, over all workloads: `harness rank latest`
    Rank(RankArgs),
    /// Two metrics at once, and the structures that none beats in both: `harness pareto latest`
    Pareto(ParetoArgs),
    /// The same cells in two runs: `harness diff before after`
    Diff(DiffArgs),
    /// As diff, with a threshold and an exit code: `harness gate before after --threshold 5%`
    Gate(GateArgs),
    /// A run as a document: answer, weaknesses, tables, plots: `harness report latest --out review.html`
    Report(ReportArgs),
    /// The slowest calls of a cell, and what happened in each: `harness show wheel/burst`
    Show(ShowArgs),
    /// Is this machine fit to measure on, and how small a difference can it show? `harness doctor`
    Doctor(DoctorArgs),
    /// How much code each structure is, counted from the syntax tree: `harness complexity --by method`
    Complexity(ComplexityArgs),
}

/// Options of a run.
#[derive(Args, Clone, Debug)]
pub struct RunArgs {
    /// Structures, with parameters: `wheel`, `heap:arity=4,wheel:tick=1024`, `list*`, `five`, `all`
    #[arg(long = "impl", value_name = "NAMES", default_value = "five")]
    pub structures: Vec<String>,
    /// Workloads: names, `all`, a group (`documents`), a glob, a TOML file, or `replay:FILE` for a recorded trace; repeatable. Parameters
    /// stand behind a colon, `burst:step=500,keep=100`; several values are a sweep, `cycle:due=10+1000+10000`
    #[arg(long, value_name = "NAMES", default_value = "burst")]
    pub workload: Vec<String>,
    /// Sizes: how many timers, such as `1k,200k,1m` (default: the workload's own)
    #[arg(long, value_name = "SIZES", value_delimiter = ',', value_parser = select::size)]
    pub n: Vec<u64>,
    /// What to measure; each is a process of its own (default: the workload's own, or time, latency, resident and heap)
    #[arg(long, value_name = "PASSES", value_delimiter = ',')]
    pub measure: Vec<Pass>,
    /// Times that every structure is measured, in an order that is balanced over them [default: 12]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub blocks: Option<u32>,
    /// 9 blocks
    #[arg(long, conflicts_with_all = ["blocks", "rigorous"])]
    pub quick: bool,
    /// 20 blocks
    #[arg(long, conflicts_with = "blocks")]
    pub rigorous: bool,
    /// Time for everything, such as `90s`, `10m` or `1h`: as many blocks as fit, settled by what the discarded
    /// block took
    #[arg(long, value_name = "TIME", conflicts_with_all = ["blocks", "quick", "rigorous", "shard"])]
    pub budget: Option<Budget>,
    /// A part of the blocks, for one of several machines: `2/3` is the second of three. `merge` joins them; what is
    /// not timed is done by the first
    #[arg(long, value_name = "I/N")]
    pub shard: Option<Shard>,
    /// The processor that timed workers stay on: its number, `none`, or `auto` for one other than this process's
    #[arg(long, value_name = "CPU", default_value = "auto")]
    pub pin: Pin,
    /// Where all randomness starts
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,
    /// Clock of single calls
    #[arg(long, default_value = "tsc")]
    pub clock: ClockKind,
    /// Allocators of all but the heap pass, which has dhat's; several are compared (default: the workload's own,
    /// or jemalloc)
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub alloc: Vec<AllocatorKind>,
    /// What each timer carries: 0, 16, 64 or 448 bytes inline, or `box:BYTES` (default: the workload's own)
    #[arg(long, value_name = "BYTES|box:BYTES")]
    pub payload: Option<String>,
    /// Seconds after which a cell is given up; its later blocks are skipped
    #[arg(long, value_name = "S", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub timeout: u64,
    /// Keep every single call's time in the run's folder, under samples/
    #[arg(long)]
    pub keep_samples: bool,
    /// Exit with 1 when a row is not ok
    #[arg(long)]
    pub fail_on_error: bool,
    /// A word for the folder's name and for every row
    #[arg(long, value_name = "L")]
    pub label: Option<String>,
    /// The run's folder, which must be empty or not there; `results/<UTC time>-<label>` when not given
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Go on with an interrupted run: a folder, a name under results/, or `latest`
    #[arg(long, value_name = "RUN", conflicts_with_all = [
        "structures", "workload", "n", "measure", "blocks", "quick", "rigorous", "seed", "clock", "alloc",
        "payload", "timeout", "keep_samples", "label", "out", "budget", "shard", "pin",
    ])]
    pub resume: Option<String>,
    /// How the result is printed
    #[arg(long, default_value = "table")]
    pub format: Format,
}

impl RunArgs {
    /// Blocks that count; one more is run before them and discarded.
    pub fn block_count(&self) -> u32 {
        match (self.blocks, self.quick, self.rigorous) {
            (Some(blocks), _, _) => blocks,
            (None, true, _) => 9,
            (None, _, true) => 20,
            (None, false, false) => 12,
        }
    }
}

/// How a result is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    Table,
    /// The same in Markdown.
    Md,
    /// The rows of `measurements.csv`.
    Csv,
    /// The same rows as JSON.
    Json,
}

/// Options of `list`.
#[derive(Args, Clone, Debug)]
pub struct ListArgs {
    /// Of what
    pub what: Listed,
    /// With a description behind each name
    #[arg(long)]
    pub long: bool,
}

/// What can be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Listed {
    /// Structures, for `--impl`.
    Impls,
    /// Workloads, for `--workload`; groups of them at the end.
    Workloads,
    /// Distributions, for the parameters of workloads.
    Distributions,
    /// Columns of the tables.
    Metrics,
    /// Runs under results/.
    Runs,
}

/// Options of `merge`.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = MERGE_WORDS)]
pub struct MergeArgs {
    /// The shards, all of them: folders, or names under results/
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<String>,
    /// The folder of the whole run, which must be empty or not there; `results/<UTC time>-<label>` when not given
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Exit with 1 when a row is not ok
    #[arg(long)]
    pub fail_on_error: bool,
    /// How the result is printed
    #[arg(long, default_value = "table")]
    pub format: Format,
}

const MERGE_WORDS: &str = "\
Each machine runs a part of the blocks, with the same options but for the number of the shard:
  harness --workload burst --shard 1/2 --out shards/1
  harness --workload burst --shard 2/2 --out shards/2
and `harness merge shards/1 shards/2 --out whole` makes the run that one machine would have made.
A block never spans machines, so what is compared within a block was measured on one.

Refused, with exit code 1: shards of different plans, builds or revisions, operation streams that differ,
a cell that two shards have, a shard that is missing or was interrupted (`--resume` goes on with it).
Machines that differ are told, and stand in the manifest. results/SHARDS.md has the jobs for Slurm and Kubernetes.";

/// Options of `clean`.
#[derive(Args, Clone, Debug)]
pub struct CleanArgs {
    /// Remove them, and not only list them
    #[arg(long)]
    pub yes: bool,
    /// How the list is printed
    #[arg(long, default_value = "table")]
    pub format: Format,
}

/// Options of `check`.
#[derive(Args, Clone, Debug)]
pub struct CheckArgs {
    /// Structures, as for a run
    #[arg(long = "impl", value_name = "NAMES", default_value = "all")]
    pub structures: Vec<String>,
    /// Workloads, as for a run
    #[arg(long, value_name = "NAMES", default_value = "all")]
    pub workload: Vec<String>,
    /// Timers in each cell
    #[arg(long, value_name = "SIZE", default_value = "1000", value_parser = select::size)]
    pub n: u64,
    /// Where all randomness starts
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,
}

/// Options of `explain`.
#[derive(Args, Clone, Debug)]
pub struct ExplainArgs {
    /// What to explain: `burst`, `burst/10k`, `wheel/burst`, `wheel/burst/200k/time`
    #[arg(value_name = "CELL")]
    pub cell: String,
    /// Where all randomness starts; the stream is that of block 1
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,
    /// How it is printed: table, md or json
    #[arg(long, default_value = "table", value_parser = not_csv)]
    pub format: Format,
}

/// A format of what is no table of rows.
fn not_csv(text: &str) -> Result<Format, String> {
    match Format::from_str(text, false) {
        Ok(Format::Csv) | Err(_) => Err("write table, md or json".into()),
        Ok(format) => Ok(format),
    }
}

impl ValueEnum for Pass {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self::Time, Self::Latency, Self::Resident, Self::Heap, Self::Count]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let (name, help) = match self {
            Self::Time => ("time", "nanoseconds per operation, without a clock call per operation"),
            Self::Latency => ("latency", "every call timed: p50, p99, p99.9 and the slowest"),
            Self::Resident => ("resident", "resident memory at each point of the workload"),
            Self::Heap => ("heap", "dhat's heap profile: total, peak, end and live bytes"),
            Self::Count => ("count", "entries visited, moved, compared and cascaded"),
        };
        Some(PossibleValue::new(name).help(help))
    }
}

impl ValueEnum for AllocatorKind {
    /// dhat is not among them: it belongs to the heap pass and to nothing else.
    fn value_variants<'a>() -> &'a [Self] {
        &[Self::Jemalloc, Self::JemallocBackground, Self::System]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            Self::Jemalloc => Some(PossibleValue::new("jemalloc")),
            Self::JemallocBackground => Some(
                PossibleValue::new("jemalloc-background")
                    .help("jemalloc, with a thread of its own that gives free pages back"),
            ),
            Self::System => Some(PossibleValue::new("system").help("the C library's")),
            Self::Dhat => None,
        }
    }
}

impl ValueEnum for ClockKind {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self::Tsc, Self::Wall, Self::Cpu]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let (name, help) = match self {
            Self::Tsc => ("tsc", "the time-stamp counter where it can be relied on, else as wall"),
            Self::Wall => ("wall", "the monotonic clock"),
            Self::Cpu => ("cpu", "the thread's CPU time: blind to the scheduler, but some 600 ns a reading"),
        };
        Some(PossibleValue::new(name).help(help))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn blocks_follow_quick_and_rigorous() {
        let blocks = |args: &[&str]| Cli::try_parse_from(args).unwrap().run.block_count();
        assert_eq!(blocks(&["harness"]), 12);
        assert_eq!(blocks(&["harness", "--quick"]), 9);
        assert_eq!(blocks(&["harness", "--rigorous"]), 20);
        assert_eq!(blocks(&["harness", "--blocks", "3"]), 3);
        assert!(Cli::try_parse_from(["harness", "--blocks", "3", "--quick"]).is_err());
    }

    #[test]
    fn every_example_of_the_help_page_parses() {
        let examples = EXAMPLES.lines().filter_map(|line| line.strip_prefix("  harness "));
        let mut seen = 0;
        for example in examples {
            let typed = example.split("  ").next().unwrap().split(" > ").next().unwrap();
            let words = typed.split_whitespace();
            Cli::try_parse_from(["harness"].into_iter().chain(words))
                .unwrap_or_else(|error| panic!("{typed}: {error}"));
            seen += 1;
        }
        assert_eq!(seen, 13);
    }
}
