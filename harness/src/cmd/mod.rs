//! One file a verb.

pub mod check;
pub mod chosen;
pub mod clean;
pub mod cmp;
pub mod complexity;
pub mod dataset;
pub mod diff;
pub mod doctor;
pub mod explain;
pub mod gate;
pub mod list;
pub mod merge;
mod outcome;
pub mod output;
pub mod pareto;
pub mod plan;
mod planning;
pub mod rank;
pub mod report;
pub mod run;
pub mod show;

use std::io::{self, ErrorKind, Write};

use crate::error::{Error, Exit};

/// Writes a result to standard output. A reader that has closed the pipe has what it wanted.
pub fn print(text: &str) -> Result<(), Error> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Error::failed(format!("cannot write the result: {error}")))
        }
        _ => Ok(()),
    }
}

/// Does what the command line asks.
pub fn dispatch(cli: crate::cli::Cli) -> Result<Exit, Error> {
    use crate::cli::Verb;
    match cli.verb {
        None => run::run(&cli.run),
        Some(Verb::Run(args)) => run::run(&args),
        Some(Verb::List(args)) => list::list(&args),
        Some(Verb::Check(args)) => check::check(&args),
        Some(Verb::Plan(args)) => plan::plan(&args),
        Some(Verb::Merge(args)) => merge::merge_runs(&args),
        Some(Verb::Clean(args)) => clean::clean(&args),
        Some(Verb::Dataset(args)) => dataset::dataset(&args),
        Some(Verb::Explain(args)) => explain::explain(&args),
        Some(Verb::Report(args)) => report::report(&args),
        Some(Verb::Show(args)) => show::show(&args),
        Some(Verb::Doctor(args)) => doctor::doctor(&args),
        Some(Verb::Complexity(args)) => complexity::run(&args),
        Some(Verb::Cmp(args)) => cmp::cmp(&args),
        Some(Verb::Rank(args)) => rank::rank(&args),
        Some(Verb::Pareto(args)) => pareto::pareto(&args),
        Some(Verb::Diff(args)) => diff::diff(&args),
        Some(Verb::Gate(args)) => gate::gate(&args),
    }
}
