//! One file a verb.

pub mod check;
pub mod dataset;
pub mod explain;
pub mod list;
pub mod run;

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
        Some(Verb::Dataset(args)) => dataset::dataset(&args),
        Some(Verb::Explain(args)) => explain::explain(&args),
    }
}
