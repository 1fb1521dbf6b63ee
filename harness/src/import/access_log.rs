//! Access logs in the Common or Combined Log Format, as idle timers of sessions.
//!
//! ```text
//! client-1 - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 5 "-" "agent"
//! client-1 ..... 10:05:23 .....                              sorted by time, then by line
//!
//!      S due 33          R due 53                E at 53
//! -----|-----------------|-----------------------|-------> a client with an idle time of 30 s
//! ```
//!
//! A client is the first word of a line. Its first request starts its idle timer, each further one moves it, and
//! when the idle time passes without any, it expires: at its due time, before whatever happens at the same time.
//! So every timer expires in the end, and the due times of all stand in the order of the requests.
//!
//! Lines need not be in order: servers write a request when it ends, and collected logs are mixed. They are sorted
//! first, on disk if need be. Times are whole seconds. Names of clients do not get into the trace.
//!
//! Cost: O(n log n) for the order, O(1) a request. Memory grows with the number of distinct clients.

use std::collections::{HashMap, VecDeque};

use bytemuck::{Pod, Zeroable};
use jiff::civil::{Date, Time};

use super::timers::{At, Timers};
use super::{Form, Importer, Line, LineImporter, Out, Sorter, text};

/// See the module.
pub(super) const FORM: Form = Form {
    name: "access-log",
    summary: "Common or Combined Log Format: idle timers of clients (derived)",
    sniff: |head| head.iter().any(|line| parse(line).is_ok()),
    start: |options| Ok(Importer::Lines(Box::new(AccessLog::new(options.idle_ns)))),
};

/// See the module.
#[derive(Debug)]
pub(super) struct AccessLog {
    idle_ns: u64,
    clients: HashMap<String, u64>,
    requests: Sorter<Stamped>,
}

/// A request as it is sorted.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Pod, Zeroable)]
struct Stamped {
    second: u64,
    line: u64,
    client: u64,
}

impl AccessLog {
    /// Before the first line.
    pub(super) fn new(idle_ns: u64) -> Self {
        Self { idle_ns, clients: HashMap::new(), requests: Sorter::new(&std::env::temp_dir()) }
    }
}

impl LineImporter for AccessLog {
    fn line(&mut self, line: &Line<'_>, out: &mut Out) {
        let request = match parse(line.text) {
            Ok(request) => request,
            Err(reason) => return out.skip(line.number, reason),
        };
        out.event("request");
        let next = self.clients.len() as u64;
        let client = *self.clients.entry(request.client.to_owned()).or_insert(next);
        let pushed = self.requests.push(Stamped { second: request.second, line: line.number, client });
        out.check(pushed);
    }

    fn finish(&mut self, out: &mut Out) {
        let requests = std::mem::replace(&mut self.requests, Sorter::new(&std::env::temp_dir()));
        let mut sessions = Sessions { idle_ns: self.idle_ns, ..Sessions::default() };
        for request in requests.finish() {
            match request {
                Ok(request) => sessions.request(request, out),
                Err(error) => out.check(Err(error)),
            }
        }
        sessions.expire_until(u64::MAX, out);
        let metadata = out.metadata();
        metadata.set("clock", "whole seconds, sorted");
        metadata.set("due-granularity-ns", text::SECOND.to_string());
        metadata.set("start-state", "empty");
        metadata.set("fidelity", "derived");
        metadata.set("options", format!("idle {} ns", self.idle_ns));
    }
}

/// The idle timers of all clients.
#[derive(Debug, Default)]
struct Sessions {
    idle_ns: u64,
    timers: Timers<u64>,
    /// All have the same idle time, so they fall due in the order in which they were set. Of a client that was
    /// set again, only the last counts.
    due: VecDeque<(u64, u64)>,
    /// Rows so far, which stand in for lines: those of the file are not in order.
    rows: u64,
}

impl Sessions {
    fn request(&mut self, request: Stamped, out: &mut Out) {
        let time_ns = request.second.saturating_mul(text::SECOND);
        self.expire_until(time_ns, out);
        let due_ns = time_ns.saturating_add(self.idle_ns);
        let at = self.at(time_ns);
        self.timers.arm(out, at, request.client, due_ns.into(), 0);
        self.due.push_back((due_ns, request.client));
    }

    fn expire_until(&mut self, now_ns: u64, out: &mut Out) {
        while let Some((due_ns, client)) = self.due.pop_front_if(|(due_ns, _)| *due_ns <= now_ns) {
            if self.timers.due(&client) == Some(due_ns.into()) {
                let at = self.at(due_ns);
                self.timers.expire(out, at, &client, 1);
            }
        }
    }

    fn at(&mut self, time_ns: u64) -> At {
        self.rows += 1;
        At { line: self.rows, time_ns }
    }
}

/// A request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Request<'a> {
    client: &'a str,
    /// Since 1970, in seconds of UTC.
    second: u64,
}

/// Reads a line that keeps the format as a whole, so that a request cannot pass for a time.
fn parse(line: &str) -> Result<Request<'_>, &'static str> {
    let (client, rest) = line.split_once(' ').filter(|(client, _)| !client.is_empty()).ok_or("no client")?;
    let (time, rest) = bracketed(rest).ok_or("no [day/Month/year:hour:minute:second +zone]")?;
    let second = second(time).ok_or("a time that is not day/Month/year:hour:minute:second +zone")?;
    let rest = rest.strip_prefix(' ').and_then(quoted).ok_or("no request in quotes")?;
    let rest = status_and_size(rest).ok_or("no status and size behind the request")?;
    if !rest.is_empty() {
        let referer = rest.strip_prefix(' ').and_then(quoted).ok_or("no referer in quotes")?;
        referer.strip_prefix(' ').and_then(quoted).ok_or("no agent in quotes")?;
    }
    Ok(Request { client, second })
}

/// What stands in the last brackets before the request, and what follows. A user's name may have some, too.
fn bracketed(text: &str) -> Option<(&str, &str)> {
    let end = text.find("] \"")?;
    let start = text[..end].rfind('[')?;
    Some((&text[start + 1..end], &text[end + 1..]))
}

/// What follows a text in quotes, in which `\"` is no end.
fn quoted(text: &str) -> Option<&str> {
    let inside = text.strip_prefix('"')?;
    let mut escaped = false;
    let end = inside.bytes().position(|byte| {
        let is_end = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        is_end
    })?;
    Some(&inside[end + 1..])
}

/// What follows ` 200 1234` or ` 304 -`.
fn status_and_size(text: &str) -> Option<&str> {
    let (status, rest) = text.strip_prefix(' ')?.split_once(' ')?;
    let size = rest.find(' ').unwrap_or(rest.len());
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let well = status.len() == 3 && digits(status) && (&rest[..size] == "-" || digits(&rest[..size]));
    well.then_some(&rest[size..])
}

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// `17/May/2015:10:05:03 +0000` in seconds of UTC.
fn second(text: &str) -> Option<u64> {
    let (moment, zone) = text.split_once(' ')?;
    let (date, time) = moment.split_once(':')?;
    let [day, month, year] = date.split('/').collect::<Vec<_>>().try_into().ok()?;
    let month = MONTHS.iter().position(|known| *known == month)?;
    let date = Date::new(year.parse().ok()?, i8::try_from(month).ok()? + 1, day.parse().ok()?).ok()?;
    time.parse::<Time>().ok()?;
    let local = text::since_1970(date, text::clock(time)?)? / i128::from(text::SECOND);
    u64::try_from(local - i128::from(offset(zone)?)).ok()
}

/// `+0130` in seconds.
fn offset(zone: &str) -> Option<i64> {
    let sign = match zone.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let digits =
        zone.get(1..).filter(|digits| digits.len() == 4 && digits.bytes().all(|b| b.is_ascii_digit()))?;
    let number: i64 = digits.parse().ok()?;
    Some(sign * (number / 100 * 3600 + number % 100 * 60))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(rest: &str) -> String {
        format!("10.0.0.1 - - [17/May/2015:10:05:03 +0000] {rest}")
    }

    #[test]
    fn common_and_combined_lines_are_read() {
        let read = Ok(Request { client: "10.0.0.1", second: 1_431_857_103 });
        for rest in [
            r#""GET / HTTP/1.1" 200 203023 "-" "ua 1""#,
            r#""GET / HTTP/1.1" 304 -"#,
            r#""GET /\"[1/Jan/2000:00:00:00 +0000] \" HTTP/1.1" 200 5 "http://a/\"b" "x\\" extra 0.3"#,
            r#""-" 408 0 "-" "-""#,
        ] {
            assert_eq!(parse(&line(rest)), read, "{rest}");
        }
        let ipv6 = r#"2001:db8::7 - Jo [x] Doe [17/May/2015:11:35:03 +0130] "GET / HTTP/1.1" 200 5"#;
        assert_eq!(parse(ipv6), Ok(Request { client: "2001:db8::7", second: 1_431_857_103 }));
        assert_eq!(second("29/Feb/2016:00:00:00 -0800"), Some(1_456_732_800));
    }

    #[test]
    fn lines_that_break_the_format_are_named() {
        for (rest, why) in [
            (r#""GET / HTTP/1.1" 200 5 "-" "no end"#, "agent"),
            (r#""GET / HTTP/1.1" 200 5 "-"#, "referer"),
            (r#""GET / HTTP/1.1" 20 5"#, "status"),
            (r#""GET / HTTP/1.1" 200 x"#, "status"),
            (r#""GET / HTTP/1.1"#, "request"),
        ] {
            assert!(parse(&line(rest)).unwrap_err().contains(why), "{rest}");
        }
        for bad in [
            "",
            " ",
            "a",
            "a - - 17/May/2015",
            r#"a - - [] "x" 200 5"#,
            r#"a - - [32/May/2015:10:05:03 +0000] "x" 200 5"#,
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
        for bad in [
            "17/Mai/2015:10:05:03 +0000",
            "17/May/2015:10:05:61 +00:00",
            "17/May/2015:10:05:03 +é0",
            "17/May/2015",
        ] {
            assert_eq!(second(bad), None, "{bad}");
        }
    }
}
