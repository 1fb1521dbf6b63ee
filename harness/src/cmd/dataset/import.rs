//! `harness dataset import`: the tables of what was read go to standard output, the speed to standard error.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use crate::cmd::print;
use crate::error::{Error, Exit};
use crate::import::{self, Family, Options, Service};
use crate::run::interrupt_flag;

/// Options of `dataset import`.
#[derive(Args, Clone, Debug)]
pub struct ImportArgs {
    /// What was recorded; gzip is unpacked
    pub file: PathBuf,
    /// What it is: `auto` tells by its first lines; or ftrace, perf-script, trace-cmd, lttng, chrome, nginx, grpc,
    /// strace, access-log, arrivals, schedule
    #[arg(long, value_name = "NAME", default_value = "auto")]
    pub form: String,
    /// The trace, NAME.tt.csv or NAME.tt.parquet; it must not be there
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    /// Kernel: jiffies a second, CONFIG_HZ (default: estimated)
    #[arg(long, value_name = "HZ")]
    pub hz: Option<u32>,
    /// Kernel: a cancel and a start within this many microseconds are one move
    #[arg(long, value_name = "US", default_value_t = 100)]
    pub window_us: u32,
    /// Kernel: which timers
    #[arg(long, value_name = "FAMILY", default_value = "both")]
    pub family: Family,
    /// Access logs: seconds after which an idle client's timer expires
    #[arg(long, value_name = "S", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub idle: u64,
    /// Arrivals: the time-out that each request arms, as 60s or 1m30s
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = import::options::duration)]
    pub timeout: u64,
    /// Arrivals: how long a request takes: log-normal:MEDIAN,SIGMA, exponential:MEAN or fixed:TIME
    #[arg(long, value_name = "MODEL", default_value = "log-normal:684ms,2.36")]
    pub service: Service,
    /// Arrivals: where the draws of --service start
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    pub seed: u64,
    /// Schedules: for how long they are run, as 12h or 7d
    #[arg(long, value_name = "TIME", default_value = "7d", value_parser = import::options::duration)]
    pub span: u64,
    /// Where it comes from, for the metadata (default: the file's name)
    #[arg(long, value_name = "TEXT")]
    pub source: Option<String>,
    /// Under which licence, for the metadata
    #[arg(long, value_name = "TEXT")]
    pub licence: Option<String>,
}

impl ImportArgs {
    fn options(&self) -> Options {
        Options {
            hz: self.hz,
            window_ns: u64::from(self.window_us) * 1_000,
            family: self.family,
            idle_ns: self.idle * 1_000_000_000,
            timeout_ns: self.timeout,
            service: self.service,
            horizon_ns: self.span,
            seed: self.seed,
            source: self.source.clone(),
            licence: self.licence.clone(),
        }
    }
}

/// Imports a file.
///
/// # Errors
///
/// The file cannot be read or has no timers, the form is unknown, or the result cannot be written.
pub fn import(args: &ImportArgs) -> Result<Exit, Error> {
    let stop = interrupt_flag()?;
    let report = import::import(&args.file, &args.form, &args.options(), &args.out, &stop)?;
    let tables: Vec<_> = report.grids().iter().map(ToString::to_string).collect();
    print(&tables.join("\n"))?;
    let rate = report.bytes as f64 / 1e6 / report.seconds.max(1e-9);
    let words = format!("wrote {} in {:.2} s, {rate:.0} MB/s\n", args.out.display(), report.seconds);
    // When nobody listens, the file is there all the same.
    _ = std::io::stderr().write_all(words.as_bytes());
    Ok(Exit::Done)
}
