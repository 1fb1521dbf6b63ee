//! The suite is trusted because it notices: each deliberate fault of the table must make it fail.
//!
//! The sources are copied, one fault is made in the copy, and the copy is compiled as a program that puts the
//! structure concerned through the suite. A fault counts as noticed when the suite says so, or when the
//! program crashes or does not come to an end. A fault that survives, whose text is not found exactly once,
//! or that does not compile, fails the test: the table has to follow the structures.
//!
//! `FAULT=cascade cargo test -p impls --test faults -- --nocapture` tries only those with this in their name.

mod table;

use std::env;
use std::fs;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{self, Command, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use table::{FAULTS, Fault};

/// Seconds of processor time that a program may take; without a fault it takes less than one. It is not the
/// time on the wall, which depends on what else the machine does.
const CPU_SECONDS: u32 = 3;

/// What ends a program that has used up its processor time.
const SIGKILL: i32 = 9;

/// How long a program may take that waits for something.
const PATIENCE: Duration = Duration::from_secs(60);

/// Copies that are worked on at the same time.
const WORKERS: usize = 2;

/// A folder that is removed with everything in it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> io::Result<Self> {
        let path = env::temp_dir().join(format!("impls-faults-{}-{name}", process::id()));
        fs::create_dir_all(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed is left to whoever cleans the temporary folder.
        _ = fs::remove_dir_all(&self.0);
    }
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?
        } else {
            _ = fs::copy(entry.path(), target)?
        }
    }
    Ok(())
}

/// How a program ended.
#[derive(Debug, PartialEq)]
enum Ended {
    Passed,
    Noticed(String),
    Crashed(String),
    Hung,
}

/// A copy of the sources, and what is compiled from it.
struct Copy {
    folder: Folder,
}

impl Copy {
    fn new(name: &str) -> io::Result<Self> {
        let folder = Folder::new(name)?;
        copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &folder.0.join("src"))?;
        let root = folder.0.join("src/lib.rs");
        let sources = fs::read_to_string(&root)? + include_str!("runner.rs");
        fs::write(root, sources)?;
        Ok(Self { folder })
    }

    /// Compiles the copy; only what changed since the last time, so that a fault costs a second or less.
    fn compile(&self) -> Result<(), String> {
        let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let mut command = Command::new(rustc);
        command.current_dir(&self.folder.0).args([
            "--edition",
            "2024",
            "--crate-name",
            "impls",
            "--crate-type",
            "bin",
        ]);
        command.args(["--cfg", "feature=\"testing\"", "--cap-lints", "allow", "-C", "debug-assertions=on"]);
        command.args(["-C", "opt-level=0", "-C", "debuginfo=0", "-C", "incremental=incremental"]);
        command.args(["-o", "suite", "src/lib.rs"]);
        let output = command.output().map_err(|error| format!("rustc cannot be started: {error}"))?;
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() { Ok(()) } else { Err(format!("it does not compile:\n{words}")) }
    }

    /// Puts an entry, written as on the command line, through the suite.
    fn run(&self, entry: &str) -> io::Result<Ended> {
        let words = self.folder.0.join("stderr");
        let mut command = Command::new("sh");
        command.arg("-c").arg(format!("ulimit -t {CPU_SECONDS} && ulimit -c 0 && exec \"$0\" \"$@\""));
        command.arg(self.folder.0.join("suite")).args(entry.split([':', ',']));
        command.env("RUST_BACKTRACE", "0").stdin(Stdio::null()).stdout(Stdio::null());
        let mut child = command.stderr(fs::File::create(&words)?).spawn()?;
        let started = Instant::now();
        let status = loop {
            match child.try_wait()? {
                Some(status) => break status,
                None if started.elapsed() < PATIENCE => thread::sleep(Duration::from_millis(5)),
                None => {
                    child.kill()?;
                    child.wait()?;
                    return Ok(Ended::Hung);
                }
            }
        };
        let words = String::from_utf8_lossy(&fs::read(words)?).into_owned();
        Ok(match status.code() {
            Some(0) => Ended::Passed,
            Some(1) => Ended::Noticed(words),
            None if status.signal() == Some(SIGKILL) => Ended::Hung,
            _ => Ended::Crashed(format!("{status}: {words}")),
        })
    }

    /// Makes the faults, which do not touch each other, tries each, and mends all.
    fn attempt(&self, faults: &[&Fault]) -> Result<Vec<Ended>, String> {
        let sources = self.folder.0.join("src");
        let outcome = faults.iter().try_for_each(|fault| fault.make(&sources));
        let outcome = outcome.and_then(|()| self.compile()).and_then(|()| {
            let runs = faults.iter().map(|fault| self.run(fault.entry).map_err(|error| error.to_string()));
            runs.collect()
        });
        let original = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        for file in faults.iter().map(|fault| fault.file) {
            fs::copy(original.join(file), sources.join(file)).map_err(|error| format!("{file}: {error}"))?;
        }
        outcome
    }
}

impl Fault {
    fn make(&self, sources: &Path) -> Result<(), String> {
        let path = sources.join(self.file);
        let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", self.file))?;
        fs::write(&path, self.apply(text)?).map_err(|error| format!("{}: {error}", self.file))
    }

    fn apply(&self, sources: String) -> Result<String, String> {
        self.edits.iter().try_fold(sources, |sources, (text, instead)| match sources.matches(text).count() {
            1 => Ok(sources.replacen(text, &as_many_lines(text, instead), 1)),
            times => {
                Err(format!("{}: its text is {times} times in {}, not once:\n{text}", self.name, self.file))
            }
        })
    }

    fn structure(&self) -> &'static str {
        self.entry.split(':').next().unwrap_or_default()
    }

    /// The structures that its file is a part of.
    fn reach(&self) -> Vec<&'static str> {
        match self.file {
            "queue.rs" | "model.rs" => STRUCTURES.to_vec(),
            "slots.rs" => vec!["heap", "wheel"],
            file if file.starts_with("link/") => vec!["list", "list-known-tail"],
            _ => vec![self.structure()],
        }
    }
}

/// All that a fault may concern.
const STRUCTURES: [&str; 6] = ["list", "list-known-tail", "array", "heap", "wheel", "reference"];

/// Faults that no structure has in common, so that one compilation serves them all.
fn batches(faults: impl Iterator<Item = &'static Fault>) -> Vec<Vec<&'static Fault>> {
    let mut batches: Vec<Vec<&Fault>> = Vec::new();
    for fault in faults {
        let apart = |other: &&Fault| !fault.reach().iter().any(|structure| other.reach().contains(structure));
        match batches.iter_mut().find(|batch| batch.iter().all(apart)) {
            Some(batch) => batch.push(fault),
            None => batches.push(vec![fault]),
        }
    }
    batches
}

/// `instead` with as many lines as `text` has. What follows keeps its line numbers, so that the compiler,
/// which puts them into the messages of panics, need not compile it again.
fn as_many_lines(text: &str, instead: &str) -> String {
    let (has, gets) = (text.matches('\n').count(), instead.matches('\n').count());
    instead.replacen('\n', " ", gets.saturating_sub(has)) + &"\n".repeat(has.saturating_sub(gets))
}

/// Something for a worker to do.
enum Task {
    /// The sources as they are must pass for this entry.
    Passes(&'static str),
    AreNoticed(Vec<&'static Fault>),
}

impl Task {
    /// What went wrong.
    fn run(&self, copy: &Copy) -> Vec<String> {
        match self {
            Self::Passes(entry) => match copy.run(entry) {
                Ok(Ended::Passed) => Vec::new(),
                other => vec![format!("{entry} fails without a fault: {other:?}")],
            },
            Self::AreNoticed(faults) => match copy.attempt(faults) {
                Ok(ends) => {
                    faults.iter().zip(ends).filter_map(|(fault, ended)| fault.survived(&ended)).collect()
                }
                Err(message) => vec![message],
            },
        }
    }
}

impl Fault {
    /// Says so if nothing has noticed it, and else who did.
    fn survived(&self, ended: &Ended) -> Option<String> {
        let by = match ended {
            Ended::Passed => return Some(format!("{}: {} passes with it", self.name, self.entry)),
            Ended::Noticed(words) => words.lines().next().unwrap_or_default().chars().take(110).collect(),
            Ended::Crashed(words) => format!("crashed: {}", words.trim_end()),
            Ended::Hung => "hung".to_owned(),
        };
        println!("{:<62} {:<16} {by}", self.name, self.entry);
        None
    }
}

/// Does tasks until there are no more, and says what went wrong.
fn work(name: &str, tasks: &Mutex<impl Iterator<Item = Task>>) -> Vec<String> {
    let copy = Copy::new(name).expect("the sources can be copied to the temporary folder");
    copy.compile().expect("the sources as they are");
    let mut wrong = Vec::new();
    loop {
        let Some(task) = tasks.lock().expect("the other worker goes on").next() else { return wrong };
        wrong.extend(task.run(&copy));
    }
}

#[test]
fn every_deliberate_fault_is_noticed() {
    let only = env::var("FAULT").unwrap_or_default();
    let mut entries: Vec<_> = FAULTS.iter().map(|fault| fault.entry).collect();
    entries.sort_unstable();
    entries.dedup();
    let faults = batches(FAULTS.iter().filter(|fault| fault.name.contains(&only)));
    let tasks = entries.into_iter().map(Task::Passes).chain(faults.into_iter().map(Task::AreNoticed));
    let tasks = Mutex::new(tasks);
    let names: Vec<_> = (0..WORKERS).map(|worker| format!("worker-{worker}")).collect();
    let wrong: Vec<_> = thread::scope(|scope| {
        let workers: Vec<_> = names.iter().map(|name| scope.spawn(|| work(name, &tasks))).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("a worker ends by itself")).collect()
    });
    assert!(wrong.is_empty(), "{} of {} faults:\n{}", wrong.len(), FAULTS.len(), wrong.join("\n"));
}

#[test]
fn faults_have_names_of_their_own_and_concern_every_structure() {
    let mut names: Vec<_> = FAULTS.iter().map(|fault| fault.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), FAULTS.len(), "two faults have one name");
    for structure in STRUCTURES {
        let of = FAULTS.iter().filter(|fault| fault.structure() == structure).count();
        assert!(of >= 2, "{structure} has {of} faults");
    }
}
