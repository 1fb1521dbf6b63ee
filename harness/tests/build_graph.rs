//! What cargo would build, asked of cargo: whatever runs in a timed part is optimised, and `cargo test` uses
//! the polars that `cargo run` has built.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use serde_json::Value;

/// Files of the harness that run in a worker, by their module.
const WORKER: [&str; 8] = ["allocator", "clock", "drive", "measure", "payload", "spec", "stream", "worker"];

/// Crates that the worker uses outside every timed part, and where.
const UNTIMED: [(&str, &str); 7] = [
    ("bytemuck", "a stream is read before the first operation"),
    ("dhat", "the heap pass, which times nothing"),
    ("serde", "the cell and the answer are read and written before and after"),
    ("serde_json", "as serde"),
    ("thiserror", "messages of a worker that fails"),
    ("tempfile", "tests of the modules"),
    ("xxhash_rust", "a stream is hashed by the parent"),
];

/// A unit of cargo's build graph.
struct Unit {
    package: String,
    name: String,
    mode: String,
    kinds: Vec<String>,
    level: String,
    /// All that makes it another artifact.
    identity: String,
    dependencies: Vec<usize>,
}

/// The graph of `cargo <words>`, without building anything.
fn graph(words: &[&str]) -> Vec<Unit> {
    let output = Command::new(env!("CARGO"))
        .args(words)
        .args(["--offline", "--locked", "--unit-graph", "-Z", "unstable-options"])
        .env("RUSTC_BOOTSTRAP", "1")
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo can be run");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let graph: Value = serde_json::from_slice(&output.stdout).expect("the graph is JSON");
    graph["units"].as_array().expect("units").iter().map(unit).collect()
}

fn unit(value: &Value) -> Unit {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut profile = value["profile"].clone();
    let named = profile.as_object_mut().expect("a profile is an object");
    // A profile's name makes no difference to what is built.
    named.remove("name");
    let dependencies = value["dependencies"].as_array().expect("dependencies");
    Unit {
        package: text(&value["pkg_id"]),
        name: text(&value["target"]["name"]).replace('-', "_"),
        mode: text(&value["mode"]),
        kinds: value["target"]["kind"].as_array().expect("kinds").iter().map(text).collect(),
        level: text(&value["profile"]["opt_level"]),
        identity: format!(
            "{} {} {} {profile}",
            value["target"]["name"], value["features"], value["platform"]
        ),
        dependencies: dependencies.iter().map(|one| one["index"].as_u64().expect("index") as usize).collect(),
    }
}

impl Unit {
    fn is_library(&self) -> bool {
        self.mode == "build" && self.kinds.iter().any(|kind| kind == "lib")
    }

    /// Whether it runs in the process that is built, or hands its level to a C compiler. Macros and the
    /// compilation of build scripts do neither.
    fn reaches_the_worker(&self) -> bool {
        self.is_library() || self.mode == "run-custom-build"
    }
}

/// The units that a library and all that it is made of consist of.
fn closure(units: &[Unit], from: usize, found: &mut BTreeSet<usize>) {
    if units[from].reaches_the_worker() && found.insert(from) {
        let only_scripts = units[from].mode == "run-custom-build";
        for &next in &units[from].dependencies {
            // What a build script is made of runs in the build alone.
            if !only_scripts || units[next].mode == "run-custom-build" {
                closure(units, next, found);
            }
        }
    }
}

fn sources() -> String {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src");
    WORKER.iter().map(|module| source(&folder, module)).collect()
}

/// A module with the modules below it.
fn source(folder: &Path, module: &str) -> String {
    let mut text = fs::read_to_string(folder.join(module).with_extension("rs")).expect("the module is there");
    let below = fs::read_dir(folder.join(module)).into_iter().flatten();
    for file in below {
        text += &fs::read_to_string(file.unwrap().path()).unwrap();
    }
    text
}

/// Libraries that the harness depends on and that its worker's files name.
fn used_by_the_worker(units: &[Unit]) -> BTreeMap<String, usize> {
    let harness = units.iter().find(|unit| unit.name == "harness" && unit.is_library()).expect("the harness");
    let (sources, mut used) = (sources(), BTreeMap::new());
    for &index in &harness.dependencies {
        let renamed =
            if units[index].name == "tikv_jemallocator" { "jemallocator" } else { &units[index].name };
        if units[index].is_library() && sources.contains(&format!("{renamed}::")) {
            used.insert(units[index].name.clone(), index);
        }
    }
    used
}

#[test]
fn all_that_runs_in_a_timed_part_is_at_level_3() {
    let units = graph(&["build", "-p", "harness"]);
    let used = used_by_the_worker(&units);
    let mut timed = BTreeSet::new();
    for (name, &index) in &used {
        if !UNTIMED.iter().any(|(untimed, _)| untimed == name) {
            closure(&units, index, &mut timed);
        }
    }
    for expected in ["impls", "quanta", "nix", "tikv_jemallocator", "tikv_jemalloc_sys"] {
        assert!(timed.iter().any(|index| units[*index].name == expected), "{expected} is not seen: {used:?}");
    }
    let ours = units.iter().filter(|unit| unit.name == "harness" && unit.reaches_the_worker());
    let slow: BTreeSet<_> = timed
        .iter()
        .map(|index| &units[*index])
        .chain(ours)
        .filter(|unit| unit.level != "3")
        .map(|unit| format!("{} ({})", unit.package, unit.mode))
        .collect();
    assert!(slow.is_empty(), "give these `[profile.dev.package.NAME] opt-level = 3`: {slow:#?}");
}

#[test]
fn jemallocs_c_code_is_built_at_level_3() {
    let units = graph(&["build", "-p", "harness"]);
    let scripts = units
        .iter()
        .filter(|unit| unit.mode == "run-custom-build" && unit.package.contains("tikv-jemalloc-sys"));
    let levels: Vec<_> = scripts.map(|unit| unit.level.as_str()).collect();
    assert_eq!(levels, ["3"], "the build script hands its level to the C compiler");
}

#[test]
fn no_exception_is_stale() {
    let used = used_by_the_worker(&graph(&["build", "-p", "harness"]));
    for (name, reason) in UNTIMED {
        assert!(used.contains_key(name), "the worker names {name} no more ({reason}): strike it off");
    }
}

#[test]
fn cargo_test_uses_the_dependencies_that_cargo_run_has_built() {
    let foreign = |words: &[&str]| {
        let units = graph(words);
        let foreign = units.iter().filter(|unit| unit.package.starts_with("registry+"));
        foreign
            .map(|unit| (unit.package.clone(), format!("{} {}", unit.mode, unit.identity)))
            .collect::<BTreeSet<_>>()
    };
    let (run, test) = (foreign(&["build", "-p", "harness"]), foreign(&["test", "--workspace"]));
    assert!(run.iter().any(|(package, _)| package.contains("#polars-core@")), "polars is in the graph");
    let packages: BTreeSet<_> = run.iter().map(|(package, _)| package).collect();
    let test = test.iter().filter(|(package, _)| packages.contains(package)).cloned().collect();
    let again: Vec<_> = run.symmetric_difference(&test).collect();
    assert!(again.is_empty(), "`cargo test` asks other features or another profile of: {again:#?}");
}
