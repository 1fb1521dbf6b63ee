//! Plans as a user asks for them: shards and their merging, budgets, allocators, other names, and what is cleaned up.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use harness::folder::Manifest;
use harness::journal::{self, Entry, Journal, Status};
use harness::plan::Order;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

fn harness(folder: &Path, words: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_harness"));
    command.args(words.split_whitespace()).current_dir(folder).env_remove("CARGO").stdin(Stdio::null());
    command
}

fn output(folder: &TempDir, words: &str) -> Output {
    harness(folder.path(), words).output().unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Ends with this exit code, and gives what was printed and what was said.
fn ends(folder: &TempDir, words: &str, exit: i32) -> (String, String) {
    let output = output(folder, words);
    assert_eq!(output.status.code(), Some(exit), "{words}: {}", said(&output));
    (out(&output), said(&output))
}

fn refused(words: &str, exit: i32, why: &str) {
    let folder = tempfile::tempdir().unwrap();
    let (shown, said) = ends(&folder, words, exit);
    assert!(said.contains(why) && shown.is_empty(), "{words} does not say `{why}`:\n{said}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "{words}: nothing was made");
}

fn manifest(run: &Path) -> Manifest {
    Manifest::read(run).unwrap()
}

/// Columns of a table in CSV, a text for each row; rows in order of the texts.
fn columns(csv: &str, names: &[&str]) -> BTreeSet<String> {
    let mut table = csv::Reader::from_reader(csv.as_bytes());
    let headings = table.headers().unwrap().clone();
    let at: Vec<usize> =
        names.iter().map(|name| headings.iter().position(|heading| heading == *name).unwrap()).collect();
    let rows: Vec<_> = table.records().map(Result::unwrap).collect();
    rows.iter().map(|row| at.iter().map(|at| &row[*at]).collect::<Vec<_>>().join("|")).collect()
}

/// A run of its own process group, once it has finished so many cells.
fn started(folder: &TempDir, words: &str, run: &Path, cells: usize) -> Child {
    let mut command = harness(folder.path(), words);
    let child = command.process_group(0).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    while journal::read(run).map_or(0, |entries| entries.len()) < cells {
        assert!(Instant::now() < until, "{words} finished no {cells} cells");
        std::thread::sleep(Duration::from_millis(5));
    }
    child
}

fn stopped(mut child: Child, signal: Signal) {
    kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), signal).unwrap();
    child.wait().unwrap();
}

const SHARDED: &str =
    "--impl list,heap --workload burst:idle_ms=0,window --n 300 --blocks 4 --measure time,latency,heap,count";

/// What a merged run and a run of one machine have in common: everything but times.
const KEYS: [&str; 18] = [
    "cell",
    "block",
    "repeat",
    "position",
    "status",
    "check",
    "structure",
    "parameters",
    "workload",
    "size",
    "pass",
    "allocator",
    "seed",
    "stream_hash",
    "scope",
    "phase",
    "operation",
    "digest",
];

#[test]
fn merged_shards_have_the_tables_that_one_run_has() {
    let folder = tempfile::tempdir().unwrap();
    for shard in ["1/3", "2/3", "3/3"] {
        let index = &shard[..1];
        let (_, said) = ends(&folder, &format!("{SHARDED} --shard {shard} --out shards/{index}"), 0);
        assert!(said.contains(&format!("of shard {shard}")) && said.contains("merge RUN"), "{said}");
    }
    let (shown, _) = ends(&folder, "merge shards/3 shards/1 shards/2 --out whole --format csv", 0);
    ends(&folder, &format!("{SHARDED} --out one"), 0);
    let [one, whole] = ["one", "whole"].map(|run| folder.path().join(run));
    let measurements = |run: &Path| fs::read_to_string(run.join("measurements.csv")).unwrap();
    assert_eq!(shown, measurements(&whole), "the table is printed, too");
    for counts in [&["calls", "timers"], &["entries_compared", "heap_bytes_total"]] {
        let columns = |run: &Path| columns(&measurements(run), &[&KEYS[..], counts].concat());
        assert!(columns(&one).len() > 100);
        assert_eq!(columns(&one), columns(&whole));
    }
    let files = |run: &Path| {
        let files = fs::read_dir(run.join("heap")).unwrap();
        files.map(|file| file.unwrap().file_name()).collect::<BTreeSet<_>>()
    };
    assert_eq!(files(&one), files(&whole));
    let (one, whole) = (manifest(&one), manifest(&whole));
    assert!(whole.complete && whole.plan.shard.is_none() && whole.plan.order == Order::AllFirst);
    assert_eq!((whole.plan.blocks, whole.plan.seed), (one.plan.blocks, one.plan.seed));
    let runs: Vec<_> = whole.shards.iter().map(|part| part.run.as_str()).collect();
    assert_eq!(runs, ["1", "2", "3"]);
    assert!(
        whole.shards.iter().all(|part| part.machine.key == one.machine.key && part.machine.key.is_some())
    );
}

#[test]
fn an_interrupted_shard_is_named_is_gone_on_with_and_then_merged() {
    let folder = tempfile::tempdir().unwrap();
    let asked = "--impl list,heap --workload burst:idle_ms=0 --n 20k --blocks 12 --measure time";
    ends(&folder, &format!("{asked} --shard 1/2 --out one"), 0);
    let two = folder.path().join("two");
    let child = started(&folder, &format!("{asked} --shard 2/2 --out two"), &two, 3);
    stopped(child, Signal::SIGINT);
    let (_, said) = ends(&folder, "merge one two --out whole", 1);
    assert!(said.contains("interrupted: two (shard 2/2)") && said.contains("--resume two"), "{said}");
    let (_, said) = ends(&folder, "merge one --out whole", 1);
    assert!(said.contains("not among the runs: shard 2/2"), "{said}");
    assert!(!folder.path().join("whole").exists(), "nothing was made");
    ends(&folder, "--resume two", 0);
    ends(&folder, "merge two one --out whole", 0);
    let cells: Vec<u32> =
        journal::read(&folder.path().join("whole")).unwrap().iter().map(|entry| entry.cell).collect();
    assert_eq!(cells, (0..26).collect::<Vec<_>>());
    let (_, said) = ends(&folder, "merge one one --out again", 1);
    assert!(said.contains("overlap"), "{said}");
    let (_, said) = ends(&folder, "merge whole --out again", 1);
    assert!(said.contains("whole is no shard"), "{said}");
}

#[test]
fn a_shard_that_cannot_be_is_refused() {
    refused("--shard 3/2", 2, "`2/3` is the second of three");
    refused("--blocks 2 --shard 1/3", 2, "2 blocks are too few for 3 shards");
    refused("--measure heap --shard 1/2", 2, "nothing of this run is measured in blocks");
    refused("--budget 10m --shard 1/2", 2, "cannot be used with");
    refused("--budget 10", 2, "a whole number with s, m or h");
    refused("--budget 10m --blocks 5", 2, "cannot be used with");
    refused("--pin 99999", 2, "processor 99999 cannot be used here");
}

#[test]
fn a_plan_lists_the_cells_that_the_run_has_and_runs_none() {
    let folder = tempfile::tempdir().unwrap();
    let (planned, said) = ends(&folder, &format!("plan {SHARDED} --shard 2/2 --format csv"), 0);
    assert!(said.contains("cells of shard 2/2, each a process: about "), "{said}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing was made");
    ends(&folder, &format!("{SHARDED} --shard 2/2 --out run"), 0);
    let entries = journal::read(&folder.path().join("run")).unwrap();
    let run: BTreeSet<String> = entries.iter().map(|entry| entry.cell.to_string()).collect();
    assert_eq!(columns(&planned, &["cell"]), run);
    let cells = manifest(&folder.path().join("run")).plan.cells();
    let seeds = columns(&planned, &["cell", "block", "seed"]);
    assert!(seeds.iter().all(|row| {
        let numbers: Vec<u64> = row.split('|').map(|number| number.parse().unwrap()).collect();
        let cell = &cells[numbers[0] as usize];
        [u64::from(cell.block), cell.seed] == numbers[1..]
    }));
    let (table, _) = ends(&folder, &format!("plan {SHARDED}"), 0);
    assert!(
        table.contains("Block 0 is run and discarded.") && table.contains("cells, each a process"),
        "{table}"
    );
    let (again, _) = ends(&folder, "plan --resume run --format csv", 0);
    assert_eq!(again, planned);
}

#[test]
fn a_budget_settles_the_blocks_by_the_discarded_one_and_the_manifest_has_them() {
    let folder = tempfile::tempdir().unwrap();
    let asked = "--impl list,heap --workload burst:idle_ms=0 --n 200 --measure time,heap --budget";
    let (_, said) = ends(&folder, &format!("{asked} 3s --out run"), 0);
    let plan = manifest(&folder.path().join("run")).plan;
    assert!(plan.budget.is_some_and(|budget| budget.seconds == 3 && budget.settled));
    assert!(said.contains(&format!("{} blocks are what 3 s hold", plan.blocks)), "{said}");
    assert_eq!(journal::read(&folder.path().join("run")).unwrap().len(), plan.cells().len());
    // A block of this takes longer than there is.
    let large = "--impl list --workload burst:idle_ms=0 --n 400k --measure time --budget 1s --out large";
    let (_, said) = ends(&folder, large, 0);
    assert!(said.contains("fewer than 9 blocks no difference can be shown"), "{said}");
    assert!(manifest(&folder.path().join("large")).plan.blocks < 9);
}

#[test]
fn a_budget_is_settled_by_whoever_goes_on_after_the_discarded_block_was_interrupted() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let asked = "--impl list,heap,array,wheel --workload burst:idle_ms=0,window --n 20k --measure time --budget 3s --out run";
    stopped(started(&folder, asked, &run, 1), Signal::SIGKILL);
    assert!(manifest(&run).plan.budget.is_some_and(|budget| !budget.settled), "it was stopped too late");
    let before: Vec<Entry> = journal::read(&run).unwrap();
    ends(&folder, "--resume run", 0);
    let (after, manifest) = (journal::read(&run).unwrap(), manifest(&run));
    assert!(manifest.complete && manifest.plan.budget.unwrap().settled);
    assert_eq!(after.len(), manifest.plan.cells().len());
    for entry in before.iter().filter(|entry| entry.status == Status::Ok) {
        assert_eq!(after[entry.cell as usize].started_unix_ms, entry.started_unix_ms, "it was not run again");
    }
}

#[test]
fn allocators_are_an_axis_whose_rows_are_not_mixed_and_dhat_runs_once() {
    let folder = tempfile::tempdir().unwrap();
    let asked = "--impl heap --workload burst:idle_ms=0 --n 300 --blocks 1";
    let (table, _) =
        ends(&folder, &format!("{asked} --alloc jemalloc,jemalloc-background,system --out run"), 0);
    let names = ["heap (jemalloc)", "heap (jemalloc-background)", "heap (system)"];
    for name in names {
        let rows = table.lines().filter(|line| line.contains(&format!("fill enqueue        {name} ")));
        assert_eq!(rows.count(), 1, "{name}:\n{table}");
    }
    let csv = fs::read_to_string(folder.path().join("run/measurements.csv")).unwrap();
    let cells = columns(&csv, &["cell", "pass", "allocator", "repeat"]);
    let count = |part: &str| cells.iter().filter(|row| row.contains(part)).count();
    assert_eq!([count("|heap|dhat|"), count("|heap|")], [2, 2]);
    assert_eq!([count("|time|"), count("|resident|"), count("|system|")], [3, 6, 4]);
    let read_back = &manifest(&folder.path().join("run")).allocators;
    assert_eq!(read_back["jemalloc-background"]["background_thread"], "true");
    assert_eq!(read_back["jemalloc"]["background_thread"], "false");
}

#[test]
fn a_workload_has_allocators_of_its_own_unless_others_are_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.toml");
    fs::write(&file, "model = \"burst\"\nn = [100]\nallocators = [\"system\", \"jemalloc\"]\n").unwrap();
    let planned = |more: &str| {
        let asked =
            format!("plan --impl heap --workload mine.toml,burst --n 100 --measure time --format csv {more}");
        columns(&ends(&folder, &asked, 0).0, &["workload", "allocator"]).into_iter().collect::<Vec<_>>()
    };
    assert_eq!(planned(""), ["burst|jemalloc", "mine.toml|jemalloc", "mine.toml|system"]);
    assert_eq!(planned("--alloc system"), ["burst|system", "mine.toml|system"]);
    fs::write(&file, "model = \"burst\"\nn = [100]\nallocators = [\"dhat\"]\n").unwrap();
    let (_, said) = ends(&folder, "plan --workload mine.toml", 1);
    assert!(said.contains("mine.toml:3: `dhat` is no allocator"), "{said}");
}

#[test]
fn a_structure_under_another_name_is_measured_beside_itself() {
    let folder = tempfile::tempdir().unwrap();
    let asked = "--impl heap:arity=2,heap@b:arity=2,heap,heap --workload burst:idle_ms=0 --n 300 --blocks 2";
    let (csv, _) = ends(&folder, &format!("{asked} --measure time,count --format csv --out run"), 0);
    let named = columns(&csv, &["structure", "parameters"]);
    assert_eq!(named.into_iter().collect::<Vec<_>>(), ["heap@b|arity=2", "heap|", "heap|arity=2"]);
    let cells = columns(&csv, &["structure", "parameters", "block", "pass", "status", "scope", "digest"]);
    for block in ["1", "2"] {
        let digest = |of: &str| {
            let start = format!("{of}|arity=2|{block}|time|ok|cell|");
            cells.iter().find_map(|row| row.strip_prefix(&start)).unwrap().to_owned()
        };
        assert_eq!(digest("heap"), digest("heap@b"), "both were asked the same");
    }
    let (table, _) = ends(&folder, "--resume run", 0);
    assert!(table.contains("heap@b:arity=2"), "{table}");
    refused("--impl heap@", 2, "`--impl wheel,wheel@b`");
}

/// A run under `results/` that was killed, by its folder.
fn killed(folder: &TempDir, name: &str) -> PathBuf {
    let run = folder.path().join("results").join(name);
    let asked = format!(
        "--impl list --workload burst:idle_ms=0 --n 20k --blocks 50 --measure time --out results/{name}"
    );
    stopped(started(folder, &asked, &run, 1), Signal::SIGKILL);
    run
}

#[test]
fn clean_removes_interrupted_runs_alone_and_only_when_told_to() {
    let folder = tempfile::tempdir().unwrap();
    let [gone, going_on, reference] = ["gone", "going-on", "reference"].map(|name| killed(&folder, name));
    let asked = "--impl list --workload burst:idle_ms=0 --n 50 --blocks 1 --measure time --out results/done";
    ends(&folder, asked, 0);
    let locked = Journal::open(&going_on).unwrap();
    let (listed, _) = ends(&folder, "clean --format csv", 0);
    assert_eq!(columns(&listed, &["run", "removed"]).into_iter().collect::<Vec<_>>(), ["gone|0"]);
    assert!(gone.is_dir());
    let (table, _) = ends(&folder, "clean --yes", 0);
    assert!(table.contains("gone") && table.contains("Removed."), "{table}");
    assert!(!gone.exists());
    assert!([&going_on, &reference, &folder.path().join("results/done")].iter().all(|run| run.is_dir()));
    drop(locked);
    ends(&folder, "clean --yes", 0);
    assert!(!going_on.exists() && reference.is_dir());
    let (table, _) = ends(&folder, "clean", 0);
    assert!(table.contains("There is none."), "{table}");
}

#[test]
fn a_group_is_its_workloads_at_its_sizes() {
    let folder = tempfile::tempdir().unwrap();
    let planned = |more: &str| {
        let asked = format!("plan --impl heap --workload documents --measure count --format csv {more}");
        columns(&ends(&folder, &asked, 0).0, &["workload", "size"])
    };
    let own = planned("");
    for row in ["burst|200000", "enqueue-out-of-order|500", "ticket-reset:messages=250000|125"] {
        assert!(own.contains(row), "{own:?}");
    }
    assert!(planned("--n 70").iter().all(|row| row.ends_with("|70")));
    let (listed, _) = ends(&folder, "list workloads", 0);
    assert_eq!(listed.lines().last(), Some("documents"));
}

/// The lines of the first block of this language on the page of shards.
fn block_of_page(language: &str) -> Vec<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../results/SHARDS.md");
    let page = fs::read_to_string(page).unwrap();
    let from = page.split(&format!("```{language}\n")).nth(1).expect("the page has the block");
    from.split("```").next().unwrap().lines().map(str::to_owned).collect()
}

/// Runs a script of the page, with a small workload in the place of its own.
fn run_script(folder: &TempDir, lines: &[String], variables: &[(&str, String)]) {
    let typed = "--workload burst:idle_ms=0 --n 50 --measure time --impl heap";
    let script = lines.join("\n").replace("--workload documents", typed);
    let programs = Path::new(env!("CARGO_BIN_EXE_harness")).parent().unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("sh");
    shell.args(["-euc", &script]).env("PATH", path).current_dir(folder.path());
    let output = shell.envs(variables.iter().cloned()).output().unwrap();
    assert!(output.status.success(), "{script}\n{}", said(&output));
}

#[test]
fn the_jobs_on_the_page_of_shards_make_runs_that_merge_and_can_be_started_again() {
    let slurm = |index: u32| {
        vec![("SLURM_ARRAY_TASK_ID", index.to_string()), ("SLURM_ARRAY_TASK_COUNT", "4".to_owned())]
    };
    let kubernetes = |index: u32| vec![("JOB_COMPLETION_INDEX", (index - 1).to_string())];
    let yaml = block_of_page("yaml");
    let script = yaml.iter().skip_while(|line| line.trim() != "- |").skip(1);
    let script: Vec<_> = script.take_while(|line| line.starts_with(&" ".repeat(14))).cloned().collect();
    assert_eq!(script.len(), 5, "{script:?}");
    type Job<'a> = (&'a [String], &'a dyn Fn(u32) -> Vec<(&'static str, String)>);
    let jobs: [Job<'_>; 2] = [(&block_of_page("sh"), &slurm), (&script, &kubernetes)];
    for (lines, variables) in jobs {
        let folder = tempfile::tempdir().unwrap();
        for index in [4, 1, 2, 3, 2] {
            run_script(&folder, lines, &variables(index));
        }
        ends(&folder, "merge shards/1 shards/2 shards/3 shards/4 --out whole", 0);
        assert_eq!(manifest(&folder.path().join("whole")).plan.blocks, 12);
    }
}
