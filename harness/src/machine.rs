//! Where a run was made: machine, build and revision, for the manifest. What cannot be had is null.

use std::path::Path;
use std::process::Command;

use procfs::Current;
use serde::{Deserialize, Serialize};

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
}

impl Machine {
    /// This one.
    pub fn here() -> Self {
        let line = |path: &str| std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned());
        let cpu = procfs::CpuInfo::current().ok();
        Self {
            cpu_model: cpu.as_ref().and_then(|cpu| cpu.model_name(0)).map(str::to_owned),
            cpu_count: std::thread::available_parallelism().ok().map(Into::into),
            memory_bytes: procfs::Meminfo::current().ok().map(|memory| memory.mem_total),
            kernel: line("/proc/sys/kernel/osrelease"),
            clock_source: line("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
            governor: line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
            transparent_huge_pages: line("/sys/kernel/mm/transparent_hugepage/enabled"),
        }
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
        let beside = std::env::current_exe().ok().and_then(|exe| exe.parent().map(Path::to_owned));
        let folders = [beside, std::env::current_dir().ok()];
        folders.into_iter().flatten().find_map(|folder| Self::of(&folder))
    }

    fn of(folder: &Path) -> Option<Self> {
        let top = git(folder, &["rev-parse", "--show-toplevel"])?;
        if !Path::new(&top).join("harness/Cargo.toml").exists() {
            return None;
        }
        let commit = git(folder, &["rev-parse", "HEAD"])?;
        let changes = git(Path::new(&top), &["status", "--porcelain", "--untracked-files=no"])?;
        Some(Self { commit, dirty: !changes.is_empty() })
    }
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
    fn a_folder_outside_a_clone_has_no_revision() {
        assert_eq!(Revision::of(tempfile::tempdir().unwrap().path()), None);
    }
}
