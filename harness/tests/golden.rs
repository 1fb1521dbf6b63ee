//! No workload changes unnoticed: the stream of each built-in one has the hash that is written down.
//!
//! After a change that is meant, or a new workload, write all of them down anew and look at the difference:
//!
//! ```text
//! TWB_RENEW_GOLDEN=1 cargo test -p harness --test golden
//! ```

use std::collections::BTreeMap;
use std::fs;

use harness::workload::{builtin, resolve};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/streams.txt");

const RENEW: &str = "TWB_RENEW_GOLDEN";

/// Timers of each stream, unless it is a replay.
const N: u64 = 2000;

const SEED: u64 = 1;

const HEAD: &str = "\
# Hash of the operation stream of each built-in workload with 2,000 timers (a replay: its trace's) and seed 1, and
# its operations. TWB_RENEW_GOLDEN=1 cargo test -p harness --test golden
";

/// The line of each built-in workload, by its name.
fn found() -> BTreeMap<String, String> {
    let line = |name: &str| {
        let workload = resolve(name).unwrap_or_else(|error| panic!("{error}")).remove(0);
        let n = workload.sizes(&[N])[0];
        let stream = workload.stream(n, SEED).unwrap_or_else(|error| panic!("{error}"));
        stream.check().unwrap_or_else(|fault| panic!("{name}: {fault}"));
        format!("{name} {:016x} {}", stream.hash(), stream.ops.len())
    };
    builtin().iter().map(|known| (known.name.clone(), line(&known.name))).collect()
}

fn written() -> BTreeMap<String, String> {
    let text = fs::read_to_string(FILE).unwrap_or_default();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| (line.split(' ').next().unwrap_or_default().to_owned(), line.to_owned())).collect()
}

/// What is to be said of a workload, if it is not as it was.
fn difference(name: &str, found: Option<&String>, written: Option<&String>) -> Option<String> {
    match (found, written) {
        (Some(found), Some(written)) if found == written => None,
        (Some(found), Some(written)) => {
            Some(format!("{name} has changed: it was\n    {written}\nand is\n    {found}"))
        }
        (Some(found), None) => Some(format!("{name} is new and has no hash yet:\n    {found}")),
        (None, _) => Some(format!("{name} is not built in any more")),
    }
}

#[test]
fn the_stream_of_every_built_in_workload_is_what_it_was() {
    let found = found();
    if std::env::var_os(RENEW).is_some() {
        let lines: String = found.values().map(|line| format!("{line}\n")).collect();
        fs::write(FILE, format!("{HEAD}{lines}")).unwrap();
    }
    let written = written();
    let names: std::collections::BTreeSet<_> = found.keys().chain(written.keys()).collect();
    let differences: Vec<String> =
        names.into_iter().filter_map(|name| difference(name, found.get(name), written.get(name))).collect();
    assert!(
        differences.is_empty(),
        "{}\n\nif this is meant: {RENEW}=1 cargo test -p harness --test golden",
        differences.join("\n")
    );
}

#[test]
fn a_workload_that_changed_is_new_or_is_gone_is_named() {
    let [line, other] = ["burst 1 2".to_owned(), "burst 3 2".to_owned()];
    assert_eq!(difference("burst", Some(&line), Some(&line)), None);
    assert!(difference("burst", Some(&line), Some(&other)).unwrap().starts_with("burst has changed"));
    assert!(difference("burst", Some(&line), None).unwrap().starts_with("burst is new"));
    assert!(difference("burst", None, Some(&line)).unwrap().starts_with("burst is not built in"));
}
