//! `harness dataset` as a user types it: what each verb prints, writes and refuses.

use std::fs;
use std::io::{Read, pipe};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use harness::trace::{self, Op};
use harness::workload::resolve;
use tempfile::TempDir;

const NODE: &str = "node-http-keepalive";

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn dataset(folder: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_harness"));
    command.arg("dataset").args(words).current_dir(folder).stdin(Stdio::null()).output().unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn words(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// What is printed by a command that ends with this exit code.
fn ends(folder: &TempDir, arguments: &[&str], exit: i32) -> (String, String) {
    let output = dataset(folder.path(), arguments);
    let (out, words) = (out(&output), words(&output));
    assert_eq!(output.status.code(), Some(exit), "{arguments:?}:\n{out}\n{words}");
    (out, words)
}

fn done(folder: &TempDir, arguments: &[&str]) -> String {
    ends(folder, arguments, 0).0
}

/// A folder with a trace `a.tt.csv` of these rows.
fn with_trace(rows: &str) -> TempDir {
    let folder = folder();
    fs::write(folder.path().join("a.tt.csv"), format!("time_ns,op,timer_id,due_ns\n{rows}")).unwrap();
    folder
}

const TRUE: &str = "0,S,1,5\n1,S,2,9\n2,R,1,8\n4,C,2,\n5,N,2,\n10,E,1,\n";
const FALSE: &str = "0,S,1,5\n3,C,2,\n4,E,3,\n5,E,1,\n";

#[test]
fn a_true_trace_is_one_line_and_one_that_contradicts_itself_a_table_and_exit_code_1() {
    let folder = with_trace(TRUE);
    let said = done(&folder, &["validate", "a.tt.csv"]);
    assert_eq!(said, "a.tt.csv: 6 rows, at most 2 timers armed at once, 0 at the end: it can be true\n");
    let folder = with_trace(FALSE);
    let (said, _) = ends(&folder, &["validate", "a.tt.csv"], 1);
    assert!(said.contains("it contradicts itself 2 times"), "{said}");
    let row = |rule: &str| {
        said.lines().find(|line| line.trim().starts_with(rule)).unwrap_or_else(|| panic!("{said}"))
    };
    assert!(row("cancel-unarmed").split_whitespace().rev().take(2).eq(["3", "1"]), "{said}");
    assert!(row("expire-unarmed").contains("a timer that expires is armed"), "{said}");
    assert!(said.contains("line 3: C of timer 2: which is not armed (an error)"), "{said}");
    let (said, _) = ends(&folder, &["validate", "a.tt.csv", "--first", "1"], 1);
    assert!(!said.contains("line 4") && said.contains("and 1 more"), "{said}");
}

#[test]
fn what_is_only_flagged_is_an_error_when_asked() {
    let folder = with_trace("0,S,1,50\n3,E,1,\n");
    assert!(done(&folder, &["validate", "a.tt.csv"]).contains("it can be true; once flagged"));
    ends(&folder, &["validate", "a.tt.csv", "--strict"], 1);
    assert!(done(&folder, &["validate", "--strict", NODE]).contains("26,523 rows, at most 201 timers"));
}

#[test]
fn several_traces_are_checked_in_one_go() {
    let folder = with_trace(FALSE);
    let (said, _) = ends(&folder, &["validate", NODE, "a.tt.csv"], 1);
    assert!(said.starts_with("node-http-keepalive.tt.csv: 26,523 rows"), "{said}");
    assert!(said.contains("a.tt.csv: 4 rows"), "{said}");
}

#[test]
fn a_repaired_trace_is_written_and_can_be_true() {
    let folder = with_trace(FALSE);
    let (_, said) = ends(&folder, &["validate", "a.tt.csv", "--repair", "--out", "b.tt.csv"], 0);
    assert!(said.contains("2 P rows were added"), "{said}");
    done(&folder, &["validate", "b.tt.csv"]);
    let trace = trace::read(&folder.path().join("b.tt.csv")).unwrap();
    assert_eq!(trace.rows.iter().filter(|row| row.op == Op::Present).count(), 2);
    let (_, said) = ends(&folder, &["validate", "a.tt.csv", "--repair", "--out", "b.tt.csv"], 1);
    assert!(said.contains("b.tt.csv is there already"), "{said}");
    ends(&folder, &["validate", "a.tt.csv", "--repair"], 2);
    ends(&folder, &["validate", "a.tt.csv", NODE, "--repair", "--out", "c.tt.csv"], 2);
    // Time that falls cannot be mended: it is written and told.
    let folder = with_trace("5,S,1,9\n4,C,1,\n5,C,2,\n");
    let (said, _) = ends(&folder, &["validate", "a.tt.csv", "--repair", "--out", "b.tt.csv"], 1);
    assert!(said.contains("time-falls") && folder.path().join("b.tt.csv").exists(), "{said}");
}

#[test]
fn a_bad_file_is_told_with_its_line_and_a_bad_name_with_the_nearest() {
    let folder = with_trace("0,S,1,5\nx,S,2,5\n");
    fs::write(folder.path().join("empty.tt.csv"), "time_ns,op\n").unwrap();
    for verb in [
        &["validate"][..],
        &["stat"],
        &["head"],
        &["convert", "--out", "b.tt.csv"],
        &["fit", "--out", "b.toml"],
    ] {
        let with = |file| [verb, &[file]].concat();
        let (said, error) = ends(&folder, &with("a.tt.csv"), 1);
        assert!(error.contains("a.tt.csv:3: `time_ns` is `x`"), "{verb:?}: {error}");
        assert_eq!(said, "", "{verb:?}");
        let (_, error) = ends(&folder, &with("no/such.tt.csv"), 1);
        assert!(error.contains("no/such.tt.csv: "), "{verb:?}: {error}");
        let (_, error) = ends(&folder, &with("node-http-keepalife"), 2);
        assert!(error.contains("did you mean `node-http-keepalive`?"), "{verb:?}: {error}");
        ends(&folder, &with("."), 1);
    }
    for verb in ["validate", "stat"] {
        ends(&folder, &[verb, "empty.tt.csv"], 1);
    }
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "nothing was made: {left:?}");
}

fn json(folder: &TempDir, files: &[&str]) -> serde_json::Value {
    serde_json::from_str(&done(folder, &[&["stat", "--format", "json"], files].concat())).unwrap()
}

#[test]
fn figures_are_those_of_the_rows() {
    let folder = with_trace(TRUE);
    let found = &json(&folder, &["a.tt.csv"])[0];
    let wanted = [
        ("arms", 3.0),
        ("timers", 2.0),
        ("armed_max", 2.0),
        ("armed_mean", (1.0 + 3.0 * 2.0 + 6.0) / 10.0),
        ("armed_at_end", 0.0),
        ("rearmed_share", 1.0 / 3.0),
        ("cancelled_share", 1.0 / 3.0),
        ("expired_share", 1.0 / 3.0),
        ("missed_share", 0.5),
        ("missed_after_expiry_share", 0.0),
        ("lateness_ns_p50", 2.0),
        ("duration_s", 1e-8),
        ("operations_per_s", 6e8),
    ];
    for (name, value) in wanted {
        let found = found[name].as_f64().unwrap_or_else(|| panic!("no {name} in {found}"));
        assert!((found - value).abs() <= 1e-9 * value.abs(), "{name} is {found}, not {value}");
    }
    assert_eq!(found["delays_ns"], serde_json::json!([5, 6, 8]));
    assert_eq!(found["fidelity"], "unknown");
}

/// The figures of `datasets/traces/README.md`, which come from a script of their own.
#[test]
fn figures_of_the_recorded_http_service_are_those_of_its_source_note() {
    let found = &json(&folder(), &[NODE])[0];
    let near = |name: &str, value: f64, by: f64| {
        let found = found[name].as_f64().unwrap();
        assert!((found - value).abs() <= by, "{name} is {found}, not {value}");
    };
    for (name, value) in [("arms", 18_055.0), ("timers", 8151.0), ("armed_max", 201.0), ("armed_at_end", 0.0)]
    {
        near(name, value, 0.0);
    }
    near("rearmed_share", 9759.0 / 18_055.0, 1e-12);
    near("cancelled_share", 7344.0 / 18_055.0, 1e-12);
    near("expired_share", 952.0 / 18_055.0, 1e-12);
    near("missed_share", 172.0 / 7516.0, 1e-12);
    near("missed_after_expiry_share", 1.0, 0.0);
    near("armed_mean", 143.728_280_214_467_67, 1e-9);
    near("operations_per_s", 644.152_073_458_171_8, 1e-6);
    near("lateness_ns_p50", 732_311.0, 732.0);
    near("lateness_ns_p90", 1_168_237.0, 1168.0);
    near("lateness_ns_p99", 2_488_350.0, 2488.0);
    near("lateness_ns_max", 5_574_804.0, 0.0);
    near("owners", 13.0, 0.0);
    let seconds = [10_u64, 4, 8, 6].map(|seconds| seconds * 1_000_000_000);
    assert_eq!(found["delays_ns"].as_array().unwrap()[..4], seconds.map(serde_json::Value::from));
    let share = found["delays_share"][0].as_f64().unwrap();
    assert!((share - 0.3646).abs() < 1e-4, "to three digits: {share}");
}

#[test]
fn every_format_has_the_same_figures_and_a_row_for_each_trace() {
    let folder = with_trace(TRUE);
    let files = ["stat", "a.tt.csv", NODE];
    let print = |format: &str| done(&folder, &[&files[..], &["--format", format]].concat());
    let text = print("csv");
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let names: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
    let json: serde_json::Value = serde_json::from_str(&print("json")).unwrap();
    let mut keys: Vec<&String> = json[0].as_object().unwrap().keys().collect();
    let mut sorted: Vec<&String> = names.iter().collect();
    keys.sort();
    sorted.sort();
    assert_eq!(keys, sorted);
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    let at = |name: &str| names.iter().position(|known| known == name).unwrap();
    assert_eq!((rows.len(), &rows[1][at("arms")], &rows[0][at("delays_ns")]), (2, "18055", "5 6 8"));
    let (table, md) = (print("table"), print("md"));
    assert!(table.contains("node-http-keepalive.tt.csv") && table.contains("54.1 %"), "{table}");
    assert!(md.contains("| node-http-keepalive.tt.csv | ") && md.contains("54.1 % |"), "{md}");
    assert!(done(&folder, &["stat", NODE, "--top", "1"]).contains("10 s"));
}

#[test]
fn the_help_page_says_of_what_each_share_is_one() {
    let help = done(&folder(), &["stat", "--help"]);
    for said in ["of arms", "of C and N", "rounded up to the trace's due granularity", "weighted by time"] {
        assert!(help.contains(said), "{said}:\n{help}");
    }
}

#[test]
fn figures_of_a_trace_that_contradicts_itself_come_with_a_warning() {
    let folder = with_trace(FALSE);
    let (said, warned) = ends(&folder, &["stat", "a.tt.csv"], 0);
    assert!(warned.contains("warning: a.tt.csv contradicts itself 2 times"), "{warned}");
    assert!(said.contains("a.tt.csv"), "{said}");
}

#[test]
fn a_trace_goes_to_parquet_and_back_and_is_the_same() {
    let folder = folder();
    let (_, said) = ends(&folder, &["convert", NODE, "--out", "n.tt.parquet"], 0);
    assert!(said.starts_with("n.tt.parquet: 26,523 rows"), "{said}");
    done(&folder, &["convert", "n.tt.parquet", "--out", "n.tt.csv"]);
    let committed = concat!(env!("CARGO_MANIFEST_DIR"), "/../datasets/traces/node-http-keepalive.tt.csv");
    let (one, other) =
        (trace::read(committed.as_ref()).unwrap(), trace::read(&folder.path().join("n.tt.csv")).unwrap());
    assert!(one.same(&other));
    assert_eq!(json(&folder, &["n.tt.parquet"])[0]["arms"], 18_055);
}

#[test]
fn a_file_that_is_there_is_left_and_a_name_of_no_form_is_refused() {
    let folder = with_trace(TRUE);
    fs::write(folder.path().join("mine.tt.csv"), "kept").unwrap();
    fs::write(folder.path().join("mine.toml"), "kept").unwrap();
    let (_, said) = ends(&folder, &["convert", "a.tt.csv", "--out", "mine.tt.csv"], 1);
    assert!(said.contains("mine.tt.csv is there already"), "{said}");
    let (_, said) = ends(&folder, &["fit", NODE, "--out", "mine.toml"], 1);
    assert!(said.contains("mine.toml is there already"), "{said}");
    for file in ["mine.tt.csv", "mine.toml"] {
        assert_eq!(fs::read_to_string(folder.path().join(file)).unwrap(), "kept");
    }
    let (_, said) = ends(&folder, &["convert", "a.tt.csv", "--out", "a.txt"], 2);
    assert!(said.contains("names no form of a trace"), "{said}");
    ends(&folder, &["fit", NODE, "--out", "a.txt"], 2);
    let (_, said) = ends(&folder, &["convert", "a.tt.csv", "--out", "no/such/b.tt.csv"], 1);
    assert!(said.contains("cannot write no/such/b.tt.csv"), "{said}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3, "no part of a file is left");
}

#[test]
fn what_the_other_form_cannot_hold_is_refused_and_leaves_nothing() {
    let folder = with_trace(&format!("0,S,1,-1\n0,S,2,{}\n", u64::MAX));
    let (_, said) = ends(&folder, &["convert", "a.tt.csv", "--out", "b.tt.parquet"], 1);
    assert!(said.contains("a.tt.csv:3: `due_ns` is too late"), "{said}");
    assert!(!folder.path().join("b.tt.parquet").exists());
}

#[test]
fn the_first_rows_are_printed_in_words() {
    let text = done(&folder(), &["head", NODE, "-n", "3"]);
    assert!(text.contains("due-granularity-ns: 1000000"), "{text}");
    let rows: Vec<&str> = text.lines().filter(|line| line.contains("S start")).collect();
    assert_eq!(rows.len(), 3, "{text}");
    assert!(rows[0].contains("0.012878") && rows[0].contains("interval1000ms"), "{text}");
    assert!(!done(&folder(), &["head", NODE, "-n", "0"]).contains("start "));
    let folder = with_trace(TRUE);
    let text = done(&folder, &["head", "a.tt.csv"]);
    assert!(
        text.contains("R re-arm") && text.contains("N cancel, missed") && text.contains("6 ns"),
        "{text}"
    );
}

#[test]
fn rows_behind_the_first_are_not_read() {
    let folder = with_trace("0,S,1,5\n1,S,2,5\nx,S,3,5\n");
    done(&folder, &["head", "a.tt.csv", "-n", "2"]);
    ends(&folder, &["head", "a.tt.csv", "-n", "3"], 1);
}

#[test]
fn a_reader_that_closes_the_pipe_has_what_it_wanted() {
    for arguments in
        [&["head", NODE, "-n", "20000"][..], &["stat", NODE, "--top", "9"], &["validate", NODE], &["index"]]
    {
        let (mut from, into) = pipe().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_harness"));
        let mut child =
            command.arg("dataset").args(arguments).stdout(into).stderr(Stdio::piped()).spawn().unwrap();
        drop(command);
        let mut first = [0];
        from.read_exact(&mut first).unwrap();
        drop(from);
        let output = child.wait().unwrap();
        assert_eq!(output.code(), Some(0), "{arguments:?}");
    }
}

#[test]
fn a_fitted_workload_can_be_run_and_its_match_is_told() {
    let folder = folder();
    let (table, said) = ends(&folder, &["fit", NODE, "--out", "like.toml"], 0);
    for word in ["re-armed of arms", "armed mean", "points", "Kolmogorov-Smirnov", "10 s"] {
        assert!(table.contains(word), "{word}:\n{table}");
    }
    assert!(said.contains("harness --workload like.toml"), "{said}");
    let path = folder.path().join("like.toml");
    let like = resolve(path.to_str().unwrap()).unwrap().remove(0);
    let stream = like.stream(300, 1).unwrap();
    stream.check().unwrap();
    assert_eq!(stream.ops, resolve(path.to_str().unwrap()).unwrap()[0].stream(300, 1).unwrap().ops);
    let fewer = resolve(&format!("{}:arms=2", path.display())).unwrap().remove(0);
    assert!(fewer.stream(300, 1).unwrap().ops.len() * 3 < stream.ops.len());
    let parameters = like.parameters();
    assert!(parameters.iter().all(|(_, value)| value.len() < 60), "{parameters:?}");
}

#[test]
fn a_trace_that_contradicts_itself_is_not_fitted() {
    let folder = with_trace(FALSE);
    let (_, said) = ends(&folder, &["fit", "a.tt.csv", "--out", "like.toml"], 1);
    assert!(said.contains("a.tt.csv:3: C of timer 2") && said.contains("--repair"), "{said}");
    assert!(!folder.path().join("like.toml").exists());
}

#[test]
fn the_list_of_workloads_and_traces_is_up_to_date() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let output = dataset(Path::new(root), &["index", "--check"]);
    assert_eq!(output.status.code(), Some(0), "{}", words(&output));
}

#[test]
fn a_list_that_is_out_of_date_is_told_with_the_command_that_mends_it() {
    let folder = folder();
    let readme = concat!(env!("CARGO_MANIFEST_DIR"), "/../datasets/README.md");
    let text = fs::read_to_string(readme).unwrap();
    let path = folder.path().join("README.md");
    fs::write(&path, text.replace("`burst`", "`brust`")).unwrap();
    let (_, said) = ends(&folder, &["index", "--check", "--file", "README.md"], 1);
    assert!(said.contains("README.md is not up to date"), "{said}");
    assert!(said.contains("`harness dataset index --write` mends it"), "{said}");
    done(&folder, &["index", "--write", "--file", "README.md"]);
    done(&folder, &["index", "--check", "--file", "README.md"]);
    let mended = fs::read_to_string(&path).unwrap();
    assert_eq!(mended.split("<!--").next(), text.replace("`burst`", "`brust`").split("<!--").next());
    fs::write(&path, "no marks").unwrap();
    let (_, said) = ends(&folder, &["index", "--write", "--file", "README.md"], 1);
    assert!(said.contains("has no part to write to"), "{said}");
    let (_, said) = ends(&folder, &["index", "--check"], 1);
    assert!(said.contains("cannot read datasets/README.md"), "{said}");
}
