//! Timer events of the Linux kernel as text: tracefs, perf script, trace-cmd report, and LTTng by babeltrace2.
//!
//! ```text
//! line --> Event, Fields --> clock (never falls) --> Resolver of the wheel ----\
//!          (line.rs)         gaps                --> Resolver of hrtimers -----> Out
//!                            Clocks (earliest edge, HZ) ------------------------/
//! ```
//!
//! | event | row |
//! |---|---|
//! | `timer_start` | S, or R right behind a cancel of its timer; due = expires, slack = bucket_expiry - expires |
//! | `timer_cancel` | C, unless its timer's next event is a start within the window (R) or an expiry (E) |
//! | `timer_expire_entry` | E |
//! | `hrtimer_start` | S, or R by `was_armed=1`; due = softexpires, slack = expires - softexpires |
//! | `hrtimer_cancel` | as `timer_cancel` on older kernels; C on those that print `was_armed` |
//! | `timer_init`, `hrtimer_init`, `hrtimer_setup` | none: the address begins a new life |
//! | entries overwritten, `[LOST n EVENTS]` and the like | G |
//!
//! Wheel times are jiffies. HZ is given, or the usual rate nearest to the slope of jiffies over time. trace-cmd
//! leaves `was_armed` out: an expiry without a cancel before it shows which kernel it was. Re-arms into the same
//! bucket print nothing, so they are missing here too. `flags=` and `mode=` are not used; tools get them wrong.

mod clocks;
mod line;
mod resolve;

use self::clocks::{Clocks, WHEEL};
use self::line::{Event, Fields, Read};
use self::resolve::{At, Due, Resolver, Start};
use super::{Family, Form, Importer, Line, LineImporter, Options, Out};
use crate::error::Error;

/// Text of tracefs.
pub const FTRACE: Form = Form {
    name: "ftrace",
    summary: "Linux timer events, the text of tracefs `trace` or `trace_pipe`",
    sniff: |head| head.iter().any(|line| line.starts_with("# tracer:")) || any_event(head, |_| true),
    start: |options| kernel(options, line::columns, |text| Fields::columns(text)),
};

/// Text of `perf script`.
pub const PERF: Form = Form {
    name: "perf-script",
    summary: "Linux timer events, printed by `perf script`",
    sniff: |head| any_event(head, |line| [" timer:", ":timer:"].iter().any(|group| line.contains(group))),
    start: FTRACE.start,
};

/// Text of `trace-cmd report`.
pub const TRACE_CMD: Form = Form {
    name: "trace-cmd",
    summary: "Linux timer events, printed by `trace-cmd report`",
    sniff: |head| head.iter().any(|line| line.starts_with("cpus=")) && any_event(head, |_| true),
    start: FTRACE.start,
};

/// Text of babeltrace2.
pub const LTTNG: Form = Form {
    name: "lttng",
    summary: "LTTng kernel events, printed by `babeltrace2`",
    sniff: |head| {
        head.iter().any(|text| matches!(line::braces(text), Read::Event(_)) && text.contains("] (+"))
    },
    start: |options| kernel(options, line::braces, |text| Fields::braces(text)),
};

fn any_event(head: &[String], also: impl Fn(&str) -> bool) -> bool {
    head.iter().any(|text| matches!(line::columns(text), Read::Event(_)) && also(text))
}

type Grammar = for<'a> fn(&'a str) -> Read<'a>;
type FieldGrammar = for<'a> fn(&'a str) -> Fields<'a>;

fn kernel(options: &Options, grammar: Grammar, fields: FieldGrammar) -> Result<Importer, Error> {
    if options.hz.is_some_and(|hz| !(1..=1_000_000).contains(&hz)) {
        return Err(Error::usage("--hz is the kernel's CONFIG_HZ").mend("it is 100, 250, 300 or 1000"));
    }
    Ok(Importer::Lines(Box::new(Kernel {
        grammar,
        fields,
        wheel: (options.family != Family::Hrtimer).then(|| Resolver::new("wheel/", options.window_ns, true)),
        hrtimer: (options.family != Family::Wheel)
            .then(|| Resolver::new("hrtimer/", options.window_ns, true)),
        undecided: Some(Undecided::default()),
        clocks: Clocks::new(options.hz),
        ids: 0,
        day_ns: 0,
        now_ns: None,
        lost: None,
    })))
}

/// Reads kernel traces of every form.
#[derive(Debug)]
struct Kernel {
    grammar: Grammar,
    fields: FieldGrammar,
    wheel: Option<Resolver>,
    hrtimer: Option<Resolver>,
    /// Events of hrtimers that wait until it is known what a cancel means.
    undecided: Option<Undecided>,
    clocks: Clocks,
    ids: u64,
    /// Midnights that passed, where the clock is of the day.
    day_ns: u64,
    now_ns: Option<u64>,
    /// Events that were lost before the first one that is there.
    lost: Option<Option<u64>>,
}

const DAY_NS: u64 = 86_400_000_000_000;
const SECOND_NS: u64 = 1_000_000_000;

impl LineImporter for Kernel {
    fn line(&mut self, line: &Line<'_>, out: &mut Out) {
        match (self.grammar)(line.text) {
            Read::Event(event) => self.event(line.number, &event, out),
            Read::Heading => {}
            Read::Function => out.skip(line.number, "of the function tracer or of a stack"),
            Read::Unreadable(why) => out.skip(line.number, why),
            Read::Lost(lost) => self.gap(line.number, lost, out),
        }
    }

    fn finish(&mut self, out: &mut Out) {
        self.decide(out);
        for resolver in [&mut self.wheel, &mut self.hrtimer].into_iter().flatten() {
            resolver.settle_all(out);
        }
        let hz = self.clocks.hz(out);
        self.clocks.finish(hz, out);
        let (window, family) = (out.options().window_ns / 1_000, out.options().family);
        let how = if out.options().hz.is_some() { "given" } else { "estimated" };
        let metadata = out.metadata();
        metadata.set("clock", "the trace clock of the recording");
        metadata.set("fidelity", "recorded");
        metadata.set("options", format!("window-us={window} family={} hz={how}", family.name()));
        if family == Family::Hrtimer {
            metadata.set("due-granularity-ns", "1");
        } else {
            metadata.set("due-granularity-ns", SECOND_NS.div_ceil(u64::from(hz)).to_string());
            metadata.set("hz", hz.to_string());
        }
    }
}

impl Kernel {
    fn event(&mut self, line: u64, event: &Event<'_>, out: &mut Out) {
        let name = event.name.strip_prefix("timer_").filter(|rest| rest.starts_with("hrtimer_"));
        let name = name.unwrap_or(event.name);
        let timers = ["timer_", "hrtimer_", "itimer_", "tick_stop"];
        if !timers.iter().any(|prefix| name.starts_with(prefix)) {
            return out.skip(line, "an event that is no timer's");
        }
        let Some(time_ns) = self.time(event.time_ns) else {
            return out.skip(line, "more than a second before the line before it");
        };
        out.event(name);
        if let Some(lost) = self.lost.take() {
            out.gap(time_ns, lost, line);
        }
        let fields = (self.fields)(event.fields);
        let at = At { time_ns, line, cpu: fields.cpu.or(event.cpu) };
        for resolver in [&mut self.wheel, &mut self.hrtimer].into_iter().flatten() {
            resolver.pass(time_ns, out);
        }
        match name.split_once('_') {
            Some(("timer", "init" | "start" | "cancel" | "expire_entry")) => {
                self.wheel(name, at, &fields, out)
            }
            Some(("hrtimer", what @ ("init" | "setup" | "start" | "cancel" | "expire_entry"))) => {
                self.hrtimer(what, at, &fields, out);
            }
            _ => {}
        }
    }

    /// The time of an event, which does not fall: buffers of several CPUs are merged to the microsecond.
    fn time(&mut self, read_ns: u64) -> Option<u64> {
        let mut time_ns = read_ns.checked_add(self.day_ns)?;
        let now = self.now_ns.unwrap_or(time_ns);
        if now.saturating_sub(time_ns) > DAY_NS / 2 && read_ns < DAY_NS && now < DAY_NS + self.day_ns {
            self.day_ns += DAY_NS;
            time_ns = time_ns.checked_add(DAY_NS)?;
        }
        if now.saturating_sub(time_ns) > SECOND_NS {
            return None;
        }
        self.now_ns = Some(now.max(time_ns));
        self.now_ns
    }

    fn gap(&mut self, line: u64, lost: Option<u64>, out: &mut Out) {
        let Some(now_ns) = self.now_ns else {
            let before = self.lost.flatten();
            self.lost = Some(lost.map(|lost| lost.saturating_add(before.unwrap_or(0))).or(before));
            return;
        };
        self.decide(out);
        for resolver in [&mut self.wheel, &mut self.hrtimer].into_iter().flatten() {
            resolver.gap(out);
        }
        out.gap(now_ns, lost, line);
    }

    fn wheel(&mut self, name: &str, at: At, fields: &Fields<'_>, out: &mut Out) {
        let Some(wheel) = &mut self.wheel else { return };
        let Some(key) = fields.timer else { return out.skip(at.line, NO_ADDRESS) };
        let ids = &mut self.ids;
        match name {
            "timer_init" => wheel.set_up(key, None, ids),
            "timer_cancel" => wheel.cancel(key, at, ids, out),
            "timer_expire_entry" => {
                if let Some(now) = fields.now {
                    self.clocks.wheel(at.time_ns, now);
                }
                let clk = fields.baseclk.or(fields.now).map(|clk| self.clocks.jiffies.whole(clk));
                let due = clk.map(|expires| Due { clock: WHEEL, expires, slack: 0 });
                wheel.expire(key, at, due, ids, out);
            }
            _ => {
                let Some(expires) = fields.expires else { return out.skip(at.line, NO_DUE) };
                let now = fields.now.or_else(|| Some(expires - fields.timeout?));
                if let Some(now) = now {
                    self.clocks.wheel(at.time_ns, now);
                }
                let expires = self.clocks.jiffies.whole(expires);
                let bucket = fields.bucket_expiry.map_or(expires, |bucket| self.clocks.jiffies.whole(bucket));
                let slack = u64::try_from(bucket - expires).unwrap_or(0);
                let due = Due { clock: WHEEL, expires, slack };
                let start = Start { key, due, function: fields.function, was_armed: None };
                wheel.start(at, start, ids, out);
            }
        }
    }

    /// An event of a hrtimer: kept while it is not known what a cancel means.
    fn hrtimer(&mut self, what: &str, at: At, fields: &Fields<'_>, out: &mut Out) {
        if self.hrtimer.is_none() {
            return;
        }
        let Some(timer) = fields.timer else { return out.skip(at.line, NO_ADDRESS) };
        let softexpires = fields.softexpires.or(fields.expires);
        let event = match (what, softexpires, fields.expires) {
            ("init" | "setup", ..) => Hrtimer::SetUp(fields.clockid.to_owned()),
            ("cancel", ..) => Hrtimer::Cancel,
            ("expire_entry", ..) => Hrtimer::Expire(fields.now),
            (_, Some(due), Some(expires)) => {
                let slack = u64::try_from(expires - due).unwrap_or(0);
                Hrtimer::Start {
                    due,
                    slack,
                    was_armed: fields.was_armed,
                    function: fields.function.to_owned(),
                }
            }
            _ => return out.skip(at.line, NO_DUE),
        };
        let Some(undecided) = &mut self.undecided else { return self.apply(timer, at, &event, out) };
        if undecided.push(timer, at, event) {
            self.decide(out);
        }
    }

    /// Goes on with the events that waited.
    fn decide(&mut self, out: &mut Out) {
        let (Some(undecided), Some(hrtimer)) = (self.undecided.take(), &mut self.hrtimer) else { return };
        hrtimer.cancels_twice = undecided.cancels_twice.unwrap_or(true);
        for (timer, at, event) in undecided.events {
            if let Some(hrtimer) = &mut self.hrtimer {
                hrtimer.pass(at.time_ns, out);
            }
            self.apply(timer, at, &event, out);
        }
    }

    fn apply(&mut self, timer: u64, at: At, event: &Hrtimer, out: &mut Out) {
        let Some(hrtimer) = &mut self.hrtimer else { return };
        let ids = &mut self.ids;
        match event {
            Hrtimer::SetUp(clockid) => hrtimer.set_up(timer, clocks::named(clockid), ids),
            Hrtimer::Cancel => hrtimer.cancel(timer, at, ids, out),
            Hrtimer::Expire(now) => {
                let due = now.map(|now| {
                    let clock = clocks::hrtimer(hrtimer.clockid(timer), now);
                    self.clocks.expiry(clock, at.time_ns, now);
                    Due { clock, expires: now, slack: 0 }
                });
                hrtimer.expire(timer, at, due, ids, out);
            }
            Hrtimer::Start { due, slack, was_armed, function } => {
                let clock = clocks::hrtimer(hrtimer.clockid(timer), *due);
                self.clocks.start(clock, at.time_ns, *due);
                let due = Due { clock, expires: *due, slack: *slack };
                let start = Start { key: timer, due, function, was_armed: *was_armed };
                hrtimer.start(at, start, ids, out);
            }
        }
    }
}

const NO_ADDRESS: &str = "an event of a timer without a readable address";
const NO_DUE: &str = "a start without a readable `expires`";

/// What happened to a hrtimer.
#[derive(Debug)]
enum Hrtimer {
    SetUp(String),
    Start { due: i128, slack: u64, was_armed: Option<bool>, function: String },
    Cancel,
    Expire(Option<i128>),
}

/// Events of hrtimers until one shows whether a cancel is also printed for moves and expiries.
#[derive(Debug, Default)]
struct Undecided {
    events: Vec<(u64, At, Hrtimer)>,
    last: std::collections::HashMap<u64, &'static str>,
    cancels_twice: Option<bool>,
}

impl Undecided {
    /// Half of what the window of rows allows.
    const WAITS_NS: u64 = SECOND_NS / 2;

    /// Adds an event; whether it is known now, or no time is left to learn it.
    fn push(&mut self, timer: u64, at: At, event: Hrtimer) -> bool {
        let (kind, shown) = match (&event, self.last.get(&timer)) {
            (Hrtimer::Start { was_armed: Some(_), .. }, _) => ("start", Some(false)),
            (Hrtimer::Start { .. }, Some(&"start")) => ("start", Some(false)),
            (Hrtimer::Start { .. }, _) => ("start", None),
            (Hrtimer::Expire(_), Some(&"start")) => ("expire", Some(false)),
            (Hrtimer::Expire(_), Some(&"cancel")) => ("expire", Some(true)),
            (Hrtimer::Expire(_), _) => ("expire", None),
            (Hrtimer::Cancel, _) => ("cancel", None),
            (Hrtimer::SetUp(_), _) => ("set up", None),
        };
        self.last.insert(timer, kind);
        self.cancels_twice = shown;
        let first = self.events.first().map_or(at.time_ns, |(_, first, _)| first.time_ns);
        self.events.push((timer, at, event));
        shown.is_some() || at.time_ns - first > Self::WAITS_NS
    }
}
