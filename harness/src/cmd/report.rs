//! `report`: runs as a document.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use itertools::Itertools;

use super::print;
use super::run::say;
use crate::error::{Error, Exit};
use crate::journal::create;
use crate::report::Report;
use crate::report::html::html;
use crate::report::markdown::{Section, markdown};
use crate::report::splice::splice;
use crate::study::Study;

/// Options of `report`.
#[derive(Args, Clone, Debug)]
pub struct ReportArgs {
    /// Runs: folders, names under results/, or `latest`
    #[arg(value_name = "RUN", default_value = "latest")]
    pub runs: Vec<String>,
    /// Where the HTML file is written, and the same as Markdown beside it (`.md`); neither may be there already.
    /// Without --out and --splice Markdown is printed
    #[arg(long, value_name = "FILE.html")]
    pub out: Option<PathBuf>,
    /// Replace what stands in this document between `<!-- harness:report NAME -->` and `<!-- /harness:report NAME -->`
    /// by the Markdown; NAME is --name, or else the only --section
    #[arg(long, value_name = "FILE.md")]
    pub splice: Option<PathBuf>,
    /// The name in the markers
    #[arg(long, value_name = "NAME", requires = "splice")]
    pub name: Option<String>,
    /// Only these sections of the Markdown
    #[arg(long, value_name = "SECTIONS", value_delimiter = ',')]
    pub section: Vec<Section>,
}

/// Makes the document.
pub fn report(args: &ReportArgs) -> Result<Exit, Error> {
    if let Some(out) = &args.out {
        is_free(out)?;
    }
    let studies: Vec<Study> = args.runs.iter().map(|run| Study::read(run)).collect::<Result<_, _>>()?;
    if let Some(empty) = studies.iter().find(|study| study.tables.measurements.is_empty()) {
        return Err(Error::failed(format!("the run {} has no rows", empty.name()))
            .mend("go on with it by `harness --resume`, or start a new one"));
    }
    let report = Report::of(&studies, command(args))?;
    let sections = if args.section.is_empty() { Section::ALL.to_vec() } else { args.section.clone() };
    let text = markdown(&report, &sections);
    if let Some(out) = &args.out {
        for refused in report.write_tables(&studies) {
            say(Some(format!("note: the figures' tables are not written: {refused}")));
        }
        write(out, &html(&report))?;
        write(&out.with_extension("md"), &text)?;
        say(Some(format!("{} and {}", out.display(), out.with_extension("md").display())));
    }
    match &args.splice {
        Some(document) => splice(document, &name(args)?, &text)?,
        None if args.out.is_none() => print(&text)?,
        None => {}
    }
    Ok(Exit::Done)
}

/// The HTML file must not be there, and must not be where the Markdown goes.
fn is_free(out: &Path) -> Result<(), Error> {
    if out.extension().is_none_or(|extension| extension != "html") {
        return Err(Error::usage(format!("--out {} is no name of an HTML file", out.display()))
            .mend("let it end in .html; the Markdown is written beside it"));
    }
    match [out.to_owned(), out.with_extension("md")].into_iter().find(|path| path.exists()) {
        Some(path) => Err(Error::failed(format!("{} is there already", path.display()))
            .mend("name another file, or remove that one")),
        None => Ok(()),
    }
}

fn write(path: &Path, text: &str) -> Result<(), Error> {
    create(path, |file| file.write_all(text.as_bytes()).map_err(|error| Error::file("write", path, &error)))
}

fn name(args: &ReportArgs) -> Result<String, Error> {
    use clap::ValueEnum;
    match (&args.name, args.section.as_slice()) {
        (Some(name), _) => Ok(name.clone()),
        (None, [only]) => {
            Ok(only.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned()))
        }
        (None, _) => Err(Error::usage("--splice needs a name for the markers")
            .mend("give --name NAME, or one --section, whose name is then meant")),
    }
}

/// How the document is made again.
fn command(args: &ReportArgs) -> String {
    use clap::ValueEnum;
    let mut words = vec!["harness report".to_owned()];
    words.extend(args.runs.iter().cloned());
    for (flag, path) in [("--out", &args.out), ("--splice", &args.splice)] {
        words.extend(path.iter().map(|path| format!("{flag} {}", path.display())));
    }
    words.extend(args.name.iter().map(|name| format!("--name {name}")));
    if !args.section.is_empty() {
        let names = args
            .section
            .iter()
            .filter_map(Section::to_possible_value)
            .map(|value| value.get_name().to_owned())
            .join(",");
        words.push(format!("--section {names}"));
    }
    words.join(" ")
}
