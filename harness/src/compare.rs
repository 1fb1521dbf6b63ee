//! Whether a worker's answers are the reference's, and what the first difference is if not.

use impls::registry::{self, Order};
use serde_json::Value;

use crate::select::{Structure, thousands};
use crate::stream::Outcome;
use crate::truth::Truth;

/// The check that an outcome passed, or the first difference in words.
pub fn check(structure: &Structure, outcome: &Outcome, expected: &Truth) -> Result<&'static str, String> {
    let order = registry::find(&structure.name).map_or(Order::Exact, |entry| entry.order);
    let passed = match order {
        Order::Exact => "exact",
        Order::TiesAnyOrder => "ties-any-order",
        Order::LateBounded => "late<=bound",
    };
    match untrue(outcome, expected, order) {
        None => Ok(passed),
        Some(difference) => Err(difference),
    }
}

/// The first thing in which an outcome is not what it must be, if any.
pub fn untrue(outcome: &Outcome, expected: &Truth, order: Order) -> Option<String> {
    match expected {
        Truth::Outcome(expected) => difference(outcome, expected, order),
        Truth::Laws(laws) => laws.broken(outcome, order != Order::LateBounded),
    }
}

/// What need not be equal: the digest holds the order of ties, and a bound on lateness frees all that
/// depends on when a timer was taken.
fn is_free(field: &str, order: Order) -> bool {
    match order {
        Order::Exact => false,
        Order::TiesAnyOrder => field == "digest",
        Order::LateBounded => !["enqueued", "id_sum", "dispatched"].contains(&field),
    }
}

fn difference(outcome: &Outcome, expected: &Outcome, order: Order) -> Option<String> {
    let (got, wanted) = (fields(outcome), fields(expected));
    let differs = |(field, value): &(String, Value)| !is_free(field, order) && got.get(field) != Some(value);
    // The digest says least, so it is told only when nothing else differs.
    let mut wanted: Vec<_> = wanted.into_iter().collect();
    wanted.sort_by_key(|(field, _)| field == "digest");
    let (field, value) = wanted.into_iter().find(differs)?;
    let got = got.get(&field).map_or_else(|| "nothing".into(), shown);
    Some(match field.as_str() {
        "digest" => format!(
            "what was dispatched, or its order, differs from the reference (digest {got}, not {})",
            shown(&value)
        ),
        _ => format!("{} is {got}, and {} in the reference", field.replace('_', " "), shown(&value)),
    })
}

fn fields(outcome: &Outcome) -> serde_json::Map<String, Value> {
    match serde_json::to_value(outcome) {
        Ok(Value::Object(fields)) => fields,
        other => unreachable!("an outcome is an object of numbers, not {other:?}"),
    }
}

fn shown(value: &Value) -> String {
    value.as_u64().map_or_else(|| value.to_string(), thousands)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome() -> Outcome {
        Outcome { enqueued: 2000, dispatched: 1990, digest: Some(7), ..Outcome::default() }
    }

    #[test]
    fn equal_outcomes_have_no_difference() {
        assert_eq!(difference(&outcome(), &outcome(), Order::Exact), None);
    }

    #[test]
    fn the_first_difference_is_named_with_both_sides() {
        let wrong = Outcome { dispatched: 1989, digest: Some(8), ..outcome() };
        let said = difference(&wrong, &outcome(), Order::Exact).unwrap();
        assert_eq!(said, "dispatched is 1,989, and 1,990 in the reference");
    }

    #[test]
    fn another_order_is_found_by_the_digest_alone() {
        let wrong = Outcome { digest: Some(8), ..outcome() };
        assert!(difference(&wrong, &outcome(), Order::Exact).unwrap().contains("its order, differs"));
        assert_eq!(difference(&wrong, &outcome(), Order::TiesAnyOrder), None);
    }

    #[test]
    fn a_lost_timer_is_found_whatever_order_is_promised() {
        let wrong = Outcome { dispatched: 1989, ..outcome() };
        for order in [Order::Exact, Order::TiesAnyOrder, Order::LateBounded] {
            assert!(difference(&wrong, &outcome(), order).is_some());
        }
    }
}
