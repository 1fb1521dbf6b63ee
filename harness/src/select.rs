//! From what was typed to what is meant: structures by name, glob or group, and sizes.

use std::fmt;

use impls::queue::Params;
use impls::registry::{self, Entry, Role};
use itertools::Itertools;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::suggest::did_you_mean;

/// The structures that a run measures unless others are named.
pub const FIVE: [&str; 5] = ["list", "list-known-tail", "array", "heap", "wheel"];

/// A structure with its parameters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Structure {
    /// Its name in the registry.
    pub name: String,
    /// What tells it from the same structure measured a second time: `b` in `wheel@b`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alias: Option<String>,
    /// The parameters that were given.
    pub parameters: Vec<(String, String)>,
    /// A slow-down that is known exactly, to test whether a comparison finds it: thousandths of a multiplication,
    /// each waiting for the one before, for each timer handled; in the `time` pass alone.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub busy: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference over")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The key of [`Structure::busy`] among the parameters of a structure under another name.
const BUSY: &str = "busy";

impl Structure {
    /// The name that tables show: `wheel`, or `wheel@b` under another name.
    pub fn label(&self) -> String {
        match &self.alias {
            Some(alias) => format!("{}@{alias}", self.name),
            None => self.name.clone(),
        }
    }

    /// The tick that it rounds to; 1 when it does not round.
    pub fn tick(&self) -> u64 {
        registry::find(&self.name).map_or(1, |entry| entry.tick(&self.params()))
    }

    /// The parameters as `key=value,...`, as tables show them. A slow-down is one of them.
    pub fn parameter_text(&self) -> String {
        let mut params = self.params();
        if self.busy > 0 {
            params.set(BUSY, &self.busy.to_string());
        }
        params.to_string()
    }

    fn params(&self) -> Params {
        let mut params = Params::default();
        for (key, value) in &self.parameters {
            params.set(key, value);
        }
        params
    }
}

impl fmt::Display for Structure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (label, parameters) = (self.label(), self.parameter_text());
        if parameters.is_empty() { f.write_str(&label) } else { write!(f, "{label}:{parameters}") }
    }
}

/// The structures that `--impl` names, in the order given, each once.
pub fn structures(selectors: &[String]) -> Result<Vec<Structure>, Error> {
    let mut chosen: Vec<Structure> = Vec::new();
    for token in selectors.iter().flat_map(|selector| tokens(selector)) {
        for structure in expand(&token)? {
            if !chosen.contains(&structure) {
                chosen.push(structure);
            }
        }
    }
    if chosen.is_empty() {
        return Err(Error::usage("`--impl` names no structure").mend(ALL_OF_THEM));
    }
    Ok(chosen)
}

const ALL_OF_THEM: &str = "`harness list impls` prints all of them";

/// Splits at commas, but a token with `=` and no `:` goes on with the name before it.
pub fn tokens(selector: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    for part in selector.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        match tokens.last_mut() {
            Some(name) if part.contains('=') && !part.contains(':') => {
                name.push(if name.contains('=') { ',' } else { ':' });
                name.push_str(part);
            }
            _ => tokens.push(part.to_owned()),
        }
    }
    tokens
}

type Pairs = Vec<(String, String)>;

/// `name:key=value,...` into name and pairs. `peer:x` has no `=`, so it is a name as a whole.
fn split_name(token: &str) -> Result<(&str, Pairs), Error> {
    let Some(equals) = token.find('=') else { return Ok((token, Vec::new())) };
    let Some(colon) = token[..equals].rfind(':') else {
        let what = format!("`{token}` is a parameter without a structure before it");
        return Err(Error::usage(what).mend("write it as `--impl heap:arity=4`"));
    };
    let pair = |text: &str| {
        text.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned())).ok_or_else(|| {
            Error::usage(format!("`{text}` in `{token}` is no parameter"))
                .mend("write it as `name:key=value,key=value`")
        })
    };
    let pairs: Pairs = token[colon + 1..].split(',').map(pair).collect::<Result<_, _>>()?;
    if let Some((key, _)) = pairs.iter().duplicates_by(|(key, _)| key).next() {
        let name = &token[..colon];
        return Err(Error::usage(format!("`{token}` gives `{key}` twice"))
            .mend(format!("for two structures write `--impl {name}:{key}=...,{name}:{key}=...`")));
    }
    Ok((&token[..colon], pairs))
}

fn expand(token: &str) -> Result<Vec<Structure>, Error> {
    let (name, mut parameters) = split_name(token)?;
    let (name, alias) = split_alias(name)?;
    let busy = if alias.is_some() { take_busy(&mut parameters)? } else { 0 };
    let structure = |entry: &&Entry| Structure {
        name: entry.name.to_owned(),
        alias: alias.map(str::to_owned),
        parameters: parameters.clone(),
        busy,
    };
    entries(name)?.iter().map(structure).map(validated).collect()
}

/// `wheel@b` into name and what stands behind the `@`.
fn split_alias(name: &str) -> Result<(&str, Option<&str>), Error> {
    let Some((name, alias)) = name.split_once('@') else { return Ok((name, None)) };
    let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
    if alias.is_empty() || !alias.chars().all(plain) {
        return Err(Error::usage(format!("`{alias}` is no other name for `{name}`"))
            .mend("write letters, digits, `-` and `_` behind the `@`, as in `--impl wheel,wheel@b`"));
    }
    Ok((name, Some(alias)))
}

/// The slow-down among the parameters of a structure under another name, which is then none of them.
fn take_busy(parameters: &mut Pairs) -> Result<u64, Error> {
    let Some(at) = parameters.iter().position(|(key, _)| key == BUSY) else { return Ok(0) };
    let (_, value) = parameters.remove(at);
    value.parse().map_err(|_| {
        Error::usage(format!("`{BUSY}={value}` is no whole number"))
            .mend("it is a number of thousandths of a multiplication for each timer")
    })
}

fn validated(structure: Structure) -> Result<Structure, Error> {
    registry::validate(&structure.name, &structure.params()).map_err(|error| {
        Error::usage(format!("{}: {error}", structure.name)).mend(parameters_of(&structure.name))
    })?;
    Ok(structure)
}

fn parameters_of(name: &str) -> String {
    let params = registry::find(name).map(|entry| entry.params).unwrap_or_default();
    match params {
        [] => format!("write `--impl {name}`"),
        [first, ..] => {
            let known = params.iter().map(|param| format!("{} ({})", param.key, param.meaning));
            let known = known.collect::<Vec<_>>().join(", ");
            format!("write it as `--impl {name}:{}={}`; parameters: {known}", first.key, first.default)
        }
    }
}

fn entries(name: &str) -> Result<Vec<&'static Entry>, Error> {
    let every = || registry::ENTRIES.iter();
    let found: Vec<_> = match name {
        "five" => every().filter(|entry| FIVE.contains(&entry.name)).collect(),
        "all" => every().filter(|entry| entry.role == Role::Structure).collect(),
        _ if name.contains(['*', '?', '[']) => {
            let pattern = glob::Pattern::new(name)
                .map_err(|error| Error::usage(format!("`{name}` is no pattern: {error}")))?;
            every().filter(|entry| pattern.matches(entry.name)).collect()
        }
        _ => registry::find(name).into_iter().collect(),
    };
    if found.is_empty() { Err(unknown(name)) } else { Ok(found) }
}

fn unknown(name: &str) -> Error {
    let known = registry::ENTRIES.iter().map(|entry| entry.name).chain(["five", "all"]);
    Error::usage(format!("no structure is called `{name}`{}", did_you_mean(name, known))).mend(ALL_OF_THEM)
}

/// A size as it is typed: `200`, `10k`, `1m`, `1g`, `1_000`. At least 1.
pub fn size(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(['k', 'K', 'm', 'M', 'g', 'G']);
    let factor = match &text[digits.len()..] {
        "" => 1,
        "k" | "K" => 1_000,
        "m" | "M" => 1_000_000,
        "g" | "G" => 1_000_000_000,
        _ => {
            return Err("a size is a whole number, with k, m or g for thousands, millions or billions".into());
        }
    };
    let number: u64 =
        digits.replace('_', "").parse().map_err(|_| "a size is a whole number such as 200000, 10k or 1m")?;
    match number.checked_mul(factor) {
        Some(0) => Err("a size of 0 measures nothing; the smallest is 1".into()),
        Some(size) => Ok(size),
        None => Err("that is more than 64 bits hold".into()),
    }
}

/// A size as it is shown, with thousands set apart.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut shown = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(selector: &str) -> Vec<String> {
        structures(&[selector.to_owned()]).unwrap().iter().map(Structure::to_string).collect()
    }

    #[test]
    fn a_token_with_a_value_and_no_colon_goes_on_with_the_name_before_it() {
        assert_eq!(tokens("heap:arity=4,x=2,wheel:tick=8"), ["heap:arity=4,x=2", "wheel:tick=8"]);
        assert_eq!(tokens("heap,arity=4,wheel"), ["heap:arity=4", "wheel"]);
        assert_eq!(tokens("peer:x,list"), ["peer:x", "list"]);
    }

    #[test]
    fn a_name_with_a_colon_and_no_value_is_a_name() {
        assert_eq!(split_name("peer:x").unwrap(), ("peer:x", vec![]));
        assert_eq!(split_name("peer:x:a=1").unwrap().0, "peer:x");
    }

    #[test]
    fn a_glob_chooses_and_a_structure_is_chosen_once() {
        assert_eq!(chosen("ref*,reference,model"), ["reference", "model"]);
        assert_eq!(chosen("reference:tick=8,reference"), ["reference:tick=8", "reference"]);
    }

    #[test]
    fn a_structure_under_another_name_is_one_of_its_own() {
        assert_eq!(chosen("reference,reference@b,reference@b"), ["reference", "reference@b"]);
        assert_eq!(chosen("reference@b:tick=8"), ["reference@b:tick=8"]);
        let slow = structures(&["reference@slow:tick=8,busy=250".into()]).unwrap().remove(0);
        assert_eq!((slow.busy, slow.parameters.len(), slow.tick()), (250, 1, 8));
        assert!(slow.parameter_text().contains("busy=250"), "{slow}");
        assert!(
            structures(&["reference@".into()]).is_err() && structures(&["reference@a/b".into()]).is_err()
        );
        assert!(
            structures(&["reference:busy=5".into()]).is_err(),
            "a slow-down never stands under a plain name"
        );
    }

    #[test]
    fn a_structure_of_an_old_manifest_is_read() {
        let old: Structure = serde_json::from_str(r#"{"name": "wheel", "parameters": []}"#).unwrap();
        assert_eq!(old, Structure { name: "wheel".into(), ..Structure::default() });
        assert_eq!(serde_json::to_string(&old).unwrap(), r#"{"name":"wheel","parameters":[]}"#);
    }

    #[test]
    fn an_unknown_structure_is_named_with_the_nearest() {
        let error = structures(&["referense".into()]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "no structure is called `referense`; did you mean `reference`?\n    `harness list impls` prints all of them"
        );
    }

    #[test]
    fn a_bad_parameter_is_named_with_what_there_is() {
        let error = structures(&["reference:tik=8".into()]).unwrap_err().to_string();
        assert!(error.starts_with("reference: `tik` is not a parameter; there is `tick`\n"), "{error}");
        assert!(structures(&["arity=4".into()]).is_err());
    }

    #[test]
    fn a_parameter_that_is_given_twice_is_refused_and_told_how_to_ask_for_both() {
        let error = structures(&["heap:arity=8,arity=2".to_owned()]).unwrap_err().to_string();
        assert!(error.contains("`arity` twice") && error.contains("heap:arity=...,heap:arity"), "{error}");
    }

    #[test]
    fn sizes_have_suffixes_and_zero_is_none() {
        assert_eq!(size("200k"), Ok(200_000));
        assert_eq!(size("1m"), Ok(1_000_000));
        assert_eq!(size("1_000"), Ok(1_000));
        assert!(size("0").is_err() && size("0k").is_err() && size("k").is_err() && size("1kk").is_err());
        assert!(size("99999999999999m").is_err());
    }

    #[test]
    fn thousands_are_set_apart() {
        assert_eq!([thousands(0), thousands(999), thousands(200_000)], ["0", "999", "200,000"]);
    }
}
