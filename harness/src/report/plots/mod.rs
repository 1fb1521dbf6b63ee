//! The plots: what is drawn and the table of it. Each is drawn twice, for a wide and for a narrow page.

pub mod axis;
pub mod blocks;
pub mod canvas;
pub mod heatmap;
pub mod intervals;
pub mod latency;
pub mod memory;
pub mod panel;
pub mod rows;
pub mod scaling;
pub mod sites;

use itertools::Itertools;

use self::canvas::Page;
use self::panel::Panel;
use super::figure::{Data, Figure, Key, Look};
use crate::error::Error;
use crate::record::Row;
use crate::select::thousands;
use crate::study::Study;

/// What the plots of a run have in common.
#[derive(Debug)]
pub struct Plots<'a> {
    /// The run.
    pub study: &'a Study,
    /// Its structures, in the order of their styles.
    pub structures: Vec<String>,
    /// What stands before the names of its figures.
    pub prefix: String,
}

/// A workload of a run with its sizes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measured {
    /// Its name.
    pub workload: String,
    /// Its sizes, least first.
    pub sizes: Vec<u64>,
}

impl Measured {
    /// The greatest size, which stands for the workload where one must.
    pub fn largest(&self) -> u64 {
        self.sizes.last().copied().unwrap_or(0)
    }
}

impl<'a> Plots<'a> {
    /// Of a run.
    pub fn of(study: &'a Study, prefix: String) -> Self {
        Self { study, structures: study.structures(), prefix }
    }

    /// The style of a structure.
    pub fn style(&self, structure: &str) -> usize {
        self.structures.iter().position(|known| known == structure).unwrap_or(self.structures.len())
    }

    /// The workloads in the order of the run.
    pub fn workloads(&self) -> Vec<Measured> {
        let rows = &self.study.tables.measurements;
        let names = rows.iter().map(|row| row.key.workload.clone()).unique();
        let sizes = |name: &String| {
            let here = rows.iter().filter(|row| row.key.workload == *name);
            here.map(|row| row.key.size).unique().sorted().collect()
        };
        names.map(|workload| Measured { sizes: sizes(&workload), workload }).collect()
    }

    /// Entries of a legend for structures.
    pub fn legend<'b>(&self, structures: impl Iterator<Item = &'b str>) -> Vec<Key> {
        let key = |name: &str| Key { name: name.to_owned(), look: Look::Style(self.style(name)) };
        structures.unique().sorted_by_key(|name| self.style(name)).map(key).collect()
    }

    /// How the figures of a workload came about: n, payload, blocks, clock and allocator, as far as there are such.
    pub fn facts(&self, workload: &str, sizes: &[u64], passes: &[&str]) -> String {
        let here = |key: &crate::record::Key| {
            (workload.is_empty() || key.workload == workload)
                && sizes.contains(&key.size)
                && passes.contains(&key.pass.as_str())
                && key.status == "ok"
        };
        let keys: Vec<_> =
            self.study.tables.measurements.iter().map(|row| &row.key).filter(|key| here(key)).collect();
        let words = |of: &dyn Fn(&crate::record::Key) -> Option<String>| {
            keys.iter().filter_map(|key| of(key)).unique().join(" and ")
        };
        let timed = passes.iter().any(|pass| matches!(*pass, "time" | "latency"));
        let times = match timed {
            true => keys.iter().map(|key| key.block).unique().count(),
            false => keys.iter().map(|key| key.repeat).unique().count(),
        };
        let noun = match (timed, times) {
            (true, 1) => "block",
            (true, _) => "blocks",
            (false, 1) => "run",
            (false, _) => "runs",
        };
        let mut facts = vec![
            format!("n = {}", sizes.iter().map(|size| thousands(*size)).join(", ")),
            format!("payload {}", words(&|key| Some(key.payload.clone()))),
            format!("{times} {noun}"),
            format!("allocator {}", words(&|key| Some(key.allocator.clone()))),
        ];
        let clock = words(&|key| key.clock.clone().filter(|_| timed));
        facts.push(if clock.is_empty() { "no clock".into() } else { format!("clock {clock}") });
        facts.join(" · ")
    }

    /// A figure of panels; each page has panels of its own, because it has room for other labels.
    pub fn paneled<R: Row>(
        &self,
        words: Words,
        legend: Vec<Key>,
        rows: &[R],
        make: impl Fn(Page) -> Vec<Panel>,
    ) -> Result<Figure, Error> {
        let draw = |page| panel::panels(&make(page), page);
        self.figure(words, legend, rows, draw)
    }

    /// A figure that is drawn by `draw`.
    pub fn figure<R: Row>(
        &self,
        words: Words,
        legend: Vec<Key>,
        rows: &[R],
        draw: impl Fn(Page) -> Result<String, Error>,
    ) -> Result<Figure, Error> {
        Ok(Figure {
            name: format!("{}{}", self.prefix, words.name),
            title: words.title,
            caption: words.caption,
            legend,
            wide: draw(Page::Wide)?,
            narrow: draw(Page::Narrow)?,
            data: Data::of(rows),
        })
    }
}

/// What is said about a figure.
#[derive(Clone, Debug, Default)]
pub struct Words {
    /// Name of its table.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// How to read it.
    pub caption: Vec<String>,
}

/// Labels of an axis to the right that a panel has room for.
pub fn x_labels(page: Page) -> usize {
    if page == Page::Wide { 5 } else { 6 }
}

/// Labels of an axis upwards.
pub const Y_LABELS: usize = 6;
