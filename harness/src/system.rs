//! What the kernel says of a machine, read from its files under `/proc` and `/sys`.
//!
//! All of it is read below a root, which is `/` but in tests. What is not there, or cannot be read, is `None`.

use std::fs;
use std::path::PathBuf;

use procfs::{CpuInfo, FromRead, Meminfo};

/// A machine's files.
#[derive(Clone, Debug)]
pub struct System {
    root: PathBuf,
}

/// A limit that a control group sets, and the file that says so.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit<T> {
    /// The limit.
    pub most: T,
    /// The file, from the root on.
    pub file: String,
}

impl System {
    /// The machine that this process runs on.
    pub fn here() -> Self {
        Self::below("/")
    }

    /// A machine whose files lie below `root`.
    pub fn below(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The text of a file, without white space at its ends.
    pub fn text(&self, file: &str) -> Option<String> {
        let text = fs::read_to_string(self.root.join(file.trim_start_matches('/'))).ok()?;
        Some(text.trim().to_owned())
    }

    /// As [`System::text`], but an empty file is `None`, too.
    pub fn word(&self, file: &str) -> Option<String> {
        self.text(file).filter(|text| !text.is_empty())
    }

    /// A number that is all of a file.
    pub fn number(&self, file: &str) -> Option<i64> {
        self.text(file)?.parse().ok()
    }

    /// The choice in brackets, of a file such as `always [madvise] never`.
    pub fn chosen(&self, file: &str) -> Option<String> {
        let text = self.text(file)?;
        let (_, rest) = text.split_once('[')?;
        Some(rest.split_once(']')?.0.to_owned())
    }

    /// The processors.
    pub fn processors(&self) -> Option<CpuInfo> {
        CpuInfo::from_file(self.root.join("proc/cpuinfo")).ok()
    }

    /// Whether the first processor has a flag.
    pub fn has_flag(&self, flag: &str) -> Option<bool> {
        let processors = self.processors()?;
        Some(processors.flags(0)?.contains(&flag))
    }

    /// Memory, in bytes.
    pub fn memory(&self) -> Option<Meminfo> {
        Meminfo::from_file(self.root.join("proc/meminfo")).ok()
    }

    /// Load over 1, 5 and 15 minutes, as the kernel writes it: `0.42 0.36 0.30`.
    pub fn load(&self) -> Option<String> {
        let text = self.text("proc/loadavg")?;
        Some(text.split_whitespace().take(3).collect::<Vec<_>>().join(" "))
    }

    /// Whether the processor may go above its nominal frequency. Two drivers say it, each in its way.
    pub fn turbo(&self) -> Option<bool> {
        let intel = self.number("sys/devices/system/cpu/intel_pstate/no_turbo").map(|off| off == 0);
        intel.or_else(|| self.number("sys/devices/system/cpu/cpufreq/boost").map(|on| on == 1))
    }

    /// What it runs in: `none`, or a hypervisor by name, or `unknown hypervisor`.
    ///
    /// A processor says whether there is one by a flag; which one follows from Xen's own file, the
    /// hypervisor's clock sources, or the name that the firmware gives.
    pub fn virtualisation(&self) -> Option<String> {
        if !self.has_flag("hypervisor")? {
            return Some("none".into());
        }
        let clocks = "sys/devices/system/clocksource/clocksource0/available_clocksource";
        let clocks = self.text(clocks).unwrap_or_default();
        let by_clock = [("kvm-clock", "kvm"), ("hyperv", "hyperv"), ("xen", "xen")];
        let by_clock = by_clock.iter().find(|(clock, _)| clocks.contains(clock)).map(|(_, name)| *name);
        let named = self.word("sys/hypervisor/type").or_else(|| by_clock.map(str::to_owned));
        let firmware = || self.word("sys/class/dmi/id/product_name");
        Some(named.or_else(firmware).unwrap_or_else(|| "unknown hypervisor".into()))
    }

    /// The least memory that a control group above this process allows, in bytes.
    pub fn memory_limit(&self) -> Option<Limit<u64>> {
        let files = self.group_files("memory", "memory.max", "memory.limit_in_bytes");
        let limit = |file: String| Some(Limit { most: self.text(&file)?.parse().ok()?, file });
        let limits = files.into_iter().filter_map(limit);
        // Where nothing is set, version 1 says the largest number of pages.
        limits.filter(|limit: &Limit<u64>| limit.most < 1 << 60).min_by_key(|limit| limit.most)
    }

    /// The fewest processors' worth of time that a control group above this process allows.
    pub fn cpu_limit(&self) -> Option<Limit<f64>> {
        let files = self.group_files("cpu", "cpu.max", "cpu.cfs_quota_us");
        let limit = |file: String| {
            let text = self.text(&file)?;
            let (quota, period) = match text.split_once(' ') {
                Some((quota, period)) => (quota.parse::<f64>().ok()?, period.parse::<f64>().ok()?),
                None => (text.parse().ok()?, self.number(&file.replace("quota", "period"))? as f64),
            };
            (quota > 0.0 && period > 0.0).then(|| Limit { most: quota / period, file })
        };
        files.into_iter().filter_map(limit).min_by(|a, b| a.most.total_cmp(&b.most))
    }

    /// The file of a limit in the group of this process and in every group above it, of both versions.
    fn group_files(&self, controller: &str, second: &str, first: &str) -> Vec<String> {
        let groups = self.text("proc/self/cgroup").unwrap_or_default();
        let mut files = Vec::new();
        for line in groups.lines() {
            let mut fields = line.splitn(3, ':').skip(1);
            let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { continue };
            let (base, name) = match controllers {
                "" => ("sys/fs/cgroup".to_owned(), second),
                _ if controllers.split(',').any(|one| one == controller) => {
                    (format!("sys/fs/cgroup/{controller}"), first)
                }
                _ => continue,
            };
            let mut path = path.trim_end_matches('/');
            loop {
                files.push(format!("{base}{path}/{name}"));
                let Some((above, _)) = path.rsplit_once('/') else { break };
                path = above;
            }
        }
        files
    }
}

/// A machine whose files are made up, and the folder that they lie in.
#[cfg(test)]
pub(crate) fn made_up(files: &[(&str, &str)]) -> (tempfile::TempDir, System) {
    let root = tempfile::tempdir().unwrap();
    for (file, text) in files {
        let path = root.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let system = System::below(root.path());
    (root, system)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_files_says_nothing() {
        let (_root, system) = made_up(&[]);
        assert_eq!((system.turbo(), system.load(), system.virtualisation()), (None, None, None));
        assert_eq!((system.memory_limit(), system.cpu_limit()), (None, None));
    }

    #[test]
    fn the_tightest_limit_of_all_groups_above_counts_in_both_versions() {
        let (_root, system) = made_up(&[
            ("proc/self/cgroup", "4:cpu,cpuacct:/a\n0::/a/b\n"),
            ("sys/fs/cgroup/a/b/memory.max", "max\n"),
            ("sys/fs/cgroup/a/memory.max", "1048576\n"),
            ("sys/fs/cgroup/a/b/cpu.max", "150000 100000\n"),
            ("sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "50000\n"),
            ("sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n"),
            ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n"),
        ]);
        let memory = Limit { most: 1 << 20, file: "sys/fs/cgroup/a/memory.max".to_owned() };
        assert_eq!(system.memory_limit(), Some(memory));
        let cpu = Limit { most: 0.5, file: "sys/fs/cgroup/cpu/a/cpu.cfs_quota_us".to_owned() };
        assert_eq!(system.cpu_limit(), Some(cpu));
    }

    #[test]
    fn a_limit_of_version_1_that_was_never_set_is_none() {
        let (_root, system) = made_up(&[
            ("proc/self/cgroup", "4:memory:/\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
        ]);
        assert_eq!(system.memory_limit(), None);
    }

    #[test]
    fn turbo_is_read_from_either_driver() {
        let (_root, intel) = made_up(&[("sys/devices/system/cpu/intel_pstate/no_turbo", "1\n")]);
        assert_eq!(intel.turbo(), Some(false));
        let (_root, other) = made_up(&[("sys/devices/system/cpu/cpufreq/boost", "1\n")]);
        assert_eq!(other.turbo(), Some(true));
    }

    #[test]
    fn a_hypervisor_is_named_by_its_clock_else_by_the_firmware() {
        let cpu = |flags: &str| format!("processor\t: 0\nmodel name\t: X\nflags\t\t: fpu {flags}\n\n");
        let guest = cpu("hypervisor");
        let (_root, bare) = made_up(&[("proc/cpuinfo", &cpu(""))]);
        assert_eq!(bare.virtualisation().as_deref(), Some("none"));
        let clocks = "sys/devices/system/clocksource/clocksource0/available_clocksource";
        let (_root, kvm) = made_up(&[("proc/cpuinfo", &guest), (clocks, "tsc kvm-clock \n")]);
        assert_eq!(kvm.virtualisation().as_deref(), Some("kvm"));
        let (_root, other) =
            made_up(&[("proc/cpuinfo", &guest), ("sys/class/dmi/id/product_name", "VMware7,1\n")]);
        assert_eq!(other.virtualisation().as_deref(), Some("VMware7,1"));
    }

    #[test]
    fn a_choice_is_what_stands_in_brackets() {
        let (_root, system) = made_up(&[("thp", "always [madvise] never\n"), ("none", "never\n")]);
        assert_eq!(system.chosen("thp").as_deref(), Some("madvise"));
        assert_eq!(system.chosen("none"), None);
    }
}
