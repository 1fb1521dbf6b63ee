//! Parses, runs, prints the error, exits.

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use harness::cli::Cli;
use harness::cmd;

fn main() -> ExitCode {
    // A worker is this executable again. It is told apart before anything of the command is touched, so that
    // nothing of it lies in the memory that is measured.
    if std::env::args_os().nth(1).is_some_and(|verb| verb == harness::worker::VERB) {
        return harness::worker::main();
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(words) => {
            // When it cannot be printed, the reader is gone.
            _ = words.print();
            return ExitCode::from(words.exit_code() as u8);
        }
    };
    match cmd::dispatch(cli) {
        Ok(exit) => exit.into(),
        Err(error) => {
            // When nobody listens, the exit code still says it.
            _ = writeln!(std::io::stderr(), "error: {error}");
            error.exit().into()
        }
    }
}
