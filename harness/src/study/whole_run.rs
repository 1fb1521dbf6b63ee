//! CPU seconds of whole runs: Welch's t test of their means, and Mann and Whitney's U.

use itertools::Itertools;

use super::metric;
use super::series::{Place, Series};
use super::{Study, Together};
use crate::format::{decimals, fixed};
use crate::grid::Grid;
use crate::inference::{MannWhitney, Welch, mann_whitney, welch};

/// CPU seconds of all phases of each block together, by structure, workload and size.
pub fn cpu_seconds(study: &Study) -> Vec<Series> {
    let mut all: Vec<Series> = Vec::new();
    for phase in study.series(metric::named("cpu_ns")) {
        let place = Place { phase: None, ..phase.place.clone() };
        let seconds = phase.values.iter().map(|(block, ns)| (*block, ns / 1e9));
        match all.iter_mut().find(|known| known.structure == phase.structure && known.place == place) {
            Some(known) => add(known, seconds),
            None => all.push(Series { place, values: seconds.collect(), ..phase }),
        }
    }
    all
}

fn add(known: &mut Series, seconds: impl Iterator<Item = (u64, f64)>) {
    for (block, more) in seconds {
        if let Some((_, sum)) = known.values.iter_mut().find(|(of, _)| *of == block) {
            *sum += more;
        }
    }
}

/// The table of one workload and size: each structure against the baseline. None without CPU times.
pub fn grid(studies: &[Together<'_>], workload: &str, size: u64, baseline: Option<&str>) -> Option<Grid> {
    let here = |series: &Series| series.place.workload == workload && series.place.size == size;
    let all: Vec<Series> = studies.iter().flat_map(Together::cpu_seconds).filter(here).collect();
    let base = all.iter().find(|series| baseline.is_none_or(|name| series.structure == name))?;
    let tests: Vec<(Option<Welch>, Option<MannWhitney>)> = all
        .iter()
        .map(|series| match series == base {
            true => (None, None),
            false => {
                let (from, to) = (base.numbers(), series.numbers());
                (welch(&to, &from, 0.95), mann_whitney(&to, &from))
            }
        })
        .collect();
    let mut grid =
        Grid { title: "CPU time of whole runs, in seconds (all phases)".into(), ..Grid::default() };
    grid.name_column("structure", all.iter().map(|series| series.structure.clone()).collect());
    grid.column("blocks", all.iter().map(|series| series.values.len().to_string()).collect());
    let means: Vec<_> = all.iter().map(|series| Some(mean(&series.numbers()))).collect();
    let digits = decimals(&means) + 2;
    grid.column("mean", means.iter().flatten().map(|mean| fixed(*mean, digits)).collect());
    columns(&mut grid, &tests, &base.structure, digits);
    grid.notes.push(
        "Welch: unequal variances, for the difference of means. U: of Mann and Whitney; A: the chance that a run of the structure \
         takes longer than one of the baseline (Vargha and Delaney), 0.5 for neither. Neither pairs blocks. Not adjusted."
            .into(),
    );
    Some(grid)
}

fn mean(numbers: &[f64]) -> f64 {
    numbers.iter().sum::<f64>() / numbers.len() as f64
}

fn columns(grid: &mut Grid, tests: &[(Option<Welch>, Option<MannWhitney>)], baseline: &str, digits: usize) {
    let welch = |text: &dyn Fn(&Welch) -> String| {
        tests.iter().map(|(welch, _)| welch.as_ref().map_or("-".into(), text)).collect_vec()
    };
    let mann = |text: fn(&MannWhitney) -> String| {
        tests.iter().map(|(_, mann)| mann.as_ref().map_or("-".into(), text)).collect_vec()
    };
    grid.column(&format!("difference to\n{baseline}"), welch(&|w| fixed(w.difference, digits)));
    grid.column(
        "difference\n95 %",
        welch(&|w| format!("{}..{}", fixed(w.interval.low, digits), fixed(w.interval.high, digits))),
    );
    grid.column("Welch\nt", welch(&|w| fixed(w.t, 2)));
    grid.column("Welch\ndf", welch(&|w| fixed(w.df, 1)));
    grid.column("Welch\np", welch(&|w| super::grids::p_text(Some(w.p))));
    grid.column("Mann-Whitney\nU", mann(|m| fixed(m.u, 1)));
    grid.column("Mann-Whitney\np", mann(|m| super::grids::p_text(Some(m.p))));
    grid.column("Mann-Whitney\nA", mann(|m| fixed(m.a12, 2)));
}
