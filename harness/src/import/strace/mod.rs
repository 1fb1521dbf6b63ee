//! strace: what a program waits for, and its timers that are file descriptors or signals.
//!
//! ```text
//! 1230 1796029134.053 epoll_wait(8, [..], 512, 3000) = 1 <0.015>     S due +3 s, C after 15 ms
//! 1230 1796029134.069 epoll_wait(8, [..], 512, 5000) = 0 <5.000>     S due +5 s, E after 5 s
//! 1230 1796029139.070 timerfd_settime(9, 0, {it_interval={0, 0}, it_value={1, 0}}, NULL) = 0      S, or R if armed
//! 1230 1796029140.071 read(9, "\1\0\0\0\0\0\0\0", 8) = 8             E
//! ```
//!
//! | call                                         | rows                                                                |
//! |----------------------------------------------|---------------------------------------------------------------------|
//! | a wait with a limit                          | S at its start; E when the limit ran out, C when it ended before    |
//! | a wait without limit, a poll (limit 0)       | A at its end                                                        |
//! | `timerfd_settime`                            | S, or R of an armed one; C with a value of 0, N if not armed        |
//! | `read` of 8 bytes from an armed timerfd      | E; of one with a period, as often as the number read says           |
//! | `close` of an armed timerfd, `timer_delete`  | C                                                                   |
//! | `setitimer`, `alarm`, `timer_settime`        | as `timerfd_settime`                                                |
//! | `--- SIGALRM`, a signal with `SI_TIMER`      | E of the interval timer, or of the POSIX timer that it names        |
//!
//! Waits are epoll_wait, epoll_pwait, epoll_pwait2, poll, ppoll, select, pselect6, nanosleep, clock_nanosleep,
//! rt_sigtimedwait and futex. They show when the program's earliest timer is due, not its timers: they are one timer
//! a thread, and the trace is marked derived. Timers of descriptors and signals are exact.
//!
//! Times are read as they come: `-t`, `-tt`, `-ttt`, `-r` or none. A call ends after its duration (`-T`), else at its
//! `resumed` line, else at the thread's next line; one that ran out ends when it was due. A clock that only a due time
//! is told of (`TIMER_ABSTIME` without `-ttt` and CLOCK_REALTIME) cannot be tied to the log: a sleep until then is due
//! when it ends, a timer is skipped. Threads share descriptors if the log shows the clone.
//!
//! Cost: O(length) a line; memory grows with threads and with what is armed.

mod line;
mod time;
mod waits;

use std::collections::{HashMap, HashSet};

use line::{Body, Call};
use waits::{Limit, Wait};

use super::timers::{At, Timers};
use super::{Form, Importer, Line, LineImporter, Order, Out, text};
use crate::trace::{Op, Row};

/// See the module.
pub(super) const FORM: Form = Form {
    name: "strace",
    summary: "strace: waits of threads (derived), timerfd, alarms and POSIX timers",
    sniff: |head| head.iter().any(|line| matches!(line::parse(line), Ok(Some(_)))),
    start: |_| Ok(Importer::Lines(Box::new(Strace::default()))),
};

/// Whose timer it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Key {
    /// The waits of a thread.
    Thread(u64),
    /// A descriptor of a process.
    Descriptor(u64, u64),
    /// The timer of SIGALRM of a process.
    Alarm(u64),
    /// A POSIX timer of a process, by its number.
    Posix(u64, u64),
}

/// A call of which the rest is to come.
#[derive(Debug)]
struct Open {
    name: String,
    arguments: String,
    start: At,
}

/// A wait that is over.
#[derive(Clone, Copy, Debug)]
struct Ending {
    start: At,
    due: Due,
    ran_out: bool,
}

/// What is known of the end of a wait's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    /// It is a poll or has no limit: no timer is armed.
    Never,
    /// The thread's timer is armed until then.
    At(u64),
    /// When it ran out.
    AtEnd,
}

/// What a timer is set to.
#[derive(Clone, Copy, Debug)]
struct Setting {
    /// 0 disarms it.
    ns: u64,
    period_ns: u64,
    /// `ns` is a time of its clock, not a duration.
    absolute: bool,
}

impl Setting {
    fn of(flags: &str, value: &str, unit_ns: u64) -> Result<Self, &'static str> {
        let (period_ns, ns) =
            line::interval_and_value(value, unit_ns).ok_or("a timer whose value cannot be read")?;
        Ok(Self { ns, period_ns, absolute: flags.contains("ABSTIME") })
    }
}

/// Expiries of one line that are believed.
const EXPIRIES_MAX: u64 = 1000;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Strace {
    clock: time::Clock,
    open: HashMap<u64, Open>,
    endings: HashMap<u64, Ending>,
    timers: Timers<Key>,
    /// The process of each thread that was seen to be cloned.
    process: HashMap<u64, u64>,
    /// Timers on the clock of the day, which `-ttt` shows.
    of_the_day: HashSet<Key>,
}

impl LineImporter for Strace {
    fn line(&mut self, line: &Line<'_>, out: &mut Out) {
        if line.number == 1 {
            // A wait is known when it ends, however long it took.
            out.order(Order::Unsorted).expect("a sorter makes no file before its memory is full");
        }
        let result = match line::parse(line.text) {
            Ok(Some(parsed)) => self.parsed(line.number, parsed, out),
            Ok(None) => Err("not a call, a signal or an exit"),
            Err(reason) => Err(reason),
        };
        if let Err(reason) = result {
            out.skip(line.number, reason);
        }
    }

    fn finish(&mut self, out: &mut Out) {
        let mut left: Vec<(u64, Ending)> = self.endings.drain().collect();
        left.sort_unstable_by_key(|(pid, ending)| (ending.start.time_ns, *pid));
        for (pid, ending) in left {
            let end = if ending.ran_out { ending.due.or(ending.start.time_ns) } else { ending.start.time_ns };
            self.end(pid, end, ending, out);
        }
        let kind = self.clock.kind;
        let metadata = out.metadata();
        metadata.set("clock", kind.name());
        metadata.set("due-granularity-ns", kind.granularity_ns().to_string());
        metadata.set("fidelity", "derived");
    }
}

impl Due {
    fn or(self, otherwise: u64) -> u64 {
        if let Self::At(due_ns) = self { due_ns } else { otherwise }
    }
}

impl Strace {
    fn parsed(&mut self, number: u64, line: line::Line<'_>, out: &mut Out) -> Result<(), &'static str> {
        let at = At { line: number, time_ns: self.clock.at(line.stamp) };
        self.settle(line.pid, at, out);
        match line.body {
            Body::Call(call) => {
                let end = call.took_ns.map(|took| at.time_ns.saturating_add(took));
                self.call(line.pid, at, end, &call, out)
            }
            Body::Unfinished { name, arguments } => {
                let open = Open { name: name.to_owned(), arguments: arguments.to_owned(), start: at };
                self.open.insert(line.pid, open);
                Ok(())
            }
            Body::Resumed { name, rest } => self.resumed(line.pid, at, name, rest, out),
            Body::Detached { name } if waits::is_wait(name) => {
                out.event(name);
                Err("a wait within which strace let go of the thread")
            }
            Body::Detached { .. } => Ok(()),
            Body::Signal { name, about } => {
                self.signal(line.pid, at, name, about, out);
                Ok(())
            }
            Body::Exit => match self.open.remove(&line.pid) {
                Some(open) if waits::is_wait(&open.name) => {
                    out.event(&open.name);
                    Err("a thread that ended within a wait")
                }
                _ => Ok(()),
            },
        }
    }

    fn resumed(
        &mut self,
        pid: u64,
        at: At,
        name: &str,
        rest: &str,
        out: &mut Out,
    ) -> Result<(), &'static str> {
        let open = self.open.remove(&pid).filter(|open| open.name == name);
        let open = match open {
            Some(open) => open,
            None if waits::is_wait(name) => return Err("the rest of a wait whose start was not seen"),
            None => return Ok(()),
        };
        let whole = open.arguments + rest;
        let call = line::call(name, &whole)?;
        let end = call.took_ns.map_or(at.time_ns, |took| open.start.time_ns.saturating_add(took));
        self.call(pid, At { line: at.line, ..open.start }, Some(end), &call, out)
    }

    /// A call that is over; `end` is `None` if only the thread's next line tells when.
    fn call(
        &mut self,
        pid: u64,
        at: At,
        end: Option<u64>,
        call: &Call<'_>,
        out: &mut Out,
    ) -> Result<(), &'static str> {
        if let Some(wait) = waits::wait(call)? {
            self.wait(pid, at, end, wait, out);
            return Ok(());
        }
        if let Some(end) = end {
            self.clock.ended(end);
        }
        let arguments = line::split(call.arguments);
        // A timer runs from within its call, and a read returns when it has expired.
        let time_ns = end.filter(|_| call.name == "read").unwrap_or(at.time_ns);
        let at = At { time_ns, ..at };
        let process = self.process.get(&pid).copied().unwrap_or(pid);
        self.timer_call(process, at, call, &arguments, out)
    }

    fn wait(&mut self, pid: u64, at: At, end: Option<u64>, wait: Wait, out: &mut Out) {
        out.event(wait.name);
        let due = match wait.limit {
            Limit::For(0) | Limit::Endless => Due::Never,
            Limit::For(ns) => Due::At(at.time_ns.saturating_add(ns)),
            Limit::UntilOfTheDay(ns) if self.clock.kind == time::Kind::Epoch => Due::At(ns),
            Limit::Until | Limit::UntilOfTheDay(_) if wait.ran_out => Due::AtEnd,
            Limit::Until | Limit::UntilOfTheDay(_) => Due::Never,
        };
        if let Due::At(due_ns) = due {
            self.timers.arm(out, at, Key::Thread(pid), due_ns.into(), 0);
        }
        let ending = Ending { start: at, due, ran_out: wait.ran_out };
        let guess = || if wait.ran_out { due.or(at.time_ns) } else { at.time_ns };
        match end.or_else(|| (self.clock.kind == time::Kind::None).then(guess)) {
            Some(end) => {
                self.end(pid, end, ending, out);
                self.clock.ended(end);
            }
            None => _ = self.endings.insert(pid, ending),
        }
    }

    /// The thread's next line came: whatever it waited for before has ended by then.
    fn settle(&mut self, pid: u64, at: At, out: &mut Out) {
        let Some(ending) = self.endings.remove(&pid) else { return };
        let end = if ending.ran_out { ending.due.or(at.time_ns).min(at.time_ns) } else { at.time_ns };
        self.end(pid, end.max(ending.start.time_ns), ending, out);
    }

    fn end(&mut self, pid: u64, end_ns: u64, ending: Ending, out: &mut Out) {
        let key = Key::Thread(pid);
        let at = At { time_ns: end_ns, ..ending.start };
        match ending.due {
            Due::Never => return out.row(&Row { line: at.line, ..Row::new(end_ns, Op::Advance) }, ""),
            Due::At(_) => {}
            Due::AtEnd => self.timers.arm(out, ending.start, key.clone(), end_ns.into(), 0),
        }
        match ending.ran_out {
            true => self.timers.expire(out, at, &key, 1),
            false => self.timers.cancel(out, at, &key),
        }
    }

    /// Calls about timers, and those that tell who shares what.
    fn timer_call(
        &mut self,
        process: u64,
        at: At,
        call: &Call<'_>,
        arguments: &[&str],
        out: &mut Out,
    ) -> Result<(), &'static str> {
        if call.result.starts_with(['-', '?']) {
            return Ok(());
        }
        let argument = |index: usize| arguments.get(index).copied().unwrap_or("");
        let descriptor = text::leading(argument(0)).map(|(fd, _)| Key::Descriptor(process, fd));
        let posix = posix_number(argument(0)).map(|id| Key::Posix(process, id));
        match call.name {
            "clone" | "clone3" if call.arguments.contains("CLONE_THREAD") => {
                self.process.extend(text::leading(call.result).map(|(thread, _)| (thread, process)));
            }
            "timerfd_create" => {
                let made = text::leading(call.result).map(|(fd, _)| Key::Descriptor(process, fd));
                self.created(made, argument(0));
            }
            "timer_create" => {
                let made = posix_number(argument(2)).map(|id| Key::Posix(process, id));
                self.created(made, argument(0));
            }
            "timerfd_settime" => {
                return self.set(at, descriptor, Setting::of(argument(1), argument(2), 1)?, out);
            }
            "timer_settime" => return self.set(at, posix, Setting::of(argument(1), argument(2), 1)?, out),
            "setitimer" if argument(0) == "ITIMER_REAL" => {
                return self.set(at, Some(Key::Alarm(process)), Setting::of("0", argument(1), 1000)?, out);
            }
            "setitimer" => return Err("an interval timer of processor time"),
            "alarm" => {
                let (seconds, _) = text::leading(argument(0)).ok_or("an alarm without seconds")?;
                let ns = seconds.saturating_mul(text::SECOND);
                let setting = Setting { ns, period_ns: 0, absolute: false };
                return self.set(at, Some(Key::Alarm(process)), setting, out);
            }
            "read" if call.result == "8" => self.read(at, descriptor, argument(1), out),
            "close" => self.close(at, descriptor, out),
            "timer_delete" => self.close(at, posix, out),
            _ => {}
        }
        Ok(())
    }

    /// A timer was made: a descriptor or number may have been another's before.
    fn created(&mut self, key: Option<Key>, clock: &str) {
        let Some(key) = key else { return };
        match clock.starts_with("CLOCK_REALTIME") {
            true => _ = self.of_the_day.insert(key),
            false => _ = self.of_the_day.remove(&key),
        }
    }

    /// Arms or disarms a timer.
    fn set(&mut self, at: At, key: Option<Key>, setting: Setting, out: &mut Out) -> Result<(), &'static str> {
        let key = key.ok_or("a timer without its number")?;
        let due_ns = match setting {
            Setting { ns: 0, .. } => {
                self.timers.cancel_or_miss(out, at, &key);
                return Ok(());
            }
            Setting { absolute: false, ns, .. } => at.time_ns.saturating_add(ns),
            Setting { ns, .. } if self.clock.kind == time::Kind::Epoch && self.of_the_day.contains(&key) => {
                ns
            }
            _ => return Err("a timer due at a time of a clock that the log does not show"),
        };
        self.timers.arm(out, at, key, due_ns.into(), setting.period_ns);
        Ok(())
    }

    fn read(&mut self, at: At, key: Option<Key>, data: &str, out: &mut Out) {
        if let Some(key) = key.filter(|key| self.timers.is_armed(key)) {
            self.expire(at, &key, line::counter(data).unwrap_or(1), out);
        }
    }

    /// An expiry, of which the log says that it stands for several.
    fn expire(&mut self, at: At, key: &Key, times: u64, out: &mut Out) {
        if times > EXPIRIES_MAX {
            out.skip(at.line, "expiries beyond 1,000 at once");
        }
        self.timers.expire(out, at, key, times.min(EXPIRIES_MAX));
    }

    fn close(&mut self, at: At, key: Option<Key>, out: &mut Out) {
        if let Some(key) = key {
            if self.timers.is_armed(&key) {
                self.timers.cancel(out, at, &key);
            }
            self.of_the_day.remove(&key);
        }
    }

    /// A signal by which a timer tells that it expired.
    fn signal(&mut self, pid: u64, at: At, name: &str, about: &str, out: &mut Out) {
        let process = self.process.get(&pid).copied().unwrap_or(pid);
        let field = |name: &str| {
            let at = about.find(name)? + name.len();
            Some(text::leading(&about[at..])?.0)
        };
        let named = field("si_timerid=").filter(|_| about.contains("SI_TIMER"));
        let posix = named.map(|id| Key::Posix(process, id)).filter(|key| self.timers.is_armed(key));
        let alarm =
            (name == "SIGALRM").then_some(Key::Alarm(process)).filter(|key| self.timers.is_armed(key));
        if let Some(key) = posix.or(alarm) {
            self.expire(at, &key, field("si_overrun=").unwrap_or(0).saturating_add(1), out);
        }
    }
}

/// The number of a POSIX timer: `0`, `[0]` or `0x5c`.
fn posix_number(text: &str) -> Option<u64> {
    let text = text.trim_matches(['[', ']']);
    match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}
