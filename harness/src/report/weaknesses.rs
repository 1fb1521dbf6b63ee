//! Every weakness of a run, in words: a reader who sees none of them may believe the figures.

use itertools::Itertools;

use crate::inference::{Flag, stability};
use crate::select::thousands;
use crate::study::metric::named;
use crate::study::{Study, diff};

/// What speaks against some runs.
pub fn weaknesses(studies: &[Study]) -> Vec<String> {
    let mut all: Vec<String> = studies.iter().flat_map(|study| named_for(study, studies.len() > 1)).collect();
    if let Some((first, rest)) = studies.split_first() {
        let differ = |other: &Study| {
            let words = diff::warnings(first, other);
            words
                .into_iter()
                .map(move |words| format!("{} beside {}: {words}", other.name(), first.name()))
                .collect_vec()
        };
        all.extend(rest.iter().flat_map(differ));
    }
    all
}

fn named_for(study: &Study, several: bool) -> Vec<String> {
    let own = of(study);
    if several { own.into_iter().map(|words| format!("{}: {words}", study.name())).collect() } else { own }
}

fn of(study: &Study) -> Vec<String> {
    [whole(study), machine(study), failures(study), unstable(study), too_few(study)].concat()
}

/// Of the plan and the build.
fn whole(study: &Study) -> Vec<String> {
    let (manifest, plan) = (&study.manifest, &study.manifest.plan);
    let timed =
        study.tables.measurements.iter().any(|row| ["time", "latency"].contains(&row.key.pass.as_str()));
    let revision = manifest.revision.as_ref();
    [
        (!manifest.complete).then(|| "The run was interrupted: cells are missing.".to_owned()),
        (timed && plan.blocks < 9).then(|| {
            format!("There are {} blocks: with fewer than 9 hardly anything can be separated once several comparisons are corrected for (`--quick` has 9).", plan.blocks)
        }),
        revision.is_none().then(|| "The revision of the source is not known.".to_owned()),
        revision.is_some_and(|revision| revision.dirty).then(|| "The source had changes that no revision has.".to_owned()),
        manifest.build.warning().map(|words| format!("{words}.")),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Of the machine, as it was when the run was made.
fn machine(study: &Study) -> Vec<String> {
    let machine = &study.manifest.machine;
    [
        machine.virtualisation.as_ref().filter(|kind| *kind != "none").map(|kind| {
            format!("The machine is virtual ({kind}): neighbours that nobody sees take time. Ratios within a block bear it, single worst calls do not.")
        }),
        machine.governor.as_ref().filter(|governor| *governor != "performance").map(|governor| {
            format!("The frequency governor is `{governor}`, not `performance`.")
        }),
        machine.clock_source.as_ref().filter(|source| *source != "tsc").map(|source| {
            format!("The kernel's clock source is `{source}`, not `tsc`.")
        }),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn failures(study: &Study) -> Vec<String> {
    let failure = |failure: crate::study::Failure| {
        format!(
            "{} cells of `{}` on {}, n = {}, {}, are `{}`: {}.",
            failure.cells,
            failure.structure,
            failure.workload,
            thousands(failure.size),
            failure.pass,
            failure.status,
            failure.detail
        )
    };
    study.failures().into_iter().map(failure).collect()
}

/// How many series failed a check of stability, kind by kind.
fn unstable(study: &Study) -> Vec<String> {
    let series = study.series(named("time_ns_per_timer"));
    let flags = series
        .iter()
        .flat_map(|series| stability(&series.numbers()).into_iter().map(move |flag| (flag, series)));
    let failing = flags.filter(|(flag, _)| Flag::is_failure(flag)).collect_vec();
    let by_kind = failing.iter().into_group_map_by(|(flag, _)| flag.words());
    let sentence = |(words, found): (&'static str, Vec<&(Flag, &crate::study::Series)>)| {
        let remedy = found.first().map_or("", |(flag, _)| flag.remedy());
        let named = found
            .iter()
            .take(3)
            .map(|(_, series)| {
                format!("{} {} `{}`", series.place.workload, series.place.part(), series.structure)
            })
            .join(", ");
        let more = if found.len() > 3 { ", ..." } else { "" };
        format!(
            "{} of {} times per operation are marked \"{words}\" ({named}{more}): {remedy}.",
            found.len(),
            series.len()
        )
    };
    by_kind.into_iter().sorted_by_key(|(words, _)| *words).map(sentence).collect()
}

/// Operations whose tails cannot be told.
fn too_few(study: &Study) -> Vec<String> {
    let called = study.series(named("latency_ns_max"));
    let told = study.series(named("latency_ns_p999"));
    let places = |series: &[crate::study::Series]| {
        series.iter().map(|series| (series.place.clone(), series.structure.clone())).unique().count()
    };
    let (all, with) = (places(&called), places(&told));
    let short = all - with.min(all);
    (short > 0).then(|| format!("{short} of {all} operations have too few calls for a p99.9 (10,000 are needed in each process); they show `n<…`.")).into_iter().collect()
}
