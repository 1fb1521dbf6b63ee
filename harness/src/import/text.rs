//! Small readers of text that several forms share. None of them panics, whatever the text is.

use jiff::civil::{Date, Time};

/// Nanoseconds of a second.
pub(super) const SECOND: u64 = 1_000_000_000;
/// Nanoseconds of a millisecond.
pub(super) const MILLISECOND: u64 = 1_000_000;

/// The whole number that `text` begins with, and what follows it.
pub(super) fn leading(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    Some((text[..end].parse().ok()?, &text[end..]))
}

/// The first `N` whole numbers in `text`, whatever stands between them.
pub(super) fn numbers<const N: usize>(mut text: &str) -> Option<[u64; N]> {
    let mut found = [0; N];
    for number in &mut found {
        let start = text.find(|c: char| c.is_ascii_digit())?;
        (*number, text) = leading(&text[start..])?;
    }
    Some(found)
}

/// Nanoseconds of `1`, `1.5` or `1.500000000` seconds; digits beyond the ninth are cut off.
pub(super) fn seconds(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) {
        return None;
    }
    let nanos = format!("{:0<9}", &fraction[..fraction.len().min(9)]).parse::<u64>().ok()?;
    whole.parse::<u64>().ok()?.checked_mul(SECOND)?.checked_add(nanos)
}

/// Nanoseconds since midnight of `HH:MM:SS` with up to nine digits of a fraction.
pub(super) fn clock(text: &str) -> Option<u64> {
    let time: Time = text.parse().ok()?;
    let whole = (u64::from(time.hour().unsigned_abs()) * 60 + u64::from(time.minute().unsigned_abs())) * 60
        + u64::from(time.second().unsigned_abs());
    Some(whole * SECOND + u64::from(time.subsec_nanosecond().unsigned_abs()))
}

/// Nanoseconds from 1970 to a date and a time of the same zone.
pub(super) fn since_1970(date: Date, time_ns: u64) -> Option<i128> {
    let days = (date - Date::constant(1970, 1, 1)).get_days();
    Some(i128::from(days) * i128::from(24 * 3600 * SECOND) + i128::from(time_ns))
}

/// A duration as Go and the options write it: `90s`, `4h30m`, `250ms`, `2d`. A bare number is refused.
pub(super) fn duration(text: &str) -> Option<u64> {
    let (mut rest, mut total) = (text.trim(), 0_u64);
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number = seconds(&rest[..end])?;
        let unit = rest[end..].find(|c: char| c.is_ascii_digit()).map_or(rest.len(), |more| end + more);
        total = total.checked_add(scaled(number, &rest[end..unit])?)?;
        rest = &rest[unit..];
    }
    Some(total)
}

/// A number in billionths times its unit.
fn scaled(billionths: u64, unit: &str) -> Option<u64> {
    let unit_ns = match unit {
        "ns" => 1,
        "us" | "µs" => 1000,
        "ms" => MILLISECOND,
        "s" => SECOND,
        "m" | "min" => 60 * SECOND,
        "h" => 3600 * SECOND,
        "d" => 24 * 3600 * SECOND,
        "w" => 7 * 24 * 3600 * SECOND,
        _ => return None,
    };
    u64::try_from(u128::from(billionths) * u128::from(unit_ns) / u128::from(SECOND)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_between_anything() {
        assert_eq!(numbers(": 6: 3000:18"), Some([6, 3000, 18]));
        assert_eq!(numbers::<2>("6:"), None);
        assert_eq!(numbers::<1>("99999999999999999999999"), None);
    }

    #[test]
    fn seconds_keep_nine_digits_and_refuse_the_rest() {
        assert_eq!(seconds("1796029132.870347"), Some(1_796_029_132_870_347_000));
        assert_eq!(seconds("0.0000000019"), Some(1));
        assert_eq!(seconds("3"), Some(3 * SECOND));
        for bad in ["", ".5", "-1", "1e3", "1.2.3", "99999999999", "1.é"] {
            assert_eq!(seconds(bad), None, "{bad}");
        }
    }

    #[test]
    fn clocks_are_of_the_day() {
        assert_eq!(clock("00:00:01"), Some(SECOND));
        assert_eq!(clock("23:59:59.999999"), Some(86_399_999_999_000));
        for bad in ["24:00:00", "1:2:3", "", "xx"] {
            assert_eq!(clock(bad), None, "{bad}");
        }
    }

    #[test]
    fn durations_are_sums_of_units() {
        assert_eq!(duration("4h30m"), Some(16_200 * SECOND));
        assert_eq!(duration("1.5s"), Some(1_500_000_000));
        assert_eq!(duration("250ms"), Some(250 * MILLISECOND));
        for bad in ["", "5", "h", "4x", "4h5", "-4h", "999999999999d"] {
            assert_eq!(duration(bad), None, "{bad}");
        }
    }
}
