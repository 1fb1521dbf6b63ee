//! What is looked at. Sources of what counts as good: pyperf `system show`, the Linux kernel's documentation of
//! each file, and `results/` of this project.

use crate::machine::Build;
use crate::system::System;

use super::fact::{Fact, Fitness};
use super::limits;
use Fitness::{Good, Note, Poor};

/// What this executable knows of itself.
#[derive(Clone, Debug)]
pub struct Own {
    /// Processors that it may use.
    pub cpu_count: Option<usize>,
    /// How it was built.
    pub build: Build,
    /// Its allocator's name, version and options, as read back.
    pub allocator: Vec<(String, String)>,
    /// Names of the variables of its environment.
    pub variables: Vec<String>,
}

impl Own {
    /// Of this process.
    pub fn this() -> Self {
        Self {
            cpu_count: std::thread::available_parallelism().ok().map(Into::into),
            build: Build::this(),
            allocator: crate::allocator::read_back(),
            variables: std::env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned()).collect(),
        }
    }
}

/// Everything that is looked at, in the order in which it is printed. Changes nothing.
pub fn facts(system: &System, own: &Own) -> Vec<Fact> {
    let processor = [governor(system), turbo(system), smt(system), isolated(system)];
    let clocks = [clock_source(system), counter(system)];
    let memory = [large_pages(system), addresses(system)];
    let around = [virtualisation(system), stolen(system), perf(system)];
    [build(own)]
        .into_iter()
        .chain(processor)
        .chain([limits::processors(own), limits::load(system, own)])
        .chain(clocks)
        .chain(memory)
        .chain(around)
        .chain(limits::groups(system, own))
        .chain([limits::swap(system), limits::free_memory(system), allocator(own)])
        .collect()
}

fn build(own: &Own) -> Fact {
    let asserting = if own.build.assertions { "with" } else { "without" };
    let found = format!("level {}, {asserting} assertions", own.build.level);
    let fitness = if own.build.warning().is_some() { Poor } else { Good };
    let why = "times of an unoptimised structure say nothing of it";
    Fact::new("build", Some(found), fitness, why).mend("cargo run -p harness --")
}

const CPU: &str = "sys/devices/system/cpu";

fn governor(system: &System) -> Fact {
    let found = system.word(&format!("{CPU}/cpu0/cpufreq/scaling_governor"));
    let fitness = if found.as_deref() == Some("performance") { Good } else { Poor };
    let why = "a frequency that follows the load makes short runs slower than long ones";
    Fact::new("frequency governor", found, fitness, why)
        .mend("echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor")
}

fn turbo(system: &System) -> Fact {
    let turbo = system.turbo();
    let found = turbo.map(|on| if on { "on" } else { "off" }.to_owned());
    let fitness = if turbo == Some(false) { Good } else { Note };
    let why = "the frequency then depends on temperature and on what else runs";
    let intel = system.text(&format!("{CPU}/intel_pstate/no_turbo")).is_some();
    let mend = match intel {
        true => "echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo",
        false => "echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost",
    };
    Fact::new("turbo", found, fitness, why).mend(mend)
}

fn smt(system: &System) -> Fact {
    let active = system.number(&format!("{CPU}/smt/active"));
    let found = active.map(|on| if on == 1 { "on" } else { "off" }.to_owned());
    let fitness = if active == Some(1) { Note } else { Good };
    let why = "whatever runs on the other thread of a core takes part of it";
    Fact::new("SMT", found, fitness, why).mend("echo off | sudo tee /sys/devices/system/cpu/smt/control")
}

fn isolated(system: &System) -> Fact {
    let text = system.text(&format!("{CPU}/isolated"));
    let any = text.as_deref().is_some_and(|text| !text.is_empty());
    let found = text.map(|text| if any { text } else { "none".into() });
    let why = "the scheduler may run other processes where a worker runs; see the slowest calls";
    Fact::new("isolated processors", found, if any { Good } else { Note }, why)
        .mend("boot with `isolcpus=1 nohz_full=1`, then `--pin 1`")
}

fn clock_source(system: &System) -> Fact {
    let folder = "sys/devices/system/clocksource/clocksource0";
    let found = system.word(&format!("{folder}/current_clocksource"));
    let known = system.text(&format!("{folder}/available_clocksource")).unwrap_or_default();
    let slow = ["hpet", "acpi_pm", "jiffies", "refined-jiffies", "pit"];
    let fitness = match found.as_deref() {
        Some("tsc") => Good,
        Some(name) if slow.contains(&name) => Poor,
        _ => Note,
    };
    let fact = Fact::new("clock source", found, fitness, "reading a slow one costs more than a call does");
    match known.split_whitespace().any(|name| name == "tsc") {
        true => {
            fact.mend("echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource")
        }
        false => fact,
    }
}

fn counter(system: &System) -> Fact {
    let flags = ["constant_tsc", "nonstop_tsc"].map(|flag| system.has_flag(flag));
    let found = match flags {
        [Some(true), Some(true)] => Some("invariant"),
        [None, _] | [_, None] => None,
        _ => Some("not invariant"),
    };
    let fitness = if found == Some("invariant") { Good } else { Poor };
    let why = "single calls are timed with it; else with the monotonic clock, which costs more";
    Fact::new("time-stamp counter", found.map(str::to_owned), fitness, why).mend("harness --clock wall")
}

fn large_pages(system: &System) -> Fact {
    let found = system.chosen("sys/kernel/mm/transparent_hugepage/enabled");
    let fitness = if found.as_deref() == Some("always") { Note } else { Good };
    let why = "pages of 2 MiB unasked for: faster, but resident memory no longer follows what is used";
    Fact::new("transparent huge pages", found, fitness, why)
        .mend("echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled")
}

fn addresses(system: &System) -> Fact {
    let level = system.number("proc/sys/kernel/randomize_va_space");
    let words = |level| match level {
        0 => "none".to_owned(),
        1 => "stack and libraries".to_owned(),
        2 => "all".to_owned(),
        other => other.to_string(),
    };
    let fitness = if level == Some(2) { Good } else { Note };
    let why =
        "every process draws its addresses anew, so luck with them is in the interval; else all share it";
    Fact::new("ASLR", level.map(words), fitness, why).mend("sudo sysctl kernel.randomize_va_space=2")
}

fn virtualisation(system: &System) -> Fact {
    let found = system.virtualisation();
    let fitness = if found.as_deref() == Some("none") { Good } else { Note };
    let why = "neighbours share caches and time; only ratios within a run carry over";
    Fact::new("virtualisation", found, fitness, why).mend("harness --rigorous, or a machine of your own")
}

/// Time since the start that the hypervisor gave to others, of all time (`proc(5)`: the eighth figure).
fn stolen(system: &System) -> Fact {
    let text = system.text("proc/stat").unwrap_or_default();
    let first = text.lines().next().and_then(|line| line.strip_prefix("cpu "));
    let figures: Vec<f64> =
        first.unwrap_or_default().split_whitespace().filter_map(|one| one.parse().ok()).collect();
    let all: f64 = figures.iter().take(8).sum();
    let share = figures.get(7).filter(|_| all > 0.0).map(|stolen| stolen / all);
    let fitness = match share {
        Some(share) if share >= 0.01 => Poor,
        Some(share) if share >= 0.001 => Note,
        _ => Good,
    };
    let found = share.map(|share| format!("{:.2} %", share * 100.0));
    Fact::new("time stolen since boot", found, fitness, "a call that waits for the hypervisor looks slow")
        .mend("harness --rigorous, or a machine of your own")
}

fn perf(system: &System) -> Fact {
    let level = system.number("proc/sys/kernel/perf_event_paranoid");
    let fitness = if level.is_some_and(|level| level <= 1) { Good } else { Note };
    let why = "above 1, `perf stat` and `perf record` on a worker see less; no figure here depends on it";
    Fact::new("perf_event_paranoid", level.map(|level| level.to_string()), fitness, why)
        .mend("sudo sysctl kernel.perf_event_paranoid=1")
}

/// Variables that change an allocator.
const ALLOCATOR_VARIABLES: [&str; 7] = [
    "MALLOC_CONF",
    "_RJEM_MALLOC_CONF",
    "GLIBC_TUNABLES",
    "MALLOC_ARENA_MAX",
    "MALLOC_TRIM_THRESHOLD_",
    "MALLOC_TOP_PAD_",
    "LD_PRELOAD",
];

fn allocator(own: &Own) -> Fact {
    let set: Vec<&str> =
        own.variables.iter().map(String::as_str).filter(|name| ALLOCATOR_VARIABLES.contains(name)).collect();
    let told =
        own.allocator.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(" ");
    let (fitness, found) = match set.as_slice() {
        [] => (Good, told),
        set => (Note, format!("{told}; set: {}", set.join(", "))),
    };
    let why =
        "its options, as it tells them, decide what it keeps; a variable that is set changes every worker";
    Fact::new("allocator", (!found.is_empty()).then_some(found), fitness, why)
        .mend(&format!("unset {}", set.join(" ")))
}
