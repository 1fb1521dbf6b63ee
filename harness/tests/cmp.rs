//! `cmp`, `rank` and `pareto` on runs whose figures are known.

#[path = "support/known.rs"]
mod known;

use std::fs::File;
use std::io::Write;

use harness::journal::{Journal, Status};
use harness::spec::Pass;
use known::{Known, code, drift, err, harness, is, jitter, printed, rows};
use serde_json::Value;

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn of<'a>(rows: &'a [Value], structure: &str, metric: &str) -> &'a Value {
    let is = |row: &&Value| row["structure"] == structure && row["metric"] == metric;
    rows.iter().find(is).unwrap_or_else(|| panic!("no row of {structure} and {metric} in {rows:#?}"))
}

fn near(found: &Value, wanted: f64) {
    let found = found.as_f64().unwrap_or_else(|| panic!("{found} is no number; {wanted} was expected"));
    assert!((found / wanted - 1.0).abs() < 1e-9, "{found}, not {wanted}");
}

/// The heap takes exactly twice as long in each block, however the blocks drift.
fn twice(at: &std::path::Path) {
    let time = |cell: &_| drift(cell) * if is(cell, "heap") { 200.0 } else { 100.0 };
    let live = |cell: &_| if is(cell, "heap") { 96 } else { 64 };
    Known { time: &time, live: &live, ..Known::default() }.write(at, "twice");
}

#[test]
fn a_known_ratio_comes_out_although_the_blocks_drift() {
    let at = folder();
    twice(at.path());
    let found = rows(at.path(), &["cmp", "twice"]);
    let heap = of(&found, "heap", "time_ns_per_timer");
    for column in ["ratio", "ratio_low", "ratio_high", "ratio_low_together"] {
        near(&heap[column], 2.0);
    }
    assert_eq!(heap["verdict"], "slower");
    assert_eq!((heap["pairs"].as_u64(), heap["family"].as_u64()), (Some(12), Some(1)));
    near(&heap["p"], 2.0 / 4096.0);
    let bytes = of(&found, "heap", "live_bytes_per_timer");
    near(&bytes["ratio"], 1.5);
    assert_eq!((&bytes["verdict"], &bytes["p"]), (&Value::from("more"), &Value::Null));
    near(&of(&found, "heap", "held_live_bytes")["median"], 960.0);
    let turned = rows(at.path(), &["cmp", "twice", "--baseline", "heap", "--metric", "time"]);
    near(&of(&turned, "list", "time_ns_per_timer")["ratio"], 0.5);
    assert_eq!(of(&turned, "list", "time_ns_per_timer")["verdict"], "faster");
}

#[test]
fn the_table_judges_in_words_and_never_of_regressions() {
    let at = folder();
    twice(at.path());
    let text = printed(at.path(), &["cmp", "twice"]);
    let heap = text.lines().find(|line| line.contains("heap") && line.contains("2.00..2.00")).unwrap();
    assert!(heap.contains("slower"), "{heap}");
    let list = text.lines().find(|line| line.contains("(baseline)")).unwrap();
    assert!(list.contains(" list ") && list.contains("best"), "{list}");
    assert!(!text.contains("regress") && !text.contains('\u{1b}'), "{text}");
    let colour = printed(at.path(), &["cmp", "twice", "--color", "always"]);
    assert!(colour.contains("\u{1b}[31mslower\u{1b}[0m") && colour.contains("\u{1b}[32mbest\u{1b}[0m"));
}

#[test]
fn two_axes_make_a_plain_table() {
    let at = folder();
    twice(at.path());
    let text = printed(at.path(), &["cmp", "twice", "--rows", "metric", "--cols", "structure"]);
    let line = text.lines().find(|line| line.contains("live_bytes_per_timer")).unwrap();
    let words: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(words.join(" "), "live_bytes_per_timer 64 bytes a timer best 96 bytes a timer");
    let same = harness(at.path(), &["cmp", "twice", "--rows", "size", "--cols", "size"]);
    assert_eq!(code(&same), 2, "{}", err(&same));
}

#[test]
fn equal_structures_are_the_same_or_not_separated() {
    let at = folder();
    Known { time: &|cell| drift(cell) * jitter(cell, 0), ..Known::default() }.write(at.path(), "equal");
    let found = rows(at.path(), &["cmp", "equal"]);
    assert_eq!(of(&found, "heap", "time_ns_per_timer")["verdict"], "same");
    assert_eq!(of(&found, "list", "time_ns_per_timer")["standing"], "tied");
    assert_eq!(of(&found, "heap", "live_bytes_per_timer")["verdict"], "same");
}

#[test]
fn a_stated_comparison_is_adjusted_by_holm_and_a_sweep_by_benjamini_and_hochberg() {
    let at = folder();
    let run = Known { structures: "five", workloads: &["burst", "window"], ..Known::default() };
    run.write(at.path(), "many");
    let family = |words: &[&str]| {
        let found = rows(at.path(), words);
        let row = of(&found, "heap", "time_ns_per_timer");
        (row["family"].as_u64().unwrap(), row["adjustment"].as_str().unwrap().to_owned())
    };
    assert_eq!(family(&["cmp", "many", "--metric", "time"]), (4, "Holm".into()));
    assert_eq!(family(&["cmp", "many", "--metric", "time", "--sweep"]), (8, "Benjamini-Hochberg".into()));
    assert_eq!(family(&["cmp", "many", "--metric", "time,whole"]).0, 16);
    assert_eq!(family(&["cmp", "many", "--metric", "time", "--workload", "*"]).0, 8);
}

#[test]
fn what_is_misspelt_is_named_with_the_nearest() {
    let at = folder();
    twice(at.path());
    for (flag, value, nearest) in [
        ("--metric", "time_ns_per_timr", "time_ns_per_timer"),
        ("--baseline", "heep", "heap"),
        ("--impl", "lst", "list"),
        ("--workload", "brust", "burst"),
        ("--operation", "enqeue", "enqueue"),
        ("--n", "2k", "1,000"),
    ] {
        let refused = harness(at.path(), &["cmp", "twice", flag, value]);
        assert_eq!(code(&refused), 2, "{flag} {value}: {}", err(&refused));
        assert!(err(&refused).contains(nearest), "{flag} {value}: {}", err(&refused));
    }
    let nothing = harness(at.path(), &["cmp", "twice", "--metric", "visited"]);
    assert_eq!(code(&nothing), 1);
    assert!(err(&nothing).contains("--measure count"), "{}", err(&nothing));
    assert_eq!(code(&harness(at.path(), &["cmp", "thrice"])), 1);
}

#[test]
fn a_structure_that_failed_is_named_and_the_others_are_compared() {
    let at = folder();
    let status = |cell: &harness::plan::Cell| if is(cell, "heap") { Status::Crashed } else { Status::Ok };
    Known { structures: "list,heap,array", status: &status, ..Known::default() }.write(at.path(), "hurt");
    let output = harness(at.path(), &["cmp", "hurt"]);
    assert_eq!(code(&output), 0);
    assert!(
        err(&output).contains("cells of heap on burst") && err(&output).contains("`crashed`"),
        "{}",
        err(&output)
    );
    let found = rows(at.path(), &["cmp", "hurt"]);
    assert!(found.iter().all(|row| row["structure"] != "heap"));
    assert_eq!(of(&found, "array", "time_ns_per_timer")["verdict"], "same");
}

#[test]
fn one_structure_or_one_block_has_figures_and_claims_nothing() {
    let at = folder();
    Known { structures: "list", blocks: 1, ..Known::default() }.write(at.path(), "one");
    let found = rows(at.path(), &["cmp", "one"]);
    assert_eq!(of(&found, "list", "time_ns_per_timer")["verdict"], Value::Null);
    assert!(printed(at.path(), &["cmp", "one", "--tests"]).contains("list"));
    Known { blocks: 1, time: &|cell| if is(cell, "heap") { 900.0 } else { 1.0 }, ..Known::default() }
        .write(at.path(), "two");
    let found = rows(at.path(), &["cmp", "two"]);
    assert_eq!(of(&found, "heap", "time_ns_per_timer")["verdict"], "not separated");
    assert!(printed(at.path(), &["cmp", "two"]).contains("1 blocks are too few"));
}

#[test]
fn a_run_whose_journal_is_packed_reads_the_same() {
    let at = folder();
    twice(at.path());
    let before = printed(at.path(), &["cmp", "twice"]);
    let run = at.path().join("twice");
    let packed = File::create(run.join(Journal::PACKED)).unwrap();
    let mut packed = flate2::write::GzEncoder::new(packed, flate2::Compression::best());
    packed.write_all(&std::fs::read(run.join(Journal::NAME)).unwrap()).unwrap();
    packed.finish().unwrap();
    std::fs::remove_file(run.join(Journal::NAME)).unwrap();
    assert_eq!(printed(at.path(), &["cmp", "twice"]), before);
}

#[test]
fn structures_of_several_runs_bear_their_names() {
    let at = folder();
    twice(at.path());
    let time = |cell: &_| 3.0 * drift(cell) * jitter(cell, 1);
    Known { time: &time, seed: 2, ..Known::default() }.write(at.path(), "other");
    let found = rows(at.path(), &["cmp", "twice", "other", "--metric", "time"]);
    let names: Vec<_> = found.iter().map(|row| row["structure"].as_str().unwrap()).collect();
    assert_eq!(names, ["list (twice)", "heap (twice)", "list (other)", "heap (other)"]);
    near(&of(&found, "heap (twice)", "time_ns_per_timer")["ratio"], 2.0);
    assert_eq!(of(&found, "list (other)", "time_ns_per_timer")["verdict"], "faster");
}

#[test]
fn a_ranking_is_the_geometric_mean_over_what_all_can_do() {
    let at = folder();
    let time = |cell: &harness::plan::Cell| match (is(cell, "heap"), cell.workload) {
        (true, 0) => 200.0 * drift(cell),
        (true, _) => 800.0 * drift(cell),
        _ => 100.0 * drift(cell),
    };
    let status = |cell: &harness::plan::Cell| match is(cell, "heap") && cell.workload == 2 {
        true => Status::Timeout,
        false => Status::Ok,
    };
    let run =
        Known { workloads: &["burst", "window", "cycle"], time: &time, status: &status, ..Known::default() };
    run.write(at.path(), "ranked");
    let found = rows(at.path(), &["rank", "ranked"]);
    assert_eq!(
        (&found[0]["structure"], &found[1]["structure"]),
        (&Value::from("list"), &Value::from("heap"))
    );
    for (column, wanted) in [
        ("ratio", 4.0),
        ("ratio_low", 4.0),
        ("ratio_high", 4.0),
        ("ratio_without_one_min", 2.0),
        ("ratio_without_one_max", 8.0),
    ] {
        near(&found[1][column], wanted);
    }
    near(&found[0]["lead"], 4.0);
    assert_eq!(found[0]["verdict"], "ahead");
    let text = printed(at.path(), &["rank", "ranked"]);
    assert!(text.contains("Left out: cycle, n = 1,000, where heap have no"), "{text}");
    assert!(text.contains("One number hides workloads"), "{text}");
}

#[test]
fn a_lead_within_noise_is_not_separated() {
    let at = folder();
    Known { time: &|cell| 100.0 * jitter(cell, 0), passes: &[Pass::Time], ..Known::default() }
        .write(at.path(), "near");
    assert_eq!(rows(at.path(), &["rank", "near"])[0]["verdict"], "not separated");
}

#[test]
fn pareto_marks_what_none_beats_in_both() {
    let at = folder();
    let figures = |cell: &harness::plan::Cell| match cell.structure.name.as_str() {
        "list" => (100.0, 64),
        "array" => (50.0, 96),
        _ => (120.0, 96),
    };
    let (time, live) = (|cell: &_| figures(cell).0, |cell: &_| figures(cell).1);
    Known { structures: "list,array,heap", time: &time, live: &live, ..Known::default() }
        .write(at.path(), "three");
    let found = rows(at.path(), &["pareto", "three"]);
    let verdicts: Vec<_> = found
        .iter()
        .map(|row| (row["structure"].as_str().unwrap(), row["dominated_by"].as_str().unwrap()))
        .collect();
    assert_eq!(verdicts, [("list", ""), ("array", ""), ("heap", "list, array")]);
    assert!(printed(at.path(), &["pareto", "three"]).contains("dominated by list, array"));
    let neither = harness(at.path(), &["pareto", "three", "--x", "enqueued"]);
    assert_eq!(code(&neither), 2, "{}", err(&neither));
}
