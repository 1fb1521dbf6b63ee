//! gRPC timer log (`GRPC_TRACE=timer`, core up to 1.5x): deadlines that nearly always are cancelled.
//!
//! ```text
//! I1130 09:02:56.160412803   28993 timer_generic.cc:344]   TIMER 0x7f..58: SET 1308 now 1287 call 0x..[0x..]
//! I1130 09:02:56.162347754   28992 timer_generic.cc:446]   TIMER 0x7f..38: CANCEL pending=true
//! I1130 09:02:56.181166832   28991 timer_generic.cc:536]   TIMER 0x7f..58: FIRE 0ms late
//! ```
//!
//! | line                   | row                                                                 |
//! |------------------------|---------------------------------------------------------------------|
//! | `SET` of one not armed | S                                                                   |
//! | `SET` of one armed     | R                                                                   |
//! | `CANCEL pending=true`  | C                                                                   |
//! | `CANCEL pending=false` | N: it comes for every timer that has expired                        |
//! | `FIRE`                 | E                                                                   |
//!
//! The log's time has nanoseconds and no year; SET and now are milliseconds of the process's cached clock, which
//! stands still within a call. The least distance of both clocks that was seen so far ties them together, so due times
//! stand on the millisecond. Threads write out of order by up to some ms. Lines with `..` and `TIMER CHECK` are about
//! gRPC's own queue. Cost: O(1) a line; memory grows with the addresses that are in use.

use jiff::civil::Date;

use super::timers::{At, Timers};
use super::{Form, Importer, Line, LineImporter, Out, text};

/// See the module.
pub(super) const FORM: Form = Form {
    name: "grpc",
    summary: "gRPC timer log (GRPC_TRACE=timer): deadlines of calls",
    sniff: |head| head.iter().any(|line| matches!(parse(line), Ok(Some(_)))),
    start: |_| Ok(Importer::Lines(Box::new(Grpc::default()))),
};

/// What a line says of a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    /// Armed, in ms of the process's clock.
    Set { due: i64, now: i64 },
    /// Cancelled, or found not armed.
    Cancel { pending: bool },
    /// Expired.
    Fire,
}

impl Event {
    /// What it is counted as.
    fn name(self) -> &'static str {
        match self {
            Self::Set { .. } => "SET",
            Self::Cancel { pending: true } => "CANCEL pending=true",
            Self::Cancel { pending: false } => "CANCEL pending=false",
            Self::Fire => "FIRE",
        }
    }
}

/// A line about a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Timer {
    /// Days of a leap year, and nanoseconds of the day.
    time: (u64, u64),
    /// Its address.
    address: u64,
    event: Event,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Grpc {
    /// The day of the last line, and the days of the years that have gone by.
    day: u64,
    years: u64,
    /// The least distance from the process's clock to the log's.
    offset_ns: Option<i128>,
    timers: Timers<u64>,
}

impl LineImporter for Grpc {
    fn line(&mut self, line: &Line<'_>, out: &mut Out) {
        match parse(line.text) {
            Ok(Some(parsed)) => self.event(line.number, parsed, out),
            Ok(None) => out.skip(line.number, "about no timer"),
            Err(reason) => out.skip(line.number, reason),
        }
    }

    fn finish(&mut self, out: &mut Out) {
        let metadata = out.metadata();
        metadata.set("clock", "the log's; due times by the least distance from the process's clock");
        metadata.set("due-granularity-ns", text::MILLISECOND.to_string());
        metadata.set("fidelity", "recorded");
    }
}

impl Grpc {
    fn event(&mut self, number: u64, line: Timer, out: &mut Out) {
        let at = At { line: number, time_ns: self.time(line.time) };
        out.event(line.event.name());
        match line.event {
            Event::Set { due, now } => {
                let distance = i128::from(at.time_ns) - ns(now);
                let offset = self.offset_ns.map_or(distance, |offset| offset.min(distance));
                self.offset_ns = Some(offset);
                self.timers.arm(out, at, line.address, offset + ns(due), 0);
            }
            Event::Cancel { pending: true } => self.timers.cancel(out, at, &line.address),
            Event::Cancel { pending: false } => self.timers.cancel_or_miss(out, at, &line.address),
            Event::Fire => self.timers.expire(out, at, &line.address, 1),
        }
    }

    /// Days that fall by more than half a year are of the next one.
    fn time(&mut self, (day, ns): (u64, u64)) -> u64 {
        if day + 183 < self.day {
            self.years += 366;
        }
        self.day = day;
        (self.years + day).saturating_mul(24 * 3600 * text::SECOND).saturating_add(ns)
    }
}

/// Milliseconds as ns.
fn ns(ms: i64) -> i128 {
    i128::from(ms) * i128::from(text::MILLISECOND)
}

/// The timer's line; `None` if it is about something else.
fn parse(line: &str) -> Result<Option<Timer>, &'static str> {
    let Some((head, said)) = line.split_once("] ") else { return Ok(None) };
    let Some(said) = said.trim_start().strip_prefix("TIMER 0x") else { return Ok(None) };
    let (address, said) = said.split_once(": ").ok_or("a TIMER line without an event")?;
    let address = u64::from_str_radix(address, 16).map_err(|_| "a TIMER line without an address")?;
    let event = event(said).ok_or("an event of a timer that is not known")?;
    let time = time(head).ok_or("no log time as in I1130 09:02:56.160412803")?;
    Ok(Some(Timer { time, address, event }))
}

fn event(said: &str) -> Option<Event> {
    let mut words = said.split_whitespace();
    match words.next()? {
        "SET" => {
            let due = words.next()?.parse().ok()?;
            let now = (words.next()? == "now").then(|| words.next()?.parse().ok()).flatten()?;
            Some(Event::Set { due, now })
        }
        "CANCEL" => match words.next()? {
            "pending=true" => Some(Event::Cancel { pending: true }),
            "pending=false" => Some(Event::Cancel { pending: false }),
            _ => None,
        },
        "FIRE" => Some(Event::Fire),
        _ => None,
    }
}

/// `I1130 09:02:56.160412803 ...` as the day of a leap year and the time of it.
fn time(head: &str) -> Option<(u64, u64)> {
    let (day, rest) = head.split_once(' ')?;
    let day = day.trim_start_matches(|c: char| c.is_ascii_alphabetic());
    if day.len() != 4 || !day.is_ascii() {
        return None;
    }
    let date = Date::new(2000, day[..2].parse().ok()?, day[2..].parse().ok()?).ok()?;
    Some((u64::from(date.day_of_year().unsigned_abs()), text::clock(rest.split_whitespace().next()?)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(said: &str) -> String {
        format!("I1130 09:02:56.160412803   28993 timer_generic.cc:344]       {said}")
    }

    fn event_of(said: &str) -> Result<Option<Event>, &'static str> {
        Ok(parse(&line(said))?.map(|line| line.event))
    }

    #[test]
    fn each_event_is_read() {
        let set = Event::Set { due: 1308, now: 1287 };
        assert_eq!(event_of("TIMER 0x7fac60029c58: SET 1308 now 1287 call 0x7f[0x7f]"), Ok(Some(set)));
        assert_eq!(event_of("TIMER 0xa: CANCEL pending=true"), Ok(Some(Event::Cancel { pending: true })));
        assert_eq!(event_of("TIMER 0xa: CANCEL pending=false"), Ok(Some(Event::Cancel { pending: false })));
        assert_eq!(event_of("TIMER 0xa: FIRE 0ms late"), Ok(Some(Event::Fire)));
        let read = parse(&line("TIMER 0xa: FIRE 0ms late")).unwrap().unwrap();
        assert_eq!((read.time, read.address), ((335, 32_576_160_412_803), 10));
    }

    #[test]
    fn the_queues_own_lines_are_passed_over_and_broken_ones_are_named() {
        for said in [
            "  .. add to shard 2 with queue_deadline_cap=2272 => is_first_timer=false",
            "TIMER CHECK BEGIN: now=1 next=2 tls_min=3 glob_min=4",
            "TIMER CHECK END: r=1; next=2",
            "Spawn timer thread",
        ] {
            assert_eq!(event_of(said), Ok(None), "{said}");
        }
        for said in [
            "TIMER 0xa: SET x now 1",
            "TIMER 0xa: SET 1",
            "TIMER 0xa: HOP",
            "TIMER 0x: FIRE",
            "TIMER 0xa",
            "TIMER 0xa: CANCEL pending=",
        ] {
            assert!(event_of(said).is_err(), "{said}");
        }
        assert!(parse("I1350 09:02:56.1 7 t.cc:1] TIMER 0xa: FIRE 0ms late").is_err());
        assert!(parse("Ié1 09:02:56.1 7 t.cc:1] TIMER 0xa: FIRE 0ms late").is_err());
    }
}
