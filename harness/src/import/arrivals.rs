//! Arrival lists: each request arms a time-out, which its completion cancels.
//!
//! ```text
//! TIMESTAMP,tokens                    second,requests
//! 2023-11-16 18:15:46.6805900,374     5,2               two requests, at 5.0 and at 5.5 s
//!
//!    S due 60          C                     the request took 20 s
//! ---|-----------------|------------------>  a time-out of 60 s
//!    S due 60                 E at 60        it would have taken longer
//! ```
//!
//! | column                              | meaning                                                                |
//! |-------------------------------------|------------------------------------------------------------------------|
//! | `timestamp`, `time`, `arrival`, `ts`, or the first | when a request arrives: a date with a time, or a number |
//! | `second` (first) and `requests`, `count` | so many arrive in that second: evenly, the first on it            |
//!
//! A number below 10^11 is seconds, with or without a fraction; longer ones are ms, µs and ns, three digits each.
//! Lines need not be in order: they are sorted first, on disk if need be. How long a request takes is not in the
//! list: it is drawn ([`super::service`]), request after request in order of time, from the seed. A request that
//! takes as long as its time-out has timed out. Ends come before arrivals of the same time.
//!
//! Cost: O(n log n) for the order, O(log m) a request, `m` being in progress at once: memory grows with `m` only.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use bytemuck::{Pod, Zeroable};
use jiff::Timestamp;
use jiff::civil::DateTime;
use rand::SeedableRng as _;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::service::Service;
use super::timers::{At, Timers};
use super::{Form, Importer, Line, LineImporter, Out, Sorter, text};

/// See the module.
pub(super) const FORM: Form = Form {
    name: "arrivals",
    summary: "CSV of arrival times, or of requests in each second: time-outs (ends are drawn)",
    sniff: |head| {
        let mut lines = head.iter().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
        let Some(first) = lines.next() else { return false };
        if first.contains("time_ns") {
            // It is a trace in the neutral format already.
            return false;
        }
        let columns = Columns::of(first);
        let second = if columns.is_some() { lines.next() } else { Some(first) };
        second.is_some_and(|line| columns.unwrap_or(Columns::Times { column: 0 }).arrivals(line).is_ok())
    },
    start: |options| {
        let importer = Arrivals::new(options.timeout_ns, options.service, options.seed);
        Ok(Importer::Lines(Box::new(importer)))
    },
};

/// See the module.
#[derive(Debug)]
pub(super) struct Arrivals {
    timeout_ns: u64,
    service: Service,
    seed: u64,
    columns: Option<Columns>,
    requests: Sorter<Arrival>,
    count: u64,
}

/// An arrival as it is sorted.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Pod, Zeroable)]
struct Arrival {
    time_ns: u64,
    number: u64,
}

impl Arrivals {
    /// Before the first line.
    pub(super) fn new(timeout_ns: u64, service: Service, seed: u64) -> Self {
        let requests = Sorter::new(&std::env::temp_dir());
        Self { timeout_ns, service, seed, columns: None, requests, count: 0 }
    }

    /// The requests of a line, each at its place within the second.
    fn push(&mut self, first_ns: u64, requests: u64, out: &mut Out) {
        for at in 0..requests {
            out.event("request");
            // At most a million in a second: the product stays far below 2^64.
            let time_ns = first_ns.saturating_add(text::SECOND * at / requests);
            let pushed = self.requests.push(Arrival { time_ns, number: self.count });
            out.check(pushed);
            self.count += 1;
        }
    }
}

impl LineImporter for Arrivals {
    fn line(&mut self, line: &Line<'_>, out: &mut Out) {
        if line.text.trim().is_empty() || line.text.starts_with('#') {
            return out.skip(line.number, "empty, or a comment");
        }
        let columns = match self.columns {
            Some(columns) => columns,
            None => {
                let header = Columns::of(line.text);
                self.columns = Some(header.unwrap_or(Columns::Times { column: 0 }));
                if header.is_some() {
                    return out.skip(line.number, "the header");
                }
                Columns::Times { column: 0 }
            }
        };
        match columns.arrivals(line.text) {
            Ok((first_ns, requests)) => self.push(first_ns, requests, out),
            Err(reason) => out.skip(line.number, reason),
        }
    }

    fn finish(&mut self, out: &mut Out) {
        let requests = std::mem::replace(&mut self.requests, Sorter::new(&std::env::temp_dir()));
        let mut random = Xoshiro256PlusPlus::seed_from_u64(self.seed);
        let mut progress = Progress::default();
        for arrival in requests.finish() {
            match arrival {
                Ok(arrival) => {
                    let service_ns = self.service.draw(&mut random);
                    progress.arrive(arrival, self.timeout_ns, service_ns, out);
                }
                Err(error) => out.check(Err(error)),
            }
        }
        progress.end_until(u64::MAX, out);
        let options = format!("timeout {} ns, service {}, seed {}", self.timeout_ns, self.service, self.seed);
        let metadata = out.metadata();
        metadata.set("clock", "of the arrivals; their ends are drawn");
        metadata.set("start-state", "empty");
        metadata.set("fidelity", "derived");
        metadata.set("options", options);
    }
}

/// Requests that have not ended.
#[derive(Debug, Default)]
struct Progress {
    timers: Timers<u64>,
    /// When, which, and whether it times out.
    ends: BinaryHeap<Reverse<(u64, u64, bool)>>,
    /// Rows so far, which stand in for lines: those of the file need not be in order.
    rows: u64,
}

impl Progress {
    fn arrive(&mut self, arrival: Arrival, timeout_ns: u64, service_ns: u64, out: &mut Out) {
        let time_ns = arrival.time_ns;
        self.end_until(time_ns, out);
        let due_ns = time_ns.saturating_add(timeout_ns);
        let at = self.at(time_ns);
        self.timers.arm(out, at, arrival.number, due_ns.into(), 0);
        let end_ns = due_ns.min(time_ns.saturating_add(service_ns));
        self.ends.push(Reverse((end_ns, arrival.number, end_ns == due_ns)));
    }

    fn end_until(&mut self, now_ns: u64, out: &mut Out) {
        while let Some(Reverse((time_ns, number, times_out))) = self.ends.peek().copied()
            && time_ns <= now_ns
        {
            self.ends.pop();
            let at = self.at(time_ns);
            match times_out {
                true => self.timers.expire(out, at, &number, 1),
                false => self.timers.cancel(out, at, &number),
            }
            self.timers.forget(&number);
        }
    }

    fn at(&mut self, time_ns: u64) -> At {
        self.rows += 1;
        At { line: self.rows, time_ns }
    }
}

/// Which columns say what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Columns {
    /// A request for each line.
    Times { column: usize },
    /// A second, and how many requests there were in it.
    Counts { second: usize, requests: usize },
}

/// Requests in a second that are believed.
const REQUESTS_MAX: u64 = 1_000_000;

impl Columns {
    /// What a header names; `None` if the line is none, but begins with a time.
    fn of(line: &str) -> Option<Self> {
        let fields: Vec<String> = fields(line).map(str::to_lowercase).collect();
        if time(fields.first()?).is_some() {
            return None;
        }
        let named = |names: &[&str]| fields.iter().position(|field| names.contains(&field.as_str()));
        let counted = named(&["requests", "count", "arrivals"]);
        Some(match (named(&["second", "seconds"]), counted) {
            (Some(second), Some(requests)) => Self::Counts { second, requests },
            _ => Self::Times {
                column: named(&["timestamp", "time", "arrival", "ts", "arrived_at"]).unwrap_or(0),
            },
        })
    }

    /// When the requests of a line arrive: the first, and how many there are within a second; 1 is at that time.
    fn arrivals(self, line: &str) -> Result<(u64, u64), &'static str> {
        let field = |column: usize| fields(line).nth(column);
        match self {
            Self::Times { column } => {
                let text = field(column).ok_or("a line without the column of the time")?;
                Ok((time(text).ok_or("a time that is neither a date nor a number")?, 1))
            }
            Self::Counts { second, requests } => {
                let text = field(second).ok_or("a line without the column of the second")?;
                let time = time(text).ok_or("a second that is no number")?;
                let text = field(requests).ok_or("a line without the column of the requests")?;
                let requests = text.parse().map_err(|_| "requests that are no whole number")?;
                if requests > REQUESTS_MAX {
                    return Err("more than 1,000,000 requests in a second");
                }
                Ok((time, requests))
            }
        }
    }
}

/// The fields of a line. No field that is read may hold a comma or a quote.
fn fields(line: &str) -> impl Iterator<Item = &str> {
    line.split(',').map(|field| field.trim().trim_matches('"'))
}

/// Nanoseconds since 1970, or since whatever a number counts from.
fn time(text: &str) -> Option<u64> {
    if text.starts_with(|c: char| c.is_ascii_digit()) && text.bytes().all(|b| b.is_ascii_digit() || b == b'.')
    {
        return number(text);
    }
    let ns = match text.parse::<Timestamp>() {
        Ok(moment) => moment.as_nanosecond(),
        Err(_) => {
            let moment: DateTime = text.parse().ok()?;
            text::since_1970(moment.date(), text::clock(&moment.time().to_string())?)?
        }
    };
    u64::try_from(ns).ok()
}

/// A number in the unit that its size tells.
fn number(text: &str) -> Option<u64> {
    let whole = text.split('.').next()?.trim_start_matches('0').len();
    match whole {
        0..=11 => text::seconds(text),
        12..=14 => scaled(text, text::MILLISECOND),
        15..=17 => scaled(text, 1000),
        _ => text.split('.').next()?.parse().ok(),
    }
}

/// A number of `unit_ns` each; what is finer than a ns is cut off.
fn scaled(text: &str, unit_ns: u64) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let part = text::seconds(&format!("0.{fraction}")).filter(|_| !fraction.contains('.'))?;
    whole.parse::<u64>().ok()?.checked_mul(unit_ns)?.checked_add(part / (text::SECOND / unit_ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_name_the_columns_and_a_time_is_no_header() {
        let times = |column| Some(Columns::Times { column });
        assert_eq!(Columns::of("TIMESTAMP,ContextTokens,GeneratedTokens"), times(0));
        assert_eq!(Columns::of("id,\"Time\""), times(1));
        assert_eq!(Columns::of("when,what"), times(0));
        assert_eq!(Columns::of("second,requests"), Some(Columns::Counts { second: 0, requests: 1 }));
        assert_eq!(Columns::of("1.5"), None);
        assert_eq!(Columns::of("2023-11-16 18:15:46,1"), None);
    }

    #[test]
    fn times_are_dates_or_numbers_of_any_unit() {
        let at = 1_700_158_546_680_590_000;
        for text in [
            "2023-11-16 18:15:46.6805900",
            "2023-11-16T18:15:46.68059Z",
            "2023-11-16T19:15:46.68059+01:00",
            "1700158546.68059",
            "1700158546680.59",
            "1700158546680590",
            "1700158546680590000",
        ] {
            assert_eq!(time(text), Some(at), "{text}");
        }
        assert_eq!(time("0"), Some(0));
        for bad in [
            "",
            "x",
            "-1",
            "1.2.3",
            "1700158546680.5.9",
            "2023-13-01 00:00:00",
            "99999999999999999999999",
            "é",
        ] {
            assert_eq!(time(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_line_is_one_request_or_the_requests_of_a_second() {
        let counts = Columns::Counts { second: 0, requests: 1 };
        assert_eq!(counts.arrivals("5,2"), Ok((5_000_000_000, 2)));
        assert_eq!(counts.arrivals("5,0"), Ok((5_000_000_000, 0)));
        for bad in ["5", "5,x", "x,1", "5,1000001", ""] {
            assert!(counts.arrivals(bad).is_err(), "{bad}");
        }
        assert_eq!(Columns::Times { column: 1 }.arrivals("a, 2.5"), Ok((2_500_000_000, 1)));
        assert!(Columns::Times { column: 1 }.arrivals("a").is_err());
    }
}
