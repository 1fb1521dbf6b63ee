//! The capture scripts where they need no root: what they refuse, what they take out, and that what they and
//! `timer-log` write is a trace that does not contradict itself. What is recorded and committed is held to the same.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use harness::trace::{self, Op, Rule, Trace, Validation, validate};
use tempfile::TempDir;
use timer_log::Options;

#[path = "../../datasets/capture/rust/examples/heap_loop.rs"]
mod heap_loop;

/// Most bytes of a recorded trace in the repository.
const TRACE_BYTES_MAX: u64 = 2 << 20;

fn datasets() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../datasets").canonicalize().unwrap()
}

fn script(name: &str) -> PathBuf {
    datasets().join("capture").join(name)
}

fn files(folder: &str, ending: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(datasets().join(folder)).unwrap();
    let mut found: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    found.retain(|path| path.to_str().unwrap().ends_with(ending));
    assert!(!found.is_empty(), "no {ending} in {folder}");
    found
}

/// A command without the variables of the recorders.
fn command(program: &str) -> Command {
    let mut command = Command::new(program);
    for variable in ["", "_ROWS", "_SOURCE", "_LICENCE", "_UNTESTED"] {
        command.env_remove(format!("TWB_TRACE{variable}"));
    }
    command.stdin(Stdio::null());
    command
}

fn words(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Refused with exit code 2, these words, and how to mend it.
fn refused(command: &mut Command, said: &str) {
    let output = command.output().unwrap();
    let words = words(&output);
    assert_eq!(output.status.code(), Some(2), "{command:?}: {words}");
    assert!(words.contains(said), "{command:?} does not say `{said}`:\n{words}");
    assert!(words.contains("\n    "), "{command:?} does not say how to mend it:\n{words}");
    assert!(output.stdout.is_empty(), "{command:?} prints on standard output");
}

fn checked(path: &Path) -> (Trace, Validation) {
    let trace = trace::read(path).unwrap();
    let found = validate(&trace);
    assert_eq!((found.errors(), found.count(Rule::Early)), (0, 0), "{path:?}: {:?}", found.findings);
    (trace, found)
}

fn count(found: &Validation, op: Op) -> u64 {
    found.counts.get(&op).copied().unwrap_or(0)
}

/// What the metadata say of a number.
fn said(trace: &Trace, key: &str) -> u64 {
    trace.metadata.get(key).unwrap_or_else(|| panic!("no {key}")).parse().unwrap()
}

/// Whether `python3` is one that the scripts take; on an older one they refuse, which has its own test.
fn python_is_new() -> bool {
    let ask = "import sys; sys.exit(sys.version_info < (3, 11))";
    Command::new("python3").args(["-c", ask]).status().unwrap().success()
}

#[test]
fn every_script_can_be_parsed() {
    for path in files("capture", ".sh") {
        let output = Command::new("bash").arg("-n").arg(&path).output().unwrap();
        assert!(output.status.success(), "{}", words(&output));
    }
    let parse = "import ast, sys; [ast.parse(open(path).read(), path) for path in sys.argv[1:]]";
    let output = Command::new("python3").args(["-c", parse]).args(files("capture", ".py")).output().unwrap();
    assert!(output.status.success(), "{}", words(&output));
}

// ---- asyncio ---------------------------------------------------------------------------------------

/// Sleeps of 3 ms that end, time-outs that are in time and that are not, and cancels that miss.
const PROGRAM: &str = "
import asyncio, sys
async def main():
    for _ in range(5):
        await asyncio.sleep(0.003)
    async with asyncio.timeout(1000):
        pass
    try:
        async with asyncio.timeout(0.01):
            await asyncio.get_running_loop().create_future()
    except TimeoutError:
        pass
    timer = asyncio.get_running_loop().call_later(500, print)
    timer.cancel()
    timer.cancel()
    print(sys.argv[1:])
asyncio.run(main())
";

fn asyncio(folder: &TempDir) -> Command {
    let program = folder.path().join("program.py");
    fs::write(&program, PROGRAM).unwrap();
    let mut command = command("python3");
    command.arg(script("asyncio_timers.py")).arg(program).args(["one", "two"]).current_dir(folder);
    command
}

#[test]
fn an_asyncio_program_is_recorded_timer_by_timer_and_runs_as_without() {
    let folder = tempfile::tempdir().unwrap();
    if !python_is_new() {
        return refused(asyncio(&folder).env("TWB_TRACE", "a.tt.csv"), "is untested");
    }
    let output = asyncio(&folder).env("TWB_TRACE", "a.tt.csv").output().unwrap();
    assert!(output.status.success(), "{}", words(&output));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "['one', 'two']\n");
    let (trace, found) = checked(&folder.path().join("a.tt.csv"));
    let counts = [Op::Start, Op::Cancel, Op::Expire].map(|op| count(&found, op));
    assert_eq!(counts, [8, 2, 6]);
    // The second cancel misses; whether asyncio itself cancels what has expired depends on its version.
    assert!(count(&found, Op::Miss) >= 1, "{found:?}");
    assert!(trace.contexts.iter().all(|name| !name.contains("print")), "{:?}", trace.contexts);
    assert!(trace.contexts.contains(&"sleep 3ms".to_owned()), "{:?}", trace.contexts);
    assert_eq!((said(&trace, "armed-max"), said(&trace, "armed-at-end")), (found.armed_max, 0));
}

#[test]
fn rows_beyond_the_limit_are_counted_and_a_gap_ends_the_trace() {
    let folder = tempfile::tempdir().unwrap();
    if !python_is_new() {
        return;
    }
    let output = asyncio(&folder).env("TWB_TRACE", "a.tt.csv").env("TWB_TRACE_ROWS", "7").output().unwrap();
    assert!(output.status.success(), "{}", words(&output));
    let (trace, _) = checked(&folder.path().join("a.tt.csv"));
    let last = trace.rows[trace.rows.len() - 1];
    assert_eq!((trace.rows.len(), last.op), (8, Op::Gap));
    assert_eq!(last.aux, Some(said(&trace, "lost") as i64));
    assert!(said(&trace, "lost") >= 10);
}

#[test]
fn the_asyncio_recorder_refuses_before_the_program_runs() {
    let folder = tempfile::tempdir().unwrap();
    refused(&mut asyncio(&folder), "TWB_TRACE is not set");
    refused(asyncio(&folder).env("TWB_TRACE", "a").env("TWB_TRACE_ROWS", "-5"), "TWB_TRACE_ROWS is `-5`");
    refused(command("python3").arg(script("asyncio_timers.py")), "no program is named");
    refused(
        command("python3").arg(script("asyncio_timers.py")).arg("no.py"),
        "no.py: there is no such script",
    );
    if python_is_new() {
        fs::write(folder.path().join("old"), "kept").unwrap();
        refused(asyncio(&folder).env("TWB_TRACE", "old"), "old: the file exists");
        assert_eq!(fs::read_to_string(folder.path().join("old")).unwrap(), "kept");
        refused(asyncio(&folder).env("TWB_TRACE", "no/such/a.tt.csv"), "cannot be created");
    }
    let left: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| name == "old" || name == "program.py"), "{left:?}");
}

// ---- shell scripts -----------------------------------------------------------------------------------

fn is_root() -> bool {
    fs::metadata("/proc/self").unwrap().uid() == 0
}

/// A script that is given to bash by its text, so that a user without access to the folder can run it.
fn unprivileged(name: &str, arguments: &[&str]) -> Command {
    let mut command = command("bash");
    command.args(["-s", "--"]).args(arguments).stdin(fs::File::open(script(name)).unwrap());
    if is_root() {
        command.uid(65534).current_dir("/");
    }
    command
}

fn bash(name: &str, arguments: &[&str]) -> Command {
    let mut command = command("bash");
    command.arg(script(name)).args(arguments);
    command
}

#[test]
fn without_root_the_kernel_and_the_probes_are_refused() {
    refused(&mut unprivileged("kernel-timers.sh", &["--out", "/tmp/no.txt"]), "to root alone");
    if cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        let arguments = ["--out", "/tmp/no.tt.csv", "--", "true"];
        refused(&mut unprivileged("libuv-timers.sh", &arguments), "by root alone");
    }
}

#[test]
fn each_script_refuses_what_it_cannot_do_with_its_reason() {
    let folder = tempfile::tempdir().unwrap();
    let old = folder.path().join("old");
    fs::write(&old, "kept").unwrap();
    let (old, new) = (old.to_str().unwrap(), folder.path().join("new"));
    let new = new.to_str().unwrap();
    for name in ["kernel-timers.sh", "libuv-timers.sh", "nginx-debug.sh"] {
        refused(&mut bash(name, &[]), "no file is named");
        refused(&mut bash(name, &["--out"]), "no file is named");
        refused(&mut bash(name, &["--out", old]), "the file exists");
    }
    for name in ["kernel-timers.sh", "libuv-timers.sh"] {
        refused(&mut bash(name, &["--out", new, "--wrong"]), "there is no option `--wrong`");
        refused(&mut bash(name, &["--out", new, "--seconds", "0"]), "--seconds is `0`");
        refused(&mut bash(name, &["--out", new, "--seconds", "601"]), "--seconds is `601`");
    }
    refused(&mut bash("libuv-timers.sh", &["--out", new]), "no program is named");
    refused(&mut bash("libuv-timers.sh", &["--out", new, "--pid", "x"]), "there is no process `x`");
    refused(&mut bash("kernel-timers.sh", &["--out", new, "--scrub", "no/such"]), "no/such: cannot be read");
    refused(&mut bash("nginx-debug.sh", &["--out", "no/such/new"]), "the folder does not exist");
    if python_is_new() {
        refused(bash("nginx-debug.sh", &["--out", new]).env("NGINX", "true"), "without --with-debug");
        refused(bash("nginx-debug.sh", &["--out", new]).env("NGINX", "false"), "does not run");
    }
    assert_eq!(fs::read_to_string(old).unwrap(), "kept");
    assert!(!Path::new(new).exists());
}

#[test]
fn a_kernel_trace_loses_the_names_of_its_tasks_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    let recorded = "# tracer: nop\n\
        \x20        my [0] app-4711    [001] d.s2.  1.000001: timer_cancel: timer=00000000aa\n\
        \x20         <idle>-0       [000] d.h1.  1.000002: hrtimer_cancel: hrtimer=00000000bb\n\
        \x20 irq/51-secret:-77      [001] d.s2.  1.000003: timer_cancel: timer=00000000cc\n\
        CPU:1 [LOST 12 EVENTS]\n\
        \x20        my [0] app-4711    [001] d.s2.  1.000004: timer_cancel: timer=00000000dd\n\
        a line of no form\n";
    fs::write(&from, recorded).unwrap();
    let output =
        bash("kernel-timers.sh", &["--out", to.to_str().unwrap(), "--scrub", from.to_str().unwrap()])
            .output()
            .unwrap();
    assert!(output.status.success(), "{}", words(&output));
    assert!(words(&output).contains("1 lines of no known form were left out"), "{}", words(&output));
    let text = fs::read_to_string(&to).unwrap();
    for hidden in ["app", "secret", "4711", "-77"] {
        assert!(!text.contains(hidden), "{hidden} is left:\n{text}");
    }
    let tasks: Vec<_> = text.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(tasks, ["#", "task-1-1", "<idle>-0", "task-2-2", "CPU:1", "task-1-1"]);
    let behind = |text: &str| {
        let events = text.lines().filter(|line| line.contains(": timer=") || line.contains(": hrtimer="));
        events.map(|line| line[line.find(" d.").unwrap()..].to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(behind(&text), behind(recorded));
}

#[test]
fn lines_of_probes_become_starts_re_arms_cancels_and_expiries() {
    let folder = tempfile::tempdir().unwrap();
    // Clock 2000 s in ns, due times in ms; the second handle repeats and is started again by libuv itself.
    let symbols = "1000 T uv_timer_start\n2000 t uv__run_timers\n3000 T uv_close\n4000 t my_own_stop\n\
        5000 T _ZN4node11Environment9RunTimersEP10uv_timer_s\n6000 t my_own_secret\n         U puts\n";
    fs::write(folder.path().join("symbols"), symbols).unwrap();
    let lines = "Attaching 4 probes...\n\
        S 2000000000000 aa 2000100 0 5000\n\
        S 2000001000000 bb 2000011 10 6000\n\
        T 2000002000000 aa 1030\n\
        S 2000002000000 aa 2000005 0 5000\n\
        T 2000005500000 aa 2046\n\
        T 2000005600000 aa 205b\n\
        T 2000005700000 aa 3021\n\
        T 2000011200000 bb 2046\n\
        T 2000011300000 bb 205b\n\
        S 2000011300000 bb 2000021 10 6000\n\
        T 2000012000000 bb 3021\n\
        T 2000013000000 bb 4001\n";
    let mut child = command("python3")
        .arg(script("libuv_timers.py"))
        .args(["--out", "a.tt.csv", "--symbols", "symbols"])
        .current_dir(&folder)
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", words(&output));
    let (trace, _) = checked(&folder.path().join("a.tt.csv"));
    let letters: String = trace.rows.iter().map(|row| row.op.letter()).collect();
    assert_eq!(letters, "SSREESCN");
    assert_eq!((trace.rows[0].due_ns, trace.rows[3].aux), (Some(100_000_000), Some(500_000)));
    assert_eq!(trace.contexts, ["node::Environment::RunTimers", "callback-0"]);
}

// ---- timer-log ---------------------------------------------------------------------------------------

#[test]
fn a_timer_loop_logs_a_trace_that_does_not_contradict_itself() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.tt.csv");
    let summary = heap_loop::record(path.to_str().unwrap(), 200).unwrap();
    let (trace, found) = checked(&path);
    let counts = [Op::Start, Op::Rearm, Op::Cancel, Op::Miss, Op::Expire].map(|op| count(&found, op));
    let [starts, rearms, cancels, misses, expiries] = counts;
    assert_eq!(starts, cancels + expiries, "all that started has ended: {counts:?}");
    assert!(starts > 220 && rearms > 0 && cancels > 0 && misses >= 20 && expiries >= 20, "{counts:?}");
    assert_eq!((summary.rows, summary.lost, summary.present), (counts.iter().sum(), 0, 0));
    assert_eq!((summary.armed_max, summary.armed_at_end), (found.armed_max, 0));
    assert_eq!((said(&trace, "count-S"), said(&trace, "lost")), (starts, 0));
    assert!(trace.rows.iter().filter(|row| row.op == Op::Expire).all(|row| row.aux.unwrap() >= 0));
}

#[test]
fn what_a_small_log_loses_is_counted_and_the_rest_is_still_true() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.tt.csv");
    let log = Options::default().rows(8).create(&path).unwrap();
    let far = Instant::now() + Duration::from_secs(1000);
    std::thread::scope(|scope| {
        for thread in 0..4_u64 {
            let log = &log;
            scope.spawn(move || {
                for n in 0..2_000 {
                    let id = thread * 10_000 + n;
                    log.start(id, far, Duration::ZERO, "many");
                    log.rearm(id, far);
                    log.cancel(id, true);
                    log.cancel(id, false);
                }
            });
        }
    });
    let summary = log.finish().unwrap();
    assert_eq!(summary.rows + summary.lost, 4 * 2_000 * 4, "{summary:?}");
    assert!(summary.lost > 0 && summary.gaps > 0, "8 rows are too few for four threads: {summary:?}");
    let (trace, found) = checked(&path);
    assert_eq!((count(&found, Op::Gap), count(&found, Op::Present)), (summary.gaps, summary.present));
    let lost: i64 = trace.rows.iter().filter(|row| row.op == Op::Gap).map(|row| row.aux.unwrap()).sum();
    assert_eq!(lost as u64, summary.lost);
    assert_eq!(trace.metadata.get("start-state"), Some("empty"));
}

#[test]
fn a_log_never_writes_over_a_file_and_ends_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.tt.csv");
    let log = Options::default().create(&path).unwrap();
    log.start(1, Instant::now(), Duration::from_millis(5), "beat");
    log.finish().unwrap();
    log.expire(1);
    assert!(log.finish().unwrap_err().to_string().ends_with("a.tt.csv: the trace is finished"));
    let error = Options::default().create(&path).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
    assert!(error.to_string().contains("choose another name"), "{error}");
    assert_eq!(checked(&path).0.rows.len(), 1, "what is logged after the end is passed over");
    let error = Options::default().create(folder.path().join("no/such.tt.csv")).unwrap_err();
    assert!(error.to_string().contains("no/such.tt.csv: "), "{error}");
}

#[test]
fn a_log_that_is_dropped_is_whole_and_one_that_goes_on_says_that_it_is_not_finished() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.tt.csv");
    let log = Options::default().create(&path).unwrap();
    log.start(1, Instant::now(), Duration::ZERO, "x");
    assert!(trace::read(&path).unwrap().metadata.get("not finished").is_some());
    drop(log);
    let (trace, found) = checked(&path);
    assert_eq!((count(&found, Op::Start), trace.metadata.get("not finished")), (1, None));
}

// ---- what is committed ---------------------------------------------------------------------------------

#[test]
fn every_recorded_trace_is_true_small_and_described() {
    let notes = fs::read_to_string(datasets().join("traces/README.md")).unwrap();
    for path in files("traces", ".tt.csv").into_iter().chain(parquet()) {
        let name = path.file_name().unwrap().to_str().unwrap();
        assert!(fs::metadata(&path).unwrap().len() <= TRACE_BYTES_MAX, "{name}");
        assert!(notes.contains(&format!("\n## {name}\n")), "traces/README.md says nothing of {name}");
        let trace = trace::read(&path).unwrap();
        let found = validate(&trace);
        assert_eq!(found.errors(), 0, "{name}: {:?}", found.findings.first());
        for (key, wanted) in [("fidelity", "recorded"), ("licence", "MIT OR Apache-2.0"), ("lost", "0")] {
            assert_eq!(trace.metadata.get(key), Some(wanted), "{name}: {key}");
        }
        for (op, rows) in &found.counts {
            assert_eq!(trace.metadata.count(*op), Some(*rows), "{name}: count-{}", op.letter());
        }
    }
}

fn parquet() -> Vec<PathBuf> {
    let entries = fs::read_dir(datasets().join("traces")).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.extension().is_some_and(|ending| ending == "parquet")).collect()
}

/// Recorded and reproduced expiries of a built-in replay, and those that the trace does not have.
fn reproduced(workload: &str) -> (u64, u64, u64) {
    let found = harness::workload::resolve(workload).unwrap();
    let laid = found[0].replay().unwrap().lay(workload);
    let found = harness::workload::replay::reproduction(&laid, 1).unwrap();
    (found.recorded, found.reproduced, found.extra)
}

#[test]
fn every_recorded_expiry_comes_out_of_the_replay() {
    assert_eq!(reproduced("replay-asyncio-http"), (767, 767, 0));
    assert_eq!(reproduced("replay-nginx"), (98, 98, 0));
    // The kernel keeps a timer until it gets to its bucket, and some are moved or cancelled in that time.
    assert_eq!(reproduced("replay-kernel-wheel"), (7605, 7605, 660));
}
