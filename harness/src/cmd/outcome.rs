//! What is left of a run when its cells are done: tables, what is printed, what to type next, and the exit code.

use std::collections::BTreeMap;
use std::env;
use std::io::Write;
use std::path::PathBuf;

use super::print;
use crate::cli::Format;
use crate::error::{Error, Exit};
use crate::folder::{self, Manifest};
use crate::journal::{Entry, Status};
use crate::plan::Plan;
use crate::record::{Row, SCHEMA_VERSION, word};
use crate::rows::{self, Tables};
use crate::show;
use crate::summary::summaries;

/// A run whose cells are done, or as many of them as were.
pub(super) struct Finished {
    /// Its folder.
    pub(super) folder: PathBuf,
    /// Its manifest.
    pub(super) manifest: Manifest,
}

impl Finished {
    /// Writes the tables, prints them, and says with which code to end.
    pub(super) fn tell(
        mut self,
        entries: &[Entry],
        format: Format,
        fail_on_error: bool,
    ) -> Result<Exit, Error> {
        let tables = self.write(entries)?;
        self.print(&tables, format)?;
        Ok(self.exit(entries, fail_on_error))
    }

    /// Writes the tables, and gives the folder of a run that is complete.
    pub(super) fn keep(mut self, entries: &[Entry]) -> Result<PathBuf, Error> {
        self.write(entries)?;
        if self.manifest.complete {
            return Ok(self.folder);
        }
        Err(Error::interrupted("interrupted: what was finished is kept").mend(format!(
            "`{} --resume {}` goes on with it",
            us(),
            quoted(&self.folder.display().to_string())
        )))
    }

    fn write(&mut self, entries: &[Entry]) -> Result<Tables, Error> {
        let cells: usize = self.manifest.plan.own_groups().iter().map(|group| group.cells.len()).sum();
        let unfinished = entries.iter().filter(|entry| entry.status == Status::Interrupted).count();
        self.manifest.complete = self.manifest.plan.is_settled() && entries.len() - unfinished == cells;
        self.manifest.written = Some(folder::now());
        self.manifest.allocators = allocators(&self.manifest.plan, entries);
        let tables = rows::tables(&self.manifest, entries);
        #[cfg(feature = "tables")]
        crate::table::write_all(&self.folder, &tables)?;
        self.manifest.write(&self.folder)?;
        Ok(tables)
    }

    fn print(&self, tables: &Tables, format: Format) -> Result<(), Error> {
        print(&result(tables, &self.manifest, format)?)?;
        let shown = self.folder.display();
        if self.manifest.complete {
            say(Some(format!(
                "\nfiles: {shown} (measurements, latency, slowest and memory as .csv and .parquet)"
            )));
        } else {
            say(Some(format!(
                "\ninterrupted: what was finished is in {shown}\n    `{} --resume {}` goes on with it",
                us(),
                quoted(&shown.to_string())
            )));
        }
        match self.manifest.plan.shard.filter(|_| self.manifest.complete) {
            Some(shard) => say(Some(format!(
                "next:  `{} merge RUN... --out DIR` joins the {} shards, of which this is {shard}",
                us(),
                shard.count
            ))),
            None => {
                let next = next(&self.manifest.plan);
                say(Some(format!("next:  {}\n       {}", next[0], next[1])));
            }
        }
        Ok(())
    }

    fn exit(&self, entries: &[Entry], fail_on_error: bool) -> Exit {
        if let Some(wrong) = entries.iter().find(|entry| entry.status == Status::Wrong) {
            let what = wrong.detail.as_deref().unwrap_or_default();
            say(Some(format!("error: an answer differs from the reference's: {what}")));
            return Exit::Wrong;
        }
        match self.manifest.complete {
            false => Exit::Interrupted,
            true if fail_on_error && entries.iter().any(|entry| entry.status != Status::Ok) => Exit::Failed,
            true => Exit::Done,
        }
    }
}

/// What each allocator said of itself, once.
fn allocators(plan: &Plan, entries: &[Entry]) -> BTreeMap<String, BTreeMap<String, String>> {
    let cells = plan.cells();
    let told = |entry: &Entry| {
        let facts = entry.report.as_ref()?.allocator.iter().cloned();
        Some((word(&cells.get(entry.cell as usize)?.allocator), facts.collect()))
    };
    entries.iter().filter_map(told).collect()
}

/// The result as it goes to standard output.
fn result(tables: &Tables, manifest: &Manifest, format: Format) -> Result<String, Error> {
    match format {
        Format::Table | Format::Md => {
            let grids = summaries(tables, &manifest.plan)
                .iter()
                .flat_map(|summary| show::grids(summary, manifest))
                .collect::<Vec<_>>();
            let texts: Vec<_> = grids.iter().map(|grid| grid.render(format)).collect();
            Ok(texts.join("\n"))
        }
        Format::Csv => csv(&tables.measurements),
        Format::Json => json(&tables.measurements),
    }
}

/// Rows as JSON, under the names of their columns.
pub(super) fn json<R: Row>(rows: &[R]) -> Result<String, Error> {
    let columns = R::columns();
    let row = |row: &R| {
        let named = columns.iter().zip(row.values());
        named.map(|(column, value)| (column.name.to_owned(), value.json())).collect::<serde_json::Map<_, _>>()
    };
    let rows: Vec<_> = rows.iter().map(row).collect();
    let all = serde_json::json!({ "schema_version": SCHEMA_VERSION, "rows": rows });
    serde_json::to_string_pretty(&all)
        .map(|text| text + "\n")
        .map_err(|error| Error::failed(error.to_string()))
}

/// Rows as CSV.
#[cfg(feature = "tables")]
pub(super) fn csv<R: Row>(rows: &[R]) -> Result<String, Error> {
    let mut text = Vec::new();
    crate::table::csv(rows, &mut text)?;
    String::from_utf8(text).map_err(|error| Error::failed(error.to_string()))
}

#[cfg(not(feature = "tables"))]
pub(super) fn csv<R: Row>(_: &[R]) -> Result<String, Error> {
    Err(without_tables())
}

/// Whether this build can print in a format, which is better known before a run than behind it.
pub(super) fn can_print(format: Format) -> Result<(), Error> {
    if format == Format::Csv && !cfg!(feature = "tables") { Err(without_tables()) } else { Ok(()) }
}

fn without_tables() -> Error {
    Error::usage("this build writes no CSV: its feature `tables` is off").mend("use --format json")
}

/// Says something on standard error, if anybody listens.
pub(super) fn say(words: Option<String>) {
    if let Some(words) = words {
        _ = writeln!(std::io::stderr(), "{words}");
    }
}

/// How this command was called, to be typed again.
fn us() -> String {
    if env::var_os("CARGO").is_some() {
        return "cargo run -p harness --".into();
    }
    env::args().next().map_or_else(|| "harness".into(), |name| quoted(&name))
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_alphanumeric() || "/._-:=,+@%".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Two commands to try next.
fn next(plan: &Plan) -> [String; 2] {
    let (us, workload) = (us(), quoted(&plan.workloads[0].name));
    let first = plan.structures.first().map_or_else(String::new, ToString::to_string);
    // A trace has one size; what the structure does with it is the next question.
    let recorded = plan.workloads[0].name.starts_with("replay");
    let more = if recorded { "--measure count" } else { "--n 1k,10k,100k --quick" };
    let growth = format!("{us} --impl {} --workload {workload} {more}", quoted(&first));
    match plan.structures.len() {
        1 => [format!("{us} --impl five --workload {workload} --quick"), growth],
        _ => [growth, format!("{us} list workloads --long")],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_quoted_only_where_a_shell_needs_it() {
        assert_eq!(quoted("results/a-1"), "results/a-1");
        assert_eq!(quoted("my results/a b"), "'my results/a b'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }
}
