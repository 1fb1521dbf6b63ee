//! A table for people, as text or Markdown. Every column is there whatever the width, a row is one line, and
//! there are no escape codes.

use std::fmt;

use comfy_table::{Cell, CellAlignment, ContentArrangement, LineStyle, Table, TableStyle, presets};

use crate::cli::Format;

/// One line below the headings, and nothing else drawn.
const PLAIN: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('-').junction('-'));

/// A table with a title above and notes below.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grid {
    /// What it shows.
    pub title: String,
    /// One heading a column, with its unit; a line end parts a group's name from the column's.
    pub headings: Vec<String>,
    /// The first columns that hold names and not numbers.
    pub names: usize,
    /// The last columns that hold words.
    pub words: usize,
    /// The rows, each with a text for every column.
    pub rows: Vec<Vec<String>>,
    /// How to read it.
    pub notes: Vec<String>,
}

impl Grid {
    /// Adds a column of numbers.
    pub fn column(&mut self, heading: &str, texts: Vec<String>) {
        self.headings.push(heading.to_owned());
        self.rows.resize(self.rows.len().max(texts.len()), Vec::new());
        for (row, text) in self.rows.iter_mut().zip(texts) {
            row.push(text);
        }
    }

    /// Adds a column of names; names stand before numbers.
    pub fn name_column(&mut self, heading: &str, texts: Vec<String>) {
        self.names += 1;
        self.column(heading, texts);
    }

    /// Adds a column of words; they stand behind numbers.
    pub fn word_column(&mut self, heading: &str, texts: Vec<String>) {
        self.words += 1;
        self.column(heading, texts);
    }

    /// The table as text or as Markdown.
    pub fn render(&self, format: Format) -> String {
        let markdown = format == Format::Md;
        let mut text = match markdown {
            true => format!("### {}\n\n", self.title),
            false => format!("{}\n", self.title),
        };
        text.push_str(&self.table(markdown).trim_fmt());
        text.push('\n');
        for note in &self.notes {
            let lead = if markdown { "\n" } else { "  " };
            text.push_str(&format!("{lead}{note}\n"));
        }
        text
    }

    fn table(&self, markdown: bool) -> Table {
        let mut table = Table::new();
        table.load_style(if markdown { presets::ASCII_MARKDOWN } else { PLAIN });
        table.set_content_arrangement(ContentArrangement::Disabled);
        let heading = |text: &String| if markdown { text.replace('\n', " ") } else { text.clone() };
        table.set_header(self.cells(self.headings.iter().map(heading)));
        for row in &self.rows {
            table.add_row(self.cells(row.iter().cloned()));
        }
        table
    }

    fn cells(&self, texts: impl Iterator<Item = String>) -> Vec<Cell> {
        let aligned = |(i, text): (usize, String)| {
            let left = i < self.names || i + self.words >= self.headings.len();
            let side = if left { CellAlignment::Left } else { CellAlignment::Right };
            Cell::new(text).set_alignment(side)
        };
        texts.enumerate().map(aligned).collect()
    }
}

impl fmt::Display for Grid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(Format::Table))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wide() -> Grid {
        let mut grid = Grid { title: "A title".into(), ..Grid::default() };
        grid.name_column("structure", vec!["list".into(), "x".repeat(120)]);
        for i in 0..40 {
            grid.column(&format!("group\ncolumn {i}"), vec![i.to_string(), "1,234.5".into()]);
        }
        grid
    }

    #[test]
    fn every_column_and_every_figure_is_there_and_a_row_is_one_line() {
        let text = wide().to_string();
        for i in 0..40 {
            assert!(text.contains(&format!("column {i}")));
        }
        let row = text.lines().find(|line| line.contains(&"x".repeat(120))).unwrap();
        assert_eq!(row.matches("1,234.5").count(), 40);
        assert!(!text.contains('…') && !text.contains('\u{1b}'));
    }

    #[test]
    fn markdown_has_its_headings_in_one_line() {
        let text = wide().render(Format::Md);
        assert!(text.starts_with("### A title\n\n| structure "), "{text}");
        assert!(text.lines().nth(2).unwrap().contains("group column 39"));
    }
}
