//! The report as Markdown, section by section.

use clap::ValueEnum;
use itertools::Itertools;

use super::Report;
use super::answer::Answer;
use super::figure::FOLDER;
use crate::cli::Format;
use crate::grid::Grid;

/// A part of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Section {
    /// The answer in sentences, workload by workload.
    Answer,
    /// What the source documents ask, as far as the runs tell.
    Questions,
    /// What speaks against the figures.
    Weaknesses,
    /// Memory after bursts.
    Retention,
    /// The tables.
    Tables,
    /// What is drawn, with the tables of the data.
    Figures,
    /// How the runs came about.
    Facts,
}

impl Section {
    /// All, in the order of the document.
    pub const ALL: [Self; 7] = [
        Self::Answer,
        Self::Questions,
        Self::Weaknesses,
        Self::Retention,
        Self::Tables,
        Self::Figures,
        Self::Facts,
    ];

    /// Its heading.
    pub fn heading(self) -> &'static str {
        match self {
            Self::Answer => "The answer",
            Self::Questions => "What the source documents ask",
            Self::Weaknesses => "What to bear in mind",
            Self::Retention => "Memory after a burst",
            Self::Tables => "Tables",
            Self::Figures => "Figures",
            Self::Facts => "How it was measured",
        }
    }
}

/// The document with these sections; one section alone has no headings.
pub fn markdown(report: &Report, sections: &[Section]) -> String {
    let made = format!("Made by `{}`.", report.command);
    if let [only] = sections {
        return format!("{}\n\n{made}\n", section(report, *only));
    }
    let parts =
        sections.iter().map(|each| (each, section(report, *each))).filter(|(_, text)| !text.is_empty());
    let body = parts.map(|(each, text)| format!("## {}\n\n{text}\n", each.heading())).join("\n");
    format!("# {}\n\n{made}\n\n{body}", report.title)
}

fn section(report: &Report, section: Section) -> String {
    let text = match section {
        Section::Answer => answers(&report.answers),
        Section::Questions => answers(&report.questions),
        Section::Weaknesses => report.weaknesses.iter().map(|words| format!("* {words}")).join("\n"),
        Section::Retention => {
            let mut said = report
                .retention
                .answers
                .iter()
                .map(|(structure, words)| format!("* `{structure}`: {words}."));
            [said.join("\n"), grids(&report.retention.grids)]
                .into_iter()
                .filter(|text| !text.is_empty())
                .join("\n\n")
        }
        Section::Tables => grids(&report.tables),
        Section::Figures => figures(report),
        Section::Facts => facts(report),
    };
    text.trim_end().to_owned()
}

fn answers(answers: &[Answer]) -> String {
    let one = |answer: &Answer| format!("* **{}.** {}", answer.heading, answer.sentences.join(" "));
    answers.iter().map(one).join("\n")
}

fn grids(grids: &[Grid]) -> String {
    grids.iter().map(|grid| grid.render(Format::Md)).join("\n")
}

fn figures(report: &Report) -> String {
    let one = |figure: &super::Figure| {
        format!("* **{}** ({}). Data: `{FOLDER}/{}.csv`", figure.title, figure.caption.join(" "), figure.name)
    };
    report.figures.iter().map(one).join("\n")
}

fn facts(report: &Report) -> String {
    let one = |(run, facts): &(String, Vec<(String, String)>)| {
        let lines = facts.iter().map(|(name, text)| format!("* {name}: {text}")).join("\n");
        format!("Run `{run}`:\n\n{lines}\n")
    };
    report.facts.iter().map(one).join("\n")
}
