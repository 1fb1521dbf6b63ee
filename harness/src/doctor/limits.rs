//! How much there is of everything, and how much of it is taken.

use super::fact::{Fact, Fitness};
use super::facts::Own;
use crate::format::memory_unit;
use crate::system::System;
use Fitness::{Good, Note, Poor};

/// Memory with which the usual sizes can be measured, in bytes: a run of 200,000 timers takes some 100 MiB,
/// and what prepares the next block as much again for each processor.
const ENOUGH: u64 = 1 << 30;

/// Memory below which only small sizes can be measured, in bytes.
const LITTLE: u64 = 256 << 20;

fn memory(bytes: u64) -> String {
    let (unit, of) = memory_unit(&[Some(bytes as f64)]);
    format!("{:.0} {unit}", bytes as f64 / of)
}

pub(super) fn processors(own: &Own) -> Fact {
    let fitness = if own.cpu_count.is_some_and(|count| count > 1) { Good } else { Poor };
    let why = "with one, the harness and the system take turns with what is measured";
    Fact::new("processors", own.cpu_count.map(|count| count.to_string()), fitness, why)
        .mend("taskset -pc $$, to see what this shell may use")
}

pub(super) fn load(system: &System, own: &Own) -> Fact {
    let load = system.load();
    let last = load.as_ref().and_then(|load| load.split(' ').next()?.parse::<f64>().ok());
    let count = own.cpu_count.unwrap_or(1) as f64;
    let fitness = match last {
        Some(last) if last >= count / 2.0 => Poor,
        Some(last) if last >= 0.2 => Note,
        _ => Good,
    };
    Fact::new("load over 1, 5, 15 min", load, fitness, "what else runs takes caches, memory and turns")
        .mend("ps -eo pid,pcpu,comm --sort=-pcpu | head")
}

/// What control groups allow.
pub(super) fn groups(system: &System, own: &Own) -> [Fact; 2] {
    [cpu_group(system, own), memory_group(system)]
}

/// The value that lifts a limit: version 2 of control groups has a word for it.
fn lift(file: &str) -> String {
    let value = if file.ends_with(".max") { "max" } else { "-1" };
    format!("echo {value} | sudo tee /{file}")
}

fn cpu_group(system: &System, own: &Own) -> Fact {
    let limit = system.cpu_limit();
    let count = own.cpu_count.unwrap_or(1) as f64;
    let found = limit.as_ref().map_or_else(|| "none".into(), |limit| format!("{:.2} processors", limit.most));
    let fitness = match &limit {
        None => Good,
        Some(limit) if limit.most >= count => Note,
        Some(_) => Poor,
    };
    let why = "a group that has used its time up is stopped for the rest of the period, amid a call";
    let fact = Fact::new("processor limit of the group", Some(found), fitness, why);
    limit.map_or(fact.clone(), |limit| fact.mend(&lift(&limit.file)))
}

fn memory_group(system: &System) -> Fact {
    let limit = system.memory_limit();
    let found = limit.as_ref().map_or_else(|| "none".into(), |limit| memory(limit.most));
    let fitness = match &limit {
        None => Good,
        Some(limit) if limit.most >= ENOUGH => Note,
        Some(_) => Poor,
    };
    let why = "a worker that reaches it is ended, or slowed down by reclaiming";
    let fact = Fact::new("memory limit of the group", Some(found), fitness, why);
    limit.map_or(fact.clone(), |limit| fact.mend(&lift(&limit.file)))
}

pub(super) fn swap(system: &System) -> Fact {
    let swap = system.memory().map(|memory| (memory.swap_total, memory.swap_total - memory.swap_free));
    let words = |(total, used): (u64, u64)| match total {
        0 => "none".to_owned(),
        _ => format!("{} of {} used", memory(used), memory(total)),
    };
    let fitness = match swap {
        Some((0, _)) | None => Good,
        Some((_, 0)) => Note,
        Some(_) => Poor,
    };
    let why = "memory that was moved out is no longer resident, and comes back slowly";
    Fact::new("swap", swap.map(words), fitness, why).mend("sudo swapoff -a")
}

pub(super) fn free_memory(system: &System) -> Fact {
    let available = system.memory().and_then(|memory| memory.mem_available);
    let fitness = match available {
        Some(LITTLE..ENOUGH) => Note,
        Some(..LITTLE) => Poor,
        _ => Good,
    };
    let why = "what does not fit is refused, or reclaimed from others while it is measured";
    Fact::new("memory to be had", available.map(memory), fitness, why)
        .mend("ps -eo pid,rss,comm --sort=-rss | head")
}
