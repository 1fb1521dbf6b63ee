//! A figure: drawn for two widths, with its data beside it.

use std::path::Path;

use crate::error::Error;
use crate::journal::replace;
use crate::record::{Row, Value};

/// The folder of figures' tables in a run's folder.
pub const FOLDER: &str = "figures";

/// A plot with everything that is said about it.
#[derive(Clone, Debug)]
pub struct Figure {
    /// Name of its table, without the ending: letters, digits and `-`.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// How to read it, with units, n, clock and allocator.
    pub caption: Vec<String>,
    /// What its colours, marks and dashes mean.
    pub legend: Vec<Key>,
    /// The drawing for a wide page, as SVG.
    pub wide: String,
    /// The drawing for a narrow page, as SVG.
    pub narrow: String,
    /// What is drawn.
    pub data: Data,
}

/// An entry of a legend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// What it stands for.
    pub name: String,
    /// How it looks.
    pub look: Look,
}

/// How an entry of a legend looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// Line and mark of a structure's style.
    Style(usize),
    /// A filled band.
    Band(usize),
}

/// The table of a figure.
#[derive(Clone, Debug, Default)]
pub struct Data {
    /// Names of the columns, with units.
    pub columns: Vec<&'static str>,
    /// What stands in them, as in the file.
    pub rows: Vec<Vec<String>>,
}

impl Data {
    /// Of some rows.
    pub fn of<R: Row>(rows: &[R]) -> Self {
        let texts = |row: &R| row.values().iter().map(text).collect();
        Self {
            columns: R::columns().iter().map(|column| column.name).collect(),
            rows: rows.iter().map(texts).collect(),
        }
    }

    /// Writes it as CSV, whole or not at all.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        replace(path, |file| {
            let failed =
                |error: csv::Error| Error::failed(format!("cannot write {}: {error}", path.display()));
            let mut writer = csv::Writer::from_writer(file);
            writer.write_record(&self.columns).map_err(failed)?;
            self.rows.iter().try_for_each(|row| writer.write_record(row).map_err(failed))?;
            writer.flush().map_err(|error| Error::file("write", path, &error))
        })
    }
}

/// A value as a table has it; nothing where nothing was collected. Decimals are exact.
fn text(value: &Value) -> String {
    match value {
        Value::Text(text) => text.clone().unwrap_or_default(),
        Value::Integer(number) => number.map_or_else(String::new, |number| number.to_string()),
        Value::Decimal(number) => number.map_or_else(String::new, |number| number.to_string()),
    }
}

/// A part of a figure's name.
pub fn slug(text: &str) -> String {
    let plain = text
        .chars()
        .map(|letter| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '-' });
    let words: String = plain.collect();
    words.split('-').filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-")
}
