//! The study of what is retained of a burst: small ones, end to end, with the command that a user types.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use harness::folder::Manifest;
use harness::journal;
use harness::record::{Keyed, Memory};
use harness::retention::{HalfLife, Study, answers, grids, studies};
use harness::rows::{Tables, tables};

/// What a run of the study left, and what it printed.
struct Done {
    folder: tempfile::TempDir,
    manifest: Manifest,
    tables: Tables,
    studies: Vec<Study>,
    shown: String,
}

/// Runs the study, with a first look at 0 ms and one after 50 ms.
fn done(more: &[&str]) -> Done {
    let folder = tempfile::tempdir().unwrap();
    let workload = "retention:idle_ms=(0,50),dropped_idle_ms=20";
    let output = Command::new(env!("CARGO_BIN_EXE_harness"))
        .args(["--workload", workload, "--out", "run"])
        .args(more)
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let run = folder.path().join("run");
    let manifest = Manifest::read(&run).unwrap();
    let tables = tables(&manifest, &journal::read(&run).unwrap());
    let shown = String::from_utf8(output.stdout).unwrap();
    Done { studies: studies(&tables), folder, manifest, tables, shown }
}

fn of<'a>(done: &'a Done, structure: &str, allocator: &str) -> &'a Study {
    let is_it = |study: &&Study| study.structure == structure && study.allocator == allocator;
    done.studies.iter().find(is_it).unwrap_or_else(|| panic!("{structure} with {allocator}"))
}

fn rows<'a>(done: &'a Done, pass: &str, phase: &str, point: &str) -> impl Iterator<Item = &'a Keyed<Memory>> {
    let wanted = (pass.to_owned(), Some(phase.to_owned()), point.to_owned());
    done.tables.memory.iter().filter(move |row| {
        (&row.key.pass, &row.own.phase, &row.own.point) == (&wanted.0, &wanted.1, &wanted.2)
    })
}

const KIB: f64 = 1024.0;

#[test]
fn a_small_study_tells_structure_allocator_and_process_apart() {
    let done = done(&["--impl", "list,heap", "--n", "2000"]);
    let allocators = ["jemalloc", "jemalloc-background", "system"];
    assert_eq!(
        done.studies.len(),
        2 * allocators.len(),
        "the workload names its allocators and what is measured"
    );
    assert!(done.tables.measurements.iter().all(|row| ["resident", "heap"].contains(&row.key.pass.as_str())));
    for allocator in allocators {
        let (list, heap) = (of(&done, "list", allocator), of(&done, "heap", allocator));
        let container = |study: &Study| study.curve[0].container.unwrap();
        // 10 nodes, and the room for 2,000 timers and more.
        assert!(container(list) < KIB && container(heap) > 60.0 * KIB, "{allocator}");
        assert!(heap.shrink[0].container.unwrap() > 60.0 * KIB, "{allocator}");
        assert!(heap.shrink[1].container.unwrap() < KIB, "{allocator}");
        // Ten timers own 16 bytes each; both passes look at the same points, so the two figures belong together.
        for held in list.curve.iter().chain(&heap.curve) {
            assert_eq!(held.live.unwrap() - held.container.unwrap(), 160.0, "{allocator}: {held:?}");
        }
        for study in [list, heap] {
            assert_eq!(study.curve.iter().map(|held| held.idle_ms).collect::<Vec<_>>(), [0, 50]);
            assert_eq!(study.drop.iter().map(|held| held.idle_ms).collect::<Vec<_>>(), [0, 0, 20]);
            assert!(study.curve.iter().all(|held| held.lazy_free.is_some() && held.kept_free().is_some()));
            assert!(study.peak >= study.filled.resident && study.area_mib_s() > Some(0.0));
            assert_ne!(study.half_life(), HalfLife::NothingHeld);
        }
    }
}

#[test]
fn what_an_allocator_does_not_keep_is_null_and_what_it_is_set_to_is_read_back() {
    let done = done(&["--impl", "array", "--n", "2000"]);
    for row in rows(&done, "resident", "idle", "idle") {
        let own = &row.own;
        let figures =
            [own.allocator_active_bytes, own.allocator_resident_bytes, own.allocator_retained_bytes];
        let keeps = row.key.allocator != "system";
        assert!(figures.iter().all(|figure| figure.is_some() == keeps), "{}: {figures:?}", row.key.allocator);
        assert!(own.allocator_allocated_bytes > Some(0) && own.live_bytes.is_none());
        assert_eq!(own.idle_ms, Some(50));
    }
    assert!(
        rows(&done, "heap", "idle", "idle")
            .all(|row| row.own.idle_ms.is_none() && row.own.live_bytes > Some(0))
    );
    let thread = |allocator: &str| done.manifest.allocators[allocator].get("background_thread").cloned();
    assert_eq!(thread("jemalloc").as_deref(), Some("false"));
    assert_eq!(thread("jemalloc-background").as_deref(), Some("true"));
    assert_eq!(thread("system"), None);
    for said in [
        "array       the structure itself holds",
        "dirty_decay_ms 10000, muzzy_decay_ms 0, background_thread true",
        "RSS, idle",
        "50 ms, KiB",
        "RSS 20 ms after",
    ] {
        assert!(done.shown.contains(said), "`{said}` is not in\n{}", done.shown);
    }
    let system =
        done.shown.lines().find(|line| line.starts_with(" array       system ") && line.contains(" 50 ms "));
    let system = system.unwrap();
    assert_eq!(system.split_whitespace().rev().take(3).collect::<Vec<_>>(), ["-", "-", "-"], "{system}");
}

#[test]
fn a_burst_that_is_no_study_has_none_and_is_shown_as_before() {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_harness"))
        .args(["--impl", "list", "--workload", "burst:idle_ms=0", "--n", "500", "--measure", "resident"])
        .args(["--out", "run"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(
        shown.contains("Resident memory (RSS) of the whole worker") && !shown.contains("Who holds"),
        "{shown}"
    );
    let run = folder.path().join("run");
    let manifest = Manifest::read(&run).unwrap();
    assert_eq!(studies(&tables(&manifest, &journal::read(&run).unwrap())), []);
    assert!(grids(&[], &BTreeMap::new()).is_empty());
}

/// A jemalloc with its thread gives pages back while nothing happens, one without does not: the answers say so.
#[test]
fn the_answer_names_who_gives_memory_back_while_nothing_happens() {
    let text = done_with_decay();
    let [(structure, words)] = &text[..] else { panic!("{text:?}") };
    assert_eq!(structure, "list");
    assert!(
        words.contains("jemalloc keeps ") && words.contains("free through 2 s, until a purge"),
        "{words}"
    );
    assert!(words.contains("jemalloc-background gives the ") && words.contains("back within "), "{words}");
}

/// The answers for a list of 50,000 timers with a decay of half a second in place of ten.
fn done_with_decay() -> Vec<(String, String)> {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_harness"))
        .args([
            "--workload",
            "retention:idle_ms=(0,500,1000,2000),dropped_idle_ms=0",
            "--impl",
            "list",
            "--n",
            "50k",
        ])
        .args(["--measure", "resident", "--alloc", "jemalloc,jemalloc-background", "--out", "run"])
        .env(harness::allocator::OPTIONS, "dirty_decay_ms:500")
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let run = folder.path().join("run");
    let manifest = Manifest::read(&run).unwrap();
    assert_eq!(manifest.allocators["jemalloc"]["dirty_decay_ms"], "500");
    answers(&studies(&tables(&manifest, &journal::read(&run).unwrap())))
}

#[test]
fn idle_time_does_not_count_for_the_time_out() {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_harness"))
        .args([
            "--workload",
            "retention:idle_ms=(0,5000),dropped_idle_ms=1000",
            "--impl",
            "list",
            "--n",
            "100",
        ])
        .args(["--measure", "resident", "--timeout", "5", "--fail-on-error", "--out", "run"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let entries = journal::read(&folder.path().join("run")).unwrap();
    assert_eq!(entries.len(), 3 * 2);
    assert!(entries.iter().all(|entry| entry.elapsed_ms >= 6_000), "they idle for 6 s each");
    // With so much idle time all six run side by side, on however few processors.
    let starts = entries.iter().map(|entry| entry.started_unix_ms);
    let first_end = entries.iter().map(|entry| entry.started_unix_ms + entry.elapsed_ms).min();
    assert!(starts.max() < first_end, "the last starts before the first has ended");
}

/// The fields without which dhat's viewer (`dh_view.html` of valgrind, file version 2) refuses a file.
#[test]
fn the_profile_of_each_structure_has_all_that_dhats_viewer_asks_for() {
    let done = done(&["--impl", "five", "--n", "500", "--measure", "heap"]);
    let mut files = 0;
    for entry in std::fs::read_dir(done.folder.path().join("run/heap")).unwrap() {
        viewable(&entry.unwrap().path());
        files += 1;
    }
    assert_eq!(files, 5 * 2, "five structures, twice");
}

fn viewable(path: &Path) {
    let file: serde_json::Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    assert_eq!(file["dhatFileVersion"], 2);
    for key in ["mode", "verb", "cmd", "tu", "Mtu", "tuth"] {
        assert!(!file[key].is_null(), "{key}");
    }
    assert!(file["bklt"].is_boolean() && file["bkacc"].is_boolean() && file["pid"].is_u64());
    assert!(file["te"].is_u64() && file["tg"].as_u64() <= file["te"].as_u64());
    let frames = file["ftbl"].as_array().unwrap();
    assert_eq!(frames[0], "[root]");
    let points = file["pps"].as_array().unwrap();
    assert!(!points.is_empty());
    for point in points {
        for key in ["tb", "tbk", "tl", "mb", "mbk", "gb", "gbk", "eb", "ebk"] {
            assert!(point[key].is_u64(), "{key} of {point}");
        }
        let places = point["fs"].as_array().unwrap();
        assert!(!places.is_empty() && places.iter().all(|at| (at.as_u64().unwrap() as usize) < frames.len()));
    }
}
