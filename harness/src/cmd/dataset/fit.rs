//! `dataset fit`: a workload that is like a trace, and a table of how like it is.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use super::{say, source, unreadable};
use crate::cmd::print;
use crate::error::{Error, Exit};
use crate::format::fixed;
use crate::grid::Grid;
use crate::journal;
use crate::select::thousands;
use crate::statistics::{Statistics, Value, figures, span};
use crate::trace::validate;
use crate::workload::{self, Fit};

/// Options of `dataset fit`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
The file holds chances, rates and quantiles (to four digits) of classes of delays: no names of owners, no times
and no order of the trace. What still runs at the end of the trace counts as cancelled then. Its n is the number
of timers armed in the steady state. The table compares the trace with what the workload asks at the trace's own
mean number of timers, over as many arms; a difference of shares is in percentage points.")]
pub struct FitArgs {
    /// The trace: a file, or the name of a built-in one
    #[arg(value_name = "FILE")]
    pub file: String,
    /// A new workload definition, FILE.toml; refused if it is there
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    /// Where the randomness of the comparison starts
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,
}

/// Writes the workload, and prints how well it matches.
pub fn fit(args: &FitArgs) -> Result<Exit, Error> {
    if args.out.extension().is_none_or(|extension| extension != "toml") {
        let what = format!("--out {} is no workload definition", args.out.display());
        return Err(Error::usage(what).mend("let it end in .toml"));
    }
    if args.out.exists() {
        return journal::create(&args.out, |_| Ok(())).map(|()| Exit::Failed);
    }
    let trace = source(&args.file)?.into_trace().map_err(|error| unreadable(&error))?;
    let mend = "complete it first with `harness dataset validate FILE --repair --out NEW`";
    validate(&trace).strict(&trace.name, mend).map_err(|error| unreadable(&error))?;
    let fit = workload::fit(&trace, args.seed).map_err(|error| Error::failed(error.to_string()))?;
    journal::create(&args.out, |file| {
        file.write_all(fit.toml.as_bytes()).map_err(|error| Error::file("write", &args.out, &error))
    })?;
    say(&format!("{0}: run it as `harness --workload {0}`", args.out.display()));
    let [figures, delays] = grids(&fit);
    print(&format!("{figures}\n{delays}"))?;
    Ok(Exit::Done)
}

/// Each figure and each common delay of both.
fn grids(fit: &Fit) -> [Grid; 2] {
    let title = format!(
        "The trace and the workload that is made of it, at n = {} timers armed and over {} arms",
        thousands(fit.n),
        thousands(fit.made.arms())
    );
    let mut grid = Grid { title, ..Grid::default() };
    let both: Vec<_> = figures(&fit.trace).into_iter().zip(figures(&fit.made)).collect();
    let text = |value: Option<Value>| value.map_or("-".to_owned(), Value::text);
    grid.name_column("figure", both.iter().map(|(figure, _)| figure.heading.replace('\n', " ")).collect());
    grid.column("trace", both.iter().map(|(trace, _)| text(trace.value)).collect());
    grid.column("workload", both.iter().map(|(_, made)| text(made.value)).collect());
    grid.column("difference", both.iter().map(|(trace, made)| difference(trace.value, made.value)).collect());
    grid.notes = vec![
        "Owners and absorbed re-arms are left out on purpose. What is still armed at the end counts as cancelled.".into(),
        format!(
            "Distance of the delays (Kolmogorov-Smirnov, 0 to 1): {}",
            fixed(fit.trace.delay_distance(&fit.made), 4)
        ),
    ];
    [grid, delays(fit)]
}

fn difference(trace: Option<Value>, made: Option<Value>) -> String {
    let (Some(trace), Some(made)) = (trace, made) else { return "-".to_owned() };
    let (before, after) = (trace.number(), made.number());
    match trace {
        Value::Share(_) => format!("{} points", signed((after - before) * 100.0, 1)),
        _ if before == after => "0".to_owned(),
        _ if before == 0.0 => "-".to_owned(),
        _ => format!("{} %", signed((after / before - 1.0) * 100.0, 1)),
    }
}

fn signed(number: f64, decimals: usize) -> String {
    let sign = if number > 0.0 { "+" } else { "" };
    sign.to_owned() + &fixed(number, decimals)
}

fn delays(fit: &Fit) -> Grid {
    let mut grid = Grid { title: "The most common delays of the trace".into(), ..Grid::default() };
    let common = fit.trace.common_delays(10);
    let share = |of: &Statistics, delay: u64| {
        of.rounded_delays().get(&delay).copied().unwrap_or(0) as f64 / of.delayed().max(1) as f64
    };
    let column = |of: &Statistics| -> Vec<String> {
        common.iter().map(|(delay, _)| Value::Share(share(of, *delay)).text()).collect()
    };
    grid.name_column("delay", common.iter().map(|(delay, _)| span(*delay as f64)).collect());
    grid.column("trace", column(&fit.trace));
    grid.column("workload", column(&fit.made));
    let points = |delay: u64| (share(&fit.made, delay) - share(&fit.trace, delay)) * 100.0;
    grid.column(
        "difference",
        common.iter().map(|(delay, _)| format!("{} points", signed(points(*delay), 1))).collect(),
    );
    grid
}
