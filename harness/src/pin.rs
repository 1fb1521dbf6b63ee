//! Which processor timed workers stay on.

use std::str::FromStr;

use nix::sched::{CpuSet, sched_getaffinity, sched_getcpu};
use nix::unistd::Pid;

use crate::error::Error;

/// What was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pin {
    /// One processor other than the one that this process ran on last, where there are two or more.
    Auto,
    /// No processor: the scheduler moves workers as it likes.
    None,
    /// This one.
    Cpu(usize),
}

impl FromStr for Pin {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "none" => Ok(Self::None),
            number => number
                .parse()
                .map(Self::Cpu)
                .map_err(|_| "write `auto`, `none` or a processor's number".into()),
        }
    }
}

/// The processors that this process may use. Nothing where the kernel does not say.
pub fn usable() -> Vec<usize> {
    let Ok(set) = sched_getaffinity(Pid::from_raw(0)) else { return Vec::new() };
    (0..CpuSet::count()).filter(|cpu| set.is_set(*cpu).unwrap_or(false)).collect()
}

impl Pin {
    /// The processor, if there is to be one.
    pub fn cpu(self) -> Result<Option<usize>, Error> {
        let usable = usable();
        match self {
            Self::None => Ok(None),
            Self::Auto => Ok(elsewhere(&usable, sched_getcpu().ok())),
            Self::Cpu(cpu) if usable.contains(&cpu) => Ok(Some(cpu)),
            Self::Cpu(cpu) => {
                let known = usable.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
                Err(Error::usage(format!("--pin: processor {cpu} cannot be used here"))
                    .mend(format!("there is {known}")))
            }
        }
    }
}

/// The last processor that is not the one in use: interrupts go to the first ones rather.
fn elsewhere(usable: &[usize], in_use: Option<usize>) -> Option<usize> {
    let others = usable.iter().copied().filter(|cpu| Some(*cpu) != in_use);
    others.max().filter(|_| usable.len() >= 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_go_where_their_parent_is_not() {
        assert_eq!(elsewhere(&[0, 1], Some(1)), Some(0));
        assert_eq!(elsewhere(&[0, 1, 5], Some(1)), Some(5));
        assert_eq!(elsewhere(&[0, 1], None), Some(1));
        assert_eq!(elsewhere(&[3], Some(3)), None, "one processor is for both");
        assert_eq!(elsewhere(&[3], Some(2)), None);
    }

    #[test]
    fn a_processor_that_is_not_there_is_refused() {
        assert!(Pin::Cpu(CpuSet::count() + 1).cpu().unwrap_err().to_string().contains("cannot be used here"));
        let first = usable()[0];
        assert_eq!(Pin::Cpu(first).cpu().unwrap(), Some(first));
        assert_eq!("none".parse::<Pin>().unwrap().cpu().unwrap(), None);
        assert!("some".parse::<Pin>().is_err());
    }
}
