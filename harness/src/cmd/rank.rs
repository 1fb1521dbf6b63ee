//! `rank`: one number for each structure, with all that speaks against reading it alone.

use clap::Args;
use itertools::Itertools;

use super::chosen::Chosen;
use super::output::Output;
use super::print;
use crate::error::{Error, Exit};
use crate::grid::Grid;
use crate::record::row;
use crate::select::thousands;
use crate::study::Study;
use crate::study::grids::{ratio_range, ratio_text};
use crate::study::metric::{self, Better};
use crate::study::rank::{Ranked, Ranking, ranking};
use crate::study::series::Place;

/// Options of `rank`.
#[derive(Args, Clone, Debug)]
pub struct RankArgs {
    /// The run: a folder, a name under results/, or `latest`
    #[arg(value_name = "RUN", default_value = "latest")]
    pub run: String,
    /// The metric: a column of the tables, or a short name such as whole, time, p99, live, held
    #[arg(long, value_name = "NAME", default_value = "time_ns_per_enqueued")]
    pub metric: String,
    /// What is looked at
    #[command(flatten)]
    pub chosen: Chosen,
    /// How it is printed
    #[command(flatten)]
    pub output: Output,
}

row! {
    /// A structure in a ranking.
    RankRow {
        /// Name of the run
        run: String,
        /// The metric
        metric: String,
        /// 1 for the least
        rank: u64,
        /// The structure, with parameters
        structure: String,
        /// Geometric mean of its ratios to the first of the ranking
        ratio: Option<f64>,
        /// Low end of its interval: blocks resampled
        ratio_low: Option<f64>,
        /// High end of it
        ratio_high: Option<f64>,
        /// Least mean with one workload left out
        ratio_without_one_min: Option<f64>,
        /// Greatest mean with one workload left out
        ratio_without_one_max: Option<f64>,
        /// What the next behind it has more, as a ratio
        lead: Option<f64>,
        /// Low end of that
        lead_low: Option<f64>,
        /// High end of it
        lead_high: Option<f64>,
        /// `ahead` or `not separated` from the next; null for the last
        verdict: Option<String>,
        /// Workloads that count
        workloads: u64,
        /// Places that do not count, as some structure has no figure there
        left_out: u64,
    }
}

/// Prints the ranking.
pub fn rank(args: &RankArgs) -> Result<Exit, Error> {
    args.output.can_print()?;
    let studies = [Study::read(&args.run)?];
    let filter = args.chosen.filter(&studies)?;
    let metric = metric::find(&args.metric)?;
    if metric.better == Better::Neither {
        return Err(Error::usage(format!("of {} neither more nor less is better", metric.name))
            .mend("name a time or memory, as whole or live"));
    }
    let [study] = &studies;
    let Some(ranking) = ranking(study, metric, &filter, 0.95) else {
        let what = format!("{} has no two structures with {} at one place", study.name(), metric.name);
        return Err(Error::failed(what).mend(metric.how_to_get()));
    };
    print(&args.output.text(|| vec![grid(study, &ranking)], &rows(study, &ranking))?)?;
    Ok(Exit::Done)
}

fn workloads(ranking: &Ranking) -> Vec<&String> {
    ranking.places.iter().map(|place| &place.workload).unique().collect()
}

fn rows(study: &Study, ranking: &Ranking) -> Vec<RankRow> {
    let row = |(rank, of): (u64, &Ranked)| {
        let lead = of.lead.as_ref().and_then(|(_, interval)| *interval);
        RankRow {
            run: study.name().into(),
            metric: ranking.metric.name.into(),
            rank,
            structure: of.structure.clone(),
            ratio: Some(of.mean),
            ratio_low: of.interval.map(|interval| interval.low),
            ratio_high: of.interval.map(|interval| interval.high),
            ratio_without_one_min: of.without_one.map(|(min, _)| min),
            ratio_without_one_max: of.without_one.map(|(_, max)| max),
            lead: of.lead.as_ref().map(|(lead, _)| *lead),
            lead_low: lead.map(|interval| interval.low),
            lead_high: lead.map(|interval| interval.high),
            verdict: of.lead.as_ref().map(|_| verdict(of).into()),
            workloads: workloads(ranking).len() as u64,
            left_out: ranking.left_out.len() as u64,
        }
    };
    (1..).zip(&ranking.ranked).map(row).collect()
}

fn verdict(of: &Ranked) -> &'static str {
    if of.is_ahead() { "ahead" } else { "not separated" }
}

fn grid(study: &Study, ranking: &Ranking) -> Grid {
    let workloads = workloads(ranking);
    let title = format!(
        "{} of {} over {} workloads: geometric mean of the ratios to the least",
        ranking.metric.name,
        study.name(),
        workloads.len()
    );
    let mut grid = Grid { title, ..Grid::default() };
    let ranked = &ranking.ranked;
    grid.name_column("structure", ranked.iter().map(|of| of.structure.clone()).collect());
    grid.column("ratio", ranked.iter().map(|of| ratio_text(of.mean)).collect());
    grid.column("ratio\n95 %", ranked.iter().map(|of| ratio_range(of.interval)).collect());
    if workloads.len() > 1 {
        let range = |of: &Ranked| {
            of.without_one
                .map_or("-".into(), |(min, max)| format!("{}..{}", ratio_text(min), ratio_text(max)))
        };
        grid.column("without one\nworkload", ranked.iter().map(range).collect());
    }
    let lead = |of: &Ranked| of.lead.as_ref().map_or("-".into(), |(lead, _)| ratio_text(*lead));
    grid.column("lead over\nthe next", ranked.iter().map(lead).collect());
    let of_lead = |of: &Ranked| ratio_range(of.lead.as_ref().and_then(|(_, interval)| *interval));
    grid.column("lead, 95 %\nfor all leads", ranked.iter().map(of_lead).collect());
    let words = |of: &Ranked| of.lead.as_ref().map_or(String::new(), |_| verdict(of).to_owned());
    grid.word_column("from the next", ranked.iter().map(words).collect());
    grid.notes = notes(&workloads, ranking);
    grid
}

fn notes(workloads: &[&String], ranking: &Ranking) -> Vec<String> {
    let names = workloads.iter().join(", ");
    let mut notes = vec![
        format!("Over {names}, each workload with weight 1; in one, sizes and operations count alike. Intervals: blocks resampled."),
        "One number hides workloads: who is first here may be last in yours. `harness cmp` has every workload, and `harness pareto` \
         time against memory."
            .into(),
    ];
    let place = |place: &Place| {
        let part = if place.part().is_empty() { String::new() } else { format!(", {}", place.part()) };
        format!("{}, n = {}{part}", place.workload, thousands(place.size))
    };
    let left_out = ranking.left_out.iter();
    notes.extend(left_out.map(|(at, missing)| {
        format!("Left out: {}, where {} have no {}.", place(at), missing.join(", "), ranking.metric.name)
    }));
    notes
}
