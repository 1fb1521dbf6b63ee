//! What an importer can be told.

use clap::ValueEnum;

use super::service::Service;
use super::text;

/// Options of every form; each uses those that mean something to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Kernel: jiffies a second; estimated when not given.
    pub hz: Option<u32>,
    /// Kernel: a cancel and a start of one timer within this time are one move.
    pub window_ns: u64,
    /// Kernel: which timers.
    pub family: Family,
    /// Access logs: how long a client is idle before its timer expires.
    pub idle_ns: u64,
    /// Arrivals: the time-out that each request arms.
    pub timeout_ns: u64,
    /// Arrivals: how long a request takes.
    pub service: Service,
    /// Schedules: for how long they are run.
    pub horizon_ns: u64,
    /// Where the randomness of derived times starts.
    pub seed: u64,
    /// Where the file comes from, for the metadata; its name when not given.
    pub source: Option<String>,
    /// Its licence, for the metadata.
    pub licence: Option<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            hz: None,
            window_ns: 100_000,
            family: Family::Both,
            idle_ns: 30_000_000_000,
            timeout_ns: 60_000_000_000,
            service: Service::default(),
            horizon_ns: 7 * 86_400_000_000_000,
            seed: 1,
            source: None,
            licence: None,
        }
    }
}

/// Nanoseconds of a time as the command line has it: `90s`, `4h30m`, `250ms`, `7d`.
///
/// # Errors
///
/// It has no unit or is too long.
pub fn duration(text: &str) -> Result<u64, String> {
    text::duration(text).ok_or_else(|| format!("`{text}` is no time; write one as 250ms, 90s, 4h30m or 7d"))
}

/// Which of the kernel's timers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Family {
    /// `timer_*`: those of the timer wheel, in jiffies.
    Wheel,
    /// `hrtimer_*`: those of high resolution, in nanoseconds.
    Hrtimer,
    /// Both, with distinct ids.
    #[default]
    Both,
}

impl Family {
    /// Its name on the command line and in the metadata.
    pub fn name(self) -> &'static str {
        match self {
            Self::Wheel => "wheel",
            Self::Hrtimer => "hrtimer",
            Self::Both => "both",
        }
    }
}
