//! `dataset stat`: what traces ask of a queue, one row a trace.

use clap::Args;
use serde_json::{Map, Value as Json, json};

use super::{say, source, unreadable};
use crate::cli::Format;
use crate::cmd::print;
use crate::error::{Error, Exit};
use crate::grid::Grid;
use crate::select::thousands;
use crate::statistics::{Figure, Statistics, Value, figures, span};
use crate::trace::{Source, statistics};

/// Options of `dataset stat`.
#[derive(Args, Clone, Debug)]
#[command(after_help = SHARES)]
pub struct StatArgs {
    /// Traces: files, or names of built-in ones
    #[arg(required = true, value_name = "FILE|NAME")]
    pub files: Vec<String>,
    /// How the figures are printed
    #[arg(long, default_value = "table")]
    pub format: Format,
    /// How many of the most common delays are printed
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub top: usize,
}

const SHARES: &str = "\
Of what each share is a share. An arm is a start (S) or a re-arm (R); what a queue does by itself for a timer
with a period is none.
  re-armed      R rows, of arms
  cancelled     C rows (cancels that found their timer armed), of arms
  expired       E and D rows, of arms; with periods it can be above 100 %
  missed        N rows (cancels that found it not armed), of C and N rows
  after expiry  N rows whose timer had expired and had not been started since, of N rows
  absorbed      B rows (re-arms that the source left out, no arms), as a share of arms
  early         expiries before their due time, of expiries
  a delay       arms with this delay, of arms whose due time is known
What is left of 100 % of the arms is still armed at the end, or was lost in a gap.

A delay is due time less time, rounded up to the trace's due granularity and shown to three digits. Operations are S, R, C, N, E and D
rows. The mean number armed is weighted by time. Lateness is time less due time of an expiry: nearest rank, kept
to three digits. A CSV file of any size is read in the memory of what is armed and of a million distinct delays.";

/// The statistics of one trace, under its name.
pub(super) struct Named {
    pub(super) name: String,
    pub(super) of: Statistics,
    pub(super) fidelity: String,
    pub(super) scale: String,
}

/// Prints the figures of all traces.
pub fn stat(args: &StatArgs) -> Result<Exit, Error> {
    let mut all = Vec::new();
    for file in &args.files {
        all.push(named(source(file)?)?);
    }
    print(&rendered(&all, args.format, args.top)?)?;
    Ok(Exit::Done)
}

pub(super) fn named(source: Source) -> Result<Named, Error> {
    let name = source.name().to_owned();
    let word = |key: &str, otherwise: &str| source.metadata().get(key).unwrap_or(otherwise).to_owned();
    let (fidelity, scale) = (word("fidelity", "unknown"), word("scale", "1"));
    let (of, found) = statistics(source).map_err(|error| unreadable(&error))?;
    if found.errors() > 0 {
        say(&format!(
            "warning: {name} contradicts itself {} times, so its figures may be wrong; `harness dataset validate` says where",
            thousands(found.errors())
        ));
    }
    Ok(Named { name, of, fidelity, scale })
}

fn rendered(all: &[Named], format: Format, top: usize) -> Result<String, Error> {
    match format {
        Format::Table | Format::Md => {
            Ok(grids(all, top).iter().map(|grid| grid.render(format)).collect::<Vec<_>>().join("\n"))
        }
        Format::Csv => csv(all, top).map_err(|error| Error::failed(format!("cannot write CSV: {error}"))),
        Format::Json => {
            let rows: Vec<Json> = all.iter().map(|named| row(named, top)).collect();
            let text = serde_json::to_string_pretty(&rows);
            text.map(|text| text + "\n").map_err(|error| Error::failed(error.to_string()))
        }
    }
}

/// The table of all traces, and that of their delays.
pub(super) fn grids(all: &[Named], top: usize) -> [Grid; 2] {
    let mut grid = Grid { title: "What traces ask of a queue".into(), ..Grid::default() };
    grid.name_column("trace", all.iter().map(|named| named.name.clone()).collect());
    let columns: Vec<Vec<Figure>> = all.iter().map(|named| figures(&named.of)).collect();
    let text = |figure: &Figure| figure.value.map_or("-".to_owned(), Value::text);
    for (at, figure) in columns.first().into_iter().flatten().enumerate() {
        grid.column(figure.heading, columns.iter().map(|figures| text(&figures[at])).collect());
    }
    grid.column("fidelity", all.iter().map(|named| named.fidelity.clone()).collect());
    grid.column("scale", all.iter().map(|named| named.scale.clone()).collect());
    grid.notes.push(
        "An arm is a start or a re-arm. `harness dataset stat --help` says of what each share is one.".into(),
    );
    [grid, delays(all, top)]
}

fn delays(all: &[Named], top: usize) -> Grid {
    let mut grid = Grid { title: "Their most common delays".into(), ..Grid::default() };
    let rows: Vec<[String; 4]> = all.iter().flat_map(|named| delay_rows(named, top)).collect();
    let column = |at: usize| rows.iter().map(|row| row[at].clone()).collect::<Vec<_>>();
    grid.name_column("trace", column(0));
    grid.column("delay", column(1));
    grid.column("arms", column(2));
    grid.column("share", column(3));
    grid
}

fn delay_rows(named: &Named, top: usize) -> Vec<[String; 4]> {
    let all = named.of.delayed();
    let share = |arms: u64| Value::Share(arms as f64 / all.max(1) as f64).text();
    let common = named.of.common_delays(top);
    let rest = all - common.iter().map(|(_, arms)| arms).sum::<u64>();
    let others = named.of.rounded_delays().len() as u64 - common.len() as u64;
    let row = |delay: String, arms: u64| [named.name.clone(), delay, thousands(arms), share(arms)];
    let mut rows: Vec<_> = common.iter().map(|(delay, arms)| row(span(*delay as f64), *arms)).collect();
    if rest > 0 {
        let others = if named.of.delays_beyond > 0 {
            "all others".into()
        } else {
            format!("{} others", thousands(others))
        };
        rows.push(row(others, rest));
    }
    rows
}

/// One object a trace; names as in CSV.
fn row(named: &Named, top: usize) -> Json {
    let mut row = Map::new();
    row.insert("trace".to_owned(), json!(named.name));
    for figure in figures(&named.of) {
        let number = match figure.value {
            Some(Value::Count(count)) => json!(count),
            other => json!(other.map(Value::number)),
        };
        row.insert(figure.name.to_owned(), number);
    }
    row.insert("fidelity".to_owned(), json!(named.fidelity));
    row.insert("scale".to_owned(), json!(named.scale));
    let common = named.of.common_delays(top);
    let all = named.of.delayed().max(1) as f64;
    row.insert("delays_ns".to_owned(), json!(common.iter().map(|(delay, _)| *delay).collect::<Vec<_>>()));
    let shares: Vec<f64> = common.iter().map(|(_, arms)| *arms as f64 / all).collect();
    row.insert("delays_share".to_owned(), json!(shares));
    Json::Object(row)
}

/// The same columns; lists are parted by spaces.
fn csv(all: &[Named], top: usize) -> Result<String, csv::Error> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let figure_names = all.first().map(|named| figures(&named.of)).unwrap_or_default();
    let mut columns: Vec<&str> = vec!["trace"];
    columns.extend(figure_names.iter().map(|figure| figure.name));
    columns.extend(["fidelity", "scale", "delays_ns", "delays_share"]);
    writer.write_record(&columns)?;
    for named in all {
        let row = row(named, top);
        writer.write_record(columns.iter().map(|column| field(&row[*column])))?;
    }
    let bytes = writer.into_inner().map_err(|error| error.into_error())?;
    Ok(String::from_utf8(bytes).unwrap_or_default())
}

fn field(value: &Json) -> String {
    match value {
        Json::Null => String::new(),
        Json::String(text) => text.clone(),
        Json::Array(list) => list.iter().map(field).collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    }
}
