//! `dataset convert`: from one form of a trace to the other, with nothing lost.

use std::path::PathBuf;

use clap::Args;

use super::{form, say, source, unreadable, write_trace};
use crate::error::{Error, Exit};
use crate::select::thousands;

/// Options of `dataset convert`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
The form that is read is told by the file's first bytes, the one that is written by the end of its name. What was
written is read again and compared before the file gets its name, so --out is whole and exact, or not there.")]
pub struct ConvertArgs {
    /// The trace: a file, or the name of a built-in one
    #[arg(value_name = "FILE")]
    pub file: String,
    /// A new file that ends in .tt.csv or .tt.parquet; refused if it is there
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
}

/// Converts.
pub fn convert(args: &ConvertArgs) -> Result<Exit, Error> {
    let form = form(&args.out)?;
    let trace = source(&args.file)?.into_trace().map_err(|error| unreadable(&error))?;
    write_trace(&trace, form, &args.out)?;
    let bytes = std::fs::metadata(&args.out).map_or(0, |file| file.len());
    say(&format!(
        "{}: {} rows, {} bytes",
        args.out.display(),
        thousands(trace.rows.len() as u64),
        thousands(bytes)
    ));
    Ok(Exit::Done)
}
