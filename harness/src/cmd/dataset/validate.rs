//! `dataset validate`: whether traces can be true, and completes those that only lack their beginning.

use std::path::PathBuf;

use clap::Args;

use super::{form, say, source, unreadable, write_trace};
use crate::cmd::print;
use crate::error::{Error, Exit};
use crate::grid::Grid;
use crate::select::thousands;
use crate::trace::validate::Validator;
use crate::trace::{Finding, Severity, Validation, repair};

/// Options of `dataset validate`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
A CSV file of any size is checked in the memory of what is armed. Exit codes: 0 the trace can be true, 1 it
contradicts itself (with --strict also when something is flagged) or cannot be read, 2 a bad name.")]
pub struct ValidateArgs {
    /// Traces: files, or names of built-in ones
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<String>,
    /// Exit with 1 also for what is only flagged: expiries before their due time
    #[arg(long, conflicts_with = "repair")]
    pub strict: bool,
    /// Add a P row for each timer that must have been armed unseen, and write the trace to --out
    #[arg(long, requires = "out")]
    pub repair: bool,
    /// Where the completed trace is written, as CSV or Parquet by its end; refused if it is there
    #[arg(long, value_name = "FILE", requires = "repair")]
    pub out: Option<PathBuf>,
    /// How many findings are printed
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub first: usize,
}

/// Checks one trace after the other, or repairs one.
pub fn validate(args: &ValidateArgs) -> Result<Exit, Error> {
    match (&args.out, args.files.as_slice()) {
        (Some(out), [file]) => return repaired(file, out, args.first),
        (Some(_), _) => {
            let error = Error::usage("--repair takes one trace, for --out is one file");
            return Err(error.mend("repair them one by one"));
        }
        (None, _) => {}
    }
    let mut exit = Exit::Done;
    for file in &args.files {
        let (name, found) = checked(file)?;
        print(&report(&name, &found, args.first))?;
        if found.errors() > 0 || args.strict && !found.broken.is_empty() {
            exit = Exit::Failed;
        }
    }
    Ok(exit)
}

fn checked(file: &str) -> Result<(String, Validation), Error> {
    let source = source(file)?;
    let (name, metadata) = (source.name().to_owned(), source.metadata().clone());
    let mut validator = Validator::new(&metadata);
    let mut rows = 0_u64;
    let read = source.each(|row, _| {
        rows += 1;
        validator.row(row);
        true
    });
    read.map_err(|error| unreadable(&error))?;
    if rows == 0 {
        return Err(Error::failed(format!("{name}: there are no rows in it")).mend("record it again"));
    }
    Ok((name, validator.finish(&metadata)))
}

fn repaired(file: &str, out: &std::path::Path, first: usize) -> Result<Exit, Error> {
    let form = form(out)?;
    let trace = source(file)?.into_trace().map_err(|error| unreadable(&error))?;
    let repair = repair(&trace);
    write_trace(&repair.trace, form, out)?;
    say(&format!("{}: {} P rows were added, see {}", trace.name, thousands(repair.inserted), out.display()));
    print(&report(&out.display().to_string(), &repair.left, first))?;
    Ok(if repair.left.errors() > 0 { Exit::Failed } else { Exit::Done })
}

/// One line of a true trace; of another a table of the rules it breaks, and its first findings.
fn report(name: &str, found: &Validation, first: usize) -> String {
    let rows: u64 = found.counts.values().sum();
    let flags: u64 = found.broken.values().sum::<u64>() - found.errors();
    let verdict = match (found.errors(), flags) {
        (0, 0) => "it can be true".to_owned(),
        (0, flags) => format!("it can be true; {} flagged", times(flags)),
        (errors, 0) => format!("it contradicts itself {}", times(errors)),
        (errors, flags) => format!("it contradicts itself {}, and {} flagged", times(errors), times(flags)),
    };
    let title = format!(
        "{name}: {} rows, at most {} timers armed at once, {} at the end: {verdict}",
        thousands(rows),
        thousands(found.armed_max),
        thousands(found.armed_at_end)
    );
    if found.broken.is_empty() {
        return title + "\n";
    }
    rules(title, found, first).to_string()
}

fn rules(title: String, found: &Validation, first: usize) -> Grid {
    let mut grid = Grid { title, ..Grid::default() };
    let rules = || found.broken.keys();
    let text = |of: &dyn Fn(crate::trace::Rule) -> String| rules().map(|rule| of(*rule)).collect::<Vec<_>>();
    grid.name_column("rule", text(&|rule| rule.name().to_owned()));
    grid.name_column("what it says", text(&|rule| rule.about().to_owned()));
    grid.name_column("broken, it is", text(&|rule| severity(rule.severity()).to_owned()));
    grid.column("times", text(&|rule| thousands(found.count(rule))));
    let place = |rule| found.findings.iter().find(|finding| finding.rule == rule).map(|finding| finding.line);
    grid.column(
        "first at line",
        text(&|rule| place(rule).filter(|line| *line > 0).map_or("-".into(), thousands)),
    );
    let line = |finding: &Finding| format!("{finding} ({})", severity(finding.rule.severity()));
    grid.notes = found.findings.iter().take(first).map(line).collect();
    let more = found.broken.values().sum::<u64>() - grid.notes.len() as u64;
    if more > 0 {
        grid.notes.push(format!("and {} more", thousands(more)));
    }
    grid
}

fn severity(of: Severity) -> &'static str {
    match of {
        Severity::Error => "an error",
        Severity::Flag => "flagged",
    }
}

fn times(count: u64) -> String {
    if count == 1 { "once".to_owned() } else { format!("{} times", thousands(count)) }
}
