//! Lines of strace: process, time, and a call with its arguments and result.
//!
//! ```text
//! 1230  14:50:52 epoll_wait(0, {{EPOLLIN, {u32=5, u64=5}}}, 64, 4000) = 1 <0.000012>
//! pid   stamp    name       arguments                             result  seconds
//! ```

use super::super::text;

/// When a line was written, as it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stamp {
    /// No time on the line.
    None,
    /// Of the day: `-t` and `-tt`.
    Clock { ns: u64, whole: bool },
    /// Since 1970 (`-ttt`), or since the line before (`-r`), whichever the size says.
    Seconds(u64),
}

/// What is on a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Body<'a> {
    /// A call and its end.
    Call(Call<'a>),
    /// The start of a call that another thread's line cuts in two.
    Unfinished { name: &'a str, arguments: &'a str },
    /// The rest of it.
    Resumed { name: &'a str, rest: &'a str },
    /// strace let go of the thread within a call.
    Detached { name: &'a str },
    /// A signal, and what stands in its braces.
    Signal { name: &'a str, about: &'a str },
    /// The thread is gone.
    Exit,
}

/// A call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Call<'a> {
    pub name: &'a str,
    /// Between the parentheses.
    pub arguments: &'a str,
    /// What stands behind `= `, without the duration.
    pub result: &'a str,
    /// With `-T`.
    pub took_ns: Option<u64>,
}

/// A line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line<'a> {
    /// 0 where the log is of one thread and does not say.
    pub pid: u64,
    pub stamp: Stamp,
    pub body: Body<'a>,
}

/// Takes a line apart; `None` if it is none of strace's event lines.
pub(super) fn parse(line: &str) -> Result<Option<Line<'_>>, &'static str> {
    let (pid, rest) = pid(line.trim_start());
    let (stamp, rest) = stamp(rest.trim_start())?;
    let rest = rest.trim_start();
    Ok(body(rest)?.map(|body| Line { pid, stamp, body }))
}

/// `1230 ` or `[pid  1230] ` at the start.
fn pid(line: &str) -> (u64, &str) {
    if let Some((number, rest)) = line.strip_prefix("[pid").and_then(|rest| rest.split_once(']'))
        && let Ok(pid) = number.trim().parse()
    {
        return (pid, rest);
    }
    match text::leading(line) {
        Some((pid, rest)) if rest.starts_with(' ') => (pid, rest),
        _ => (0, line),
    }
}

fn stamp(line: &str) -> Result<(Stamp, &str), &'static str> {
    if !line.starts_with(|c: char| c.is_ascii_digit()) {
        return Ok((Stamp::None, line));
    }
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    let stamp = if word.contains(':') {
        text::clock(word).map(|ns| Stamp::Clock { ns, whole: !word.contains('.') })
    } else {
        text::seconds(word).map(Stamp::Seconds)
    };
    Ok((stamp.ok_or("a time stamp that is neither HH:MM:SS nor seconds")?, rest))
}

fn body(text: &str) -> Result<Option<Body<'_>>, &'static str> {
    if text.starts_with("+++ ") {
        return Ok(Some(Body::Exit));
    }
    if let Some(signal) = text.strip_prefix("--- ") {
        let (name, about) = signal.split_once(' ').unwrap_or((signal, ""));
        return Ok(Some(Body::Signal { name, about }));
    }
    if let Some(resumed) = text.strip_prefix("<... ") {
        let (name, rest) = resumed.split_once(" resumed>").ok_or("`<...` without `resumed>`")?;
        return Ok(Some(Body::Resumed { name, rest }));
    }
    let Some((name, rest)) = text.split_once('(') else { return Ok(None) };
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.is_empty() || !name.chars().all(is_name) {
        return Ok(None);
    }
    unended(name, rest)
        .map_or_else(|| call(name, rest).map(|call| Some(Body::Call(call))), |body| Ok(Some(body)))
}

/// A call whose end is not on the line.
fn unended<'a>(name: &'a str, rest: &'a str) -> Option<Body<'a>> {
    let rest = rest.trim_end();
    let cut = |mark| rest.strip_suffix(mark).map(str::trim_end);
    if let Some(arguments) = cut("<unfinished ...>") {
        return Some(Body::Unfinished { name, arguments });
    }
    cut("<detached ...>").map(|_| Body::Detached { name })
}

/// A call from its arguments on: `8, [], 512, 3000) = 0 (Timeout) <3.001>`.
pub(super) fn call<'a>(name: &'a str, rest: &'a str) -> Result<Call<'a>, &'static str> {
    let end = closing(rest).ok_or("a call that is cut off")?;
    let result = rest[end + 1..].trim_start().strip_prefix('=').ok_or("a call without a result")?.trim();
    let (result, took_ns) = took(result);
    Ok(Call { name, arguments: &rest[..end], result, took_ns })
}

/// The duration at the end of a result, if there is one.
fn took(result: &str) -> (&str, Option<u64>) {
    let Some((before, seconds)) = result.strip_suffix('>').and_then(|text| text.rsplit_once('<')) else {
        return (result, None);
    };
    text::seconds(seconds).map_or((result, None), |ns| (before.trim_end(), Some(ns)))
}

/// Each byte of `text` that is outside strings, with its nesting before it.
fn outside_strings(text: &str) -> impl Iterator<Item = (usize, u8, u32)> {
    let (mut depth, mut quoted, mut escaped) = (0_u32, false, false);
    text.bytes().enumerate().filter_map(move |(at, byte)| {
        if quoted {
            quoted = escaped || byte != b'"';
            escaped = byte == b'\\' && !escaped;
            return None;
        }
        let before = depth;
        match byte {
            b'"' => quoted = true,
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        Some((at, byte, before))
    })
}

/// Where the parenthesis of the call closes.
fn closing(rest: &str) -> Option<usize> {
    outside_strings(rest).find(|(_, byte, depth)| *byte == b')' && *depth == 0).map(|(at, ..)| at)
}

/// The arguments of a call, or the fields of a brace, without the spaces around them.
pub(super) fn split(arguments: &str) -> Vec<&str> {
    let (mut parts, mut start) = (Vec::new(), 0);
    for (at, byte, depth) in outside_strings(arguments) {
        if byte == b',' && depth == 0 {
            parts.push(arguments[start..at].trim());
            start = at + 1;
        }
    }
    parts.push(arguments[start..].trim());
    parts
}

/// The two fields of `{tv_sec=1, tv_nsec=5}` or, of old versions, `{1, 5}`, in ns; `unit_ns` is the second's unit.
pub(super) fn pair(text: &str, unit_ns: u64) -> Option<u64> {
    let inside = text.strip_prefix('{')?.strip_suffix('}')?;
    let [seconds, part] = split(inside).try_into().ok()?;
    let number = |field: &str| field.rsplit('=').next()?.parse::<u64>().ok();
    number(seconds)?.checked_mul(text::SECOND)?.checked_add(number(part)?.checked_mul(unit_ns)?)
}

/// Interval and value of `{it_interval={..}, it_value={..}}` or `{{..}, {..}}`, in ns.
pub(super) fn interval_and_value(text: &str, unit_ns: u64) -> Option<(u64, u64)> {
    let inside = text.strip_prefix('{')?.strip_suffix('}')?;
    let [interval, value] = split(inside).try_into().ok()?;
    let bare = |field: &'_ str| field.find('{').map(|at| field[at..].to_owned());
    Some((pair(&bare(interval)?, unit_ns)?, pair(&bare(value)?, unit_ns)?))
}

/// The bytes of `"\1\0\0\0"`, as strace escapes them, read as a little-endian number.
pub(super) fn counter(text: &str) -> Option<u64> {
    let mut rest = text.strip_prefix('"')?.strip_suffix('"')?.as_bytes();
    let (mut value, mut bits) = (0_u64, 0);
    while let Some((&byte, after)) = rest.split_first() {
        let decoded;
        (decoded, rest) = if byte == b'\\' { escape(after)? } else { (byte, after) };
        value |= u64::from(decoded).checked_shl(bits)?;
        bits += 8;
    }
    (bits == 64).then_some(value)
}

/// The byte of an escape behind its backslash, and what follows.
fn escape(text: &[u8]) -> Option<(u8, &[u8])> {
    let (&first, rest) = text.split_first()?;
    let letter = match first {
        b'n' => b'\n',
        b't' => b'\t',
        b'r' => b'\r',
        b'v' => 11,
        b'f' => 12,
        b'0'..=b'7' => return octal(text),
        b'x' => {
            let hex = std::str::from_utf8(rest.get(..2)?).ok()?;
            return Some((u8::from_str_radix(hex, 16).ok()?, &rest[2..]));
        }
        other => other,
    };
    Some((letter, rest))
}

/// At most three octal digits.
fn octal(text: &[u8]) -> Option<(u8, &[u8])> {
    let digits = text.iter().take(3).take_while(|byte| (b'0'..=b'7').contains(byte)).count();
    let value = text[..digits].iter().fold(0_u16, |value, digit| value * 8 + u16::from(digit - b'0'));
    Some((u8::try_from(value).ok()?, &text[digits..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call_of<'a>(line: &'a str) -> (u64, Stamp, Call<'a>) {
        match parse(line).unwrap().unwrap() {
            Line { pid, stamp, body: Body::Call(call) } => (pid, stamp, call),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn old_and_new_rendering_have_the_same_arguments() {
        let old = "1230  14:50:52 epoll_wait(0, {{EPOLLIN, {u32=5, u64=5}}}, 64, 4294967295) = 1";
        let (pid, stamp, call) = call_of(old);
        assert_eq!((pid, stamp), (1230, Stamp::Clock { ns: 53_452 * text::SECOND, whole: true }));
        assert_eq!(split(call.arguments), ["0", "{{EPOLLIN, {u32=5, u64=5}}}", "64", "4294967295"]);
        let new = "7 1796029132.870347 epoll_wait(8, [{events=EPOLLIN, data={u32=1, u64=1}}, ...], 512, -1) = 1 <1.182665>";
        let (pid, stamp, call) = call_of(new);
        assert_eq!((pid, stamp), (7, Stamp::Seconds(1_796_029_132_870_347_000)));
        assert_eq!((split(call.arguments)[3], call.result, call.took_ns), ("-1", "1", Some(1_182_665_000)));
    }

    #[test]
    fn process_and_time_may_be_missing() {
        let forms = [
            ("nanosleep({1, 0}, NULL) = 0", 0, Stamp::None),
            ("41 nanosleep({1, 0}, NULL) = 0", 41, Stamp::None),
            ("[pid   41] nanosleep({1, 0}, NULL) = 0", 41, Stamp::None),
            (
                "[pid 41] 00:00:01.5 nanosleep({1, 0}, NULL) = 0",
                41,
                Stamp::Clock { ns: 1_500_000_000, whole: false },
            ),
            ("     0.000123 nanosleep({1, 0}, NULL) = 0", 0, Stamp::Seconds(123_000)),
            ("00:00:01 nanosleep({1, 0}, NULL) = 0", 0, Stamp::Clock { ns: text::SECOND, whole: true }),
        ];
        for (line, pid, stamp) in forms {
            let read = call_of(line);
            assert_eq!((read.0, read.1, read.2.name), (pid, stamp, "nanosleep"), "{line}");
        }
    }

    #[test]
    fn strings_hide_what_looks_like_an_end() {
        let (_, _, call) = call_of(r#"write(3, "a\") = 1, {", 7) = 7"#);
        assert_eq!((split(call.arguments)[1], call.result), (r#""a\") = 1, {""#, "7"));
        let (_, _, call) = call_of("select(4, [3], NULL, NULL, {tv_sec=1, tv_usec=0}) = 0 (Timeout) <1.001>");
        assert_eq!((call.result, call.took_ns), ("0 (Timeout)", Some(1_001_000_000)));
    }

    #[test]
    fn calls_in_two_parts_and_lines_that_are_no_call() {
        let body = |line| parse(line).map(|line| line.map(|line| line.body));
        let unfinished = Body::Unfinished { name: "epoll_wait", arguments: "8," };
        assert_eq!(body("7 epoll_wait(8,  <unfinished ...>"), Ok(Some(unfinished)));
        let rest = "[], 512, 3000) = 0";
        assert_eq!(
            body("7 <... epoll_wait resumed>[], 512, 3000) = 0"),
            Ok(Some(Body::Resumed { name: "epoll_wait", rest }))
        );
        assert_eq!(body("7 epoll_wait(8,  <detached ...>"), Ok(Some(Body::Detached { name: "epoll_wait" })));
        let signal = Body::Signal { name: "SIGALRM", about: "{si_signo=SIGALRM} ---" };
        assert_eq!(body("7 --- SIGALRM {si_signo=SIGALRM} ---"), Ok(Some(signal)));
        assert_eq!(body("7 +++ exited with 0 +++"), Ok(Some(Body::Exit)));
        assert_eq!(body("strace: Process 12 attached"), Ok(None));
        assert_eq!(body(""), Ok(None));
        for cut in
            ["7 epoll_wait(8, [], 512", "7 epoll_wait(8)", "7 <... x", "7 1.2.3 f() = 0", "7 f(\"a) = 0"]
        {
            assert!(body(cut).is_err(), "{cut}");
        }
    }

    #[test]
    fn times_and_counters_are_read_in_both_renderings() {
        for text in ["{tv_sec=1, tv_nsec=5}", "{1, 5}"] {
            assert_eq!(pair(text, 1), Some(1_000_000_005), "{text}");
        }
        assert_eq!(pair("{tv_sec=1, tv_usec=5}", 1000), Some(1_000_005_000));
        for text in
            ["{it_interval={tv_sec=0, tv_nsec=7}, it_value={tv_sec=1, tv_nsec=0}}", "{{0, 7}, {1, 0}}"]
        {
            assert_eq!(interval_and_value(text, 1), Some((7, text::SECOND)), "{text}");
        }
        for bad in ["NULL", "0x7ffe", "{1}", "{}", "{-1, 0}", "{99999999999999999999, 0}"] {
            assert_eq!(pair(bad, 1), None, "{bad}");
        }
        assert_eq!(counter(r#""\1\0\0\0\0\0\0\0""#), Some(1));
        assert_eq!(counter(r#""\n\1\0\0\0\0\0\0""#), Some(266));
        assert_eq!(counter(r#""\x02\x00\x00\x00\x00\x00\x00\x00""#), Some(2));
        assert_eq!(counter(r#""A\0\0\0\0\0\0\0""#), Some(65));
        for bad in
            [r#""\1\0""#, r#""..."#, r#""\777\0\0\0\0\0\0\0""#, "", "\"", r#""\1\0\0\0\0\0\0\0\0""#, r#""\"#]
        {
            assert_eq!(counter(bad), None, "{bad}");
        }
    }
}
