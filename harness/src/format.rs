//! Numbers for people: one column, one unit, one number of decimals, whatever the locale.

/// A column of numbers with the same number of decimals, as many as its smallest value needs to be more than
/// zero; `-` for what was not collected.
pub fn numbers(column: &[Option<f64>]) -> Vec<String> {
    let decimals = decimals(column);
    column.iter().map(|number| number.map_or_else(|| "-".into(), |number| fixed(number, decimals))).collect()
}

/// A column of counts: whole numbers, also where a median lies between two.
pub fn whole(column: &[Option<f64>]) -> Vec<String> {
    column.iter().map(|number| number.map_or_else(|| "-".into(), |number| fixed(number, 0))).collect()
}

/// The decimals with which no number of a column is rounded to nothing, and a small one shows two digits.
pub fn decimals(column: &[Option<f64>]) -> usize {
    let magnitudes = column.iter().flatten().map(|number| number.abs()).filter(|number| *number > 0.0);
    let smallest = magnitudes.fold(f64::INFINITY, f64::min);
    match smallest {
        10.0.. => 0,
        1.0.. => 1,
        0.01.. => 2,
        _ => (-smallest.log10().floor()).min(9.0) as usize,
    }
}

/// A number with this many decimals and its thousands set apart.
pub fn fixed(number: f64, decimals: usize) -> String {
    let text = format!("{:.decimals$}", number.abs());
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let mut shown = String::with_capacity(text.len() + text.len() / 3);
    if number < 0.0 {
        shown.push('-');
    }
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown + rest
}

/// A unit of memory in which the numbers of a column are neither long nor all zero, and its bytes.
pub fn memory_unit(columns: &[Option<f64>]) -> (&'static str, f64) {
    let largest = columns.iter().flatten().fold(0.0, |a: f64, b| a.max(b.abs()));
    match largest {
        ..10_240.0 => ("B", 1.0),
        ..10_485_760.0 => ("KiB", 1024.0),
        _ => ("MiB", 1_048_576.0),
    }
}

/// The middle of some numbers; the mean of the two in the middle when they are even.
pub fn median(numbers: &[f64]) -> Option<f64> {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n.is_multiple_of(2) => Some(f64::midpoint(sorted[middle - 1], sorted[middle])),
        _ => Some(sorted[middle]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_has_one_notation_and_small_values_are_not_rounded_away() {
        assert_eq!(numbers(&[Some(1e4), Some(1e9), None]), ["10,000", "1,000,000,000", "-"]);
        assert_eq!(numbers(&[Some(0.004), Some(12.0)]), ["0.004", "12.000"]);
        assert_eq!(numbers(&[Some(0.0), Some(0.0)]), ["0", "0"]);
        assert_eq!(numbers(&[Some(45.31), Some(250.0)]), ["45", "250"]);
        assert_eq!(numbers(&[Some(4.531), Some(250.0)]), ["4.5", "250.0"]);
    }

    #[test]
    fn thousands_and_signs_stand_where_they_belong() {
        assert_eq!([fixed(-1234.5, 1), fixed(999.0, 0), fixed(-12.0, 0)], ["-1,234.5", "999", "-12"]);
    }

    #[test]
    fn a_column_of_memory_has_one_unit() {
        assert_eq!(memory_unit(&[Some(10.0), Some(9_000.0), None]).0, "B");
        assert_eq!(memory_unit(&[Some(1_152.0), Some(1_754_784.0)]).0, "KiB");
        assert_eq!(memory_unit(&[Some(2e9)]).0, "MiB");
    }

    #[test]
    fn the_median_of_an_even_number_lies_between_the_two_in_the_middle() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&[]), None);
    }
}
