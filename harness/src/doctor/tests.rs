use super::*;
use crate::machine::Build;
use crate::system::{System, made_up};

fn own(cpu_count: usize) -> Own {
    Own {
        cpu_count: Some(cpu_count),
        build: Build { level: "3".into(), assertions: false, ..Build::this() },
        allocator: vec![("name".into(), "jemalloc".into()), ("retain".into(), "true".into())],
        variables: Vec::new(),
    }
}

/// What is said of a fact: what was found, the verdict, and the command.
fn said(system: &System, own: &Own, name: &str) -> (Option<String>, String, Option<String>) {
    let fact = facts(system, own).into_iter().find(|fact| fact.fact == name).unwrap();
    (fact.found, fact.verdict, fact.mend)
}

fn cpuinfo(flags: &str) -> String {
    format!("processor\t: 0\nmodel name\t: Made up\nflags\t\t: fpu {flags}\n\n")
}

const QUIET: [(&str, &str); 17] = [
    ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n"),
    ("sys/devices/system/cpu/intel_pstate/no_turbo", "1\n"),
    ("sys/devices/system/cpu/smt/active", "0\n"),
    ("sys/devices/system/cpu/isolated", "1-3\n"),
    ("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n"),
    ("sys/devices/system/clocksource/clocksource0/available_clocksource", "tsc hpet \n"),
    ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
    ("proc/sys/kernel/randomize_va_space", "2\n"),
    ("proc/sys/kernel/perf_event_paranoid", "1\n"),
    ("proc/loadavg", "0.01 0.02 0.03 1/99 1234\n"),
    ("proc/stat", "cpu  100 0 100 800 0 0 0 0 0 0\ncpu0 100 0 100 800 0 0 0 0 0 0\n"),
    ("proc/self/cgroup", "0::/a\n"),
    ("sys/fs/cgroup/a/memory.max", "max\n"),
    ("sys/fs/cgroup/a/cpu.max", "max 100000\n"),
    ("proc/swaps", "Filename Type Size Used Priority\n"),
    ("proc/meminfo", MEMINFO),
    ("proc/cpuinfo", ""),
];

const MEMINFO: &str = "MemTotal: 8000000 kB\nMemFree: 6000000 kB\nMemAvailable: 6000000 kB\nBuffers: 0 kB\n\
    Cached: 0 kB\nSwapCached: 0 kB\nActive: 0 kB\nInactive: 0 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\nDirty: 0 kB\n\
    Writeback: 0 kB\nMapped: 0 kB\nSlab: 0 kB\nCommitted_AS: 0 kB\nVmallocTotal: 0 kB\nVmallocUsed: 0 kB\n\
    VmallocChunk: 0 kB\n";

/// A quiet machine on which some files are otherwise.
fn but(changed: &[(&str, &str)]) -> (tempfile::TempDir, System) {
    let bare = cpuinfo("constant_tsc nonstop_tsc");
    let mut files: Vec<(&str, &str)> =
        QUIET.iter().map(|(file, text)| (*file, if text.is_empty() { &bare } else { *text })).collect();
    files.extend(changed);
    made_up(&files)
}

#[test]
fn a_machine_that_is_set_for_measuring_is_good_throughout() {
    let (_root, system) = but(&[]);
    let bad: Vec<_> = facts(&system, &own(4)).into_iter().filter(|fact| !fact.is(Fitness::Good)).collect();
    assert!(bad.is_empty(), "{bad:?}");
}

#[test]
fn a_machine_that_says_nothing_is_unknown_and_needs_no_command() {
    let (_root, system) = made_up(&[]);
    let facts = facts(&system, &own(4));
    let unknown = facts.iter().filter(|fact| fact.is(Fitness::Unknown)).count();
    // Build, processors, both limits and allocator are known without files.
    assert_eq!((facts.len(), unknown), (19, 14));
    assert!(facts.iter().filter(|fact| fact.is(Fitness::Unknown)).all(|fact| fact.mend.is_none()));
}

#[test]
fn what_makes_figures_worse_is_told_with_what_would_mend_it() {
    let guest = cpuinfo("hypervisor constant_tsc");
    let (_root, system) = but(&[
        ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n"),
        ("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n"),
        ("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n"),
        ("proc/loadavg", "3.50 1.00 0.50 1/99 1234\n"),
        ("proc/stat", "cpu  100 0 100 780 0 0 0 20 0 0\n"),
        ("sys/fs/cgroup/a/cpu.max", "50000 100000\n"),
        ("proc/cpuinfo", &guest),
    ]);
    let verdict = |name| said(&system, &own(4), name).1;
    for poor in [
        "frequency governor",
        "clock source",
        "load over 1, 5, 15 min",
        "time stolen since boot",
        "time-stamp counter",
    ] {
        assert_eq!(verdict(poor), "poor", "{poor}");
    }
    assert_eq!(verdict("transparent huge pages"), "note");
    assert_eq!(verdict("virtualisation"), "note");
    let (found, verdict, mend) = said(&system, &own(4), "processor limit of the group");
    assert_eq!((found.as_deref(), verdict.as_str()), (Some("0.50 processors"), "poor"));
    assert_eq!(mend.as_deref(), Some("echo max | sudo tee /sys/fs/cgroup/a/cpu.max"));
}

#[test]
fn a_variable_that_changes_the_allocator_is_named() {
    let (_root, system) = but(&[]);
    let own = Own { variables: vec!["HOME".into(), "MALLOC_ARENA_MAX".into()], ..own(4) };
    let (found, verdict, mend) = said(&system, &own, "allocator");
    assert_eq!(found.as_deref(), Some("name=jemalloc retain=true; set: MALLOC_ARENA_MAX"));
    assert_eq!((verdict.as_str(), mend.as_deref()), ("note", Some("unset MALLOC_ARENA_MAX")));
}

#[test]
fn a_build_with_assertions_is_poor() {
    let (_root, system) = but(&[]);
    let build = Build { assertions: true, ..own(4).build };
    assert_eq!(said(&system, &Own { build, ..own(4) }, "build").1, "poor");
}
