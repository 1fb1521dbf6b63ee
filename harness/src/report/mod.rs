//! A run as a document for a design review: the answer in sentences, what speaks against it, tables, plots.
//!
//! ```text
//! Study -> answer.rs      sentences from verdicts        \
//!       -> weaknesses.rs  what the reader must know       > Report -> html.rs      one file, no network, no script
//!       -> cmp's tables   Grid                           /         -> markdown.rs  the same, to be spliced
//!       -> plots/         Figure, and its data as a table in the run's folder
//! ```
//!
//! Nothing is typed in: every sentence and every figure is made from the run's tables.

pub mod answer;
pub mod dhat;
pub mod figure;
pub mod html;
pub mod markdown;
pub mod plots;
pub mod questions;
pub mod splice;
pub mod weaknesses;

use std::fs;

use itertools::Itertools;

use self::answer::Answer;
use self::figure::Figure;
use self::plots::Plots;
use crate::cmd::cmp;
use crate::error::Error;
use crate::folder::Manifest;
use crate::grid::Grid;
use crate::retention;
use crate::study::Study;

/// A document.
#[derive(Debug)]
pub struct Report {
    /// Its heading.
    pub title: String,
    /// How each run came about: a fact and what it is.
    pub facts: Vec<(String, Vec<(String, String)>)>,
    /// The answer, workload by workload.
    pub answers: Vec<Answer>,
    /// What the source documents ask, as far as the runs tell.
    pub questions: Vec<Answer>,
    /// What speaks against the figures.
    pub weaknesses: Vec<String>,
    /// What is held after a burst: answers and tables; empty when it was not studied.
    pub retention: Retention,
    /// The tables.
    pub tables: Vec<Grid>,
    /// The plots.
    pub figures: Vec<Figure>,
    /// The command that makes it again.
    pub command: String,
}

/// The section on memory after bursts.
#[derive(Debug, Default)]
pub struct Retention {
    /// A structure and what is to be said of it.
    pub answers: Vec<(String, String)>,
    /// The tables.
    pub grids: Vec<Grid>,
}

impl Report {
    /// Of some runs. Figures' tables are not written yet.
    pub fn of(studies: &[Study], command: String) -> Result<Self, Error> {
        let names = studies.iter().map(Study::name).join(", ");
        let figures = studies.iter().map(|study| figures(study, studies.len() > 1));
        Ok(Self {
            title: format!("Timer structures compared: {names}"),
            facts: studies.iter().map(|study| (study.name().to_owned(), facts(&study.manifest))).collect(),
            answers: studies.iter().flat_map(answer::answers).collect(),
            questions: studies.iter().flat_map(questions::questions).collect(),
            weaknesses: weaknesses::weaknesses(studies),
            retention: held(studies),
            tables: cmp::tables(studies)?,
            figures: figures.flatten_ok().collect::<Result<_, _>>()?,
            command,
        })
    }

    /// Writes each figure's table into the folder of its run. Gives the folders that could not be written, with why.
    pub fn write_tables(&self, studies: &[Study]) -> Vec<String> {
        let write = |study: &Study| {
            let folder = study.folder.join(figure::FOLDER);
            fs::create_dir_all(&folder).map_err(|error| Error::file("make the folder", &folder, &error))?;
            let own = self
                .figures
                .iter()
                .filter(|figure| studies.len() == 1 || figure.name.starts_with(&prefix(study)));
            own.into_iter()
                .try_for_each(|figure| figure.data.write(&folder.join(format!("{}.csv", figure.name))))
        };
        studies.iter().filter_map(|study| write(study).err()).map(|error| error.to_string()).collect()
    }
}

/// What stands before the names of a run's figures where there are several runs.
fn prefix(study: &Study) -> String {
    format!("{}-", figure::slug(study.name()))
}

fn figures(study: &Study, several: bool) -> Result<Vec<Figure>, Error> {
    let plots = Plots::of(study, if several { prefix(study) } else { String::new() });
    let kinds = [
        plots::scaling::figures,
        plots::heatmap::figures,
        plots::intervals::figures,
        plots::latency::figures,
        plots::memory::figures,
        plots::blocks::figures,
        plots::sites::figures,
    ];
    kinds.iter().map(|figures| figures(&plots)).flatten_ok().collect()
}

fn held(studies: &[Study]) -> Retention {
    let mut all = Retention::default();
    for study in studies {
        let found = retention::studies(&study.tables);
        all.answers.extend(retention::answers(&found));
        all.grids.extend(retention::grids(&found, &study.manifest.allocators));
    }
    all
}

/// All that is needed to judge a run's figures.
fn facts(manifest: &Manifest) -> Vec<(String, String)> {
    let plan = &manifest.plan;
    let revision = manifest.revision.as_ref().map(|revision| {
        format!(
            "{}{}",
            &revision.commit[..revision.commit.len().min(12)],
            if revision.dirty { ", with changes" } else { "" }
        )
    });
    let mut allocators = manifest.allocators.iter().map(|(name, options)| {
        let told = ["version", "background_thread", "dirty_decay_ms", "muzzy_decay_ms"];
        let told = told.iter().filter_map(|key| Some(format!("{key} {}", options.get(*key)?))).join(", ");
        if told.is_empty() { name.clone() } else { format!("{name} ({told})") }
    });
    let machine = &manifest.machine;
    [
        ("command", Some(command(&manifest.command))),
        ("started", Some(manifest.started.clone())),
        ("machine", machine.cpu_model.clone()),
        ("processors", machine.cpu_count.map(|count| count.to_string())),
        ("kernel", machine.kernel.clone()),
        ("clock source", machine.clock_source.clone()),
        ("compiler", manifest.build.rustc.clone()),
        ("level", Some(manifest.build.level.clone())),
        ("revision", revision),
        ("blocks", Some(format!("{}, after one that is discarded", plan.blocks))),
        ("seed", Some(plan.seed.to_string())),
        ("allocators", Some(allocators.join("; "))),
    ]
    .into_iter()
    .filter_map(|(name, text)| Some((name.to_owned(), text?)))
    .collect()
}

/// A command line without the folder in which the executable lies.
fn command(words: &[String]) -> String {
    let program = words.first().map_or("harness", |first| first.rsplit('/').next().unwrap_or(first));
    std::iter::once(program).chain(words.iter().skip(1).map(String::as_str)).join(" ")
}
