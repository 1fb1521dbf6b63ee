//! What a run makes of its workers, with a stand-in that answers, lies, hangs and dies as it is told.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use harness::journal::{self, Entry, Status};
use harness::plan::{Order, Plan, PlannedWorkload};
use harness::progress::Progress;
use harness::run::Run;
use harness::select::structures;
use harness::spawn::Launcher;
use harness::spec::{AllocatorKind, ClockKind, Pass, PayloadKind, Report, Spec};
use harness::stream::Outcome;
use harness::{truth, workload};

const SIZE: u64 = 200;

/// A folder with a space in its name, a plan and a stand-in.
struct Bench {
    folder: tempfile::TempDir,
    plan: Plan,
    timeout: Duration,
    interrupted: Arc<AtomicBool>,
}

impl Bench {
    /// Two structures and three blocks; the stand-in does what `behave` says, a shell script.
    fn new(behave: &str) -> Self {
        let folder = tempfile::Builder::new().prefix("a run ").tempdir().unwrap();
        let plan = Plan {
            structures: structures(&["reference,model".into()]).unwrap(),
            workloads: vec![PlannedWorkload {
                selector: "burst".into(),
                name: "burst".into(),
                parameters: String::new(),
                sizes: vec![SIZE],
                payload: PayloadKind::Boxed(16),
                allocators: Vec::new(),
                passes: Vec::new(),
            }],
            passes: vec![Pass::Time],
            blocks: 2,
            seed: 1,
            clock: ClockKind::Wall,
            allocators: vec![AllocatorKind::System],
            timeout_s: 20,
            keep_samples: false,
            order: Order::AllFirst,
            cpu: None,
            shard: None,
            budget: None,
        };
        fs::write(folder.path().join("behave"), behave).unwrap();
        let bench = Self { folder, plan, timeout: Duration::from_secs(20), interrupted: Arc::default() };
        bench.answer(bench.truth());
        bench
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn truth(&self) -> Outcome {
        let burst = workload::resolve("burst").unwrap().remove(0);
        truth::outcome(&burst.stream(SIZE, self.plan.block_seed(0)).unwrap(), true, 1)
    }

    /// What a right worker answers; a block has its own stream, so one answer is right in one block only.
    fn answer(&self, outcome: Outcome) {
        let report = Report { outcome, ..Report::default() };
        fs::write(self.path().join("answer.json"), serde_json::to_string(&report).unwrap()).unwrap();
    }

    fn run(&self) -> Vec<Entry> {
        let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fake-worker.sh");
        assert!(fs::metadata(&script).unwrap().permissions().mode() & 0o111 != 0, "the stand-in can be run");
        let run = Run {
            plan: &self.plan,
            workloads: &workload::resolve("burst").unwrap(),
            folder: self.path(),
            launcher: Launcher {
                executable: script,
                timeout: self.timeout,
                interrupted: Arc::clone(&self.interrupted),
            },
            finished: journal::read(self.path()).unwrap(),
            progress: Progress::silent(),
        };
        run.execute().unwrap()
    }

    fn first_block_only(mut self) -> Self {
        self.plan.blocks = 0;
        self
    }
}

fn told(entry: &Entry) -> (Status, &str) {
    (entry.status, entry.detail.as_deref().unwrap_or_default())
}

#[test]
fn a_right_answer_passes_and_a_wrong_one_is_named_with_its_first_difference() {
    let bench = Bench::new("cat \"$answer\"").first_block_only();
    let right = bench.run();
    assert_eq!(right.len(), 2);
    assert!(right.iter().all(|entry| entry.status == Status::Ok && entry.check.as_deref() == Some("exact")));

    let bench = Bench::new("cat \"$answer\"").first_block_only();
    bench.answer(Outcome { dispatched: 17, ..bench.truth() });
    for entry in bench.run() {
        assert_eq!(told(&entry), (Status::Wrong, "dispatched is 17, and 190 in the reference"));
        assert_eq!(entry.check, None);
    }
}

#[test]
fn a_worker_that_dispatches_in_another_order_is_wrong_by_its_digest() {
    let bench = Bench::new("cat \"$answer\"").first_block_only();
    bench.answer(Outcome { digest: Some(1), ..bench.truth() });
    let entries = bench.run();
    assert!(entries.iter().all(|entry| told(entry).1.contains("or its order, differs from the reference")));
}

#[test]
fn a_worker_that_is_killed_is_a_crash_and_the_others_go_on() {
    let behave = "case $spec in *'\"model\"'*) kill -9 $$;; esac; cat \"$answer\"";
    let entries = Bench::new(behave).first_block_only().run();
    let statuses: Vec<_> = entries.iter().map(|entry| entry.status).collect();
    assert_eq!(statuses.iter().filter(|status| **status == Status::Ok).count(), 1);
    let crashed = entries.iter().find(|entry| entry.status == Status::Crashed).unwrap();
    assert!(told(crashed).1.starts_with("ended by SIGKILL"), "{crashed:?}");
}

#[test]
fn a_worker_says_why_it_could_not() {
    let last_words = |behave: &str| {
        let entry = Bench::new(behave).first_block_only().run().remove(0);
        (entry.status, entry.detail.unwrap())
    };
    let (status, why) = last_words("echo 'a line' >&2; echo 'the reason' >&2; exit 1");
    assert_eq!((status, why.as_str()), (Status::Crashed, "exit code 1: the reason"));
    let (status, _) = last_words("echo 'memory allocation of 64 bytes failed' >&2; kill -ABRT $$");
    assert_eq!(status, Status::Oom);
    let (status, why) = last_words("echo 'unsupported: no cancel' >&2; exit 1");
    assert_eq!((status, why.as_str()), (Status::Unsupported, "no cancel"));
    let (status, why) = last_words("echo '{\"half\":'");
    assert_eq!(status, Status::Crashed);
    assert!(why.starts_with("its answer cannot be read"), "{why}");
}

#[test]
fn a_worker_that_hangs_is_ended_with_its_children_and_not_tried_again() {
    let mut bench = Bench::new("sleep 300 & echo $! >> \"$folder/children\"; wait");
    bench.timeout = Duration::from_millis(300);
    let start = Instant::now();
    let entries = bench.run();
    assert!(start.elapsed() < Duration::from_secs(60));
    assert_eq!(entries.len(), 6);
    assert!(entries.iter().all(|entry| entry.status == Status::Timeout));
    let skipped = entries.iter().filter(|entry| told(entry).1.starts_with("skipped")).count();
    assert_eq!(skipped, 4, "each structure was tried once");
    for child in fs::read_to_string(bench.path().join("children")).unwrap().lines() {
        assert!(is_gone(child), "process {child} outlived its worker");
    }
}

/// A process that was killed may still be waited for by nobody, but it does not run.
fn is_gone(process: &str) -> bool {
    let state = || fs::read_to_string(format!("/proc/{process}/stat")).ok();
    (0..50).any(|_| {
        let gone = state().is_none_or(|stat| stat.contains(") Z ") || !stat.contains("(sleep)"));
        if !gone {
            std::thread::sleep(Duration::from_millis(20));
        }
        gone
    })
}

#[test]
fn the_allocator_is_chosen_by_the_environment() {
    let mut bench = Bench::new("echo $TWB_ALLOCATOR >> \"$folder/seen\"; cat \"$answer\"").first_block_only();
    bench.plan.passes = vec![Pass::Time, Pass::Heap];
    bench.run();
    let seen = fs::read_to_string(bench.path().join("seen")).unwrap();
    assert_eq!(seen.lines().filter(|line| *line == "system").count(), 2);
    assert_eq!(seen.lines().filter(|line| *line == "dhat").count(), 4);
}

#[test]
fn only_what_is_timed_stays_on_the_processor() {
    let mut bench = Bench::new("echo \"$spec\" >> \"$folder/seen\"; cat \"$answer\"").first_block_only();
    bench.plan.passes = vec![Pass::Time, Pass::Heap];
    bench.plan.cpu = Some(3);
    bench.run();
    let seen = fs::read_to_string(bench.path().join("seen")).unwrap();
    for line in seen.lines() {
        let spec: Spec = serde_json::from_str(line).unwrap();
        assert_eq!(spec.cpu, (spec.pass == Pass::Time).then_some(3));
    }
    assert_eq!(seen.lines().count(), 2 + 4);
}

#[test]
fn an_interrupted_run_keeps_what_it_finished_and_goes_on_where_it_was() {
    let behave = "echo x >> \"$folder/started\"; test $(wc -l < \"$folder/started\") = 2 && exec sleep 300; cat \"$answer\"";
    let bench = Bench::new(behave);
    let flag = Arc::clone(&bench.interrupted);
    let started = bench.path().join("started");
    let watcher = std::thread::spawn(move || {
        while fs::read_to_string(&started).unwrap_or_default().lines().count() < 2 {
            std::thread::sleep(Duration::from_millis(10));
        }
        flag.store(true, Ordering::Relaxed);
    });
    let entries = bench.run();
    watcher.join().unwrap();
    let statuses: Vec<_> = entries.iter().map(|entry| entry.status).collect();
    assert_eq!(statuses, [Status::Ok, Status::Interrupted]);

    bench.interrupted.store(false, Ordering::Relaxed);
    let entries = bench.run();
    assert_eq!(entries.len(), 6);
    assert!(entries.iter().all(|entry| entry.status != Status::Interrupted));
    let starts = fs::read_to_string(bench.path().join("started")).unwrap().lines().count();
    assert_eq!(starts, 7, "the cell that was finished is not run again");
    assert_eq!(journal::read(bench.path()).unwrap().len(), 6);
}

#[test]
fn nothing_but_the_journal_is_left_of_a_run_without_tables() {
    let bench = Bench::new("cat \"$answer\"").first_block_only();
    bench.run();
    let mut left: Vec<_> = fs::read_dir(bench.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, ["answer.json", "behave", "journal.jsonl"]);
}

#[test]
fn a_run_whose_workload_has_changed_is_not_gone_on_with() {
    let bench = Bench::new("cat \"$answer\"").first_block_only();
    bench.run();
    let path = bench.path().join("journal.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    let first = text.lines().next().unwrap();
    let entry: Entry = serde_json::from_str(first).unwrap();
    fs::write(&path, first.replace(&entry.stream_hash, "0123456789abcdef") + "\n").unwrap();
    let run = Run {
        plan: &bench.plan,
        workloads: &workload::resolve("burst").unwrap(),
        folder: bench.path(),
        launcher: Launcher {
            executable: PathBuf::from("/bin/false"),
            timeout: bench.timeout,
            interrupted: Arc::clone(&bench.interrupted),
        },
        finished: journal::read(bench.path()).unwrap(),
        progress: Progress::silent(),
    };
    assert!(run.execute().unwrap_err().to_string().contains("is not what it was"));
}
