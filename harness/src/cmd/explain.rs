//! `explain`: what a cell asks, what of it is timed, and what is not.
//!
//! ```text
//! wheel:tick=8/burst:step=500/200k/time
//! structure    workload       n    pass      all but the workload may be left out
//! ```

use std::path::Path;

use clap::ValueEnum;
use impls::registry;

use super::print;
use super::run::{has_room, of_workload};
use crate::cli::{ExplainArgs, Format};
use crate::error::{Error, Exit};
use crate::explain::Explanation;
use crate::plan::block_seed;
use crate::run::stream;
use crate::select::{self, Structure, thousands};
use crate::spec::Pass;
use crate::suggest::did_you_mean;
use crate::workload::{self, Workload};

/// Prints the explanation of a cell.
pub fn explain(args: &ExplainArgs) -> Result<Exit, Error> {
    let cell = Cell::parse(&args.cell)?;
    let (workload, size) = (&cell.workload, cell.size);
    workload.check(size).map_err(|error| of_workload(&error))?;
    has_room(workload, size, workload.payload())?;
    let seed = block_seed(args.seed, 1);
    let stream = stream(workload, size, seed)?;
    stream.check().map_err(|fault| Error::failed(format!("{}: {fault}", workload.name())))?;
    let structure = cell.structure.as_ref().and_then(|named| Some((named, registry::find(&named.name)?)));
    let passes = cell.pass.as_ref().map_or(Pass::value_variants(), std::slice::from_ref);
    let explanation = Explanation::new(workload, size, seed, &stream, structure, passes);
    print(&shown(&explanation, args.format)?)?;
    Ok(Exit::Done)
}

/// A cell as it is named.
#[derive(Debug)]
struct Cell {
    structure: Option<Structure>,
    workload: Workload,
    size: u64,
    pass: Option<Pass>,
}

impl Cell {
    fn parse(cell: &str) -> Result<Self, Error> {
        let (rest, pass) = split_pass(cell);
        let (rest, size) = split_size(rest)?;
        let (structure, name) = split_structure(rest)?;
        if let Some((name, more)) = name.split_once('/').filter(|_| !names_file(name))
            && workload::resolve(name).is_ok()
        {
            return Err(neither_size_nor_pass(cell, more));
        }
        let workload = one(name)?;
        let size = size_of(&workload, size)?;
        Ok(Self { structure, workload, size, pass })
    }
}

fn split_pass(cell: &str) -> (&str, Option<Pass>) {
    let last = cell.rsplit_once('/').filter(|_| !ends_in_file(cell));
    match last.and_then(|(rest, word)| Some((rest, Pass::from_str(word, false).ok()?))) {
        Some((rest, pass)) => (rest, Some(pass)),
        None => (cell, None),
    }
}

fn split_size(cell: &str) -> Result<(&str, Option<u64>), Error> {
    let last =
        cell.rsplit_once('/').filter(|(_, word)| word.starts_with(|letter: char| letter.is_ascii_digit()));
    match last.filter(|_| !ends_in_file(cell)) {
        Some((rest, word)) => {
            let size = select::size(word)
                .map_err(|error| Error::usage(format!("`{word}` in `{cell}`: {error}")).mend(FORM))?;
            Ok((rest, Some(size)))
        }
        None => Ok((cell, None)),
    }
}

const FORM: &str = "write impl/workload/n/pass, as wheel/burst/200k/time, or only burst; passes are time, latency, \
                    resident, heap and count";

fn split_structure(cell: &str) -> Result<(Option<Structure>, &str), Error> {
    let (first, rest) = match cell.split_once('/') {
        Some(parts) if !names_file(cell) && !cell.starts_with("replay:") => parts,
        _ if registry::find(cell.split(':').next().unwrap_or_default()).is_some() => {
            return Err(Error::usage(format!("`{cell}` is a structure, and a cell has a workload"))
                .mend(format!("write it as `harness explain {cell}/burst`")));
        }
        _ => return Ok((None, cell)),
    };
    match select::structures(&[first.to_owned()]) {
        Ok(mut found) if found.len() == 1 => Ok((found.pop(), rest)),
        Ok(found) => {
            Err(Error::usage(format!("`{first}` names {} structures, and a cell has one", found.len()))
                .mend("name one of `harness list impls`"))
        }
        // A workload with something behind it that is no size: what it is, is said by the caller.
        Err(_) if workload::resolve(first).is_ok() => Ok((None, cell)),
        Err(error) => Err(error),
    }
}

/// Whether a cell ends in a workload that is a file, with or without a structure before it. A file's name may
/// contain anything.
fn ends_in_file(cell: &str) -> bool {
    names_file(cell) || cell.split_once('/').is_some_and(|(_, rest)| names_file(rest))
}

/// Whether a workload is a file, with or without parameters, and nothing is behind them.
fn names_file(workload: &str) -> bool {
    let file = workload.strip_prefix("replay:").unwrap_or(workload);
    let ends = file.match_indices(':').map(|(at, _)| at).chain([file.len()]);
    ends.map(|end| file.split_at(end)).any(|(file, more)| Path::new(file).is_file() && !more.contains('/'))
}

fn neither_size_nor_pass(cell: &str, more: &str) -> Error {
    let word = more.rsplit('/').next().unwrap_or(more);
    let names: Vec<String> = Pass::value_variants().iter().map(crate::record::word).collect();
    let hint = did_you_mean(word, names.iter().map(String::as_str));
    Error::usage(format!("`{word}` in `{cell}` is neither a size nor a pass{hint}")).mend(FORM)
}

fn one(name: &str) -> Result<Workload, Error> {
    let mut found = workload::resolve(name).map_err(|error| of_workload(&error))?;
    match (found.pop(), found.len()) {
        (Some(workload), 0) => Ok(workload),
        (_, more) => Err(Error::usage(format!("`{name}` names {} workloads, and a cell has one", more + 1))
            .mend("name one of `harness list workloads`, with one value for each parameter")),
    }
}

fn size_of(workload: &Workload, asked: Option<u64>) -> Result<u64, Error> {
    if let (Some(asked), Some(replay)) = (asked, workload.replay()) {
        let (asked, own) = (thousands(asked), thousands(replay.timers()));
        return Err(Error::usage(format!(
            "{asked} is no size of {}: a replay has the size of its trace, {own}",
            workload.name()
        ))
        .mend("leave the size away, or scale it with `copies=k`"));
    }
    let sizes = workload.sizes(&asked.into_iter().collect::<Vec<_>>());
    sizes.first().copied().ok_or_else(|| {
        Error::usage(format!("{} has no size of its own", workload.name())).mend("name one, as NAME.toml/10k")
    })
}

fn shown(explanation: &Explanation, format: Format) -> Result<String, Error> {
    if format == Format::Json {
        let text = serde_json::to_string_pretty(explanation);
        return text.map(|text| text + "\n").map_err(|error| Error::failed(error.to_string()));
    }
    let grids = explanation.grids().into_iter().map(|grid| grid.render(format));
    let mut parts = vec![head(explanation, format), accounts(explanation, format)];
    parts.extend(grids);
    Ok(parts.join("\n"))
}

/// The name, what its file says, and a line a fact.
fn head(explanation: &Explanation, format: Format) -> String {
    let title = format!("{}, n = {}", explanation.workload, thousands(explanation.size));
    let about: String = explanation.definition.about.lines().map(|line| format!("  {line}\n")).collect();
    let text = match (format, about.is_empty()) {
        (Format::Md, true) => format!("## {title}\n\n"),
        (Format::Md, false) => format!("## {title}\n\n```text\n{about}```\n\n"),
        _ => format!("{title}\n{about}\n"),
    };
    let lines = explanation.lines();
    text + &listed(lines.iter().map(|(name, words)| (name.as_str(), words.as_str())), format, "")
}

fn accounts(explanation: &Explanation, format: Format) -> String {
    let title = "What is measured, and what is not";
    let mut text = match format {
        Format::Md => format!("### {title}\n"),
        _ => format!("{title}\n"),
    };
    for (pass, texts) in explanation.accounts() {
        text.push_str(&if format == Format::Md { format!("\n**{pass}**\n\n") } else { format!(" {pass}\n") });
        text.push_str(&listed(texts.iter().map(|(name, words)| (*name, words.as_str())), format, "   "));
    }
    text
}

/// A name and a text a line.
fn listed<'a>(lines: impl Iterator<Item = (&'a str, &'a str)>, format: Format, lead: &str) -> String {
    let line = |(name, words): (&str, &str)| match format {
        Format::Md => format!("* {name}: {words}\n"),
        _ => format!(" {lead}{name:<10} {words}\n"),
    };
    lines.map(line).collect()
}
