//! What a cell is before anything of it is run: what is asked, what of it each pass measures, and what not.
//!
//! ```text
//! definition --\
//! registry   ---> Explanation --> tables for people, or JSON
//! stream     --/                  (its profile: operations, delays, queue length, fates)
//! accounts of the passes --/
//! ```

use impls::registry::{Entry, Order};
use serde::Serialize;

use crate::format::{fixed, memory_unit};
use crate::grid::Grid;
use crate::measure::{self, latency};
use crate::record::word;
use crate::select::{Structure, thousands};
use crate::spec::Pass;
use crate::stream::{Header, Stream};
use crate::workload::profile::{Delays, Profile};
use crate::workload::{Definition, Workload};

/// What there is to know of a cell.
#[derive(Clone, Debug, Serialize)]
pub struct Explanation {
    /// Name of the workload, as tables show it.
    pub workload: String,
    /// How many timers.
    pub size: u64,
    /// What each timer carries.
    pub payload: String,
    /// What its file says of it.
    pub definition: Words,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
    /// The structure, if one was named.
    pub structure: Option<Facts>,
    /// The operation stream.
    pub stream: StreamFacts,
    /// What each pass looks at.
    pub passes: Vec<PassFacts>,
    /// What the stream asks.
    pub profile: Profile,
}

/// What a definition says.
#[derive(Clone, Debug, Serialize)]
pub struct Words {
    /// The model.
    pub model: String,
    /// The comment at the head of its file.
    pub about: String,
    /// What it asks of a structure.
    pub summary: String,
    /// Whom it favours.
    pub favours: String,
    /// Whom it hurts.
    pub hurts: String,
    /// Where it comes from.
    pub source: String,
    /// Its file; empty when it has none.
    pub file: String,
}

/// A parameter.
#[derive(Clone, Debug, Serialize)]
pub struct Parameter {
    /// The key.
    pub key: String,
    /// The value here; none if the model derives it.
    pub value: Option<String>,
    /// The value when nobody says otherwise; none as for `value`.
    pub default: Option<String>,
    /// What it means.
    pub meaning: String,
}

/// What the registry says of a structure.
#[derive(Clone, Debug, Serialize)]
pub struct Facts {
    /// The structure with its parameters.
    pub name: String,
    /// What it is.
    pub summary: String,
    /// What it promises.
    pub claim: String,
    /// The tick that it rounds to; 1 if it does not round.
    pub tick: u64,
    /// Costs of `enqueue`, `take`, `requeue` in front and `cancel`.
    pub costs: [String; 4],
    /// What it wins on.
    pub wins: String,
    /// What it loses on.
    pub loses: String,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
}

/// The stream as a file.
#[derive(Clone, Debug, Serialize)]
pub struct StreamFacts {
    /// Its seed: that of block 1.
    pub seed: u64,
    /// Its hash, as `stream_hash` in tables.
    pub hash: String,
    /// Operations, marks included.
    pub operations: u64,
    /// Bytes on disk; its operations take as much of the worker's memory.
    pub bytes: u64,
    /// What it says of itself.
    pub header: Header,
}

/// What a pass looks at.
#[derive(Clone, Debug, Serialize)]
pub struct PassFacts {
    /// The pass.
    pub pass: Pass,
    /// In words.
    #[serde(flatten)]
    pub account: measure::Account,
    /// `time`: pairs of clock readings: one a segment.
    pub clock_readings: Option<u64>,
    /// `latency`: calls that are timed singly.
    pub latency_calls: Option<u64>,
    /// `latency`: bytes that are set aside for them.
    pub sample_bytes: Option<u64>,
}

impl Explanation {
    /// Of a workload at a size with its `stream`, which has this `seed`; of a structure, if one is named, and of
    /// these passes.
    pub fn new(
        workload: &Workload,
        size: u64,
        seed: u64,
        stream: &Stream,
        structure: Option<(&Structure, &Entry)>,
        passes: &[Pass],
    ) -> Self {
        let profile = Profile::of(stream);
        let pass = |&pass: &Pass| PassFacts {
            pass,
            account: measure::account(pass),
            clock_readings: (pass == Pass::Time).then(|| profile.totals()[1]),
            latency_calls: (pass == Pass::Latency).then(|| profile.totals()[2]),
            sample_bytes: (pass == Pass::Latency).then(|| 8 * latency::samples_most(stream) as u64),
        };
        Self {
            workload: workload.name().to_owned(),
            size,
            payload: workload.payload().to_string(),
            definition: words(workload.definition()),
            parameters: parameters(workload),
            structure: structure.map(|(structure, entry)| facts(structure, entry)),
            stream: StreamFacts {
                seed,
                hash: format!("{:016x}", stream.hash()),
                operations: stream.ops.len() as u64,
                bytes: stream.file_bytes(),
                header: stream.header.clone(),
            },
            passes: passes.iter().map(pass).collect(),
            profile,
        }
    }
}

fn words(definition: &Definition) -> Words {
    let Definition { model, about, summary, favours, hurts, source, file, .. } = definition.clone();
    Words { model, about, summary, favours, hurts, source, file }
}

fn parameters(workload: &Workload) -> Vec<Parameter> {
    let (given, defaults) = (workload.parameters(), workload.defaults());
    let value = |of: &[(String, String)], key: &str| {
        of.iter().find(|(known, _)| known == key).map(|(_, value)| value.clone())
    };
    let mut keys: Vec<&String> = given.iter().chain(&defaults).map(|(key, _)| key).collect();
    let meanings = workload.definition().known_meanings();
    keys.extend(meanings.iter().map(|(key, _)| key));
    keys.sort_unstable();
    keys.dedup();
    let parameter = |key: &String| Parameter {
        value: value(&given, key),
        default: value(&defaults, key).filter(|default| !default.is_empty()),
        meaning: value(&meanings, key).unwrap_or_default(),
        key: key.clone(),
    };
    keys.into_iter().map(parameter).collect()
}

fn facts(structure: &Structure, entry: &Entry) -> Facts {
    let claim = match entry.order {
        Order::Exact => "exact: by expiry, ties by arrival",
        Order::TiesAnyOrder => "ties-any-order: by expiry, ties in any order",
        Order::LateBounded => "late<=bound: each timer once, never early, late by no more than a bound",
    };
    let given = |key: &str| structure.parameters.iter().find(|(known, _)| known == key);
    let parameter = |param: &impls::registry::Param| Parameter {
        key: param.key.to_owned(),
        value: Some(given(param.key).map_or_else(|| param.default.to_owned(), |(_, value)| value.clone())),
        default: Some(param.default.to_owned()),
        meaning: param.meaning.to_owned(),
    };
    Facts {
        name: structure.to_string(),
        summary: entry.summary.to_owned(),
        claim: claim.to_owned(),
        tick: structure.tick(),
        costs: entry.costs.map(str::to_owned),
        wins: entry.wins.to_owned(),
        loses: entry.loses.to_owned(),
        parameters: entry.params.iter().map(parameter).collect(),
    }
}

/// Characters of the longest bar.
const BAR: u64 = 40;

/// A bar for a part of the most. What is there at all is a character long at least.
fn bar(part: u64, most: u64) -> String {
    let length = (u128::from(part) * u128::from(BAR)).div_ceil(u128::from(most.max(1))) as usize;
    format!("{:<width$}", "#".repeat(length), width = BAR as usize)
}

fn share(part: u64, whole: u64) -> String {
    if whole == 0 { "-".into() } else { format!("{:.2} %", part as f64 * 100.0 / whole as f64) }
}

fn bytes(count: u64) -> String {
    let (unit, size) = memory_unit(&[Some(count as f64)]);
    format!("{} {unit}", fixed(count as f64 / size, usize::from(unit != "B")))
}

impl Explanation {
    /// What is said before the tables: a name and a text each.
    pub fn lines(&self) -> Vec<(String, String)> {
        let Self { definition, stream, .. } = self;
        let mut lines = Vec::new();
        let mut line = |name: &str, text: &str| {
            if !text.is_empty() {
                lines.push((name.to_owned(), text.to_owned()));
            }
        };
        line("asks", &definition.summary);
        line("favours", &definition.favours);
        line("hurts", &definition.hurts);
        line("source", &definition.source);
        line("model", &definition.model);
        line("file", &definition.file);
        let StreamFacts { hash, seed, operations, bytes: on_disk, header } = stream;
        line(
            "stream",
            &format!(
                "{} operations, {} on disk, hash {hash} (seed {seed}: block 1)",
                thousands(*operations),
                bytes(*on_disk)
            ),
        );
        let handles =
            if header.handles { "named again later, so handles are kept" } else { "never named again" };
        line(
            "timers",
            &format!(
                "{} distinct, at most {} queued at once, {} each; {handles}",
                thousands(header.timers.into()),
                thousands(header.population),
                payload(&self.payload)
            ),
        );
        if let Some(facts) = &self.structure {
            line("structure", &format!("{}: {}", facts.name, facts.summary));
            line("claim", &facts.claim);
            let rounds = format!("to {}: late by less than that, never early", facts.tick);
            line("rounds", if facts.tick > 1 { &rounds } else { "" });
            let [enqueue, take, requeue, cancel] = &facts.costs;
            line(
                "costs",
                &format!("enqueue {enqueue}; take {take}; requeue in front {requeue}; cancel {cancel}"),
            );
            line("wins", &facts.wins);
            line("loses", &facts.loses);
        }
        lines
    }

    /// What each pass looks at: its name, and a name and a text each.
    pub fn accounts(&self) -> Vec<(String, Vec<(&'static str, String)>)> {
        let of = |facts: &PassFacts| {
            let mut measured = facts.account.measured.to_owned();
            let mut before = facts.account.before.to_owned();
            if let Some(readings) = facts.clock_readings {
                measured.push_str(&format!(". Here {} segments", thousands(readings)));
            }
            if let (Some(calls), Some(set_aside)) = (facts.latency_calls, facts.sample_bytes) {
                measured.push_str(&format!(". Here {} calls", thousands(calls)));
                before.push_str(&format!(": here at most {}", bytes(set_aside)));
            }
            let texts = vec![
                ("measured", measured),
                ("not", facts.account.outside.to_owned()),
                ("before", before),
                ("after", facts.account.after.to_owned()),
            ];
            (word(&facts.pass), texts)
        };
        self.passes.iter().map(of).collect()
    }

    /// The tables.
    pub fn grids(&self) -> Vec<Grid> {
        let mut grids = vec![parameter_grid("Parameters of the workload", &self.parameters)];
        if let Some(facts) = &self.structure {
            grids.push(parameter_grid("Parameters of the structure", &facts.parameters));
        }
        grids.extend([
            self.operations(),
            self.fates(),
            self.put_backs(),
            self.common(),
            self.histogram(),
            self.length(),
            self.first(),
        ]);
        grids.retain(|grid| !grid.rows.is_empty());
        grids
    }

    fn operations(&self) -> Grid {
        let rows = &self.profile.operations;
        let mut grid = Grid { title: "Operations, by phase and kind".into(), ..Grid::default() };
        grid.name_column("phase", rows.iter().map(|row| row.phase.clone()).collect());
        grid.name_column(
            "operation",
            rows.iter().map(|row| word(&row.operation).replace('_', " ")).collect(),
        );
        grid.column("calls", rows.iter().map(|row| thousands(row.calls)).collect());
        grid.column("timers", rows.iter().map(|row| thousands(row.timers)).collect());
        grid.column("segments", rows.iter().map(|row| thousands(row.segments)).collect());
        grid.column("timed\nsingly", rows.iter().map(|row| thousands(row.timed_singly)).collect());
        grid.notes.push(
            "Segments: runs of one kind, which `time` times as one. Timed singly: by `latency`.".into(),
        );
        grid
    }

    fn fates(&self) -> Grid {
        let fates = self.profile.fates;
        let ways = [
            ("armed anew before it expired", fates.rearmed),
            ("cancelled", fates.cancelled),
            ("expired", fates.expired),
            ("dropped with a batch", fates.dropped),
            ("left at the end", fates.left),
        ];
        let mut rows: Vec<_> = ways.into_iter().filter(|(_, count)| *count > 0).collect();
        rows.push(("all", fates.armed));
        let mut grid = Grid { title: "What becomes of each arming".into(), ..Grid::default() };
        grid.name_column("arming", rows.iter().map(|(way, _)| (*way).to_owned()).collect());
        grid.column("count", rows.iter().map(|(_, count)| thousands(*count)).collect());
        grid.column("share", rows.iter().map(|(_, count)| share(*count, fates.armed)).collect());
        if (1..fates.expired).contains(&fates.drained) {
            let lived = fates.armed - fates.drained;
            grid.notes.push(format!(
                "{} expire in the last phase, `drain`. Of the others {} are armed anew, {} cancelled, and {} expire.",
                thousands(fates.drained),
                share(fates.rearmed, lived),
                share(fates.cancelled, lived),
                share(fates.expired - fates.drained, lived)
            ));
        }
        if fates.cancelled + fates.cancel_missed > 0 {
            let all = fates.cancelled + fates.cancel_missed;
            grid.notes.push(format!(
                "Of {} cancels {} miss ({}).",
                thousands(all),
                thousands(fates.cancel_missed),
                share(fates.cancel_missed, all)
            ));
        }
        grid
    }

    fn put_backs(&self) -> Grid {
        let found = self.profile.put_backs;
        let ways = [
            ("in front, in one step", found.in_front),
            ("into an empty queue", found.into_empty),
            ("merged", found.merged),
            ("of nothing", found.nothing),
        ];
        let rows: Vec<_> = ways.into_iter().filter(|(_, count)| *count > 0).collect();
        let all = rows.iter().map(|(_, count)| count).sum();
        let mut grid = Grid { title: "Put-backs, as the reference has them".into(), ..Grid::default() };
        grid.name_column("put back", rows.iter().map(|(way, _)| (*way).to_owned()).collect());
        grid.column("count", rows.iter().map(|(_, count)| thousands(*count)).collect());
        grid.column("share", rows.iter().map(|(_, count)| share(*count, all)).collect());
        grid.notes.push(format!(
            "{} timers are put back, {} of them in batches that are merged.",
            thousands(found.timers),
            thousands(found.merged_timers)
        ));
        grid
    }

    fn common(&self) -> Grid {
        let Delays { count, past, distinct, distinct_rounded, least_median_most, common, .. } =
            &self.profile.delays;
        let (all, rounded) = (thousands(*distinct), thousands(*distinct_rounded));
        let title =
            format!("Most frequent of {rounded} distinct delays to three digits, in ticks ({all} exactly)");
        let mut grid = Grid { title, ..Grid::default() };
        grid.column("delay", common.iter().map(|common| thousands(common.ticks)).collect());
        grid.column("count", common.iter().map(|common| thousands(common.count)).collect());
        grid.column("share", common.iter().map(|common| share(common.count, *count)).collect());
        if let Some([least, median, most]) = least_median_most.map(|all| all.map(thousands)) {
            grid.notes.push(format!(
                "From {least} to {most}, median {median}. A delay is an expiry less the clock then."
            ));
        }
        if *past > 0 {
            let text = format!("{} were past when they were armed, and count as 0.", thousands(*past));
            grid.notes.push(text);
        }
        grid
    }

    fn histogram(&self) -> Grid {
        let ranges = &self.profile.delays.histogram;
        let most = ranges.iter().map(|range| range.count).max().unwrap_or(0);
        let mut grid = Grid { title: "Delays, in ticks, on a logarithmic scale".into(), ..Grid::default() };
        grid.column("from", ranges.iter().map(|range| thousands(range.from)).collect());
        grid.column("to", ranges.iter().map(|range| thousands(range.to)).collect());
        grid.column("count", ranges.iter().map(|range| thousands(range.count)).collect());
        grid.column("", ranges.iter().map(|range| bar(range.count, most)).collect());
        grid
    }

    fn length(&self) -> Grid {
        let slices = &self.profile.length;
        let most = slices.iter().map(|slice| slice.most).max().unwrap_or(0);
        let mut grid =
            Grid { title: "Timers queued, from the first operation to the last".into(), ..Grid::default() };
        grid.name_column("phase", slices.iter().map(|slice| slice.phase.clone()).collect());
        grid.column("from\noperation", slices.iter().map(|slice| thousands(slice.first)).collect());
        grid.column("fewest", slices.iter().map(|slice| thousands(slice.least)).collect());
        grid.column("most", slices.iter().map(|slice| thousands(slice.most)).collect());
        grid.column("", slices.iter().map(|slice| bar(slice.most, most)).collect());
        grid.notes
            .push("What is out in a batch is not queued. A row is an equal part of the operations.".into());
        grid
    }

    fn first(&self) -> Grid {
        let told = &self.profile.first;
        let mut grid = Grid { title: format!("The first {} operations", told.len()), ..Grid::default() };
        grid.name_column("operation", told.iter().map(|told| thousands(told.at)).collect());
        grid.name_column("asks", told.iter().map(|told| told.asked.clone()).collect());
        grid.name_column("gives", told.iter().map(|told| told.gives.clone()).collect());
        grid
    }
}

/// `box:16` in words.
fn payload(payload: &str) -> String {
    match payload.strip_prefix("box:") {
        Some(bytes) => format!("with a block of {bytes} bytes"),
        None => format!("with {payload} bytes"),
    }
}

fn parameter_grid(title: &str, parameters: &[Parameter]) -> Grid {
    let mut grid = Grid { title: title.into(), ..Grid::default() };
    let or_derived = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".into());
    grid.name_column("parameter", parameters.iter().map(|parameter| parameter.key.clone()).collect());
    grid.name_column("value", parameters.iter().map(|parameter| or_derived(&parameter.value)).collect());
    grid.name_column("default", parameters.iter().map(|parameter| or_derived(&parameter.default)).collect());
    grid.name_column("meaning", parameters.iter().map(|parameter| parameter.meaning.clone()).collect());
    grid
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_long_as_its_part_and_what_is_there_is_seen() {
        let length = |part, most| bar(part, most).trim_end().len();
        assert_eq!([length(0, 10), length(5, 10), length(10, 10)], [0, 20, 40]);
        assert_eq!((length(1, 1_000_000), length(0, 0), length(u64::MAX, u64::MAX)), (1, 0, 40));
    }

    #[test]
    fn shares_of_nothing_are_none() {
        assert_eq!([share(1, 3), share(0, 3), share(0, 0)], ["33.33 %", "0.00 %", "-"]);
    }
}
