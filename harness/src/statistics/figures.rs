//! Statistics as named figures, the same names in every table and file.

use super::Statistics;
use crate::format::fixed;

/// One figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Its name in CSV and JSON, with the unit.
    pub name: &'static str,
    /// Its heading in a table for people; a line end parts it.
    pub heading: &'static str,
    /// What it is, and of what it is a share.
    pub about: &'static str,
    /// The value; `None` where there is nothing to count.
    pub value: Option<Value>,
}

/// A figure's value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A number of things.
    Count(u64),
    /// A number that need not be whole.
    Number(f64),
    /// A part of a whole: 1 is all.
    Share(f64),
    /// Nanoseconds.
    Span(f64),
}

impl Value {
    /// The bare number, for files.
    pub fn number(self) -> f64 {
        match self {
            Self::Count(count) => count as f64,
            Self::Number(number) | Self::Share(number) | Self::Span(number) => number,
        }
    }

    /// For people.
    pub fn text(self) -> String {
        match self {
            Self::Count(count) => fixed(count as f64, 0),
            Self::Number(number) => fixed(number, usize::from(number.abs() < 1000.0)),
            Self::Share(share) => format!("{} %", fixed(share * 100.0, 1)),
            Self::Span(ns) => span(ns),
        }
    }
}

/// A time in the unit in which it is shortest, with at most four digits: `204 ms`, `1.5 s`, `60 s`.
pub fn span(ns: f64) -> String {
    let (unit, size) = match ns.abs() {
        ..1e3 => ("ns", 1.0),
        ..1e6 => ("µs", 1e3),
        ..1e9 => ("ms", 1e6),
        _ => ("s", 1e9),
    };
    let number = ns / size;
    let decimals = match number.abs() {
        ..10.0 => 3,
        ..100.0 => 2,
        ..1000.0 => 1,
        _ => 0,
    };
    let text = fixed(number, decimals);
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} {unit}")
}

/// All figures, in the order of the table.
pub fn figures(of: &Statistics) -> Vec<Figure> {
    use Value::{Count, Number, Share, Span};
    let share = |part: u64, all: u64| (all > 0).then(|| Share(part as f64 / all as f64));
    let (arms, cancels) = (of.arms(), of.cancels + of.misses);
    let seconds = of.duration as f64 / 1e9;
    let a_second = (of.duration > 0).then(|| Number(of.operations as f64 / seconds));
    let late = |part: f64| of.lateness.quantile(part).map(Span);
    let rows: [(&str, &str, &str, Option<Value>); 19] = [
        ("duration_s", "duration\ns", "from the first row to the last", Some(Number(seconds))),
        ("timers", "timers", "timers that are named", Some(Count(of.timers))),
        ("arms", "arms", "starts and re-arms", Some(Count(arms))),
        ("operations_per_s", "operations\na second", "S, R, C, N, E and D rows by the duration", a_second),
        ("armed_max", "armed\nmost", "most timers armed at once", Some(Count(of.armed_max))),
        ("armed_mean", "armed\nmean", "timers armed, weighted by time", Some(Number(of.armed_mean))),
        ("armed_at_end", "armed\nat end", "timers armed after the last row", Some(Count(of.armed_at_end))),
        ("rearmed_share", "re-armed\nof arms", "re-arms, of arms", share(of.rearms, arms)),
        (
            "cancelled_share",
            "cancelled\nof arms",
            "cancels that find their timer, of arms",
            share(of.cancels, arms),
        ),
        (
            "expired_share",
            "expired\nof arms",
            "expiries, of arms; above 100 % with periods",
            share(of.expiries, arms),
        ),
        (
            "missed_share",
            "missed\nof cancels",
            "cancels that miss, of all cancels",
            share(of.misses, cancels),
        ),
        (
            "missed_after_expiry_share",
            "after expiry\nof missed",
            "those of an expired timer, of cancels that miss",
            share(of.misses_after_expiry, of.misses),
        ),
        (
            "absorbed_share",
            "absorbed\nof arms",
            "re-arms left out (no arms), as a share of arms",
            share(of.absorbed, arms),
        ),
        ("lateness_ns_p50", "late\np50", "time less due time of expiries, nearest rank", late(0.5)),
        ("lateness_ns_p90", "late\np90", "the same", late(0.9)),
        ("lateness_ns_p99", "late\np99", "the same", late(0.99)),
        ("lateness_ns_max", "late\nmax", "the largest", of.lateness.max().map(Span)),
        (
            "early_share",
            "early\nof expiries",
            "expiries before their due time, of expiries",
            share(of.lateness.early(), of.expiries),
        ),
        ("owners", "owners", "different owners", Some(Count(of.owners))),
    ];
    rows.map(|(name, heading, about, value)| Figure { name, heading, about, value }).into()
}
