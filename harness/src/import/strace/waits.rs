//! Which calls wait, for how long, and how they say that the time ran out.

use super::super::text;
use super::line::{Call, pair, split};

/// A call that may wait.
struct Waits {
    name: &'static str,
    /// Which argument is the limit.
    limit: usize,
    unit: Unit,
    /// What its result begins with when the time ran out.
    ran_out: &'static str,
}

/// How a limit is written.
#[derive(Clone, Copy)]
enum Unit {
    /// A number of ms; all ones in 32 bits, or below 0, is for ever.
    Milliseconds,
    /// Seconds and ns, or NULL for ever.
    Timespec,
    /// Seconds and µs, or NULL for ever.
    Timeval,
}

const CALLS: &[Waits] = &[
    Waits { name: "epoll_wait", limit: 3, unit: Unit::Milliseconds, ran_out: "0" },
    Waits { name: "epoll_pwait", limit: 3, unit: Unit::Milliseconds, ran_out: "0" },
    Waits { name: "epoll_pwait2", limit: 3, unit: Unit::Timespec, ran_out: "0" },
    Waits { name: "poll", limit: 2, unit: Unit::Milliseconds, ran_out: "0" },
    Waits { name: "ppoll", limit: 2, unit: Unit::Timespec, ran_out: "0" },
    Waits { name: "select", limit: 4, unit: Unit::Timeval, ran_out: "0" },
    Waits { name: "pselect6", limit: 4, unit: Unit::Timespec, ran_out: "0" },
    Waits { name: "nanosleep", limit: 0, unit: Unit::Timespec, ran_out: "0" },
    Waits { name: "clock_nanosleep", limit: 2, unit: Unit::Timespec, ran_out: "0" },
    Waits { name: "rt_sigtimedwait", limit: 2, unit: Unit::Timespec, ran_out: "-1 EAGAIN" },
    Waits { name: "futex", limit: 3, unit: Unit::Timespec, ran_out: "-1 ETIMEDOUT" },
];

/// A wait, as a call asked for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wait {
    /// Its call.
    pub name: &'static str,
    pub limit: Limit,
    pub ran_out: bool,
}

/// For how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Limit {
    Endless,
    /// So many ns; 0 is a poll.
    For(u64),
    /// Until a point of a clock that the log does not show: only the end tells when it was.
    Until,
    /// Until so many ns since 1970.
    UntilOfTheDay(u64),
}

/// Whether a call of this name may wait.
pub(super) fn is_wait(name: &str) -> bool {
    named(name).is_some()
}

fn named(name: &str) -> Option<&'static Waits> {
    CALLS.iter().find(|call| call.name == name)
}

/// The wait of a call; `None` if it is no call that waits.
pub(super) fn wait(call: &Call<'_>) -> Result<Option<Wait>, &'static str> {
    let Some(kind) = named(call.name) else { return Ok(None) };
    let arguments = split(call.arguments);
    if kind.name == "futex" && !arguments.get(1).is_some_and(|op| op.starts_with("FUTEX_WAIT")) {
        return Ok(None);
    }
    let text = *arguments.get(kind.limit).unwrap_or(&"NULL");
    let limit = kind.unit.limit(text).ok_or("a wait whose limit cannot be read")?;
    let ran_out =
        call.result.strip_prefix(kind.ran_out).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '));
    let ended = ran_out || !call.result.starts_with('-') || interrupted(call.result);
    if !ended {
        return Err("a wait that was refused");
    }
    Ok(Some(Wait { name: kind.name, limit: absolute(kind.name, &arguments, limit), ran_out }))
}

/// Whether a wait ended before its time for a reason that is no mistake.
fn interrupted(result: &str) -> bool {
    ["EINTR", "EAGAIN", "ERESTART"].iter().any(|error| result.contains(error))
}

/// Some calls take a point in time instead of a limit.
fn absolute(name: &str, arguments: &[&str], limit: Limit) -> Limit {
    let is_absolute = match name {
        "clock_nanosleep" => arguments.get(1).is_some_and(|flags| flags.contains("TIMER_ABSTIME")),
        "futex" => arguments.get(1).is_some_and(|op| op.contains("BITSET")),
        _ => false,
    };
    match limit {
        Limit::For(ns)
            if is_absolute && arguments.iter().any(|argument| argument.contains("CLOCK_REALTIME")) =>
        {
            Limit::UntilOfTheDay(ns)
        }
        Limit::For(_) if is_absolute => Limit::Until,
        limit => limit,
    }
}

impl Unit {
    fn limit(self, text: &str) -> Option<Limit> {
        if text == "NULL" {
            return Some(Limit::Endless);
        }
        Some(Limit::For(match self {
            Self::Milliseconds => match text.parse::<i64>().ok()? {
                ..0 | 0xFFFF_FFFF => return Some(Limit::Endless),
                ms => u64::try_from(ms).ok()?.checked_mul(text::MILLISECOND)?,
            },
            Self::Timespec => pair(text, 1)?,
            Self::Timeval => pair(text, 1000)?,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::strace::line::call;

    fn wait_of(name: &str, rest: &str) -> Result<Option<(Limit, bool)>, &'static str> {
        Ok(wait(&call(name, rest)?)?.map(|wait| (wait.limit, wait.ran_out)))
    }

    #[test]
    fn limits_of_each_call_are_read() {
        let ms = |ms: u64| Limit::For(ms * text::MILLISECOND);
        for (name, rest, limit, ran_out) in [
            ("epoll_wait", "8, [], 512, 3000) = 0", ms(3000), true),
            ("epoll_wait", "0, {{EPOLLIN, {u32=5, u64=5}}}, 64, 4294967295) = 1", Limit::Endless, false),
            ("epoll_wait", "8, [], 512, -1) = -1 EINTR (Interrupted system call)", Limit::Endless, false),
            ("epoll_wait", "8, [], 512, 0) = 0", ms(0), true),
            ("epoll_pwait", "8, [], 512, 20, NULL, 8) = 0", ms(20), true),
            ("epoll_pwait2", "8, [], 5, {tv_sec=1, tv_nsec=500000000}, NULL, 8) = 0", ms(1500), true),
            ("epoll_pwait2", "8, [], 5, NULL, NULL, 8) = 1", Limit::Endless, false),
            (
                "ppoll",
                "[{fd=3, events=POLLIN}], 1, {tv_sec=4, tv_nsec=0}, NULL, 8) = 1 ([{fd=3, revents=POLLIN}], left {tv_sec=3, tv_nsec=9})",
                ms(4000),
                false,
            ),
            ("pselect6", "4, [3], NULL, NULL, {tv_sec=0, tv_nsec=1000000}, NULL) = 0 (Timeout)", ms(1), true),
            ("select", "4, [3], NULL, NULL, {0, 2000}) = 0 (Timeout)", ms(2), true),
            ("poll", "[{fd=3, events=POLLIN}], 1, 10) = 0 (Timeout)", ms(10), true),
            (
                "nanosleep",
                "{tv_sec=1, tv_nsec=0}, NULL) = ? ERESTART_RESTARTBLOCK (Interrupted by signal)",
                ms(1000),
                false,
            ),
            ("clock_nanosleep", "CLOCK_MONOTONIC, 0, {tv_sec=1, tv_nsec=0}, NULL) = 0", ms(1000), true),
            (
                "clock_nanosleep",
                "CLOCK_REALTIME, TIMER_ABSTIME, {tv_sec=1, tv_nsec=0}, NULL) = 0",
                Limit::UntilOfTheDay(text::SECOND),
                true,
            ),
            (
                "clock_nanosleep",
                "CLOCK_MONOTONIC, TIMER_ABSTIME, {tv_sec=1, tv_nsec=0}, NULL) = 0",
                Limit::Until,
                true,
            ),
            (
                "futex",
                "0x7f, FUTEX_WAIT_PRIVATE, 2, {tv_sec=1, tv_nsec=0}) = -1 ETIMEDOUT (Connection timed out)",
                ms(1000),
                true,
            ),
            (
                "futex",
                "0x7f, FUTEX_WAIT, 2, {tv_sec=1, tv_nsec=0}) = -1 EAGAIN (Resource temporarily unavailable)",
                ms(1000),
                false,
            ),
            (
                "rt_sigtimedwait",
                "[INT], 0x7f, {tv_sec=1, tv_nsec=0}, 8) = -1 EAGAIN (Resource temporarily unavailable)",
                ms(1000),
                true,
            ),
        ] {
            assert_eq!(wait_of(name, rest), Ok(Some((limit, ran_out))), "{name}({rest}");
        }
    }

    #[test]
    fn other_calls_are_none_and_what_cannot_be_read_is_named() {
        assert_eq!(wait_of("futex", "0x7f, FUTEX_WAKE_PRIVATE, 1) = 1"), Ok(None));
        assert_eq!(wait_of("read", "3, \"\", 8) = 0"), Ok(None));
        assert!(wait_of("epoll_wait", "8, [], 512, x) = 0").is_err());
        assert!(wait_of("nanosleep", "0x7ffe, NULL) = 0").is_err());
        assert!(wait_of("epoll_wait", "8, [], 512, 5) = -1 EBADF (Bad file descriptor)").is_err());
        assert!(wait_of("epoll_wait", "8, [], 512, 99999999999999999999) = 0").is_err());
    }
}
