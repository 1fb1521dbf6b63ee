//! `dataset`: looks at recorded traces, checks and converts them, and makes workloads of them; one file a verb.

pub mod convert;
pub mod fit;
pub mod head;
pub mod import;
pub mod index;
pub mod stat;
pub mod validate;

use std::fs::File;
use std::io::Write;
use std::path::Path;

use clap::{Args, Subcommand};

use crate::error::{Error, Exit};
use crate::journal;
use crate::trace::{Form, Source, SourceError, Trace, TraceError};

/// Options of `dataset`.
#[derive(Args, Clone, Debug)]
pub struct DatasetArgs {
    /// What to do.
    #[command(subcommand)]
    pub verb: DatasetVerb,
}

/// What can be done with traces. A trace is a file, as CSV or Parquet, or a built-in one by its name.
#[derive(Clone, Debug, Subcommand)]
pub enum DatasetVerb {
    /// Turn what a tool recorded into a trace: `harness dataset import trace.txt --out my.tt.csv`
    Import(import::ImportArgs),
    /// Does a trace contradict itself? `harness dataset validate node-http-keepalive`
    Validate(validate::ValidateArgs),
    /// What a trace asks of a queue: shares, delays, how many are armed: `harness dataset stat node-http-keepalive`
    Stat(stat::StatArgs),
    /// From CSV to Parquet and back, exactly: `harness dataset convert a.tt.csv --out a.tt.parquet`
    Convert(convert::ConvertArgs),
    /// The first rows, for eyes: `harness dataset head node-http-keepalive -n 5`
    Head(head::HeadArgs),
    /// A workload that is like a trace and can be shared: `harness dataset fit node-http-keepalive --out like-node.toml`
    Fit(fit::FitArgs),
    /// The generated part of datasets/README.md: `harness dataset index`
    Index(index::IndexArgs),
}

/// Does what was asked.
pub fn dataset(args: &DatasetArgs) -> Result<Exit, Error> {
    match &args.verb {
        DatasetVerb::Import(args) => import::import(args),
        DatasetVerb::Validate(args) => validate::validate(args),
        DatasetVerb::Stat(args) => stat::stat(args),
        DatasetVerb::Convert(args) => convert::convert(args),
        DatasetVerb::Head(args) => head::head(args),
        DatasetVerb::Fit(args) => fit::fit(args),
        DatasetVerb::Index(args) => index::index(args),
    }
}

/// The trace of this name.
fn source(name: &str) -> Result<Source, Error> {
    Source::open(name).map_err(|error| match error {
        SourceError::Unknown { .. } => Error::usage(error.to_string()),
        SourceError::Trace(error) => unreadable(&error),
    })
}

fn unreadable(error: &TraceError) -> Error {
    Error::failed(error.to_string())
}

/// The form of a trace that is to be written, once it is clear that it can be.
fn form(out: &Path) -> Result<Form, Error> {
    let form = Form::of(out).ok_or_else(|| {
        let what = format!("--out {} names no form of a trace", out.display());
        Error::usage(what).mend("let it end in .tt.csv or .tt.parquet")
    })?;
    if out.exists() {
        return journal::create(out, |_| Ok(())).map(|()| form);
    }
    Ok(form)
}

/// Writes a trace to a new file, whole or not at all. It is read again before it gets its name.
fn write_trace(trace: &Trace, form: Form, out: &Path) -> Result<(), Error> {
    journal::create(out, |file| {
        form.write(trace, &mut *file).map_err(|error| unreadable(&error))?;
        file.flush().map_err(|error| Error::file("write", out, &error))?;
        let again = read_again(file, out)?;
        if again.same(trace) {
            return Ok(());
        }
        let what = format!("{} would not say the same as {}", out.display(), trace.name);
        Err(Error::failed(what).mend("keep the trace in the form it has, and report this"))
    })
}

fn read_again(file: &File, out: &Path) -> Result<Trace, Error> {
    use std::io::Seek;
    let refused = |error: &std::io::Error| Error::file("read", out, error);
    let mut file = file.try_clone().map_err(|error| refused(&error))?;
    file.rewind().map_err(|error| refused(&error))?;
    let name = out.display().to_string();
    let source = Source::from_reader(&name, Box::new(file)).map_err(|error| unreadable(&error))?;
    source.into_trace().map_err(|error| unreadable(&error))
}

/// Words that are no result.
fn say(words: &str) {
    // When nobody listens, the exit code still says it.
    _ = writeln!(std::io::stderr(), "{words}");
}
