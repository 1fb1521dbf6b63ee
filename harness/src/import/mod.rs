//! Importers: what somebody else's tool recorded, turned into a trace in the neutral format.
//!
//! ```text
//! FILE --> Lines ------> Importer --> Out --> window --> spool --> header, rows --> NAME.tt.csv, NAME.tt.parquet
//!          (numbers,     (one of      |       (time)     (disk)    (counts known)
//!           caps, gz)     FORMS)      +-> events, skipped lines with reasons, gaps, notes: Report
//! ```
//!
//! Memory does not grow with the file: a line is read at a time, rows that may still change places wait in a
//! window, and all others lie in a nameless temporary file until the counts for the header are known. The result
//! gets its name in one step when it is whole, and never replaces a file.
//!
//! # A form of one's own
//!
//! One file with `impl LineImporter` (or [`DocumentImporter`], where a line means nothing by itself) and one line
//! in [`FORMS`]. An importer gives times in nanoseconds of the source's clock, as they are read; [`Out`] makes
//! them start at 0. Keys that are used again get a number for each life from [`Lives`]; what has to be sorted as
//! a whole goes through [`Sorter`].

mod access_log;
mod arrivals;
mod chrome;
mod cron;
mod grpc;
pub mod kernel;
pub mod lines;
pub mod lives;
mod nginx;
pub mod options;
pub mod out;
pub mod report;
mod schedule;
pub mod service;
pub mod sorter;
mod spool;
mod strace;
mod text;
mod timers;
mod write;

use std::fmt::Debug;
use std::io::BufRead;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

pub use lines::{Line, Lines};
pub use lives::Lives;
pub use options::{Family, Options};
pub use out::{Clock, Order, Out, Scale};
pub use report::Report;
pub use service::Service;
pub use sorter::Sorter;

use crate::error::Error;
use crate::suggest::did_you_mean;

/// A form that can be imported.
pub struct Form {
    /// What `--form` calls it.
    pub name: &'static str,
    /// What it is, in a line.
    pub summary: &'static str,
    /// Whether the first lines of a file look like it. It gets at most [`Form::HEAD`] lines.
    pub sniff: fn(head: &[String]) -> bool,
    /// An importer that has read nothing.
    pub start: fn(&Options) -> Result<Importer, Error>,
}

/// The forms, in the order in which they are tried: those with the more particular signs stand first.
pub const FORMS: &[Form] = &[
    kernel::LTTNG,
    kernel::TRACE_CMD,
    kernel::PERF,
    kernel::FTRACE,
    chrome::FORM,
    nginx::FORM,
    grpc::FORM,
    access_log::FORM,
    schedule::FORM,
    strace::FORM,
    arrivals::FORM,
];

impl Form {
    /// How many lines a form is told apart by.
    pub const HEAD: usize = 200;

    /// The form of this name.
    pub fn named(name: &str) -> Result<&'static Self, Error> {
        FORMS.iter().find(|form| form.name == name).ok_or_else(|| {
            let names = FORMS.iter().map(|form| form.name);
            Error::usage(format!("no form is called `{name}`{}", did_you_mean(name, names.clone())))
                .mend(format!("there is {}", names.collect::<Vec<_>>().join(", ")))
        })
    }

    /// The first form that the beginning of a file looks like.
    pub fn detect(head: &[String]) -> Option<&'static Self> {
        FORMS.iter().find(|form| (form.sniff)(head))
    }
}

/// What reads a form.
pub enum Importer {
    /// Fed one line after the other.
    Lines(Box<dyn LineImporter>),
    /// Given the whole file.
    Document(Box<dyn DocumentImporter>),
}

/// Reads a form of which each line stands for itself.
pub trait LineImporter: Debug {
    /// Reads a line. What it cannot make sense of it hands to [`Out::skip`].
    fn line(&mut self, line: &Line<'_>, out: &mut Out);

    /// After the last line: hands over what is still undecided, the clocks, and what the metadata say.
    fn finish(&mut self, out: &mut Out);
}

/// Reads a form that is one document.
pub trait DocumentImporter: Debug {
    /// Reads all of it.
    fn read(&mut self, from: &mut dyn BufRead, out: &mut Out) -> Result<(), Error>;
}

/// Imports a file. `form` is a name, or `auto`. `stop` ends it early, with nothing written.
pub fn import(
    path: &Path,
    form: &str,
    options: &Options,
    into: &Path,
    stop: &AtomicBool,
) -> Result<Report, Error> {
    let kind = write::Kind::of(into)?;
    write::vacant(into)?;
    let form = match form {
        "auto" => None,
        name => Some(Form::named(name)?),
    };
    let form = match form {
        Some(form) => form,
        None => detect(path)?,
    };
    let mut out = Out::new(path, form.name, options, &write::folder(into))?;
    let mut from = lines::open(path)?;
    match (form.start)(options)? {
        Importer::Lines(mut importer) => feed(&mut *importer, &mut from, path, &mut out, stop)?,
        Importer::Document(mut importer) => importer.read(&mut from, &mut out)?,
    }
    let origin = from.finish().map_err(|error| Error::file("read", path, &error))?;
    out.finish(&origin, into, kind, stop)
}

fn detect(path: &Path) -> Result<&'static Form, Error> {
    let mut head = Vec::new();
    let mut lines = Lines::new(lines::open(path)?);
    while head.len() < Form::HEAD
        && let Some(line) = lines.next().map_err(|error| Error::file("read", path, &error))?
    {
        head.push(line.text.to_owned());
    }
    Form::detect(&head).ok_or_else(|| {
        let names: Vec<_> = FORMS.iter().map(|form| form.name).collect();
        Error::failed(format!(
            "{}: its first {} lines look like no form that is known",
            path.display(),
            head.len()
        ))
        .mend(format!("name it with --form: {}", names.join(", ")))
    })
}

fn feed(
    importer: &mut dyn LineImporter,
    from: &mut dyn BufRead,
    path: &Path,
    out: &mut Out,
    stop: &AtomicBool,
) -> Result<(), Error> {
    let mut lines = Lines::new(from);
    while let Some(line) = lines.next().map_err(|error| Error::file("read", path, &error))? {
        match line.too_long {
            true => out.skip(line.number, "longer than a line of any form"),
            false => importer.line(&line, out),
        }
        if line.number.is_multiple_of(4096) {
            stopped(stop)?;
            out.healthy()?;
        }
    }
    out.lines_read(lines.read());
    importer.finish(out);
    out.healthy()
}

/// Whether somebody wants it to end.
fn stopped(stop: &AtomicBool) -> Result<(), Error> {
    match stop.load(Ordering::Relaxed) {
        true => Err(Error::interrupted("the import was interrupted; nothing was written")),
        false => Ok(()),
    }
}
