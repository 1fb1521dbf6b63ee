//! How late timers expire: two histograms, one for what comes before its time.

use hdrhistogram::Histogram;

/// What is larger is counted as this: two hundred years.
const MOST: u64 = 1 << 62;

/// Latenesses, each kept to three digits.
#[derive(Clone, Debug)]
pub struct Lateness {
    early: Histogram<u64>,
    late: Histogram<u64>,
    range: Option<(i128, i128)>,
}

impl Default for Lateness {
    fn default() -> Self {
        let histogram = || Histogram::new(3).expect("three digits are possible");
        Self { early: histogram(), late: histogram(), range: None }
    }
}

impl Lateness {
    /// Adds one; less than 0 is early.
    pub fn record(&mut self, late: i128) {
        let (histogram, size) = if late < 0 { (&mut self.early, -late) } else { (&mut self.late, late) };
        let size = u64::try_from(size).unwrap_or(MOST).min(MOST);
        histogram.record(size).expect("a histogram grows up to its range");
        let (least, most) = self.range.unwrap_or((late, late));
        self.range = Some((least.min(late), most.max(late)));
    }

    /// How many there are.
    pub fn len(&self) -> u64 {
        self.early.len() + self.late.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many came before their time.
    pub fn early(&self) -> u64 {
        self.early.len()
    }

    /// The largest, exactly.
    pub fn max(&self) -> Option<f64> {
        self.range.map(|(_, most)| most as f64)
    }

    /// The smallest that so large a part of them does not exceed (nearest rank), to three digits.
    pub fn quantile(&self, part: f64) -> Option<f64> {
        let (least, most) = self.range?;
        let rank = ((part * self.len() as f64).ceil() as u64).clamp(1, self.len());
        let at = match rank.checked_sub(self.early.len()).filter(|rank| *rank > 0) {
            Some(rank) => ranked(&self.late, rank) as f64,
            None => -(ranked(&self.early, self.early.len() + 1 - rank) as f64),
        };
        Some(at.clamp(least as f64, most as f64))
    }
}

/// The value of this rank, counted from 1.
fn ranked(histogram: &Histogram<u64>, rank: u64) -> u64 {
    let mut below = 0;
    let mut reached = |count: u64| {
        below += count;
        below >= rank
    };
    let found = histogram.iter_recorded().find(|step| reached(step.count_at_value()));
    found.map_or(0, |step| step.value_iterated_to())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_the_nearest_rank_on_both_sides_of_the_due_time() {
        let mut lateness = Lateness::default();
        assert_eq!((lateness.quantile(0.5), lateness.max()), (None, None));
        [30, -10, 20, -40, 50].into_iter().for_each(|late| lateness.record(late));
        let at = |part| lateness.quantile(part).unwrap();
        assert_eq!([0.0, 0.2, 0.21, 0.6, 0.8, 1.0].map(at), [-40.0, -40.0, -10.0, 20.0, 30.0, 50.0]);
        assert_eq!((lateness.len(), lateness.early(), lateness.max()), (5, 2, Some(50.0)));
    }

    #[test]
    fn a_value_is_right_to_three_digits_and_the_largest_is_exact() {
        let mut lateness = Lateness::default();
        (1..=1000).for_each(|step| lateness.record(step * 1_234_567));
        let middle = lateness.quantile(0.5).unwrap() / (500.0 * 1_234_567.0);
        assert!((0.999..1.001).contains(&middle), "{middle}");
        assert_eq!(lateness.max(), Some(1_234_567_000.0));
        lateness.record(i128::from(u64::MAX) * 4);
        assert_eq!(lateness.len(), 1001);
    }
}
