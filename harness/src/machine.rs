//! Where a run was made: machine, build and revision, for the manifest. What cannot be had is null.

use std::path::{Path, PathBuf};
use std::process::Command;

use procfs::Current;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::system::System;

/// The machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Model of the processor.
    pub cpu_model: Option<String>,
    /// Processors that this process may use.
    pub cpu_count: Option<usize>,
    /// Memory of the machine in bytes.
    pub memory_bytes: Option<u64>,
    /// Version of the kernel.
    pub kernel: Option<String>,
    /// Clock source of the kernel.
    pub clock_source: Option<String>,
    /// Frequency governor of the first processor.
    pub governor: Option<String>,
    /// Whether large pages are given without being asked for.
    pub transparent_huge_pages: Option<String>,
    /// Whether the processor may go above its nominal frequency.
    #[serde(default)]
    pub turbo: Option<bool>,
    /// Randomisation of addresses: 0 none, 1 stack and libraries, 2 the heap as well.
    #[serde(default)]
    pub aslr: Option<i64>,
    /// What it runs in: `none`, or a hypervisor.
    #[serde(default)]
    pub virtualisation: Option<String>,
    /// Load over 1, 5 and 15 minutes when it was looked at, as the kernel writes it: `0.42 0.36 0.30`.
    #[serde(default)]
    pub load: Option<String>,
    /// The least memory that a control group allows, in bytes.
    #[serde(default)]
    pub memory_limit_bytes: Option<u64>,
    /// What calibrations are kept under, made by [`Machine::stable_key`]; none in the manifest of an older run.
    #[serde(default)]
    pub key: Option<String>,
}

impl Machine {
    /// This one.
    pub fn here() -> Self {
        let cpu_count = std::thread::available_parallelism().ok().map(Into::into);
        Self::of(&System::here(), cpu_count)
    }

    /// The machine that these files are of, where `cpu_count` processors may be used.
    pub fn of(system: &System, cpu_count: Option<usize>) -> Self {
        let cpu = system.processors();
        let machine = Self {
            cpu_model: cpu.as_ref().and_then(|cpu| cpu.model_name(0)).map(str::to_owned),
            cpu_count,
            memory_bytes: system.memory().map(|memory| memory.mem_total),
            kernel: system.text("proc/sys/kernel/osrelease"),
            clock_source: system.text("sys/devices/system/clocksource/clocksource0/current_clocksource"),
            governor: system.text("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
            transparent_huge_pages: system.text("sys/kernel/mm/transparent_hugepage/enabled"),
            turbo: system.turbo(),
            aslr: system.number("proc/sys/kernel/randomize_va_space"),
            virtualisation: system.virtualisation(),
            load: system.load(),
            memory_limit_bytes: system.memory_limit().map(|limit| limit.most),
            key: None,
        };
        Self { key: Some(machine.stable_key()), ..machine }
    }

    /// Whether runs on both are of one kind: all is equal but what changes while a machine is up. What one of them
    /// was not asked for is not compared.
    pub fn is_like(&self, other: &Self) -> bool {
        let lasting = |machine: &Self| Self { load: None, memory_limit_bytes: None, ..machine.clone() };
        let (own, mut other) = (lasting(self), lasting(other));
        if own.key.is_none() {
            // The manifest of an older run has not got these.
            other = Self { turbo: None, aslr: None, virtualisation: None, key: None, ..other };
        }
        own == other
    }

    /// A name that is the same as long as the machine is: `2cpu-8gib-` and a hash. It is made of the
    /// processor's model, the number of processors, memory in whole GiB, and virtualisation. Not of what changes
    /// while it is up (load, limits), what can be set (governor, turbo, ASLR, large pages, clock source), or the
    /// kernel: after a change of those, calibrate again.
    pub fn stable_key(&self) -> String {
        let gib = self.memory_bytes.map_or(0, |bytes| (bytes as f64 / f64::from(1 << 30)).round() as u64);
        let cpus = self.cpu_count.unwrap_or(0);
        let told = |text: &Option<String>| text.clone().unwrap_or_default();
        let stable = format!("{}\n{cpus}\n{gib}\n{}", told(&self.cpu_model), told(&self.virtualisation));
        format!("{cpus}cpu-{gib}gib-{:08x}", xxh3_64(stable.as_bytes()) >> 32)
    }
}

/// Bytes of memory that could be had now without ending anything else.
pub fn memory_available() -> Option<u64> {
    procfs::Meminfo::current().ok().and_then(|memory| memory.mem_available)
}

/// Processes that the kernel ended for want of memory since it was started.
pub fn oom_kills() -> Option<i64> {
    procfs::vmstat().ok().and_then(|figures| figures.get("oom_kill").copied())
}

/// How this executable was built.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build {
    /// The compiler.
    pub rustc: Option<String>,
    /// Its target.
    pub target: Option<String>,
    /// Optimisation level.
    pub level: String,
    /// Whether `debug_assertions` are on.
    pub assertions: bool,
    /// Features of the harness that are on.
    pub features: Vec<String>,
    /// Version of the harness.
    pub version: String,
}

impl Build {
    /// Of this executable.
    pub fn this() -> Self {
        Self {
            rustc: option_env!("TWB_RUSTC").map(str::to_owned),
            target: option_env!("TWB_TARGET").map(str::to_owned),
            level: option_env!("TWB_OPT_LEVEL").unwrap_or("unknown").to_owned(),
            assertions: cfg!(debug_assertions),
            features: if cfg!(feature = "tables") { vec!["tables".to_owned()] } else { Vec::new() },
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }

    /// A warning when figures of this build are not those of an optimised one.
    pub fn warning(&self) -> Option<String> {
        let unoptimised = self.level == "0" || self.level == "1";
        (unoptimised || self.assertions).then(|| {
            let asserting = if self.assertions { " with assertions" } else { "" };
            format!(
                "warning: this is no measuring build (opt-level {}{asserting}): its times are not comparable; \
                 use `cargo run` without a profile",
                self.level
            )
        })
    }
}

/// The revision of the source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Revision {
    /// The commit.
    pub commit: String,
    /// Whether tracked files differ from it.
    pub dirty: bool,
}

impl Revision {
    /// The revision of the clone that this executable or the current folder lies in. It is asked for when a
    /// run starts: `cargo run` has built what is there, and a build that asked would be made anew each time.
    pub fn here() -> Option<Self> {
        Self::of(&clone_folder()?)
    }

    fn of(clone: &Path) -> Option<Self> {
        let commit = git(clone, &["rev-parse", "HEAD"])?;
        let changes = git(clone, &["status", "--porcelain", "--untracked-files=no"])?;
        Some(Self { commit, dirty: !changes.is_empty() })
    }
}

/// The clone of this project that this executable or the current folder lies in.
pub fn clone_folder() -> Option<PathBuf> {
    let beside = std::env::current_exe().ok().and_then(|exe| exe.parent().map(Path::to_owned));
    let folders = [beside, std::env::current_dir().ok()];
    folders.into_iter().flatten().find_map(|folder| clone_around(&folder))
}

fn clone_around(folder: &Path) -> Option<PathBuf> {
    let top = PathBuf::from(git(folder, &["rev-parse", "--show-toplevel"])?);
    top.join("harness/Cargo.toml").exists().then_some(top)
}

fn git(folder: &Path, args: &[&str]) -> Option<String> {
    let output = Command::new("git").arg("-C").arg(folder).args(args).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_without_optimisation_or_with_assertions_warns() {
        let mut build = Build { level: "3".into(), assertions: false, ..Build::this() };
        assert_eq!(build.warning(), None);
        build.assertions = true;
        assert!(
            build.warning().unwrap().starts_with("warning: this is no measuring build (opt-level 3 with")
        );
        build.level = "0".into();
        build.assertions = false;
        assert!(build.warning().unwrap().contains("opt-level 0)"));
    }

    #[test]
    fn this_machine_has_a_kernel_and_a_memory() {
        let machine = Machine::here();
        assert!(machine.kernel.is_some() && machine.memory_bytes > Some(1 << 26), "{machine:?}");
        assert!(memory_available() < machine.memory_bytes);
    }

    #[test]
    fn the_key_stays_as_load_settings_and_kernel_change_and_changes_with_the_machine() {
        let machine = Machine { cpu_model: Some("X".into()), cpu_count: Some(2), ..Machine::default() };
        let later = Machine {
            load: Some("9.00 1.00 0.10".into()),
            governor: Some("powersave".into()),
            kernel: Some("7".into()),
            memory_limit_bytes: Some(1),
            memory_bytes: Some(1 << 20),
            turbo: Some(true),
            ..machine.clone()
        };
        assert_eq!(machine.stable_key(), later.stable_key());
        let others = [
            Machine { cpu_model: Some("Y".into()), ..machine.clone() },
            Machine { cpu_count: Some(4), ..machine.clone() },
            Machine { virtualisation: Some("kvm".into()), ..machine.clone() },
            Machine { memory_bytes: Some(8 << 30), ..machine.clone() },
        ];
        assert!(others.iter().all(|other| other.stable_key() != machine.stable_key()), "{others:?}");
    }

    #[test]
    fn a_busier_machine_is_the_same_and_one_that_was_set_otherwise_is_not() {
        let here = Machine { load: Some("0.00 0.00 0.00".into()), ..Machine::here() };
        assert!(here.is_like(&Machine { load: Some("2.00 1.00 1.00".into()), ..here.clone() }));
        assert!(!here.is_like(&Machine { governor: Some("another".into()), ..here.clone() }));
        let old = Machine { turbo: None, aslr: None, virtualisation: None, key: None, ..here.clone() };
        assert!(old.is_like(&here));
    }

    #[test]
    fn a_manifest_from_before_these_fields_is_read() {
        let old = r#"{"cpu_model":"X","cpu_count":2,"memory_bytes":1,"kernel":null,"clock_source":null,
            "governor":null,"transparent_huge_pages":null}"#;
        let machine: Machine = serde_json::from_str(old).unwrap();
        assert_eq!((machine.cpu_count, machine.key, machine.turbo), (Some(2), None, None));
    }

    #[test]
    fn a_folder_outside_a_clone_has_no_revision() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!((clone_around(folder.path()), Revision::of(folder.path())), (None, None));
    }
}
