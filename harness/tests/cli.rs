//! The command as a user types it: what it says of bad input, what it leaves behind, and how it ends.

use std::fs;
use std::io::{Read, pipe};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

/// A folder to run in, so that `results/` lies nowhere else.
fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn harness(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_harness"));
    command.args(words).current_dir(folder).env_remove("CARGO").stdin(Stdio::null());
    command
}

fn output(folder: &TempDir, words: &[&str]) -> Output {
    harness(folder.path(), words).output().unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn words(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap_or_else(|| panic!("{}: {}", output.status, words(output)))
}

/// Refused with this exit code and these words, before anything was made.
fn refused(arguments: &[&str], exit: i32, said: &[&str]) {
    let folder = folder();
    let output = output(&folder, arguments);
    assert_eq!(code(&output), exit, "{arguments:?}: {}", words(&output));
    for part in said {
        assert!(words(&output).contains(part), "{arguments:?} does not say `{part}`:\n{}", words(&output));
    }
    assert_eq!(out(&output), "", "results alone go to standard output");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing was made");
}

/// A small run: two structures, a block that counts.
const SMALL: [&str; 8] =
    ["--impl", "list,heap", "--workload", "burst:idle_ms=0", "--n", "500", "--blocks", "1"];

fn small<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&SMALL[..], more].concat()
}

fn journal(run: &Path) -> Vec<serde_json::Value> {
    let text = fs::read_to_string(run.join("journal.jsonl")).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

#[test]
fn a_misspelt_structure_is_named_with_the_nearest() {
    refused(
        &["--impl", "weel"],
        2,
        &["error: no structure is called `weel`; did you mean `wheel`?", "`harness list impls`"],
    );
}

#[test]
fn a_misspelt_workload_is_named_with_the_nearest() {
    refused(
        &["--workload", "brust"],
        2,
        &["no workload is called `brust`; did you mean `burst`?", "`harness list workloads`"],
    );
}

#[test]
fn a_bad_parameter_is_named_with_what_there_is() {
    refused(
        &["--impl", "heap:arty=4"],
        2,
        &["heap: `arty` is not a parameter; there is `arity`", "--impl heap:arity="],
    );
    refused(&["--impl", "heap:arity=1"], 2, &["`arity` must be a whole number from 2"]);
    refused(&["--workload", "burst:stepp=4"], 2, &["there is no key `stepp`; did you mean `step`?"]);
    refused(&["--payload", "17"], 2, &["17", "box:17"]);
}

#[test]
fn a_size_of_nothing_is_refused() {
    refused(&["--n", "0"], 2, &["'0'", "a size of 0 measures nothing"]);
    refused(&["--workload", "replay-node-http", "--n", "5"], 2, &["a replay has the size of its trace"]);
    refused(&["--n", "10x"], 2, &["whole number such as 200000, 10k or 1m"]);
}

#[test]
fn a_size_above_memory_is_refused_with_one_that_fits() {
    refused(
        &["--n", "4200m"],
        1,
        &["burst with n = 4,200,000,000 needs about", "GiB can be had", "give a smaller --n"],
    );
}

#[test]
fn a_flag_or_a_verb_that_does_not_exist_is_refused() {
    refused(&["--blok", "3"], 2, &["--blocks"]);
    refused(&["lst"], 2, &["list"]);
    refused(&["--measure", "tim"], 2, &["'time'"]);
}

#[test]
fn a_folder_that_holds_something_is_left_as_it_is() {
    let folder = folder();
    fs::write(folder.path().join("mine"), "kept").unwrap();
    let output = output(&folder, &small(&["--out", "."]));
    assert_eq!(code(&output), 1);
    assert!(words(&output).contains("the folder . is not empty"), "{}", words(&output));
    assert!(words(&output).contains("--resume"));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let folder = folder();
    fs::write(folder.path().join("file"), "").unwrap();
    let output = output(&folder, &small(&["--out", "file/run"]));
    assert_eq!(code(&output), 1);
    assert!(words(&output).contains("cannot use the folder file/run"), "{}", words(&output));
    assert!(words(&output).contains("name another with --out"));
}

#[test]
fn a_malformed_workload_is_told_with_its_line() {
    let folder = folder();
    fs::write(folder.path().join("mine.toml"), "model = \"burst\"\n\n[parameters]\nstepp = 5\n").unwrap();
    let output = output(&folder, &["--workload", "mine.toml"]);
    assert_eq!(code(&output), 1, "{}", words(&output));
    assert!(words(&output).contains("mine.toml:4: "), "{}", words(&output));
}

#[test]
fn a_run_makes_its_folder_with_tables_and_a_manifest() {
    let folder = folder();
    let output = output(&folder, &small(&["--label", "a b"]));
    assert_eq!(code(&output), 0, "{}", words(&output));
    let runs: Vec<_> =
        fs::read_dir(folder.path().join("results")).unwrap().map(|run| run.unwrap().path()).collect();
    assert_eq!(runs.len(), 1);
    assert!(runs[0].to_str().unwrap().ends_with("Z-a-b"), "{runs:?}");
    for table in ["measurements", "latency", "slowest", "memory"] {
        assert!(runs[0].join(format!("{table}.csv")).is_file(), "{table}");
        assert!(runs[0].join(format!("{table}.parquet")).is_file(), "{table}");
    }
    let manifest: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(runs[0].join("manifest.json")).unwrap()).unwrap();
    assert_eq!(manifest["complete"], true);
    assert_eq!(manifest["plan"]["blocks"], 1);
    assert!(manifest["allocators"]["jemalloc"]["version"].is_string(), "{manifest:#}");
    assert!(manifest["machine"]["kernel"].is_string());
    assert_eq!(fs::read_dir(runs[0].join("heap")).unwrap().count(), 4, "a profile for each heap cell");
    let hidden =
        fs::read_dir(&runs[0]).unwrap().any(|file| file.unwrap().file_name().as_encoded_bytes()[0] == b'.');
    assert!(!hidden, "streams are removed");
}

#[test]
fn the_table_has_every_column_the_issue_asks_for_and_no_escape_codes() {
    let folder = folder();
    let shown = output(&folder, &small(&["--measure", "time,latency,resident,heap,count"]));
    let text = out(&shown);
    for word in [
        "fill enqueue",
        "drain take",
        "drain dispatch",
        "drain requeue",
        "per timer",
        "per call",
        "p50",
        "p99",
        "p99.9",
        "max",
        "(empty loop)",
        "empty",
        "filled",
        "drained",
        "purged",
        "shrunk",
        "dropped",
        "bytes a timer",
        "container",
        "live heap",
        "allocator",
        "RSS",
        "total",
        "peak",
        "end",
        "n = 500",
        "compared",
        "Held with 10 timers left",
    ] {
        assert!(text.contains(word), "no `{word}` in\n{text}");
    }
    assert!(!text.contains('\u{1b}') && !words(&shown).contains('\u{1b}'));
    assert!(words(&shown).contains("next:  "), "two commands to try next");
    let rows = text.lines().filter(|line| line.contains("drain take"));
    assert!(rows.count() >= 2, "a row for each structure");
}

#[test]
fn the_commands_to_try_next_work_as_typed() {
    let folder = folder();
    let words = words(&output(&folder, &small(&["--measure", "time"])));
    let next = words.split("next:").nth(1).unwrap().lines().map(str::trim).filter(|line| !line.is_empty());
    let mut tried = 0;
    for line in next {
        // The same command with a size that is done in no time.
        let small = line.replace("1k,10k,100k", "50").replace("--quick", "--blocks 1 --measure time");
        let done = Command::new("sh").args(["-c", &small]).current_dir(folder.path()).output().unwrap();
        assert!(done.status.success(), "{line}: {}", String::from_utf8_lossy(&done.stderr));
        tried += 1;
    }
    assert_eq!(tried, 2);
}

#[test]
fn a_printed_csv_has_the_columns_of_the_file_and_json_the_same_names() {
    let folder = folder();
    let csv = output(
        &folder,
        &small(&["--measure", "time", "--format", "csv", "--out", "a", "--label", "x, \"y\""]),
    );
    assert_eq!(out(&csv), fs::read_to_string(folder.path().join("a/measurements.csv")).unwrap());
    let json = output(&folder, &small(&["--measure", "time", "--format", "json", "--out", "b"]));
    let all: serde_json::Value = serde_json::from_str(&out(&json)).unwrap();
    assert_eq!(all["schema_version"], 1);
    let printed = out(&csv);
    let mut columns: Vec<_> = printed.lines().next().unwrap().split(',').collect();
    let mut names: Vec<_> = all["rows"][0].as_object().unwrap().keys().map(String::as_str).collect();
    columns.sort_unstable();
    names.sort_unstable();
    assert_eq!(columns, names);
    assert_eq!(all["rows"][0]["heap_bytes_peak"], serde_json::Value::Null, "what was not collected is null");
}

#[test]
fn two_runs_of_one_command_ask_the_same_and_the_second_is_a_folder_of_its_own() {
    let folder = folder();
    for _ in 0..2 {
        assert_eq!(code(&output(&folder, &small(&["--measure", "time"]))), 0);
    }
    let runs = fs::read_dir(folder.path().join("results")).unwrap().map(|run| run.unwrap().path());
    let hashes: Vec<Vec<_>> = runs
        .map(|run| {
            journal(&run).iter().map(|line| (line["cell"].clone(), line["stream_hash"].clone())).collect()
        })
        .collect();
    assert_eq!(hashes.len(), 2);
    assert_eq!(hashes[0], hashes[1]);
}

#[test]
fn the_locale_changes_no_number() {
    let folder = folder();
    let columns = |locale: &str| {
        let mut command =
            harness(folder.path(), &small(&["--measure", "count", "--format", "md", "--seed", "9"]));
        out(&command.env("LC_ALL", locale).output().unwrap())
    };
    assert_eq!(columns("C"), columns("de_DE.UTF-8"));
}

#[test]
fn spaces_in_paths_are_no_matter() {
    let folder = folder();
    fs::create_dir(folder.path().join("my workloads")).unwrap();
    fs::write(folder.path().join("my workloads/a b.toml"), "model = \"burst\"\nn = [300]\n").unwrap();
    let words_typed =
        ["--impl", "list", "--workload", "my workloads/a b.toml", "--blocks", "1", "--out", "my results/a b"];
    let output =
        output(&folder, &[&words_typed[..], &["--measure", "latency,heap", "--keep-samples"]].concat());
    assert_eq!(code(&output), 0, "{}", words(&output));
    let run = folder.path().join("my results/a b");
    assert_eq!(fs::read_dir(run.join("samples")).unwrap().count(), 2);
    assert_eq!(journal(&run).len(), 4);
}

/// A process whose output nobody reads: the reader has gone before it starts.
fn unread(arguments: &[&str]) -> (i32, String) {
    let folder = folder();
    let (reader, writer) = pipe().unwrap();
    drop(reader);
    let output = harness(folder.path(), arguments).stdout(writer).stderr(Stdio::piped()).output().unwrap();
    (code(&output), words(&output))
}

#[test]
fn a_reader_that_is_gone_is_no_error() {
    for arguments in [&["--help"][..], &["list", "metrics", "--long"], &["list", "impls"]] {
        assert_eq!(unread(arguments), (0, String::new()), "{arguments:?}");
    }
    let (exit, said) = unread(&small(&["--measure", "time"]));
    assert_eq!(exit, 0, "{said}");
    assert!(!said.contains("panicked"), "{said}");
}

fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + Duration::from_secs(60);
    while Instant::now() < until {
        if let Some(found) = look() {
            return found;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("{what} did not come");
}

/// A run that takes some seconds and is on its way.
fn started(folder: &TempDir, arguments: &[&str], lines: usize) -> Child {
    let child = harness(folder.path(), arguments)
        .process_group(0)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let child = child.unwrap();
    wait_for("a finished cell", || (journal(&folder.path().join("run")).len() >= lines).then_some(()));
    child
}

fn ended(mut child: Child) -> (i32, String, String) {
    let (mut out, mut words) = (String::new(), String::new());
    child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    child.stderr.take().unwrap().read_to_string(&mut words).unwrap();
    (child.wait().unwrap().code().unwrap(), out, words)
}

fn signal(process: u32, signal: Signal) {
    kill(Pid::from_raw(i32::try_from(process).unwrap()), signal).unwrap();
}

#[test]
fn a_run_that_is_interrupted_keeps_what_it_finished_and_is_gone_on_with() {
    let folder = folder();
    let run = folder.path().join("run");
    let arguments = [
        "--impl",
        "list,heap",
        "--workload",
        "burst",
        "--n",
        "20k",
        "--blocks",
        "30",
        "--measure",
        "time",
        "--out",
        "run",
    ];
    let child = started(&folder, &arguments, 3);
    signal(child.id(), Signal::SIGINT);
    let (exit, shown, said) = ended(child);
    assert_eq!(exit, 130, "{said}");
    assert!(said.contains("--resume run"), "{said}");
    let kept = journal(&run).iter().filter(|line| line["status"] == "ok").count();
    assert!((3..62).contains(&kept), "{kept} cells");
    assert!(kept < 4 || shown.contains("drain take"), "the table of what was finished is shown:\n{shown}");
    let manifest = fs::read_to_string(run.join("manifest.json")).unwrap();
    assert!(manifest.contains("\"complete\": false"));
    assert!(run.join("measurements.csv").is_file());

    let again = output(&folder, &["--resume", "run"]);
    assert_eq!(code(&again), 0, "{}", words(&again));
    let finished = journal(&run).into_iter().filter(|line| line["status"] == "ok");
    let mut cells: Vec<_> = finished.map(|line| line["cell"].as_u64().unwrap()).collect();
    cells.sort_unstable();
    assert_eq!(cells, (0..62).collect::<Vec<_>>(), "each cell once");
    assert!(fs::read_to_string(run.join("manifest.json")).unwrap().contains("\"complete\": true"));
}

#[test]
fn a_run_that_was_killed_outright_is_gone_on_with() {
    let folder = folder();
    let arguments = [
        "--impl",
        "list",
        "--workload",
        "burst",
        "--n",
        "20k",
        "--blocks",
        "20",
        "--measure",
        "time",
        "--out",
        "run",
    ];
    let child = started(&folder, &arguments, 2);
    signal(child.id(), Signal::SIGKILL);
    _ = child.wait_with_output().unwrap();
    let again = output(&folder, &["--resume", "run"]);
    assert_eq!(code(&again), 0, "{}", words(&again));
    assert_eq!(journal(&folder.path().join("run")).len(), 21);
}

/// The number of a process if it is a worker: a run asks git, too.
fn worker(process: &str) -> Option<u32> {
    let words = fs::read_to_string(format!("/proc/{process}/cmdline")).ok()?;
    words.contains("\0worker\0").then(|| process.parse().ok())?
}

/// The worker of a run, once it has one.
fn worker_of(run: u32) -> u32 {
    wait_for("a worker", || {
        let children = fs::read_dir(format!("/proc/{run}/task")).ok()?.flatten();
        let mut workers =
            children.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
        workers.find_map(|children| children.split_whitespace().find_map(worker))
    })
}

#[test]
fn a_worker_that_is_killed_is_a_row_and_the_others_go_on() {
    for (flags, exit) in [(&[][..], 0), (&["--fail-on-error"][..], 1)] {
        let folder = folder();
        let typed = ["--impl", "list,heap", "--workload", "burst:idle_ms=2000", "--n", "500", "--out", "run"];
        let arguments = [&typed[..], &["--measure", "resident"], flags].concat();
        let child = started(&folder, &arguments, 0);
        signal(worker_of(child.id()), Signal::SIGKILL);
        let (ended_with, shown, said) = ended(child);
        assert_eq!(ended_with, exit, "{said}");
        assert!(said.contains("crashed: ") && said.contains("SIGKILL"), "{said}");
        assert!(shown.contains("Not measured") && shown.contains("crashed"), "{shown}");
        let lines = journal(&folder.path().join("run"));
        let ok = lines.iter().filter(|line| line["status"] == "ok").count();
        assert_eq!((lines.len(), ok), (4, 3));
    }
}

#[test]
fn a_run_that_does_not_exist_is_named_and_the_nearest_is_suggested() {
    refused(&["--resume", "latest"], 1, &["there is no run under results/ yet"]);
    refused(&["--resume", "nope"], 1, &["no run is called `nope`", "`harness list runs`"]);
}

#[test]
fn a_run_whose_manifest_is_missing_is_told_so() {
    let folder = folder();
    assert_eq!(code(&output(&folder, &small(&["--measure", "time", "--out", "run"]))), 0);
    fs::remove_file(folder.path().join("run/manifest.json")).unwrap();
    let again = output(&folder, &["--resume", "run"]);
    assert_eq!(code(&again), 1);
    assert!(
        words(&again).contains("run has no manifest.json, so what was to be run is not known"),
        "{}",
        words(&again)
    );
    assert!(words(&again).contains("start a new run"), "{}", words(&again));
}

#[test]
fn a_sweep_of_a_parameter_is_a_workload_for_each_value_and_is_gone_on_with() {
    let folder = folder();
    let typed = [
        "--impl",
        "list",
        "--workload",
        "cycle:due=5+7,rounds=3,payload=0+16",
        "--n",
        "20,30",
        "--blocks",
        "1",
    ];
    let run =
        output(&folder, &[&typed[..], &["--measure", "time", "--out", "run", "--format", "csv"]].concat());
    assert_eq!(code(&run), 0, "{}", words(&run));
    let csv = out(&run);
    for due in [5, 7] {
        for payload in [0, 16] {
            let name = format!("\"cycle:due={due},rounds=3,payload={payload}\"");
            let cells = csv.lines().filter(|line| line.contains(&name) && line.contains(",cell,"));
            assert_eq!(cells.count(), 2, "{name}: a cell for each size\n{csv}");
        }
    }
    let again = output(&folder, &["--resume", "run"]);
    assert_eq!(code(&again), 0, "{}", words(&again));
    refused(&["--workload", "burst:payload=16", "--payload", "64"], 2, &["a payload is given twice"]);
    refused(&["--workload", "cycle:due=5,due=7"], 2, &["`due` is given twice", "due=value+value"]);
}

#[test]
fn a_malformed_workload_is_told_how_to_mend_it() {
    let folder = folder();
    fs::write(folder.path().join("mine.toml"), "model = \"burst\"\nn = [1,\n").unwrap();
    let output = output(&folder, &["--workload", "mine.toml"]);
    assert_eq!(code(&output), 1);
    let said = words(&output);
    assert!(said.contains("mine.toml:") && said.contains("\n    a definition is TOML: "), "{said}");
}

#[test]
fn a_scaled_replay_says_so_wherever_its_figures_stand() {
    let folder = folder();
    let typed =
        ["--workload", "replay-node-http:copies=2", "--impl", "heap", "--blocks", "1", "--measure", "time"];
    let table = output(&folder, &typed);
    assert!(
        out(&table).contains("heap on replay-node-http:copies=2 (scaled x 2), n = "),
        "{}",
        words(&table)
    );
    assert!(
        out(&table).contains("1904 of 1904") || out(&table).contains("1,904 of 1,904"),
        "{}",
        out(&table)
    );
    let csv = out(&output(&folder, &[&typed[..], &["--format", "csv"]].concat()));
    assert!(csv.lines().skip(1).all(|line| line.contains("(scaled x 2)")), "{csv}");
    // In a closed loop no recorded expiry is looked for.
    let typed =
        ["--workload", "replay-node-http:batch=100m", "--impl", "heap", "--blocks", "1", "--measure", "time"];
    let table = output(&folder, &typed);
    assert_eq!(code(&table), 0);
    assert!(!out(&table).contains("reproduced"), "{}", out(&table));
}

#[test]
fn check_passes_every_structure_on_a_scaled_replay() {
    let folder = folder();
    let output = output(
        &folder,
        &[
            "check",
            "--impl",
            "all",
            "--workload",
            "replay-node-http:copies=3,expiries=exact+closed-loop,batch=0+1g",
        ],
    );
    assert_eq!(code(&output), 0, "{}{}", out(&output), words(&output));
    assert!(out(&output).contains("(scaled x 3)") && !out(&output).contains("wrong"));
}

#[test]
fn resume_takes_its_plan_from_the_folder_alone() {
    refused(&["--resume", "x", "--n", "5"], 2, &["cannot be used with"]);
}

#[test]
fn lists_have_one_name_a_line_first_on_the_line() {
    let folder = folder();
    let names = |words: &[&str]| {
        let text = out(&output(&folder, words));
        text.lines().map(|line| line.split_whitespace().next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    for what in ["impls", "workloads", "distributions", "metrics"] {
        assert_eq!(names(&["list", what]), names(&["list", what, "--long"]), "{what}");
    }
    assert!(names(&["list", "impls"]).iter().any(|name| name == "wheel"));
    assert!(names(&["list", "distributions"]).iter().any(|name| name == "negative-triangular"));
    let long = out(&output(&folder, &["list", "workloads", "--long"]));
    assert!(long.lines().all(|line| line.contains("; source: ")), "{long}");
    assert!(names(&["list", "metrics"]).iter().any(|name| name == "latency_ns_p999"));
    assert_eq!(names(&["list", "runs"]), Vec::<String>::new());
}

#[test]
fn check_passes_every_structure_on_every_workload() {
    let folder = folder();
    let output = output(&folder, &["check", "--impl", "all", "--workload", "all", "--n", "100"]);
    assert_eq!(code(&output), 0, "{}{}", out(&output), words(&output));
    for name in ["list", "list-known-tail", "array", "heap", "wheel", "burst", "window"] {
        assert!(out(&output).contains(name), "{}", out(&output));
    }
    assert!(!out(&output).contains("wrong"));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "a check leaves nothing behind");
}

#[test]
fn the_help_page_is_what_it_was() {
    let folder = folder();
    insta::assert_snapshot!("help", out(&output(&folder, &["--help"])));
}
