//! From what stands on the command line to workloads.

use std::path::Path;
use std::sync::Arc;

use itertools::Itertools;

use super::Workload;
use super::definition::{Definition, SMALL, builtin};
use super::error::{WorkloadError, mended};
use super::group::groups;
use super::model::{MODELS, Made, Model};
use super::replay::Replay;
use crate::spec::PayloadKind;

/// The workloads that `selector` names: `NAME`, `all`, a group, a glob, `FILE.toml` or `replay:FILE`, each with
/// `:key=value,key=value` behind it to change parameters, `n` or `payload`; or a list of those. After a
/// comma, a token with `=` and no `:` goes on with the name before it. A comma between parentheses divides
/// nothing. `key=value+value` is a sweep: a workload for each value, and for each combination where several
/// parameters are swept; `n` alone gives the one workload several sizes.
pub fn resolve(selector: &str) -> Result<Vec<Workload>, WorkloadError> {
    let mut found: Vec<Workload> = Vec::new();
    for one in split(selector) {
        for workload in one_selector(&one)? {
            if found.iter().all(|known| known.name != workload.name) {
                found.push(workload);
            }
        }
    }
    Ok(found)
}

fn one_selector(selector: &str) -> Result<Vec<Workload>, WorkloadError> {
    let (name, changes) = parameters(without_note(selector))?;
    let Some(group) = groups().iter().find(|group| group.name == name) else {
        let named = |changes: Changes| named(name, &changes);
        return sweep(name, changes)?.into_iter().map(named).flatten_ok().collect();
    };
    if !changes.is_empty() {
        let message =
            "is a group, whose parameters are its workloads'; name one of those, or give --n or --payload";
        return Err(WorkloadError::parameter(name, message));
    }
    group.members.iter().map(|member| resolve(&member.selector())).flatten_ok().collect()
}

/// A selector without what a table says beside the name: `(scaled x 10)`.
fn without_note(selector: &str) -> &str {
    let note =
        selector.strip_suffix(')').filter(|_| !is_file(selector)).and_then(|text| text.rsplit_once(" ("));
    match note {
        Some((name, note)) if Replay::NOTES.iter().any(|start| note.starts_with(start)) => name,
        _ => selector,
    }
}

/// The changes for each combination of the values that are swept, in the order given.
fn sweep(name: &str, changes: Changes) -> Result<Vec<Changes>, WorkloadError> {
    let one = |(key, value): (String, String)| {
        let values: Vec<&str> = values(&key, &value);
        if values.contains(&"") {
            let message = format!("`{key}={value}` leaves a value out; write key=value+value");
            return Err(WorkloadError::parameter(name, message));
        }
        Ok(values.into_iter().map(|value| (key.clone(), value.to_owned())).collect::<Vec<_>>())
    };
    let swept: Vec<Vec<(String, String)>> = changes.into_iter().map(one).collect::<Result<_, _>>()?;
    // The product of nothing is one workload without changes.
    Ok(swept.into_iter().multi_cartesian_product().collect())
}

/// The values of a sweep. A file may have any name, a number may have a sign in its exponent, and sizes belong
/// to one workload.
fn values<'a>(key: &str, value: &'a str) -> Vec<&'a str> {
    if !value.contains('+') || key == "n" || key == "file" || value.parse::<f64>().is_ok() {
        return vec![value];
    }
    value.split('+').map(str::trim).collect()
}

/// Whether a file is meant whose name may contain anything.
fn is_file(selector: &str) -> bool {
    Path::new(selector.strip_prefix("replay:").unwrap_or(selector)).is_file()
}

fn split(selector: &str) -> Vec<String> {
    let before_parameters = selector.rfind(':').map(|at| &selector[..at]);
    if is_file(selector) || before_parameters.is_some_and(is_file) {
        return vec![selector.to_owned()];
    }
    let mut parts: Vec<String> = Vec::new();
    for token in commas(selector) {
        match parts.last_mut() {
            // `payload=box:16` is a parameter too: what stands before its `=` is no name with parameters.
            Some(last) if token.split_once('=').is_some_and(|(key, _)| !key.contains(':')) => {
                last.push(if last.contains('=') { ',' } else { ':' });
                last.push_str(token);
            }
            _ => parts.push(token.trim().to_owned()),
        }
    }
    parts
}

/// The parts of a text between commas that do not stand in parentheses.
pub(super) fn commas(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_usize;
    text.split(move |letter| {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == ',' && depth == 0
    })
}

type Changes = Vec<(String, String)>;

fn parameters(selector: &str) -> Result<(&str, Changes), WorkloadError> {
    // The first colon with a key behind it: a file's name may have others, and so may a value, as `box:16`.
    let at = selector.match_indices(':').map(|(at, _)| at).find(|at| {
        let key = selector[at + 1..].split_once('=').map_or("", |(key, _)| key.trim());
        !key.is_empty() && key.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
    });
    let at = at.filter(|_| !is_file(selector));
    let Some(at) = at else { return Ok((selector, Changes::new())) };
    let (name, list) = (&selector[..at], &selector[at + 1..]);
    let pair = |token: &str| {
        let (key, value) = token.split_once('=')?;
        Some((key.trim().to_owned(), value.trim().to_owned()))
    };
    let changes: Option<Changes> = commas(list).map(pair).collect();
    let changes = changes.ok_or_else(|| {
        WorkloadError::parameter(
            name,
            format!("`{list}` is not a list of parameters; write key=value,key=value"),
        )
    })?;
    if let Some((key, _)) = changes.iter().duplicates_by(|(key, _)| key).next() {
        let message =
            format!("`{key}` is given twice; for a workload with each value write `{key}=value+value`");
        return Err(WorkloadError::parameter(name, message));
    }
    Ok((name, changes))
}

fn named(name: &str, changes: &Changes) -> Result<Vec<Workload>, WorkloadError> {
    if let Some(file) = name.strip_prefix("replay:") {
        return Ok(vec![replayed(file, changes)?]);
    }
    if Path::new(name).extension().is_some_and(|extension| extension == "toml") {
        let (definition, model) = Definition::read(Path::new(name))?;
        return Ok(vec![changed(definition, Some(model), name, changes)?]);
    }
    let all: Vec<_> = builtin().iter().filter(|known| matches(name, &known.name)).collect();
    if all.is_empty() {
        let groups = groups().iter().map(|group| group.name.as_str());
        let names = builtin().iter().map(|known| known.name.as_str()).chain(groups);
        return Err(WorkloadError::unknown(name, names.chain(["all", "replay:FILE"])));
    }
    all.into_iter().map(|known| changed(known.clone(), None, &known.name, changes)).collect()
}

fn matches(selector: &str, name: &str) -> bool {
    selector == "all"
        || selector == name
        || selector.contains(['*', '?', '[']) && glob::Pattern::new(selector).is_ok_and(|p| p.matches(name))
}

fn replayed(file: &str, changes: &Changes) -> Result<Workload, WorkloadError> {
    let mut parameters = toml::Table::new();
    parameters.insert("file".to_owned(), file.into());
    let name = format!("replay:{file}");
    let definition = Definition {
        name: name.clone(),
        model: "replay".to_owned(),
        summary: "what a recorded program asked of its timers, in its order and at its times".to_owned(),
        favours: String::new(),
        hurts: String::new(),
        source: file.to_owned(),
        sizes: Vec::new(),
        payload: SMALL,
        allocators: Vec::new(),
        measures: Vec::new(),
        parameters,
        about: String::new(),
        meanings: toml::Table::new(),
        file: String::new(),
    };
    changed(definition, None, &name, changes)
}

/// The definition with its parameters changed. `model` is there if nothing has to be read again.
fn changed(
    mut definition: Definition,
    model: Option<Box<dyn Model>>,
    name: &str,
    changes: &Changes,
) -> Result<Workload, WorkloadError> {
    let mut shown = Vec::new();
    for (key, value) in changes {
        match key.as_str() {
            "n" if definition.model == "replay" => {
                let message =
                    "`n` has nothing to set: a replay has the size of its trace, or scale it with `copies=k`";
                return Err(WorkloadError::parameter(name, message));
            }
            "n" => definition.sizes = value.split('+').map(|n| size(name, n)).collect::<Result<_, _>>()?,
            "payload" => {
                let payload = value.parse::<PayloadKind>();
                definition.payload =
                    payload.map_err(|error| WorkloadError::parameter(name, error.to_string()))?;
                shown.push(format!("{key}={value}"));
            }
            _ => {
                shown.push(format!("{key}={value}"));
                definition.parameters.insert(key.clone(), typed(value));
            }
        }
    }
    let unchanged = changes.iter().all(|(key, _)| key == "n" || key == "payload");
    let Made { mut model, parameters } = match model {
        Some(model) if unchanged => Made { model, parameters: definition.parameters.clone() },
        _ => make(&definition, name)?,
    };
    definition.parameters = parameters;
    let folder = Path::new(&definition.file).parent().unwrap_or(Path::new(""));
    model.load(folder)?;
    let shown = shown.join(",");
    let selector = if shown.is_empty() { name.to_owned() } else { format!("{name}:{shown}") };
    let note = model.replay().and_then(Replay::note);
    let name = note.map_or_else(|| selector.clone(), |note| format!("{selector} ({note})"));
    Ok(Workload { definition, selector, name, model: Arc::from(model) })
}

fn make(definition: &Definition, name: &str) -> Result<Made, WorkloadError> {
    let entry = MODELS.iter().find(|entry| entry.name == definition.model).expect("a definition has a model");
    let made = (entry.make)(definition.parameters.clone());
    let made = made.map_err(|error| WorkloadError::parameter(name, mended(error.message())))?;
    match made.model.impossible() {
        Some((key, message)) => Err(WorkloadError::parameter(name, format!("`{key}` {message}"))),
        None => Ok(made),
    }
}

/// A value as TOML has it: a number, which may end in k, m or g, a truth, a list of values in parentheses, or a text.
fn typed(value: &str) -> toml::Value {
    if let Some(list) = value.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
        let items = commas(list).map(str::trim).filter(|item| !item.is_empty());
        return items.map(typed).collect::<Vec<_>>().into();
    }
    if let Some(number) = whole(value) {
        return number.into();
    }
    if let Ok(number) = value.parse::<f64>() {
        return number.into();
    }
    value.parse::<bool>().map_or_else(|_| value.into(), Into::into)
}

/// A whole number, which may end in k, m or g.
pub(super) fn whole(value: &str) -> Option<i64> {
    let value = value.replace('_', "").to_lowercase();
    let (digits, factor) = match value.char_indices().last()? {
        (at, 'k') => (&value[..at], 1_000),
        (at, 'm') => (&value[..at], 1_000_000),
        (at, 'g') => (&value[..at], 1_000_000_000),
        _ => (value.as_str(), 1),
    };
    digits.parse::<i64>().ok()?.checked_mul(factor)
}

fn size(workload: &str, text: &str) -> Result<u64, WorkloadError> {
    let number = whole(text).and_then(|n| u64::try_from(n).ok());
    number.filter(|n| *n > 0).ok_or_else(|| {
        WorkloadError::size(
            workload,
            format!("`n={text}` is not a number of timers; give 1 or more, as 10k or 1_000"),
        )
    })
}
