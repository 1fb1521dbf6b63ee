//! One clock out of the time stamps of a log.

use super::super::text;
use super::line::Stamp;

/// Half a day: a clock of the day that falls by more has passed midnight.
const HALF_DAY_NS: u64 = 12 * 3600 * text::SECOND;
/// A first stamp below this is no second since 1970, but one since the line before (`-r`).
const EPOCH_MIN_NS: u64 = 1_000_000 * text::SECOND;

/// What the stamps of the log are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Kind {
    /// None was seen: the clock goes on by what calls take.
    #[default]
    None,
    /// `-t`: whole seconds of the day.
    Seconds,
    /// `-tt`: microseconds of the day.
    Day,
    /// `-ttt`: microseconds since 1970.
    Epoch,
    /// `-r`: since the line before.
    Relative,
}

impl Kind {
    /// What it is called in the metadata.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::None => "none; goes on by what calls take",
            Self::Seconds => "seconds of the day (strace -t)",
            Self::Day => "time of the day (strace -tt)",
            Self::Epoch => "time since 1970 (strace -ttt)",
            Self::Relative => "summed up (strace -r)",
        }
    }

    /// How fine it is.
    pub(super) fn granularity_ns(self) -> u64 {
        if self == Self::Seconds { text::SECOND } else { 1000 }
    }
}

/// The clock.
#[derive(Debug, Default)]
pub(super) struct Clock {
    pub kind: Kind,
    now: u64,
    day: u64,
    last_of_day: u64,
}

impl Clock {
    /// The time of a line.
    pub(super) fn at(&mut self, stamp: Stamp) -> u64 {
        match stamp {
            Stamp::None => {}
            Stamp::Clock { ns, whole } => {
                self.kind = if whole { Kind::Seconds } else { Kind::Day };
                self.day += u64::from(ns + HALF_DAY_NS < self.last_of_day);
                self.last_of_day = ns;
                self.now = self.day.saturating_mul(2 * HALF_DAY_NS).saturating_add(ns);
            }
            Stamp::Seconds(ns) => {
                if self.kind == Kind::None {
                    self.kind = if ns < EPOCH_MIN_NS { Kind::Relative } else { Kind::Epoch };
                }
                let before = if self.kind == Kind::Relative { self.now } else { 0 };
                self.now = before.saturating_add(ns);
            }
        }
        self.now
    }

    /// Without stamps, a call's end is the time from then on.
    pub(super) fn ended(&mut self, end: u64) {
        if self.kind == Kind::None {
            self.now = self.now.max(end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(stamps: &[Stamp]) -> (Kind, Vec<u64>) {
        let mut clock = Clock::default();
        let times = stamps.iter().map(|stamp| clock.at(*stamp)).collect();
        (clock.kind, times)
    }

    #[test]
    fn a_clock_of_the_day_goes_on_after_midnight_and_may_fall_a_little() {
        let at = |ns| Stamp::Clock { ns, whole: true };
        let day = 86_400 * text::SECOND;
        let (kind, times) = times(&[at(day - 5), at(day - 6), at(3)]);
        assert_eq!((kind, times[0] - times[1], times[2] - times[0]), (Kind::Seconds, 1, 8));
    }

    #[test]
    fn small_first_seconds_are_differences_and_large_ones_are_not() {
        let at = Stamp::Seconds;
        assert_eq!(times(&[at(5), at(7)]), (Kind::Relative, vec![5, 12]));
        let epoch = 1_796_029_132 * text::SECOND;
        let (kind, times) = times(&[at(epoch), at(epoch + 7)]);
        assert_eq!((kind, times[1] - times[0]), (Kind::Epoch, 7));
    }

    #[test]
    fn without_stamps_the_clock_goes_on_by_what_calls_take() {
        let mut clock = Clock::default();
        clock.ended(9);
        assert_eq!(clock.at(Stamp::None), 9);
        clock.at(Stamp::Clock { ns: 5, whole: false });
        clock.ended(90);
        assert_eq!((clock.at(Stamp::None), clock.kind), (5, Kind::Day));
    }
}
