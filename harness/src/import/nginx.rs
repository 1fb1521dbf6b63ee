//! nginx debug log: exact timers of an event loop, in milliseconds of its cached clock.
//!
//! ```text
//! 2026/11/30 09:00:19 [debug] 7#7: *1 event timer add: 6: 3000:1816707     S  clock = key - delta
//! 2026/11/30 09:00:19 [debug] 7#7: timer delta: 308                           clock += 308
//! 2026/11/30 09:00:19 [debug] 7#7: *1 event timer: 6, old: 1816707, new: 1816709     B  left out
//! 2026/11/30 09:00:19 [debug] 7#7: *1 event timer del: 6: 1816707          C  key after the clock, else E
//! ```
//!
//! | line             | row                                                                                 |
//! |------------------|-------------------------------------------------------------------------------------|
//! | `add`            | S; nginx moves a timer as del and add, so there is no R                             |
//! | `del`            | E if the key is not after the clock (an expiry is printed as del), else C           |
//! | `old: .. new: ..`| B; due is what was asked for; the timer keeps its old key                           |
//! | `timer delta`    | none: the process's clock goes on                                                   |
//!
//! A timer is known by process, descriptor and key. A connection's read and write timer may share all three:
//! then the first to be added is the first to go. A key that was never added was armed before the log began (P).
//! The form with `fd:F, expire-time:S s, timer.key:K` is read too. Cost: O(1) a line; memory grows with what is armed.

use std::collections::{HashMap, VecDeque};

use super::timers::{At, Timers};
use super::{Form, Importer, Line, LineImporter, Out, text};

/// See the module.
pub(super) const FORM: Form = Form {
    name: "nginx",
    summary: "nginx debug log: timers of its event loop",
    sniff: |head| head.iter().any(|line| line.contains("[debug]") && line.contains("event timer")),
    start: |_| Ok(Importer::Lines(Box::new(Nginx::default()))),
};

/// What a line says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    /// A timer is armed, `delta` ms ahead.
    Add { fd: u64, delta: u64, key: u64 },
    /// A timer is cancelled, or has expired.
    Del { fd: u64, key: u64 },
    /// The timer of `old` could have been moved to `new`, and was not.
    Absorbed { fd: u64, old: u64, new: u64 },
    /// The cached clock goes on by so many ms.
    Delta(u64),
}

impl Event {
    /// What it is counted as.
    fn name(self) -> &'static str {
        match self {
            Self::Add { .. } => "event timer add",
            Self::Del { .. } => "event timer del",
            Self::Absorbed { .. } => "event timer, old and new",
            Self::Delta(_) => "timer delta",
        }
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Nginx {
    /// The cached clock of each process, in ms.
    clocks: HashMap<u64, u64>,
    timers: Timers<Key>,
    /// The armed timers of a process, a descriptor and a key.
    alike: HashMap<(u64, u64, u64), VecDeque<u64>>,
    /// Tells them apart.
    added: u64,
}

/// A process, a descriptor, a key, and a number that tells apart what shares all three.
type Key = (u64, u64, u64, u64);

impl LineImporter for Nginx {
    fn line(&mut self, line: &Line<'_>, out: &mut Out) {
        let result = match parse(line.text) {
            Ok(Some((pid, event))) => self.event(line.number, pid, event, out),
            Ok(None) => Err("about no timer"),
            Err(reason) => Err(reason),
        };
        if let Err(reason) = result {
            out.skip(line.number, reason);
        }
    }

    fn finish(&mut self, out: &mut Out) {
        let metadata = out.metadata();
        metadata.set("clock", "milliseconds, cached for each turn of the event loop");
        metadata.set("due-granularity-ns", text::MILLISECOND.to_string());
        metadata.set("fidelity", "recorded");
    }
}

impl Nginx {
    fn event(&mut self, line: u64, pid: u64, event: Event, out: &mut Out) -> Result<(), &'static str> {
        out.event(event.name());
        if let Event::Delta(ms) = event {
            self.clocks.entry(pid).and_modify(|clock| *clock = clock.saturating_add(ms));
            return Ok(());
        }
        if let Event::Add { delta, key, .. } = event {
            let clock = key.checked_sub(delta).ok_or("a timer that was added before the clock began")?;
            self.clocks.insert(pid, clock);
        }
        let clock = *self.clocks.get(&pid).ok_or("before the first add, which tells the clock")?;
        let at = At { line, time_ns: clock.saturating_mul(text::MILLISECOND) };
        match event {
            Event::Add { fd, key, .. } => {
                self.added += 1;
                self.alike.entry((pid, fd, key)).or_default().push_back(self.added);
                self.timers.arm(out, at, (pid, fd, key, self.added), ns(key), 0);
            }
            Event::Del { fd, key } => {
                let timer = self.leave(pid, fd, key);
                self.timers.armed_before(out, at, &timer, ns(key));
                match key <= clock {
                    true => self.timers.expire(out, at, &timer, 1),
                    false => self.timers.cancel(out, at, &timer),
                }
                self.timers.forget(&timer);
            }
            Event::Absorbed { fd, old, new } => {
                let alike = self.alike.entry((pid, fd, old)).or_default();
                if alike.is_empty() {
                    self.added += 1;
                    alike.push_back(self.added);
                }
                self.timers.absorb(out, at, &(pid, fd, old, alike[0]), ns(old), ns(new));
            }
            Event::Delta(_) => {}
        }
        Ok(())
    }

    /// The timer that goes first of those alike; a new one if none is known.
    fn leave(&mut self, pid: u64, fd: u64, key: u64) -> Key {
        let alike = self.alike.get_mut(&(pid, fd, key));
        let first = alike.and_then(VecDeque::pop_front);
        if self.alike.get(&(pid, fd, key)).is_some_and(VecDeque::is_empty) {
            self.alike.remove(&(pid, fd, key));
        }
        let number = first.unwrap_or_else(|| {
            self.added += 1;
            self.added
        });
        (pid, fd, key, number)
    }
}

/// Milliseconds as ns.
fn ns(ms: u64) -> i128 {
    i128::from(ms) * i128::from(text::MILLISECOND)
}

/// The process and the event of a line; `None` if it is about something else.
fn parse(line: &str) -> Result<Option<(u64, Event)>, &'static str> {
    let Some((head, said)) = ["event timer", "timer delta: "].iter().find_map(|mark| {
        let at = line.find(mark)?;
        Some((&line[..at], &line[at..]))
    }) else {
        return Ok(None);
    };
    let event = event(said).ok_or("an event timer line in a form that is not known")?;
    let pid = pid(head).ok_or("no PID#TID before the event")?;
    Ok(Some((pid, event)))
}

/// The number before the last `#` that stands in digits.
fn pid(head: &str) -> Option<u64> {
    head.split_whitespace().find_map(|word| {
        let (pid, tid) = word.strip_suffix(':').unwrap_or(word).split_once('#')?;
        tid.parse::<u64>().ok()?;
        pid.parse().ok()
    })
}

fn event(said: &str) -> Option<Event> {
    if let Some(ms) = said.strip_prefix("timer delta: ") {
        return Some(Event::Delta(text::leading(ms)?.0));
    }
    let said = said.strip_prefix("event timer")?;
    if let Some(rest) = said.strip_prefix(" add") {
        return add(rest);
    }
    if let Some(rest) = said.strip_prefix(" del") {
        let [fd, key] = text::numbers(rest)?;
        return Some(Event::Del { fd, key });
    }
    let [fd, old, new] = text::numbers(said)?;
    (said.contains("old:") && said.contains("new:")).then_some(Event::Absorbed { fd, old, new })
}

fn add(rest: &str) -> Option<Event> {
    let [fd, delta, key] = text::numbers(rest)?;
    let delta = if rest.contains("expire-time:") { delta.checked_mul(1000)? } else { delta };
    Some(Event::Add { fd, delta, key })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(said: &str) -> String {
        format!("2026/11/30 09:00:19 [debug] 26698#26699: {said}")
    }

    #[test]
    fn each_form_of_a_line_is_read() {
        let cases = [
            ("*1 event timer add: 6: 3000:1816707", Event::Add { fd: 6, delta: 3000, key: 1816707 }),
            ("event timer add: 6: 0:17", Event::Add { fd: 6, delta: 0, key: 17 }),
            (
                "*1 event timer add fd:6, expire-time:60 s, timer.key:99",
                Event::Add { fd: 6, delta: 60_000, key: 99 },
            ),
            ("*1 event timer del: 6: 1816707", Event::Del { fd: 6, key: 1816707 }),
            ("*1 event timer: 6, old: 18, new: 20", Event::Absorbed { fd: 6, old: 18, new: 20 }),
            ("timer delta: 308", Event::Delta(308)),
        ];
        for (said, event) in cases {
            assert_eq!(parse(&line(said)), Ok(Some((26698, event))), "{said}");
        }
    }

    #[test]
    fn other_lines_are_passed_over_and_broken_ones_are_named() {
        for said in ["epoll timer: -1", "*1 accept: 127.0.0.1:4 fd:6", "*1 client timed out (110: x)", ""] {
            assert_eq!(parse(&line(said)), Ok(None), "{said}");
        }
        for said in ["event timer add: 6: 3000", "event timer del: 6:", "event timer: 6", "timer delta: x"] {
            assert!(parse(&line(said)).is_err(), "{said}");
        }
        assert!(parse("event timer del: 6: 18").is_err());
        assert!(parse(&line("event timer add: 6: 99999999999999999999999:1")).is_err());
    }
}
