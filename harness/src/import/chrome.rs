//! Chrome trace-event JSON: timers of web pages, as the devtools see them.
//!
//! ```text
//! {"traceEvents":[{"name":"TimerInstall","ph":"I","ts":us,"pid":1,"args":{"data":
//!                     {"timerId":7,"timeout":ms,"singleShot":true,"frame":"A0"}}}, ...]}      or the array alone
//! ```
//!
//! | event                         | row                                                                          |
//! |-------------------------------|------------------------------------------------------------------------------|
//! | `TimerInstall`                | S, due = ts + timeout; `singleShot: false` has a period, of 1 ms at least    |
//! | `TimerFire`                   | E; without an install before it, the timer was there before the trace (P)    |
//! | `TimerRemove` of one armed    | C                                                                            |
//! | `TimerRemove` of any other    | N: it has fired, was never seen, or is 0                                     |
//!
//! A timer is known by process, frame and id: ids start again in every frame. A frame that installs an id that is
//! still armed has loaded another page, with which the old timer went (C). Browsers clamp: nested timers wait 4 ms at
//! least, those of pages in the background 1 s, so a due time is a lower bound, and the fire is what happened.
//!
//! Events need not be in order: timer events are sorted, the others are passed over as they are read. A file that
//! breaks off (a browser that was killed leaves no `]`) gives what it has. Cost: memory for one event, and for the
//! sort, which goes to disk if need be; frames' names are kept.

use std::collections::HashMap;
use std::fmt;
use std::io::BufRead;

use bytemuck::{Pod, Zeroable};
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::timers::{At, Timers};
use super::{DocumentImporter, Form, Importer, Out, Sorter, text};
use crate::error::Error;

/// See the module.
pub(super) const FORM: Form = Form {
    name: "chrome",
    summary: "Chrome trace-event JSON: timers of web pages",
    sniff: |head| {
        let begin = |line: &String| line.trim_start().starts_with(['{', '[']);
        let says = |word: &str| head.iter().any(|line| line.contains(word));
        head.iter().find(|line| !line.trim().is_empty()).is_some_and(begin)
            && (says("\"traceEvents\"") || says("\"ph\"") && says("\"ts\""))
    },
    start: |_| Ok(Importer::Document(Box::new(Chrome))),
};

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Chrome;

/// An event of a timer as it is sorted.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Pod, Zeroable)]
struct Stamped {
    ts_ns: u64,
    /// Its place among all events.
    number: u64,
    pid: i64,
    frame: u64,
    id: i64,
    timeout_ns: u64,
    /// One of the constants below.
    what: u64,
}

const INSTALL: u64 = 0;
const INSTALL_INTERVAL: u64 = 1;
const FIRE: u64 = 2;
const REMOVE: u64 = 3;

impl DocumentImporter for Chrome {
    fn read(&mut self, from: &mut dyn BufRead, out: &mut Out) -> Result<(), Error> {
        let mut events = Sorter::new(&std::env::temp_dir());
        let (mut frames, mut number) = (HashMap::new(), 0_u64);
        let read = each_event(from, &mut |element| {
            number += 1;
            match parse(&element) {
                Ok(Some(timer)) => {
                    out.event(timer.event.name());
                    let pushed = events.push(timer.stamped(number, &mut frames));
                    out.check(pushed);
                }
                Ok(None) => out.skip(number, "about no timer"),
                Err(reason) => out.skip(number, reason),
            }
        });
        match read {
            Err(error) if error.is_eof() && number > 0 => out.skip(number + 1, "the file breaks off"),
            Err(error) => return Err(no_trace(&error)),
            Ok(()) => {}
        }
        out.lines_read(number);
        let mut timers = Timers::default();
        for (at, event) in (1..).zip(events.finish()) {
            match event {
                Ok(event) => happened(&mut timers, at, event, out),
                Err(error) => out.check(Err(error)),
            }
        }
        let metadata = out.metadata();
        metadata.set("clock", "microseconds of the trace");
        metadata.set("due-granularity-ns", text::MILLISECOND.to_string());
        metadata.set("fidelity", "recorded");
        Ok(())
    }
}

fn no_trace(error: &serde_json::Error) -> Error {
    Error::failed(format!("not the JSON of a Chrome trace: {error}"))
        .mend("give an object with `traceEvents`, or the array of events alone, as the devtools save it")
}

/// The rows of an event. `line` is its place in order of time, and keeps its rows there.
fn happened(timers: &mut Timers<(i64, u64, i64)>, line: u64, event: Stamped, out: &mut Out) {
    let at = At { line, time_ns: event.ts_ns };
    let key = (event.pid, event.frame, event.id);
    match event.what {
        FIRE => timers.expire(out, at, &key, 1),
        REMOVE => timers.cancel_or_miss(out, at, &key),
        what => {
            if timers.is_armed(&key) {
                timers.cancel(out, at, &key);
            }
            let period_ns =
                if what == INSTALL_INTERVAL { event.timeout_ns.max(text::MILLISECOND) } else { 0 };
            let due_ns = i128::from(at.time_ns) + i128::from(event.timeout_ns.max(period_ns));
            timers.arm(out, at, key, due_ns, period_ns);
        }
    }
}

/// Hands over the elements of `traceEvents`, or of the array alone, one after the other.
fn each_event(from: &mut dyn BufRead, act: &mut dyn FnMut(Value)) -> serde_json::Result<()> {
    let mut reader = serde_json::Deserializer::from_reader(from);
    reader.deserialize_any(Events { act })
}

/// Visits the trace, or its events.
struct Events<'a> {
    act: &'a mut dyn FnMut(Value),
}

impl<'de> DeserializeSeed<'de> for Events<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Events<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of events")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut events: A) -> Result<(), A::Error> {
        while let Some(event) = events.next_element()? {
            (self.act)(event);
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        let Self { act } = self;
        while let Some(name) = fields.next_key::<String>()? {
            if name == "traceEvents" {
                fields.next_value_seed(Events { act: &mut *act })?;
            } else {
                fields.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

/// What happened to a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Install { timeout_ns: u64, repeats: bool },
    Fire,
    Remove,
}

impl Event {
    /// What it is counted as.
    fn name(self) -> &'static str {
        match self {
            Self::Install { .. } => "TimerInstall",
            Self::Fire => "TimerFire",
            Self::Remove => "TimerRemove",
        }
    }
}

/// An event of a timer.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Timer {
    ts_ns: u64,
    pid: i64,
    frame: String,
    id: i64,
    event: Event,
}

impl Timer {
    /// With its frame as a number.
    fn stamped(self, number: u64, frames: &mut HashMap<String, u64>) -> Stamped {
        let next = frames.len() as u64;
        let frame = *frames.entry(self.frame).or_insert(next);
        let (what, timeout_ns) = match self.event {
            Event::Install { timeout_ns, repeats: false } => (INSTALL, timeout_ns),
            Event::Install { timeout_ns, repeats: true } => (INSTALL_INTERVAL, timeout_ns),
            Event::Fire => (FIRE, 0),
            Event::Remove => (REMOVE, 0),
        };
        Stamped { ts_ns: self.ts_ns, number, pid: self.pid, frame, id: self.id, timeout_ns, what }
    }
}

/// The timer's event in an element of `traceEvents`; `None` if it is about something else.
fn parse(element: &Value) -> Result<Option<Timer>, &'static str> {
    let name = match element.get("name").and_then(Value::as_str) {
        Some(name @ ("TimerInstall" | "TimerFire" | "TimerRemove")) => name,
        _ => return Ok(None),
    };
    let data = element.pointer("/args/data").ok_or("a timer event without args.data")?;
    let number = |value: Option<&Value>| value.and_then(Value::as_i64);
    let event = match name {
        "TimerInstall" => Event::Install {
            timeout_ns: timeout(data).ok_or("a TimerInstall without a timeout")?,
            repeats: data.get("singleShot").and_then(Value::as_bool) == Some(false),
        },
        "TimerFire" => Event::Fire,
        _ => Event::Remove,
    };
    Ok(Some(Timer {
        ts_ns: element.get("ts").and_then(micros).ok_or("a timer event without ts")?,
        pid: number(element.get("pid")).ok_or("a timer event without pid")?,
        frame: data.get("frame").and_then(Value::as_str).unwrap_or("").to_owned(),
        id: number(data.get("timerId")).ok_or("a timer event without timerId")?,
        event,
    }))
}

/// Milliseconds, as ns; those before 0 are 0.
fn timeout(data: &Value) -> Option<u64> {
    let timeout = data.get("timeout")?;
    // A cast of a float saturates, and of NaN is 0.
    timeout.as_u64().map(|ms| ms.saturating_mul(1_000_000)).or_else(|| Some((timeout.as_f64()? * 1e6) as u64))
}

/// Microseconds, as ns: a whole number is kept exactly.
fn micros(ts: &Value) -> Option<u64> {
    match ts.as_u64() {
        Some(us) => us.checked_mul(1000),
        None => {
            let us = ts.as_f64().filter(|us| (0.0..9e15).contains(us))?;
            Some(us.trunc() as u64 * 1000 + (us.fract() * 1000.0).round() as u64)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn event(name: &str, ts: Value, data: Value) -> Value {
        json!({"name": name, "ph": "I", "ts": ts, "pid": 7, "tid": 1, "args": {"data": data}})
    }

    #[test]
    fn each_event_is_read() {
        let install =
            json!({"timerId": 3, "timeout": 250, "singleShot": false, "frame": "A0", "stackTrace": []});
        let read = parse(&event("TimerInstall", json!(1000.25), install)).unwrap().unwrap();
        let event_of = Event::Install { timeout_ns: 250_000_000, repeats: true };
        assert_eq!(read, Timer { ts_ns: 1_000_250, pid: 7, frame: "A0".into(), id: 3, event: event_of });
        let fire =
            parse(&event("TimerFire", json!(3_643_048_278_882_u64), json!({"timerId": 3}))).unwrap().unwrap();
        assert_eq!((fire.ts_ns, fire.event, &*fire.frame), (3_643_048_278_882_000, Event::Fire, ""));
        let odd = json!({"timerId": 3, "timeout": -0.5, "frame": "A0"});
        let odd = parse(&event("TimerInstall", json!(1), odd)).unwrap().unwrap();
        assert_eq!(odd.event, Event::Install { timeout_ns: 0, repeats: false });
    }

    #[test]
    fn other_events_are_passed_over_and_broken_ones_are_named() {
        for other in [json!({"name": "RunTask", "ts": 1}), json!(null), json!([1]), json!({"name": 7})] {
            assert_eq!(parse(&other), Ok(None), "{other}");
        }
        let good = json!({"timerId": 3, "timeout": 1});
        for (broken, why) in [
            (event("TimerInstall", json!(1), json!({"timerId": 3})), "timeout"),
            (event("TimerFire", json!(1), json!({"timerId": "3"})), "timerId"),
            (event("TimerFire", json!("1"), good.clone()), "ts"),
            (event("TimerFire", json!(1e300), good), "ts"),
            (json!({"name": "TimerFire", "ts": 1, "pid": 1, "args": [7]}), "args.data"),
        ] {
            assert!(parse(&broken).unwrap_err().contains(why), "{broken}");
        }
    }
}
