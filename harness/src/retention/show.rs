//! A study as tables and in words.

use std::collections::BTreeMap;

use itertools::Itertools;

use super::{Held, Study};
use crate::format::{decimals, fixed, memory_unit, numbers};
use crate::grid::Grid;

/// Less than this part of the peak counts as nothing: some pages are always in use otherwise.
const NOTHING: f64 = 0.05;

/// Idle times that are shown, in milliseconds, where a study has more looks than fit.
const SHOWN_MS: [u64; 5] = [0, 1_000, 5_000, 10_000, 30_000];

/// Looks that fit.
const MOST_LOOKS: usize = 6;

/// The tables of the studies of one workload and size. `options` is what each allocator said of itself.
pub fn grids(studies: &[Study], options: &BTreeMap<String, BTreeMap<String, String>>) -> Vec<Grid> {
    if studies.is_empty() {
        return Vec::new();
    }
    vec![in_words(studies, options), over_time(studies), holders(studies), given_back(studies)]
}

/// A grid with a row for each study.
fn by_study(title: &str, studies: &[Study]) -> Grid {
    let mut grid = Grid { title: title.into(), ..Grid::default() };
    grid.name_column("structure", studies.iter().map(|study| study.structure.clone()).collect());
    grid.name_column("allocator", studies.iter().map(|study| study.allocator.clone()).collect());
    grid
}

/// A heading and the bytes below it.
type Column = (String, Vec<Option<f64>>);

/// Columns of bytes with one unit in common.
fn memory(grid: &mut Grid, columns: Vec<Column>) {
    let all: Vec<_> = columns.iter().flat_map(|(_, bytes)| bytes.clone()).collect();
    let (unit, size) = memory_unit(&all);
    let scaled = |bytes: &[Option<f64>]| bytes.iter().map(|b| b.map(|b| b / size)).collect::<Vec<_>>();
    for (heading, bytes) in columns {
        let texts = scaled(&bytes).into_iter().map(|figure| {
            let places = usize::from(unit != "B");
            figure.map_or_else(|| "-".into(), |figure| fixed(without_sign(figure, places), places))
        });
        grid.column(&format!("{heading}, {unit}"), texts.collect());
    }
}

/// What is rounded to nothing has no sign.
fn without_sign(figure: f64, places: usize) -> f64 {
    if figure.abs() < 0.5 * 0.1_f64.powi(places as i32) { 0.0 } else { figure }
}

/// A column of bytes with a unit of its own, in which none is rounded to nothing.
fn exact(grid: &mut Grid, heading: &str, bytes: &[Option<f64>]) {
    let (unit, size) = memory_unit(bytes);
    let scaled: Vec<_> = bytes.iter().map(|bytes| bytes.map(|bytes| bytes / size)).collect();
    let places = decimals(&scaled).max(usize::from(unit != "B"));
    let text = |figure: &Option<f64>| figure.map_or_else(|| "-".into(), |figure| fixed(figure, places));
    grid.column(&format!("{heading}, {unit}"), scaled.iter().map(text).collect());
}

/// `10 s`, `50 ms`.
fn time(milliseconds: u64) -> String {
    if milliseconds.is_multiple_of(1000) {
        format!("{} s", milliseconds / 1000)
    } else {
        format!("{milliseconds} ms")
    }
}

/// The idle times that get a column.
fn shown_times(studies: &[Study]) -> Vec<u64> {
    let all: Vec<u64> =
        studies.iter().flat_map(|study| &study.curve).map(|held| held.idle_ms).sorted().dedup().collect();
    let last = all.last().copied();
    let shown = |time: &u64| all.len() <= MOST_LOOKS || SHOWN_MS.contains(time) || Some(*time) == last;
    all.iter().copied().filter(shown).collect()
}

fn over_time(studies: &[Study]) -> Grid {
    let mut grid = by_study("Held by the process after a burst: RSS above the empty worker", studies);
    let each = |of: &dyn Fn(&Study) -> Option<f64>| studies.iter().map(of).collect::<Vec<_>>();
    let mut columns = vec![
        ("RSS\npeak".to_owned(), each(&|study| study.peak)),
        ("RSS\nfilled".to_owned(), each(&|study| study.filled.resident)),
    ];
    for idle_ms in shown_times(studies) {
        let at = |study: &Study| study.curve.iter().find(|held| held.idle_ms == idle_ms)?.resident;
        columns.push((format!("RSS, idle\n{}", time(idle_ms)), each(&at)));
    }
    memory(&mut grid, columns);
    let share = each(&|study| Some(100.0 * study.retained_share()?));
    let texts = share.iter().map(|share| share.map_or_else(|| "-".into(), |share| fixed(share, 0)));
    grid.column("at 0 s, of\nthe peak, %", texts.collect());
    grid.column("half-life\nof that", studies.iter().map(|study| study.half_life().to_string()).collect());
    grid.column("area under it,\nMiB s", numbers(&each(&Study::area_mib_s)));
    grid.notes.push(
        "Idle: nothing is asked of the queue, and nothing is requested of the allocator. Half-life: between which \
         looks half of what was held at 0 s has been given back."
            .into(),
    );
    grid
}

fn holders(studies: &[Study]) -> Grid {
    let ends = |study: &Study| {
        let both = [study.curve.first(), study.curve.last()].map(Option::<&Held>::copied);
        both.into_iter().flatten().dedup().collect::<Vec<_>>()
    };
    let rows: Vec<(&Study, Held)> =
        studies.iter().flat_map(|study| ends(study).into_iter().map(move |held| (study, held))).collect();
    let mut grid =
        Grid { title: "Who holds it, right after the burst and at the last look".into(), ..Grid::default() };
    grid.name_column("structure", rows.iter().map(|(study, _)| study.structure.clone()).collect());
    grid.name_column("allocator", rows.iter().map(|(study, _)| study.allocator.clone()).collect());
    grid.name_column("idle", rows.iter().map(|(_, held)| time(held.idle_ms)).collect());
    let each = |of: fn(&Held) -> Option<f64>| rows.iter().map(|(_, held)| of(held)).collect::<Vec<_>>();
    exact(&mut grid, "structure\ncontainer", &each(|held| held.container));
    exact(&mut grid, "structure\nlive heap", &each(|held| held.live));
    type Figure = fn(&Held) -> Option<f64>;
    let figures: [(&str, Figure); 8] = [
        ("allocator\nkeeps free", Held::kept_free),
        ("process\nanonymous", |held| held.anonymous),
        ("process\nRSS", |held| held.resident),
        ("process\nlazy free", |held| held.lazy_free),
        ("allocator says\nallocated", |held| held.allocated),
        ("allocator says\nactive", |held| held.active),
        ("allocator says\nresident", |held| held.allocator_resident),
        ("allocator says\nretained", |held| held.retained),
    ];
    memory(&mut grid, figures.map(|(heading, of)| (heading.to_owned(), each(of))).into());
    grid.notes.push(
        "All above the empty worker. Container: what the structure has requested; live heap: with what the timers own \
         (dhat's). Keeps free: anonymous pages less the live heap. RSS less anonymous: touched pages of files. Lazy \
         free: given back, and in RSS until the system wants it. Allocated: with what the thread has at hand. Retained: address space, not memory."
            .into(),
    );
    grid
}

fn given_back(studies: &[Study]) -> Grid {
    let mut grid = by_study("What gives it back, each after a burst of its own", studies);
    let each = |of: fn(&Study) -> Option<f64>| studies.iter().map(of).collect::<Vec<_>>();
    exact(&mut grid, "container\nbefore shrink", &each(|study| study.shrink[0].container));
    exact(&mut grid, "container\nafter it", &each(|study| study.shrink[1].container));
    type Figure = fn(&Study) -> Option<f64>;
    let figures: [(&str, Figure); 7] = [
        ("RSS before\npurge", |study| study.purge[0].resident),
        ("RSS after\npurge", |study| study.purge[1].resident),
        ("RSS before\nshrink", |study| study.shrink[0].resident),
        ("RSS after\nshrink", |study| study.shrink[1].resident),
        ("RSS after shrink\nand purge", |study| study.shrink[2].resident),
        ("RSS before\ndrop", |study| study.drop.first()?.resident),
        ("RSS after\ndrop", |study| study.drop.get(1)?.resident),
    ];
    let mut columns: Vec<Column> = figures.map(|(heading, of)| (heading.to_owned(), each(of))).into();
    if let Some(idle) = studies.iter().filter_map(|study| study.drop.get(2)).map(|held| held.idle_ms).next() {
        columns.push((
            format!("RSS {} after\ndrop", time(idle)),
            each(|study| study.drop.get(2).or(study.drop.get(1))?.resident),
        ));
    }
    memory(&mut grid, columns);
    grid.notes.push("RSS above the empty worker.".into());
    grid
}

/// The answer for each structure, and what the allocators were set to.
fn in_words(studies: &[Study], options: &BTreeMap<String, BTreeMap<String, String>>) -> Grid {
    let answers = answers(studies);
    let mut grid =
        Grid { title: "Who holds what is left of a burst, and until when".into(), ..Grid::default() };
    grid.name_column("structure", answers.iter().map(|(structure, _)| structure.clone()).collect());
    grid.name_column("answer", answers.iter().map(|(_, words)| words.clone()).collect());
    grid.notes.push(format!("Less than {:.0} % of the peak counts as nothing.", 100.0 * NOTHING));
    let used = |name: &str| studies.iter().any(|study| study.allocator == name);
    for (name, facts) in options.iter().filter(|(name, _)| used(name)) {
        let told = ["version", "dirty_decay_ms", "muzzy_decay_ms", "background_thread", "narenas"];
        let told = told.iter().filter_map(|key| Some(format!("{key} {}", facts.get(*key)?))).join(", ");
        grid.notes.push(format!("{name}, as read back from it: {told}."));
    }
    grid
}

/// For each structure who holds what is left, and until when, in one line.
pub fn answers(studies: &[Study]) -> Vec<(String, String)> {
    let structures = studies.iter().map(|study| &study.structure).unique();
    let answer = |structure: &String| {
        let own: Vec<_> = studies.iter().filter(|study| study.structure == *structure).collect();
        let parts = own.iter().map(|study| by_allocator(study));
        (structure.clone(), by_structure(&own).into_iter().chain(parts).join("; "))
    };
    structures.map(answer).collect()
}

/// Bytes with their unit, in few digits.
fn bytes(bytes: f64) -> String {
    match bytes {
        ..10_240.0 => fixed(bytes, 0) + " B",
        ..1_048_576.0 => fixed(bytes / 1024.0, 0) + " KiB",
        _ => fixed(bytes / 1_048_576.0, 1) + " MiB",
    }
}

fn by_structure(studies: &[&Study]) -> Option<String> {
    let study = studies.first()?;
    let (held, most) = (study.curve.first()?.container?, study.filled.container?);
    if held < NOTHING * most {
        return Some(format!("the structure itself holds {}", bytes(held)));
    }
    let shrunk = study.shrink[1].container.map_or_else(|| "?".into(), bytes);
    Some(format!("the structure itself holds {} until shrink, which leaves {shrunk}", bytes(held)))
}

fn by_allocator(study: &Study) -> String {
    let name = &study.allocator;
    let kept: Vec<(u64, f64)> =
        study.curve.iter().filter_map(|held| Some((held.idle_ms, held.kept_free()?))).collect();
    let (Some((_, first)), Some((last_ms, last)), Some(peak)) = (kept.first(), kept.last(), study.peak)
    else {
        return format!("{name} was not looked at");
    };
    let nothing = |bytes: f64| bytes < NOTHING * peak;
    if nothing(*first) {
        return format!("{name} keeps nothing free");
    }
    if let Some((by_ms, _)) = kept.iter().find(|(_, bytes)| nothing(*bytes)) {
        return format!("{name} gives the {} that it kept free back within {}", bytes(*first), time(*by_ms));
    }
    let purged = match study.purge[1].kept_free() {
        Some(left) if nothing(left) => "until a purge".to_owned(),
        Some(left) => format!("and a purge leaves {}", bytes(left)),
        None => String::new(),
    };
    let still = if (first - last).abs() < NOTHING * peak {
        format!("keeps {} free", bytes(*first))
    } else {
        format!("keeps {} of {} free", bytes(*last), bytes(*first))
    };
    format!("{name} {still} through {}, {purged}", time(*last_ms))
}
