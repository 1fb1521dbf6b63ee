//! `diff` and `gate` on pairs of runs whose figures are known.

#[path = "support/known.rs"]
mod known;

use harness::journal::Status;
use harness::plan::Cell;
use harness::spec::Pass;
use known::{Known, code, drift, err, harness, is, jitter, out, rows};
use serde_json::Value;

/// Two runs, A and B; B's times are A's times `dearer`, its live bytes `bytes`, its seed `seed`.
fn pair(dearer: f64, bytes: u64, seed: u64) -> tempfile::TempDir {
    let at = tempfile::tempdir().unwrap();
    Known { time: &|cell| 100.0 * drift(cell) * jitter(cell, 1), ..Known::default() }.write(at.path(), "a");
    let time = |cell: &Cell| 100.0 * dearer * drift(cell) * jitter(cell, 2);
    Known { time: &time, live: &|_| bytes, seed, ..Known::default() }.write(at.path(), "b");
    at
}

fn gated(at: &tempfile::TempDir, more: &[&str]) -> i32 {
    let output = harness(at.path(), &[&["gate", "a", "b"], more].concat());
    code(&output)
}

fn finding(at: &tempfile::TempDir, metric: &str) -> Value {
    let rows = rows(at.path(), &["diff", "a", "b"]);
    let found = rows.iter().find(|row| row["metric"] == metric && row["structure"] == "heap").unwrap();
    found["verdict"].clone()
}

#[test]
fn a_regression_beyond_the_threshold_is_3_and_below_it_0() {
    let at = pair(1.2, 64, 1);
    assert_eq!(gated(&at, &[]), 3);
    assert_eq!(gated(&at, &["--threshold", "25%"]), 0);
    assert_eq!(gated(&at, &["--threshold", "25%", "--strict"]), 0);
    assert_eq!(gated(&at, &["--metric", "live", "--strict"]), 0, "memory is what it was");
    assert_eq!(finding(&at, "time_ns_per_timer"), "regression");
    let cheaper = pair(0.8, 64, 1);
    assert_eq!(gated(&cheaper, &["--strict"]), 0);
    assert_eq!(finding(&cheaper, "time_ns_per_timer"), "improvement");
}

#[test]
fn the_same_is_passed_and_called_so() {
    let at = pair(1.0, 64, 1);
    assert_eq!(gated(&at, &["--strict"]), 0);
    assert_eq!(finding(&at, "time_ns_per_timer"), "same");
}

#[test]
fn memory_is_exact_so_two_repeats_decide() {
    let at = pair(1.0, 70, 1);
    assert_eq!(gated(&at, &[]), 3);
    assert_eq!(gated(&at, &["--threshold", "10%"]), 0);
    assert_eq!(finding(&at, "live_bytes_per_timer"), "regression");
}

#[test]
fn blocks_are_paired_where_both_runs_asked_the_same() {
    for (seed, pairing, low) in [(1, "blocks", 1.19), (2, "none", 0.9)] {
        let at = pair(1.2, 64, seed);
        let rows = rows(at.path(), &["diff", "a", "b", "--metric", "time"]);
        for row in rows {
            assert_eq!(row["pairing"], pairing);
            assert!(row["ratio_low"].as_f64().unwrap() > low, "{row:#}");
            assert!(row["ratio_high"].as_f64().unwrap() < if seed == 1 { 1.21 } else { 1.6 }, "{row:#}");
        }
    }
}

/// The drift between blocks, which pairs take out, is wider than a difference of 5 %.
#[test]
fn what_is_undecided_is_not_failed_unless_it_must_be_decided() {
    let at = pair(1.05, 64, 2);
    assert_eq!(gated(&at, &["--metric", "time"]), 0);
    assert_eq!(gated(&at, &["--metric", "time", "--strict"]), 5);
    assert_eq!(gated(&at, &["--metric", "live", "--strict"]), 0);
}

#[test]
fn a_missing_cell_is_named_and_undecided() {
    let at = pair(1.0, 64, 1);
    let status = |cell: &Cell| match is(cell, "heap") && cell.pass == Pass::Time {
        true => Status::Timeout,
        false => Status::Ok,
    };
    let time = |cell: &Cell| 100.0 * drift(cell) * jitter(cell, 3);
    Known { structures: "list,heap,array", time: &time, status: &status, ..Known::default() }
        .write(at.path(), "c");
    let output = harness(at.path(), &["diff", "a", "c"]);
    assert_eq!(code(&output), 0);
    let line = |name: &str| out(&output).lines().rfind(|line| line.contains(name)).unwrap().to_owned();
    assert!(
        line("heap").contains("failed in B: timeout") && line("heap").contains("time_ns_per_timer"),
        "{}",
        out(&output)
    );
    assert!(line("array").contains("not in A"), "{}", out(&output));
    assert_eq!(code(&harness(at.path(), &["gate", "a", "c"])), 0);
    assert_eq!(code(&harness(at.path(), &["gate", "a", "c", "--strict"])), 5);
}

#[test]
fn regressions_alone_raise_an_alarm_and_nothing_is_ranked() {
    let at = tempfile::tempdir().unwrap();
    let run = |dearer: f64, name: &str, number: u32| {
        let time = |cell: &Cell| 100.0 * dearer * drift(cell) * jitter(cell, number);
        Known { structures: "five", workloads: &["burst", "window"], time: &time, ..Known::default() }
            .write(at.path(), name);
    };
    run(1.0, "a", 1);
    run(1.3, "b", 2);
    let output = harness(at.path(), &["diff", "a", "b"]);
    assert!(out(&output).contains("Alarm: 10 regressions and no improvement"), "{}", out(&output));
    assert!(!out(&output).contains("best") && !out(&output).contains("rank"), "{}", out(&output));
    let small = pair(1.3, 64, 1);
    let output = harness(small.path(), &["diff", "a", "b"]);
    assert!(!out(&output).contains("Alarm"), "two findings are no series: {}", out(&output));
}

#[test]
fn runs_that_differ_in_more_than_time_are_warned_of() {
    let at = pair(1.0, 64, 1);
    let path = at.path().join("b/manifest.json");
    let text = std::fs::read_to_string(&path).unwrap();
    let mut manifest: Value = serde_json::from_str(&text).unwrap();
    manifest["machine"]["cpu_model"] = "another".into();
    manifest["build"]["level"] = "1".into();
    std::fs::write(&path, manifest.to_string()).unwrap();
    let words = err(&harness(at.path(), &["diff", "a", "b"]));
    assert!(words.contains("warning: other machine:") && words.contains("x another in B"), "{words}");
    assert!(words.contains("warning: other build: level"), "{words}");
}

#[test]
fn a_threshold_has_its_unit_in_the_help() {
    let at = tempfile::tempdir().unwrap();
    let help = out(&harness(at.path(), &["gate", "--help"]));
    assert!(help.contains("in per cent of A's figure"), "{help}");
    assert!(
        help.contains("3 a confident regression") && help.contains("5 undecided with --strict"),
        "{help}"
    );
    assert_eq!(code(&harness(at.path(), &["gate", "a", "b", "--threshold", "much"])), 2);
}
