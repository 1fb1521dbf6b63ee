//! A workload as data: a TOML file that names a model and its parameters.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use serde::Deserialize;
use toml::Spanned;

use super::error::{WorkloadError, mended};
use super::model::{Entry, MODELS, Made};
use crate::allocator;
use crate::payload::PayloadError;
use crate::spec::{AllocatorKind, Pass, PayloadKind};
use crate::suggest::did_you_mean;

include!(concat!(env!("OUT_DIR"), "/datasets.rs"));

/// What a definition says of its workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Definition {
    /// The name of its file without `.toml`.
    pub name: String,
    /// The model.
    pub model: String,
    /// What it asks of a structure, in one line.
    pub summary: String,
    /// Which structures it favours.
    pub favours: String,
    /// Which structures it hurts.
    pub hurts: String,
    /// Where it comes from.
    pub source: String,
    /// Numbers of timers, when none is asked for. Empty for a replay: its trace has the size it has.
    pub sizes: Vec<u64>,
    /// The payload, when none is asked for.
    pub payload: PayloadKind,
    /// The allocators, when none is asked for; empty where the run's own will do.
    pub allocators: Vec<AllocatorKind>,
    /// What is measured, when nothing is asked for; empty where the run's own will do.
    pub measures: Vec<Pass>,
    /// The comment that its file begins with.
    pub about: String,
    /// The parameters of the model, defaults included.
    pub parameters: toml::Table,
    /// What its file says of each parameter, as texts.
    pub meanings: toml::Table,
    /// The file, as it is called in messages.
    pub file: String,
}

/// A definition as it stands in its file. `parameters` are the model's own.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[serde(bound(deserialize = "P: Default + Deserialize<'de>"))]
pub(super) struct File<P> {
    model: String,
    #[serde(default)]
    summary: String,
    #[serde(default)]
    favours: String,
    #[serde(default)]
    hurts: String,
    #[serde(default)]
    source: String,
    n: Option<Spanned<Vec<u64>>>,
    payload: Option<Spanned<String>>,
    allocators: Option<Spanned<Vec<String>>>,
    #[serde(default)]
    measures: Vec<Pass>,
    #[serde(default)]
    parameters: P,
}

/// The payload of a definition that names none.
pub(super) const SMALL: PayloadKind = PayloadKind::Inline(16);

impl<P> File<P> {
    pub(super) fn map<Q>(self, change: impl FnOnce(P) -> Q) -> File<Q> {
        let Self { model, summary, favours, hurts, source, n, payload, allocators, measures, parameters } =
            self;
        let parameters = change(parameters);
        File { model, summary, favours, hurts, source, n, payload, allocators, measures, parameters }
    }
}

/// The built-in definitions, in order of their names.
pub fn builtin() -> &'static [Definition] {
    static BUILTIN: OnceLock<Vec<Definition>> = OnceLock::new();
    BUILTIN.get_or_init(|| {
        let parse = |(file, text): &(&str, &str)| {
            let file = format!("datasets/workloads/{file}");
            Definition::parse(&file, text).map(|(definition, _)| definition)
        };
        // A test parses them all, so a broken one does not get as far as this.
        WORKLOADS.iter().map(parse).collect::<Result<_, _>>().unwrap_or_else(|error| panic!("{error}"))
    })
}

/// The built-in trace of this name, with or without what follows its first dot.
pub(crate) fn builtin_trace(name: &str) -> Option<(&'static str, &'static [u8])> {
    let stem = |file: &str| file.split(".tt.").next() == Some(name);
    TRACES.iter().find(|(file, _)| *file == name || stem(file)).copied()
}

/// Names of the built-in traces.
pub fn builtin_traces() -> impl Iterator<Item = &'static str> {
    TRACES.iter().map(|(file, _)| *file)
}

impl Definition {
    /// What is known of each parameter: from its own file, or from a built-in one of the same model.
    pub fn known_meanings(&self) -> Vec<(String, String)> {
        let same_model = builtin().iter().filter(|known| known.model == self.model);
        let mut found = toml::Table::new();
        for definition in [self].into_iter().chain(same_model) {
            for (key, meaning) in &definition.meanings {
                found.entry(key.clone()).or_insert_with(|| meaning.clone());
            }
        }
        let text = |meaning: &toml::Value| meaning.as_str().unwrap_or_default().to_owned();
        found.iter().map(|(key, meaning)| (key.clone(), text(meaning))).collect()
    }

    /// Reads a definition of one's own.
    pub fn read(path: &Path) -> Result<(Self, Box<dyn super::Model>), WorkloadError> {
        let text = fs::read_to_string(path).map_err(|source| WorkloadError::io(path, source))?;
        let (definition, made) = Self::parse(&path.display().to_string(), &text)?;
        Ok((definition, made.model))
    }

    /// Reads the text of the file called `file`.
    pub(super) fn parse(file: &str, text: &str) -> Result<(Self, Made), WorkloadError> {
        let located = |error: &toml::de::Error| {
            let line = error.span().map(|span| line_of(text, span.start));
            WorkloadError::file(file, line, mended(error.message())).mend(mend(text, error))
        };
        let entry = model_of(file, text, located)?;
        let File { model, summary, favours, hurts, source, n, payload, allocators, measures, parameters } =
            (entry.parse)(text).map_err(|error| located(&error))?;
        if let Some((key, message)) = parameters.model.impossible() {
            let line = line_of_key(text, key);
            return Err(WorkloadError::file(file, line, format!("`{key}` {message}")));
        }
        let sizes = sizes(file, text, n)?;
        let payload = payload_of(file, text, payload)?;
        let allocators = allocators_of(file, text, allocators)?;
        let name = Path::new(file).file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let known = parameters.parameters.clone();
        let definition = Self {
            name,
            model,
            summary,
            favours,
            hurts,
            source,
            sizes,
            payload,
            allocators,
            measures,
            about: header(text),
            parameters: known,
            meanings: meanings(text),
            file: file.to_owned(),
        };
        Ok((definition, parameters))
    }
}

/// The model that a definition names. Its parameters cannot be read before this is known.
fn model_of(
    file: &str,
    text: &str,
    located: impl Fn(&toml::de::Error) -> WorkloadError,
) -> Result<&'static Entry, WorkloadError> {
    #[derive(Deserialize)]
    struct Head {
        model: Spanned<String>,
    }
    let Head { model } = toml::from_str(text).map_err(|error| located(&error))?;
    MODELS.iter().find(|entry| entry.name == model.get_ref()).ok_or_else(|| {
        let hint = did_you_mean(model.get_ref(), names());
        let list = names().collect::<Vec<_>>().join("`, `");
        let message = format!("no model is called `{}`{hint}\n    there is `{list}`", model.get_ref());
        WorkloadError::file(file, Some(line_of(text, model.span().start)), message)
    })
}

fn sizes(file: &str, text: &str, n: Option<Spanned<Vec<u64>>>) -> Result<Vec<u64>, WorkloadError> {
    let Some(n) = n else { return Ok(Vec::new()) };
    if n.get_ref().contains(&0) {
        let line = line_of(text, n.span().start);
        return Err(WorkloadError::file(file, Some(line), "`n` is the number of timers; give 1 or more"));
    }
    Ok(n.into_inner())
}

fn payload_of(
    file: &str,
    text: &str,
    payload: Option<Spanned<String>>,
) -> Result<PayloadKind, WorkloadError> {
    let Some(payload) = payload else { return Ok(SMALL) };
    let line = line_of(text, payload.span().start);
    payload
        .get_ref()
        .parse()
        .map_err(|error: PayloadError| WorkloadError::file(file, Some(line), error.to_string()))
}

/// The allocators that a definition names. dhat is none of them: it belongs to the heap pass.
fn allocators_of(
    file: &str,
    text: &str,
    allocators: Option<Spanned<Vec<String>>>,
) -> Result<Vec<AllocatorKind>, WorkloadError> {
    let Some(allocators) = allocators else { return Ok(Vec::new()) };
    let line = line_of(text, allocators.span().start);
    let kind = |name: &String| {
        allocator::parse(name).filter(|kind| *kind != AllocatorKind::Dhat).ok_or_else(|| {
            let message =
                format!("`{name}` is no allocator; there is jemalloc, jemalloc-background and system");
            WorkloadError::file(file, Some(line), message)
        })
    };
    allocators.get_ref().iter().map(kind).collect()
}

/// How to mend what the parser says, where it does not say so itself.
fn mend(text: &str, error: &toml::de::Error) -> String {
    let message = error.message();
    if toml::from_str::<toml::Table>(text).is_err() {
        "a definition is TOML: a line `key = value` each, texts in double quotes, lists in [ ], and the model's own \
         keys below a line `[parameters]`"
            .into()
    } else if message.starts_with("missing field") {
        format!("add a line `model = \"NAME\"`; there is `{}`", names().collect::<Vec<_>>().join("`, `"))
    } else if message.starts_with("unknown ") {
        // The names that there are have been listed.
        String::new()
    } else {
        "write a value of that kind, or leave the line out for the default".into()
    }
}

fn names() -> impl Iterator<Item = &'static str> {
    MODELS.iter().map(|entry| entry.name)
}

/// The parameters that a model has when none is given.
pub(super) fn defaults(model: &str) -> toml::Table {
    let entry = MODELS.iter().find(|entry| entry.name == model);
    entry
        .and_then(|entry| (entry.make)(toml::Table::new()).ok())
        .map_or_else(toml::Table::new, |made| made.parameters)
}

/// The text of a comment's line.
fn comment(line: &str) -> Option<&str> {
    let text = line.strip_prefix('#')?;
    Some(text.strip_prefix(' ').unwrap_or(text))
}

/// The comment that a text begins with.
fn header(text: &str) -> String {
    text.lines().map_while(comment).collect::<Vec<_>>().join("\n")
}

/// What the comment above each key of the parameters says. A key that is left out stands in the comment itself.
fn meanings(text: &str) -> toml::Table {
    let mut found = toml::Table::new();
    let mut said: Vec<&str> = Vec::new();
    for line in text.lines().skip_while(|line| line.trim() != "[parameters]").skip(1) {
        let key = |line: &str| {
            let (key, _) = line.split_once(" = ")?;
            key.chars().all(|letter| letter.is_alphanumeric() || letter == '_').then(|| key.to_owned())
        };
        let words = comment(line);
        // A list of tables is one parameter; what stands in the tables are none.
        if let Some(tables) = line.strip_prefix("[[parameters.").and_then(|line| line.strip_suffix("]]")) {
            if !said.is_empty() {
                found.insert(tables.to_owned(), said.join(" ").into());
            }
            break;
        }
        match key(words.unwrap_or(line)) {
            Some(_) if said.is_empty() => {}
            Some(key) => _ = found.insert(key, std::mem::take(&mut said).join(" ").into()),
            None => said.extend(words),
        }
        if line.trim().is_empty() {
            said.clear();
        }
    }
    found
}

fn line_of(text: &str, byte: usize) -> usize {
    text.as_bytes().iter().take(byte).filter(|byte| **byte == b'\n').count() + 1
}

fn line_of_key(text: &str, key: &str) -> Option<usize> {
    let is_it = |line: &str| line.split('=').next().is_some_and(|before| before.trim() == key);
    text.lines().position(is_it).map(|index| index + 1)
}
