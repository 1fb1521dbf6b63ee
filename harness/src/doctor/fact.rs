//! One thing about the machine, judged.

use serde::Serialize;

use crate::grid::Grid;
use crate::record::{row, word};

/// What something does to figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fitness {
    /// As it should be.
    Good,
    /// To be kept in mind when figures are read.
    Note,
    /// Figures suffer: mend it, or measure elsewhere.
    Poor,
    /// The machine does not say.
    Unknown,
}

row! {
    /// One thing about the machine, judged.
    Fact {
        /// What it is
        fact: String,
        /// What was found
        found: Option<String>,
        /// What that does to figures: `good`, `note`, `poor` or `unknown`
        verdict: String,
        /// Why it matters
        why: String,
        /// The command that would mend it, for whoever decides to
        mend: Option<String>,
    }
}

impl Fact {
    /// A fact with its verdict; `unknown` where nothing was found.
    pub(super) fn new(fact: &str, found: Option<String>, fitness: Fitness, why: &str) -> Self {
        let fitness = if found.is_some() { fitness } else { Fitness::Unknown };
        Self { fact: fact.to_owned(), found, verdict: word(&fitness), why: why.to_owned(), mend: None }
    }

    /// The command that would mend it. What is good, or not known, needs none.
    pub(super) fn mend(mut self, command: &str) -> Self {
        if self.is(Fitness::Note) || self.is(Fitness::Poor) {
            self.mend = Some(command.to_owned());
        }
        self
    }

    /// Whether this is its verdict.
    pub fn is(&self, fitness: Fitness) -> bool {
        self.verdict == word(&fitness)
    }
}

/// Facts as a table, with the number of each verdict below.
pub fn grid(facts: &[Fact]) -> Grid {
    let mut grid = Grid { title: "Is this machine fit to measure on?".into(), ..Grid::default() };
    let texts = |text: fn(&Fact) -> String| facts.iter().map(text).collect::<Vec<_>>();
    grid.name_column("fact", texts(|fact| fact.fact.clone()));
    grid.name_column("verdict", texts(|fact| fact.verdict.clone()));
    grid.name_column("found", texts(|fact| short(fact).to_owned()));
    grid.name_column("why it matters", texts(|fact| fact.why.clone()));
    grid.name_column("would mend it", texts(|fact| fact.mend.clone().unwrap_or_default()));
    let count = |fitness| facts.iter().filter(|fact| fact.is(fitness)).count();
    let [good, note, poor, unknown] =
        [Fitness::Good, Fitness::Note, Fitness::Poor, Fitness::Unknown].map(count);
    let cut = facts.iter().filter(|fact| fact.found.as_deref().is_some_and(|found| found != short(fact)));
    grid.notes =
        cut.map(|fact| format!("{}: {}.", fact.fact, fact.found.as_deref().unwrap_or_default())).collect();
    grid.notes.extend([
        format!("{good} good, {note} to note, {poor} poor, {unknown} unknown. Nothing was changed."),
        "Structures are compared within a block, side by side, so most of this widens intervals and shifts no ratio."
            .into(),
    ]);
    grid
}

/// What was found; of a long list its first item, as all of it stands below the table.
fn short(fact: &Fact) -> &str {
    let found = fact.found.as_deref().unwrap_or("-");
    match found.split_once(' ') {
        Some((first, _)) if found.chars().count() > 40 => first,
        _ => found,
    }
}
