//! How the commands that read runs print: format, colour, rows.

use std::io::IsTerminal;

use clap::{Args, ValueEnum};

use crate::cli::Format;
use crate::error::Error;
use crate::grid::Grid;
use crate::record::{Row, SCHEMA_VERSION};

/// How a result is printed.
#[derive(Args, Clone, Debug)]
pub struct Output {
    /// How it is printed; csv and json have one column a figure, with its unit in the name
    #[arg(long, default_value = "table")]
    pub format: Format,
    /// Colour for words that judge; `auto`: only on a terminal, and not where NO_COLOR is set
    #[arg(long, default_value = "auto", value_name = "WHEN")]
    pub color: Color,
}

/// When to colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Words that are coloured, each with its code: the word alone says all that the colour says.
const PAINTED: [(&str, &str); 9] = [
    (" best", "32"),
    (" faster", "32"),
    (" less", "32"),
    (" improvement", "32"),
    (" slower", "31"),
    (" more", "31"),
    (" regression", "31"),
    (" unstable", "33"),
    (" dominated", "33"),
];

impl Output {
    /// Whether this build can write the format.
    pub fn can_print(&self) -> Result<(), Error> {
        if self.format == Format::Csv && !cfg!(feature = "tables") { Err(without_tables()) } else { Ok(()) }
    }

    /// Grids as text or Markdown, one after the other.
    pub fn grids(&self, grids: &[Grid]) -> String {
        let texts: Vec<_> = grids.iter().map(|grid| self.painted(&grid.render(self.format))).collect();
        texts.join("\n")
    }

    /// Rows as CSV or JSON, or grids.
    pub fn text<T: Row>(&self, grids: impl FnOnce() -> Vec<Grid>, rows: &[T]) -> Result<String, Error> {
        match self.format {
            Format::Table | Format::Md => Ok(self.grids(&grids())),
            format => rows_text(rows, format),
        }
    }

    fn painted(&self, text: &str) -> String {
        let wanted = match self.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => {
                std::env::var_os("NO_COLOR").is_none_or(|no| no.is_empty()) && std::io::stdout().is_terminal()
            }
        };
        if wanted && self.format == Format::Table { paint(text) } else { text.to_owned() }
    }
}

/// Colours judging words in the rows of a table. They have taken their room before, so columns stay in line.
fn paint(text: &str) -> String {
    let mut painted = text.to_owned();
    for (word, code) in PAINTED {
        let (space, bare) = word.split_at(1);
        for end in [" ", "\n"] {
            painted = painted
                .replace(&format!("{word}{end}"), &format!("{space}\u{1b}[{code}m{bare}\u{1b}[0m{end}"));
        }
    }
    painted
}

/// Rows as CSV or as JSON, with the same columns.
pub fn rows_text<T: Row>(rows: &[T], format: Format) -> Result<String, Error> {
    if format == Format::Csv { csv(rows) } else { json(rows) }
}

fn json<T: Row>(rows: &[T]) -> Result<String, Error> {
    let columns = T::columns();
    let row = |row: &T| {
        let named = columns.iter().zip(row.values());
        named.map(|(column, value)| (column.name.to_owned(), value.json())).collect::<serde_json::Map<_, _>>()
    };
    let rows: Vec<_> = rows.iter().map(row).collect();
    let all = serde_json::json!({ "schema_version": SCHEMA_VERSION, "rows": rows });
    serde_json::to_string_pretty(&all)
        .map(|text| text + "\n")
        .map_err(|error| Error::failed(error.to_string()))
}

#[cfg(feature = "tables")]
fn csv<T: Row>(rows: &[T]) -> Result<String, Error> {
    let mut text = Vec::new();
    crate::table::csv(rows, &mut text)?;
    String::from_utf8(text).map_err(|error| Error::failed(error.to_string()))
}

#[cfg(not(feature = "tables"))]
fn csv<T: Row>(_: &[T]) -> Result<String, Error> {
    Err(without_tables())
}

fn without_tables() -> Error {
    Error::usage("this build writes no CSV: its feature `tables` is off").mend("use --format json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colour_takes_no_room_and_stands_on_judging_words_alone() {
        let text = "heap  1.20 slower \nwheel 1.0 best\nfastest of all\n";
        let painted = paint(text);
        assert!(
            painted.contains("\u{1b}[31mslower\u{1b}[0m \n") && painted.contains("\u{1b}[32mbest\u{1b}[0m\n")
        );
        let bare = painted.replace("\u{1b}[31m", "").replace("\u{1b}[32m", "").replace("\u{1b}[0m", "");
        assert_eq!(bare, text);
    }
}
