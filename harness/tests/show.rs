//! `show` on a small real run: what happened in the slowest calls.

#[path = "support/known.rs"]
mod known;

use std::path::Path;
use std::sync::LazyLock;

use known::{code, err, harness, out, printed, rows};
use serde_json::Value;

/// A run of three structures, made once: large enough for the calls that move a megabyte to be the slowest.
static RUN: LazyLock<tempfile::TempDir> = LazyLock::new(|| {
    let at = tempfile::tempdir().unwrap();
    let words = [
        "--impl",
        "array,list,wheel",
        "--workload",
        "burst:idle_ms=0",
        "--n",
        "70000",
        "--blocks",
        "2",
        "--measure",
        "latency",
        "--out",
        "run",
    ];
    printed(at.path(), &words);
    at
});

fn at() -> &'static Path {
    RUN.path()
}

fn of(structure: &str) -> Vec<Value> {
    rows(at(), &["show", &format!("{structure}/burst:idle_ms=0"), "run", "--top", "20"])
}

fn number(row: &Value, column: &str) -> u64 {
    row[column].as_u64().unwrap_or_else(|| panic!("{column} of {row:#} is no number"))
}

#[test]
fn every_slow_call_knows_the_queue_around_it() {
    let mut filling = 0;
    for row in ["array", "list", "wheel"].into_iter().flat_map(of) {
        let (before, after) = (number(&row, "queue_length_before"), number(&row, "queue_length"));
        match row["operation"].as_str().unwrap() {
            // Nothing else is asked while the queue is filled, so the call's number is the queue's length.
            "enqueue" => {
                assert_eq!((before, after), (number(&row, "call"), number(&row, "call") + 1), "{row:#}");
                filling += 1;
            }
            "take" => assert!(after <= before, "{row:#}"),
            "requeue" => assert!(after >= before, "{row:#}"),
            "dispatch" | "next_expiry" | "shrink" => assert_eq!(before, after, "{row:#}"),
            _ => {}
        }
    }
    assert!(filling > 0, "the calls in which an array grows are among the slowest");
}

#[test]
fn an_array_grows_in_the_calls_in_which_its_capacity_doubles() {
    let enqueues: Vec<Value> = of("array").into_iter().filter(|row| row["operation"] == "enqueue").collect();
    for row in &enqueues {
        let (before, after) = (number(row, "container_bytes_before"), number(row, "container_bytes_after"));
        let full =
            number(row, "queue_length_before").is_power_of_two() && number(row, "queue_length_before") > 2;
        assert_eq!(after == 2 * before, full, "{row:#}");
    }
    let grown = enqueues.iter().filter(|row| row["container_bytes_after"] != row["container_bytes_before"]);
    assert!(grown.count() > 0, "{enqueues:#?}");
    assert!(printed(at(), &["show", "array/burst:idle_ms=0", "run"]).contains("grew: "));
}

#[test]
fn a_wheel_cascades_and_an_array_does_not() {
    let cascaded =
        |structure: &str| of(structure).iter().map(|row| number(row, "entries_cascaded")).sum::<u64>();
    assert!(cascaded("wheel") > 0);
    assert_eq!(cascaded("array"), 0);
}

#[test]
fn calls_are_listed_slowest_first_and_as_many_as_asked_for() {
    let some = rows(at(), &["show", "wheel/burst:idle_ms=0/70k", "run", "--top", "3"]);
    let times: Vec<u64> = some.iter().map(|row| number(row, "latency_ns")).collect();
    assert!(times.len() == 3 && times.is_sorted_by(|a, b| a >= b), "{times:?}");
    let all = rows(at(), &["show", "wheel/burst:idle_ms=0/70k/latency", "run", "--top", "100"]);
    assert_eq!(all.len(), 20, "ten of each of two blocks");
}

#[test]
fn a_cell_that_is_not_there_is_told_with_what_is() {
    for (cell, exit, said) in [
        ("weel/burst:idle_ms=0", 2, "did you mean `wheel`?"),
        ("wheel/brst", 2, "it has burst:idle_ms=0"),
        ("wheel", 2, "a cell has a workload"),
        ("wheel/burst:idle_ms=0/7k", 2, "it has n = 70,000"),
        ("wheel/burst:idle_ms=0/x", 2, "a size is a whole number"),
        ("wheel/burst:idle_ms=0/70k/time", 2, "times no single calls"),
    ] {
        let output = harness(at(), &["show", cell, "run"]);
        assert_eq!(code(&output), exit, "{cell}: {}", err(&output));
        assert!(err(&output).contains(said), "{cell}: {}", err(&output));
        assert_eq!(out(&output), "");
    }
}
