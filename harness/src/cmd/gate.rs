//! `gate`: `diff` with a threshold and an exit code.

use clap::Args;

use super::chosen::Chosen;
use super::diff::{DiffRow, Pair};
use super::output::Output;
use super::print;
use super::run::say;
use crate::error::{Error, Exit};
use crate::record::{Column, Row, Type, Value};
use crate::study::diff::Change;
use crate::study::gate::{Outcome, judge};

/// Options of `gate`.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXITS)]
pub struct GateArgs {
    /// The run before: a folder, a name under results/, or `latest`
    #[arg(value_name = "A")]
    pub a: String,
    /// The run after
    #[arg(value_name = "B")]
    pub b: String,
    /// Metrics: columns of the tables, or short names such as time, p99, live, held
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "time,live,held")]
    pub metric: Vec<String>,
    /// Percentiles of single calls as well: `p50,p99,p99.9,max`
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = percentile)]
    pub percentile: Vec<String>,
    /// How much dearer B may be, in per cent of A's figure: `5%` lets 100 ns become 105 ns, and 100 bytes 105
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = threshold)]
    pub threshold: f64,
    /// Exit with 5 when anything is undecided
    #[arg(long)]
    pub strict: bool,
    /// What is looked at
    #[command(flatten)]
    pub chosen: Chosen,
    /// How it is printed
    #[command(flatten)]
    pub output: Output,
}

const EXITS: &str = "\
A figure is a regression when the whole interval of B over A lies above the threshold, and passed when none of it does;
anything else is undecided, which is not failed. Counts and memory are exact: their interval is what the repeats span.

Exit codes: 0 no confident regression, 3 a confident regression, 5 undecided with --strict";

fn percentile(text: &str) -> Result<String, String> {
    match text {
        "p50" | "p99" | "p99.9" | "max" => Ok(text.to_owned()),
        _ => Err("there is p50, p99, p99.9 and max".into()),
    }
}

/// A relative threshold as it is typed: `5%`, or `5`, in per cent.
fn threshold(text: &str) -> Result<f64, String> {
    let number: f64 = text
        .trim_end_matches('%')
        .trim()
        .parse()
        .map_err(|_| "a threshold is a number of per cent, such as 5% or 2.5%".to_owned())?;
    match number {
        0.0..=1000.0 => Ok(number / 100.0),
        _ => Err("a threshold is between 0% and 1000%".into()),
    }
}

/// A row of `diff` with what it comes to at the gate.
struct GateRow {
    diff: DiffRow,
    threshold: f64,
    outcome: Outcome,
}

impl Row for GateRow {
    fn columns() -> Vec<Column> {
        let threshold =
            Column { name: "threshold", holds: Type::Decimal, about: "How much dearer B may be, relative" };
        let gate = Column { name: "gate", holds: Type::Text, about: "`passed`, `regression` or `undecided`" };
        [DiffRow::columns(), vec![threshold, gate]].concat()
    }

    fn values(&self) -> Vec<Value> {
        let own = vec![Value::Decimal(Some(self.threshold)), Value::Text(Some(self.outcome.word().into()))];
        [self.diff.values(), own].concat()
    }
}

/// Judges the second run by the first.
pub fn gate(args: &GateArgs) -> Result<Exit, Error> {
    args.output.can_print()?;
    let metrics = [args.metric.clone(), args.percentile.clone()].concat();
    let pair = Pair::read(&args.a, &args.b, &metrics, &args.chosen)?;
    let outcome = |change: &Change| judge(change, args.threshold);
    let rows: Vec<GateRow> = pair
        .rows()
        .into_iter()
        .zip(&pair.changes)
        .map(|(diff, change)| GateRow { diff, threshold: args.threshold, outcome: outcome(change) })
        .collect();
    let words = |change: &Change| format!("{} ({})", outcome(change).word(), change.finding.words());
    let heading = format!("gate at {} %", args.threshold * 100.0);
    print(&args.output.text(|| pair.grids(&heading, words), &rows)?)?;
    let count = |wanted: Outcome| rows.iter().filter(|row| row.outcome == wanted).count();
    let (regressions, undecided) = (count(Outcome::Regression), count(Outcome::Undecided));
    say(Some(format!(
        "gate at {} %: {regressions} regressions, {undecided} undecided, {} passed",
        args.threshold * 100.0,
        count(Outcome::Passed)
    )));
    Ok(match (regressions, undecided) {
        (1.., _) => Exit::Regression,
        (0, 1..) if args.strict => Exit::Undecided,
        _ => Exit::Done,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threshold_is_in_per_cent_with_and_without_its_sign() {
        assert_eq!(threshold("5%"), Ok(0.05));
        assert_eq!(threshold("2.5"), Ok(0.025));
        assert!(threshold("-1").is_err() && threshold("x").is_err() && threshold("NaN").is_err());
    }
}
