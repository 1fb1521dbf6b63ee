//! Cron lines: five fields, and the next minute that they name.
//!
//! ```text
//! 30  2-23/4  *  1,3  MON-FRI       minute, hour, day of month, month, day of week
//! ```
//!
//! The rules are those of Vixie's cron: where both kinds of day are restricted, either will do; Sunday is 0 and 7.
//! As in the scheduler of Kubernetes (robfig/cron), `N/step` goes on to the end of the range. UTC throughout. (The
//! crates that know cron bring a derive macro with its parser, or another jiff; this is a table of bits.)

use jiff::ToSpan as _;
use jiff::civil::{Date, DateTime};

/// A schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cron {
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    /// One of both kinds of day begins with `*`: then both must do.
    both: bool,
}

/// A field: its range, names of its values, and what one is that has others.
struct Field {
    wrong: &'static str,
    from: u8,
    to: u8,
    names: &'static [&'static str],
}

const MINUTE: Field =
    Field { wrong: "a cron line with a minute that is not 0 to 59", from: 0, to: 59, names: &[] };
const HOUR: Field =
    Field { wrong: "a cron line with an hour that is not 0 to 23", from: 0, to: 23, names: &[] };
const DAY: Field =
    Field { wrong: "a cron line with a day of the month that is not 1 to 31", from: 1, to: 31, names: &[] };
const MONTH: Field = Field {
    wrong: "a cron line with a month that is not 1 to 12, or JAN to DEC",
    from: 1,
    to: 12,
    names: &["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"],
};
const WEEKDAY: Field = Field {
    wrong: "a cron line with a day of the week that is not 0 to 7, or SUN to SAT",
    from: 0,
    to: 7,
    names: &["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"],
};

impl Cron {
    /// Reads five fields, or a macro such as `@daily`. Says what is wrong with it otherwise.
    pub(super) fn parse(spec: &str) -> Result<Self, &'static str> {
        let fields = match spec.trim() {
            "@yearly" | "@annually" => "0 0 1 1 *",
            "@monthly" => "0 0 1 * *",
            "@weekly" => "0 0 * * 0",
            "@daily" | "@midnight" => "0 0 * * *",
            "@hourly" => "0 * * * *",
            fields => fields,
        };
        let Ok([minute, hour, day, month, weekday]) =
            <[&str; 5]>::try_from(fields.split_whitespace().collect::<Vec<_>>())
        else {
            return Err("a cron line that has not five fields");
        };
        let weekdays = WEEKDAY.bits(weekday)?;
        let is_open = |field: &str| field.starts_with(['*', '?']);
        Ok(Self {
            minutes: MINUTE.bits(minute)?,
            hours: HOUR.bits(hour)?,
            days: DAY.bits(day)?,
            months: MONTH.bits(month)?,
            weekdays: weekdays | ((weekdays >> 7) & 1),
            both: is_open(day) || is_open(weekday),
        })
    }

    /// The first minute after `after` that it names. `None` if there is none in eight years (30 February).
    pub(super) fn next(&self, after: DateTime) -> Option<DateTime> {
        let start = after.checked_add(1.minute()).ok()?.with().second(0).subsec_nanosecond(0).build().ok()?;
        let mut date = start.date();
        let mut from = (start.hour(), start.minute());
        for _ in 0..8 * 366 {
            if self.is_on(date)
                && let Some((hour, minute)) = self.time_from(from)
            {
                return Some(date.at(hour, minute, 0, 0));
            }
            date = date.tomorrow().ok()?;
            from = (0, 0);
        }
        None
    }

    fn is_on(&self, date: Date) -> bool {
        let has = |bits: u64, at: i8| (bits >> at) & 1 == 1;
        let day = has(self.days, date.day());
        let weekday = has(self.weekdays, date.weekday().to_sunday_zero_offset());
        has(self.months, date.month()) && if self.both { day && weekday } else { day || weekday }
    }

    /// The first time of a day that is not before `from`.
    fn time_from(&self, (hour, minute): (i8, i8)) -> Option<(i8, i8)> {
        let this_hour = ((self.hours >> hour) & 1 == 1).then(|| first(self.minutes, minute)).flatten();
        match this_hour {
            Some(minute) => Some((hour, minute)),
            None => Some((first(self.hours, hour + 1)?, first(self.minutes, 0)?)),
        }
    }
}

/// The lowest bit from `at` on.
fn first(bits: u64, at: i8) -> Option<i8> {
    let left = (bits >> at) << at;
    (left != 0).then(|| left.trailing_zeros() as i8)
}

impl Field {
    /// The values of a list of parts, as bits.
    fn bits(&self, text: &str) -> Result<u64, &'static str> {
        text.split(',').try_fold(0, |bits, part| Ok(bits | self.part(part)?))
    }

    /// `*`, `N`, `A-B`, each with `/step`.
    fn part(&self, part: &str) -> Result<u64, &'static str> {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => {
                (range, Some(step.parse::<u8>().ok().filter(|step| *step > 0).ok_or(self.wrong)?))
            }
            None => (part, None),
        };
        let (from, to) = match (range, range.split_once('-')) {
            ("*" | "?", _) => (self.from, self.to),
            (_, Some((from, to))) => (self.value(from).ok_or(self.wrong)?, self.value(to).ok_or(self.wrong)?),
            (_, None) => {
                let from = self.value(range).ok_or(self.wrong)?;
                (from, if step.is_some() { self.to } else { from })
            }
        };
        if from > to {
            return Err(self.wrong);
        }
        Ok((from..=to).step_by(usize::from(step.unwrap_or(1))).fold(0, |bits, value| bits | (1 << value)))
    }

    /// A number in range, or a name.
    fn value(&self, text: &str) -> Option<u8> {
        let named = self.names.iter().position(|name| name.eq_ignore_ascii_case(text));
        let value = match named {
            Some(at) => self.from + u8::try_from(at).ok()?,
            None => text.parse().ok()?,
        };
        (self.from..=self.to).contains(&value).then_some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(spec: &str, from: &str, count: usize) -> Vec<String> {
        let cron = Cron::parse(spec).unwrap();
        let mut at: DateTime = from.parse().unwrap();
        std::iter::from_fn(|| {
            at = cron.next(at)?;
            Some(at.strftime("%F %H:%M").to_string())
        })
        .take(count)
        .collect()
    }

    #[test]
    fn steps_lists_and_ranges_name_their_minutes() {
        let day = "2024-01-01T00:00";
        assert_eq!(
            runs("41 3-23/8 * * *", day, 4),
            ["2024-01-01 03:41", "2024-01-01 11:41", "2024-01-01 19:41", "2024-01-02 03:41"]
        );
        assert_eq!(runs("0 1/6 * * *", day, 3), ["2024-01-01 01:00", "2024-01-01 07:00", "2024-01-01 13:00"]);
        assert_eq!(runs("55 7-23/24 * * *", day, 2), ["2024-01-01 07:55", "2024-01-02 07:55"]);
        assert_eq!(
            runs("*/30 0,12 * * *", day, 3),
            ["2024-01-01 00:30", "2024-01-01 12:00", "2024-01-01 12:30"]
        );
        assert_eq!(runs("0 0 1 * *", "2024-01-31T12:30", 1), ["2024-02-01 00:00"]);
    }

    #[test]
    fn restricted_days_of_both_kinds_are_alternatives() {
        // 2024-01-05 is a Friday.
        assert_eq!(
            runs("0 9 13 * FRI", "2024-01-01T00:00", 3),
            ["2024-01-05 09:00", "2024-01-12 09:00", "2024-01-13 09:00"]
        );
        assert_eq!(runs("0 9 */2 * FRI", "2024-01-01T00:00", 1), ["2024-01-05 09:00"]);
        assert_eq!(runs("1 7 * * 0,1,3,5", "2024-01-01T07:01", 2), ["2024-01-03 07:01", "2024-01-05 07:01"]);
        assert_eq!(runs("0 0 * * 7", "2024-01-01T00:00", 1), ["2024-01-07 00:00"]);
        assert_eq!(runs("0 0 * * fri-7", "2024-01-01T00:00", 3).len(), 3);
    }

    #[test]
    fn a_leap_day_is_found_and_a_day_that_never_comes_is_none() {
        assert_eq!(runs("0 0 29 2 *", "2024-03-01T00:00", 1), ["2028-02-29 00:00"]);
        assert_eq!(runs("0 0 29 2 *", "2096-03-01T00:00", 1), ["2104-02-29 00:00"]);
        assert!(runs("0 0 31 2 *", "2024-01-01T00:00", 1).is_empty());
        assert!(runs("0 0 * * *", "9999-12-31T23:59", 1).is_empty());
    }

    #[test]
    fn macros_are_read_and_mistakes_named() {
        assert_eq!(Cron::parse("@daily"), Cron::parse("0 0 * * *"));
        for (spec, why) in [
            ("0 0 * *", "five fields"),
            ("60 0 * * *", "minute that is not 0 to 59"),
            ("0 5-3 * * *", "hour"),
            ("0 0 0 * *", "day of the month"),
            ("0 0 * JANUARY *", "month"),
            ("0 0 * * 8", "day of the week"),
            ("*/0 * * * *", "minute"),
            ("é , * * *", "minute"),
            ("@reboot", "five fields"),
        ] {
            assert!(Cron::parse(spec).unwrap_err().contains(why), "{spec}: {:?}", Cron::parse(spec));
        }
    }
}
