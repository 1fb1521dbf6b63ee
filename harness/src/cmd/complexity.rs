//! `complexity`: how much code each structure is.

use std::path::PathBuf;

use clap::Args;

use super::output::Output;
use super::print;
use crate::complexity::{By, Sources, complexity, grid, rows};
use crate::error::{Error, Exit};
use crate::select;

/// Options of `complexity`.
#[derive(Args, Clone, Debug)]
pub struct ComplexityArgs {
    /// Structures, as for a run
    #[arg(long = "impl", value_name = "NAMES", default_value = "five")]
    pub structures: Vec<String>,
    /// What a row is of
    #[arg(long, value_name = "WHAT", default_value = "structure")]
    pub by: By,
    /// A clone of the repository; else the one that this executable or the current folder lies in
    #[arg(long, value_name = "DIR")]
    pub source: Option<PathBuf>,
    /// How it is printed
    #[command(flatten)]
    pub output: Output,
}

/// Prints what the syntax trees come to.
pub fn run(args: &ComplexityArgs) -> Result<Exit, Error> {
    args.output.can_print()?;
    let structures = select::structures(&args.structures)?;
    let sources = Sources::find(args.source.as_deref())?;
    let rows = rows(&complexity(&sources, &structures)?, args.by);
    print(&args.output.text(|| vec![grid(&rows, &sources.folder().display().to_string())], &rows)?)?;
    Ok(Exit::Done)
}
