//! One line of a kernel trace: its columns, and its fields by name.
//!
//! ```text
//! tracefs    comm-pid ( tgid ) [cpu] flags seconds: event: name=value ...
//! perf       comm pid          [cpu]       seconds: group:event: name=value ...
//! trace-cmd  comm-pid          [cpu]       seconds: event:   name=value ...
//! LTTng      [HH:MM:SS.ns] (+delta) host event: { cpu_id = n }, { name = value, ... }
//! ```
//!
//! The first three are one grammar whose optional parts differ, and are read as one. A task's name may hold
//! anything, so the CPU column is the first `[digits]` with a pid before it and a time behind it.

/// An event as its line has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Event<'a> {
    pub(super) time_ns: u64,
    pub(super) cpu: Option<u16>,
    /// Without its group.
    pub(super) name: &'a str,
    pub(super) fields: &'a str,
}

/// What a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Read<'a> {
    Event(Event<'a>),
    /// Of the function tracer or of a stack.
    Function,
    /// Nothing is said of timers: a heading or a blank line.
    Heading,
    /// Events are missing here, as many if it is known.
    Lost(Option<u64>),
    Unreadable(&'static str),
}

const NO_EVENT: &str = "no line of a kernel trace";
const COUNTER: &str =
    "stamped by a clock that does not count seconds (trace_clock counter, uptime or x86-tsc)";

/// Reads a line of tracefs, perf script or trace-cmd report.
pub(super) fn columns(text: &str) -> Read<'_> {
    let start = text.trim_start();
    if start.is_empty() || start.starts_with('#') || start.starts_with("cpus=") {
        return heading(start);
    }
    if start.starts_with("=>") {
        return Read::Function;
    }
    if let Some(lost) = lost(start) {
        return Read::Lost(lost);
    }
    match bracketed(text).find_map(|(before, cpu, rest)| pid_ends(before).then(|| after_cpu(cpu, rest))?) {
        Some(read) => read,
        None => Read::Unreadable(NO_EVENT),
    }
}

/// The header of tracefs says how much of what was written is still there.
fn heading(text: &str) -> Read<'_> {
    let numbers = text.split_once("entries-in-buffer/entries-written:").and_then(|(_, rest)| {
        let (kept, written) = rest.split_whitespace().next()?.split_once('/')?;
        Some((kept.parse::<u64>().ok()?, written.parse::<u64>().ok()?))
    });
    match numbers {
        Some((kept, written)) if kept < written => Read::Lost(Some(written - kept)),
        _ => Read::Heading,
    }
}

/// How tools say that events are missing.
fn lost(text: &str) -> Option<Option<u64>> {
    let number = |text: &str| text.split(|c: char| !c.is_ascii_digit()).find_map(|run| run.parse().ok());
    if text.starts_with("CPU:") {
        let said = text.split_once('[')?.1;
        return (said.contains("LOST") || said.contains("EVENTS DROPPED")).then(|| number(said));
    }
    for sign in ["PERF_RECORD_LOST", "Tracer discarded"] {
        if let Some((_, rest)) = text.split_once(sign) {
            return Some(number(rest));
        }
    }
    None
}

/// Every `[digits]` of a line, with what stands before and behind it.
fn bracketed(text: &str) -> impl Iterator<Item = (&str, &str, &str)> {
    text.match_indices('[').filter_map(move |(at, _)| {
        let (inner, rest) = text[at + 1..].split_once(']')?;
        let digits = !inner.is_empty() && inner.bytes().all(|byte| byte.is_ascii_digit());
        digits.then_some((&text[..at], inner, rest))
    })
}

/// Whether a pid stands at the end, perhaps with a thread's or a group's number behind it.
fn pid_ends(before: &str) -> bool {
    let mut before = before.trim_end();
    if let Some(group) = before.strip_suffix(')') {
        before = group.rsplit_once('(').map_or("", |(before, _)| before.trim_end());
    }
    let name = before.trim_end_matches(|c: char| c.is_ascii_digit() || c == '/');
    name.len() < before.len() && (name.ends_with('-') || name.ends_with(char::is_whitespace))
}

/// `flags seconds: event: fields`, where the flags may be missing.
fn after_cpu<'a>(cpu: &str, rest: &'a str) -> Option<Read<'a>> {
    let (first, behind) = rest.trim_start().split_once(char::is_whitespace)?;
    let (stamp, behind) = match first.strip_suffix(':') {
        Some(stamp) => (stamp, behind),
        None => {
            let (second, behind) = behind.trim_start().split_once(char::is_whitespace)?;
            (second.strip_suffix(':')?, behind)
        }
    };
    let time_ns = match seconds(stamp) {
        Some(time_ns) => time_ns,
        None if !stamp.is_empty() && stamp.bytes().all(|byte| byte.is_ascii_digit()) => {
            return Some(Read::Unreadable(COUNTER));
        }
        None => return None,
    };
    let behind = behind.trim_start();
    let (name, fields) = behind.split_once(char::is_whitespace).unwrap_or((behind, ""));
    if let Some(lost) = name.starts_with("PERF_RECORD_LOST").then(|| lost(behind)).flatten() {
        return Some(Read::Lost(lost));
    }
    let Some(name) = name.strip_suffix(':') else { return Some(Read::Function) };
    let name = name.rsplit(':').next().unwrap_or(name);
    Some(Read::Event(Event { time_ns, cpu: cpu.parse().ok(), name, fields }))
}

/// `seconds.fraction` in nanoseconds.
fn seconds(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.')?;
    let digits = !fraction.is_empty() && fraction.len() <= 9 && fraction.bytes().all(|b| b.is_ascii_digit());
    let scale = 10_u64.pow(9_u32.checked_sub(fraction.len() as u32)?);
    let fraction: u64 = digits.then(|| fraction.parse().ok())??;
    whole.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(fraction * scale)
}

/// Reads a line of babeltrace2. The time is of the day, or since the epoch.
pub(super) fn braces(text: &str) -> Read<'_> {
    let text = text.trim_start();
    if let Some(lost) = lost(text) {
        return Read::Lost(lost);
    }
    let event = || {
        let (stamp, rest) = text.strip_prefix('[')?.split_once(']')?;
        let time_ns = time_of_day(stamp.split_whitespace().next_back()?)?;
        let (head, fields) = rest.split_once(": {")?;
        let name = head.split_whitespace().next_back()?;
        let cpu = pairs(fields).find(|(name, _)| *name == "cpu_id").and_then(|(_, cpu)| cpu.parse().ok());
        Some(Event { time_ns, cpu, name, fields })
    };
    match event() {
        Some(event) => Read::Event(event),
        None if text.is_empty() => Read::Heading,
        None => Read::Unreadable(NO_EVENT),
    }
}

fn time_of_day(stamp: &str) -> Option<u64> {
    let mut parts = stamp.rsplitn(3, ':');
    let seconds = seconds(parts.next()?)?;
    let minutes: u64 = parts.next().map_or(Some(0), |text| text.parse().ok())?;
    let hours: u64 = parts.next().map_or(Some(0), |text| text.parse().ok())?;
    let minutes = hours.checked_mul(60)?.checked_add(minutes)?;
    minutes.checked_mul(60_000_000_000)?.checked_add(seconds)
}

/// `name = value` pairs of babeltrace2.
fn pairs(fields: &str) -> impl Iterator<Item = (&str, &str)> {
    let parts = fields.split([',', '{', '}']);
    parts.filter_map(|part| part.split_once(" = ")).map(|(name, value)| (name.trim(), value.trim()))
}

/// The fields of a timer's event, by name: which of them are there depends on the kernel and the tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Fields<'a> {
    pub(super) timer: Option<u64>,
    pub(super) function: &'a str,
    pub(super) expires: Option<i128>,
    pub(super) softexpires: Option<i128>,
    pub(super) now: Option<i128>,
    pub(super) baseclk: Option<i128>,
    pub(super) timeout: Option<i128>,
    pub(super) bucket_expiry: Option<i128>,
    pub(super) was_armed: Option<bool>,
    pub(super) clockid: &'a str,
    pub(super) cpu: Option<u16>,
}

impl<'a> Fields<'a> {
    /// Reads `name=value name=value [name=value]`; addresses are hex.
    pub(super) fn columns(fields: &'a str) -> Self {
        let mut read = Self::default();
        for token in fields.split_ascii_whitespace() {
            let token = token.strip_prefix('[').unwrap_or(token);
            if let Some((name, value)) = token.split_once('=') {
                read.field(name, value.strip_suffix(']').unwrap_or(value), 16);
            }
        }
        read
    }

    /// Reads `{ name = value, name = value }`; addresses are decimal, or hex with `0x`.
    pub(super) fn braces(fields: &'a str) -> Self {
        let mut read = Self::default();
        pairs(fields).for_each(|(name, value)| read.field(name, value, 10));
        read
    }

    fn field(&mut self, name: &str, value: &'a str, radix: u32) {
        match name {
            "timer" | "hrtimer" => self.timer = address(value, radix),
            "function" => self.function = function(value),
            "expires" => self.expires = number(value),
            "softexpires" => self.softexpires = number(value),
            "now" => self.now = number(value),
            "baseclk" => self.baseclk = number(value),
            "timeout" => self.timeout = number(value),
            "bucket_expiry" => self.bucket_expiry = number(value),
            "was_armed" => self.was_armed = Some(value != "0"),
            "clockid" => self.clockid = value,
            "cpu" => self.cpu = value.parse().ok(),
            _ => {}
        }
    }
}

fn address(text: &str, radix: u32) -> Option<u64> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => u64::from_str_radix(text, radix).ok(),
    }
}

fn number(text: &str) -> Option<i128> {
    match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok().map(i128::from),
        // No field is wider than 64 bits.
        None => text.parse().ok().filter(|number: &i128| number.unsigned_abs() <= u128::from(u64::MAX)),
    }
}

/// A function's name without `+0x0/0x10` or `/0x0`. A ` [module]` behind it is another token, and left out.
fn function(text: &str) -> &str {
    let end = text.find(['+', '/']).unwrap_or(text.len());
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(text: &str) -> Event<'_> {
        match columns(text) {
            Read::Event(event) => event,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn the_three_forms_of_columns_are_one_grammar() {
        let lines = [
            "  nginx-23873   [001] d.s2.  1673.440044: timer_cancel: timer=0000000049839c85",
            "  nginx-23873   (    950) [001] d.s2  1673.440044: timer_cancel: timer=0000000049839c85",
            "  nginx-23873   (-------) [001] 1673.440044: timer_cancel: timer=0000000049839c85",
            "  nginx 23873 [001]  1673.440044:       timer:timer_cancel: timer=0x49839c85",
            "  nginx 23873/23874 [001]  1673.440044000:       timer:timer_cancel: timer=0x49839c85",
            "  nginx-23873   [001]   1673.440044: timer_cancel:      timer=0x49839c85",
            "> [ 12.345678] nginx-23873 [001] .... 1673.440044: timer_cancel: timer=49839c85",
        ];
        for line in lines {
            let event = event(line);
            assert_eq!((event.time_ns, event.cpu, event.name), (1_673_440_044_000, Some(1), "timer_cancel"));
            assert_eq!(Fields::columns(event.fields).timer, Some(0x4983_9c85), "{line}");
        }
    }

    #[test]
    fn a_task_may_be_called_anything() {
        for task in [
            "MediaPD~der #28-14000",
            "kworker/0:2-vir-7",
            "irq/51-DLL075B:-194",
            "a [000] b-7",
            "<idle>-0",
            "x-1 y-2",
        ] {
            let line = format!("{task} [003] d..1 5.000001: timer_init: timer=1");
            assert_eq!(event(&line).cpu, Some(3), "{task}");
        }
    }

    #[test]
    fn what_is_no_event_is_told_apart() {
        assert_eq!(columns("# tracer: nop"), Read::Heading);
        assert_eq!(columns("cpus=2"), Read::Heading);
        assert_eq!(columns("  sshd-1 [000] .... 6.3: mod_timer <-sk_reset_timer"), Read::Function);
        assert_eq!(columns("  sshd-1 [000] .... 6.3: <stack trace>"), Read::Function);
        assert_eq!(columns(" => mod_timer"), Read::Function);
        assert_eq!(columns("CPU:1 [LOST 123 EVENTS]"), Read::Lost(Some(123)));
        assert_eq!(columns("CPU:1 [EVENTS DROPPED]"), Read::Lost(None));
        assert_eq!(columns("# entries-in-buffer/entries-written: 10/25   #P:2"), Read::Lost(Some(15)));
        assert_eq!(columns("# entries-in-buffer/entries-written: 25/25   #P:2"), Read::Heading);
        assert_eq!(columns("a 1 [000] 1.5: PERF_RECORD_LOST lost 12"), Read::Lost(Some(12)));
        assert_eq!(columns("  a-1 [000] d..1 123456: timer_init: timer=1"), Read::Unreadable(COUNTER));
        assert_eq!(columns("hello [000] world"), Read::Unreadable(NO_EVENT));
    }

    #[test]
    fn fields_are_found_by_name_whatever_stands_around_them() {
        let fields = Fields::columns(
            "timer=8903d3ac function=brcmf_watchdog [brcmfmac] expires=36276 [timeout=-42] cpu=0 idx=20 flags=",
        );
        assert_eq!((fields.timer, fields.function), (Some(0x8903_d3ac), "brcmf_watchdog"));
        assert_eq!((fields.expires, fields.timeout, fields.cpu), (Some(36_276), Some(-42), Some(0)));
        for name in ["tick/0x0", "tick+0x0/0x10", "tick"] {
            assert_eq!(Fields::columns(&format!("hrtimer=1 now=7 function={name}")).function, "tick");
        }
        assert_eq!(Fields::columns("timer=(____ptrval____)").timer, None);
        assert_eq!(Fields::columns("timer=1 now=99999999999999999999999").now, None);
    }

    #[test]
    fn braces_have_a_time_of_day_and_decimal_addresses() {
        let line = "[08:36:01.5] (+?.?????????) host timer_start: { cpu_id = 3 }, { timer = 3465273052, \
                    function = 0xC0, expires = 12, now = 5 }";
        let Read::Event(event) = braces(line) else { panic!("{line}") };
        assert_eq!((event.time_ns, event.cpu, event.name), (30_961_500_000_000, Some(3), "timer_start"));
        let fields = Fields::braces(event.fields);
        assert_eq!((fields.timer, fields.expires, fields.now), (Some(3_465_273_052), Some(12), Some(5)));
        let epoch = "[1416483361.000000001] (+0.1) timer_init: { cpu_id = 0 }, { timer = 1 }";
        assert!(matches!(braces(epoch), Read::Event(event) if event.time_ns == 1_416_483_361_000_000_001));
    }
}
