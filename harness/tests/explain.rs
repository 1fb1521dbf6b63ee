//! `harness explain` as a user types it: what it says of a cell, and that a run of the cell bears it out.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

fn harness(folder: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_harness"));
    command.args(words).current_dir(folder).env_remove("CARGO").stdin(Stdio::null());
    command.output().unwrap()
}

fn said(words: &[&str]) -> String {
    said_in(tempfile::tempdir().unwrap().path(), words)
}

fn said_in(folder: &Path, words: &[&str]) -> String {
    let output = harness(folder, words);
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn json(cell: &str) -> Value {
    serde_json::from_str(&said(&["explain", cell, "--format", "json"])).unwrap()
}

/// Refused with exit code 2 and these words.
fn refused(cell: &str, parts: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let output = harness(folder.path(), &["explain", cell]);
    let words = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{cell}: {words}");
    assert!(output.stdout.is_empty());
    for part in parts {
        assert!(words.contains(part), "{cell} does not say `{part}`: {words}");
    }
}

#[test]
fn a_cell_is_explained_with_everything_that_there_is_to_know() {
    let text = said(&["explain", "wheel:tick=64/burst:step=500/20k"]);
    for part in [
        "burst:step=500, n = 20,000",
        // Its file.
        "A burst of timers and what remains of it.",
        "queue everything, dispatch in rounds with a window",
        "structures that release each timer as it is dispatched",
        "structures that keep the room they grew to",
        "the mail queue of seeds/000",
        "datasets/workloads/burst.toml",
        "What a handler costs on the virtual clock.",
        // The stream.
        "on disk, hash ",
        "20,000 distinct, at most 20,000 queued at once, with a block of 16 bytes each",
        // The structure.
        "wheel:tick=64",
        "exact: by expiry, ties by arrival",
        "to 64: late by less than that, never early",
        "Parameters of the structure",
        // What is timed.
        "What is measured, and what is not",
        "the clock's median cost is taken off",
        "dhat starts after that",
        // Its profile.
        "Operations, by phase and kind",
        "next expiry",
        "What becomes of each arming",
        "Put-backs, as the reference has them",
        "in front, in one step",
        "distinct delays to three digits, in ticks",
        "Delays, in ticks, on a logarithmic scale",
        "Timers queued, from the first operation to the last",
        "The first 20 operations",
        "enqueue timer 0, due at ",
        "########",
    ] {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
    for pass in ["time", "latency", "resident", "heap", "count"] {
        assert!(text.contains(&format!("\n {pass}\n")), "{pass}");
    }
    assert!(!text.contains('\u{1b}'));
}

#[test]
fn what_is_left_away_has_its_default_and_a_pass_is_explained_alone() {
    let whole = json("burst");
    assert_eq!((&whole["size"], &whole["structure"]), (&Value::from(200_000), &Value::Null));
    assert_eq!(whole["passes"].as_array().unwrap().len(), 5);
    let pass = json("heap/burst/500/latency");
    assert_eq!(pass["structure"]["name"], "heap");
    assert_eq!((&pass["size"], &pass["passes"][0]["pass"]), (&Value::from(500), &Value::from("latency")));
    assert_eq!(pass["passes"].as_array().unwrap().len(), 1);
    assert!(said(&["explain", "burst/500", "--format", "md"]).contains("| phase "));
}

#[test]
fn parameters_stand_with_their_defaults_and_meanings() {
    let explained = json("burst:gap=3/500");
    let parameters = explained["parameters"].as_array().unwrap();
    let of = |key: &str| parameters.iter().find(|parameter| parameter["key"] == key).unwrap();
    assert_eq!((&of("gap")["value"], &of("gap")["default"]), (&Value::from("3"), &Value::from("1")));
    assert_eq!(
        of("gap")["meaning"],
        "Mean number of ticks between the expiries of two timers that follow each other."
    );
    assert_eq!((&of("step")["value"], &of("keep")["value"]), (&Value::Null, &Value::from("10")));
    assert!(of("step")["meaning"].as_str().unwrap().starts_with("Ticks between two rounds. Left out, it is"));
}

/// Rows of a small run, each as JSON.
fn rows(folder: &Path, workload: &str, n: &[&str], measure: &str) -> Vec<Value> {
    let words =
        [&["--impl", "heap", "--workload", workload, "--blocks", "1", "--format", "json"], n].concat();
    let text = said_in(folder, &[&words[..], &["--measure", measure]].concat());
    let all: Value = serde_json::from_str(&text).unwrap();
    all["rows"].as_array().unwrap().clone()
}

/// Everything that the passes count is what was explained: calls, timers, segments, calls timed singly, the
/// stream's hash and what became of its timers.
fn borne_out(workload: &str, n: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let cell = n.last().map_or_else(|| workload.to_owned(), |n| format!("{workload}/{n}"));
    let explained = json(&cell);
    let all = rows(folder.path(), workload, n, "time,latency");
    let cells: Vec<_> = all.iter().filter(|row| row["scope"] == "cell").collect();
    assert_eq!(cells.len(), 2);
    for row in cells {
        assert_eq!(row["stream_hash"], explained["stream"]["hash"], "{workload}");
        let fates = &explained["profile"]["fates"];
        for (column, fate) in [
            ("dispatched", "expired"),
            ("cancelled", "cancelled"),
            ("cancel_missed", "cancel_missed"),
            ("rescheduled", "rearmed"),
        ] {
            assert_eq!(row[column], fates[fate], "{workload}: {column}");
        }
        assert_eq!(row["put_back"], explained["profile"]["put_backs"]["timers"]);
    }
    let operations = explained["profile"]["operations"].as_array().unwrap();
    assert!(!operations.is_empty());
    for operation in operations {
        let of = |pass: &str| {
            let same = |row: &&Value| {
                row["pass"] == pass
                    && row["phase"] == operation["phase"]
                    && row["operation"] == operation["operation"]
            };
            all.iter().find(same).unwrap_or_else(|| panic!("{workload}: no row of {operation} in {pass}"))
        };
        let (time, latency) = (of("time"), of("latency"));
        assert_eq!(
            (&time["calls"], &time["timers"]),
            (&operation["calls"], &operation["timers"]),
            "{operation}"
        );
        assert_eq!(time["clock_readings"], operation["segments"], "{operation}");
        // Where nothing was called, there is no figure.
        assert_eq!(latency["latency_calls"].as_u64().unwrap_or(0), operation["timed_singly"], "{operation}");
    }
    let counted = all.iter().filter(|row| row["scope"] == "operation" && row["pass"] == "time").count();
    assert_eq!(counted, operations.len(), "{workload}: and nothing else was timed");
}

#[test]
fn a_run_counts_what_was_explained() {
    borne_out("burst:idle_ms=0", &["--n", "3000"]);
    borne_out("window:rounds=20,due=50,done=20,late=5", &["--n", "700"]);
    borne_out("cycle:due=20,rounds=9,batches=3,put_back=first-first", &["--n", "300"]);
    borne_out("replay-node-http", &[]);
    borne_out("replay-node-http:expiries=closed-loop", &[]);
}

#[test]
fn a_file_of_ones_own_is_explained_wherever_it_lies_and_whatever_it_is_called() {
    let folder: TempDir = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("2026")).unwrap();
    fs::write(folder.path().join("2026/my herd.toml"), "# Mine.\nmodel = \"grow\"\nn = [40]\n").unwrap();
    fs::write(folder.path().join("2026/1.tt.csv"), "time_ns,op,timer_id,due_ns\n0,S,1,5\n5,E,1,\n").unwrap();
    let text = said_in(folder.path(), &["explain", "wheel/2026/my herd.toml/30/time"]);
    assert!(text.contains("2026/my herd.toml, n = 30") && text.contains("  Mine.\n"), "{text}");
    assert!(said_in(folder.path(), &["explain", "2026/my herd.toml"]).contains("n = 40"));
    for cell in ["replay:2026/1.tt.csv", "wheel/replay:2026/1.tt.csv:copies=3/time"] {
        let text = said_in(folder.path(), &["explain", cell]);
        assert!(text.contains("enqueue timer 0, due at 5"), "{text}");
    }
}

#[test]
fn a_mistake_is_named_with_the_nearest_of_what_there_is() {
    refused("weel/burst", &["no structure is called `weel`; did you mean `wheel`?"]);
    refused("wheel/brust", &["no workload is called `brust`; did you mean `burst`?"]);
    refused("brust", &["no workload is called `brust`; did you mean `burst`?"]);
    refused(
        "wheel/burst/200k/tiem",
        &["`tiem`", "neither a size nor a pass; did you mean `time`?", "wheel/burst/200k/time"],
    );
    refused("burst/latenci", &["neither a size nor a pass; did you mean `latency`?"]);
    refused("burst/0", &["`0` in `burst/0`", "a size of 0 measures nothing"]);
    refused("burst/10x", &["`10x`"]);
    refused("wheel", &["`wheel` is a structure, and a cell has a workload", "harness explain wheel/burst"]);
    refused("five/burst", &["`five` names 5 structures, and a cell has one"]);
    refused("burst:gap=1+2", &["names 2 workloads, and a cell has one"]);
    refused("wheel/burst:stpe=1", &["there is no key `stpe`; did you mean `step`?"]);
    refused("wheel:tik=1/burst", &["`tik` is not a parameter"]);
    refused("replay-node-http/500", &["a replay has the size of its trace", "copies=k"]);
}

#[test]
fn what_is_no_table_of_rows_has_no_csv() {
    let folder = tempfile::tempdir().unwrap();
    let output = harness(folder.path(), &["explain", "burst/10", "--format", "csv"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("table, md or json"));
}
