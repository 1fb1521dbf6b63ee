//! Time that decides on the number of blocks.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How long a run may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// Seconds for everything.
    pub seconds: u64,
    /// Whether the plan's number of blocks is final. Before the discarded blocks are done it is a guess.
    pub settled: bool,
}

impl FromStr for Budget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let digits = text.trim_end_matches(['s', 'm', 'h']);
        let factor = match &text[digits.len()..] {
            "s" => 1,
            "m" => 60,
            "h" => 3600,
            _ => return Err("a budget is a whole number with s, m or h behind it, such as 90s or 10m".into()),
        };
        let seconds = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(factor));
        match seconds {
            Some(seconds @ 1..) => Ok(Self { seconds, settled: false }),
            _ => Err("a budget is at least 1s; write it as 90s, 10m or 1h".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_has_a_unit() {
        let seconds = |text: &str| text.parse::<Budget>().map(|budget| budget.seconds).ok();
        assert_eq!([seconds("90s"), seconds("10m"), seconds("2h")], [Some(90), Some(600), Some(7200)]);
        for bad in ["10", "0m", "m", "1.5h", "10ms", "99999999999999999999h", "-3s"] {
            assert_eq!(seconds(bad), None, "{bad}");
        }
    }
}
