//! `list`: what there is, one name a line, first on the line.

use impls::registry::{self, Entry, Role};

use super::print;
use crate::cli::{ListArgs, Listed};
use crate::error::{Error, Exit};
use crate::folder::{self, Manifest};
use crate::record::{Measurement, Memory, Row};
use crate::workload::{self, Definition, distribution};

/// Prints the names, with `--long` what each is.
pub fn list(args: &ListArgs) -> Result<Exit, Error> {
    let named = match args.what {
        Listed::Impls => registry::ENTRIES.iter().map(structure).collect(),
        Listed::Workloads => {
            workload::builtin().iter().map(definition).chain(workload::groups().iter().map(group)).collect()
        }
        Listed::Distributions => distribution::KNOWN.iter().map(known).collect(),
        Listed::Metrics => metrics(),
        Listed::Runs => runs(),
    };
    print(&lines(&named, args.long))?;
    Ok(Exit::Done)
}

fn lines(named: &[(String, String)], long: bool) -> String {
    let width = named.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let line = |(name, about): &(String, String)| match long {
        true => format!("{name:width$}  {about}\n"),
        false => format!("{name}\n"),
    };
    named.iter().map(line).collect()
}

fn structure(entry: &Entry) -> (String, String) {
    let role = match entry.role {
        Role::Structure => "",
        Role::Oracle => " (an oracle: measured only when it is named)",
        Role::Peer => " (somebody else's)",
    };
    let parameter = |param: &registry::Param| format!(" {}={} ({})", param.key, param.default, param.meaning);
    let parameters: String = entry.params.iter().map(parameter).collect();
    let parameters = if parameters.is_empty() { parameters } else { format!("; parameters:{parameters}") };
    let about = format!("{}{role}; wins: {}; loses: {}{parameters}", entry.summary, entry.wins, entry.loses);
    (entry.name.to_owned(), about)
}

fn definition(known: &Definition) -> (String, String) {
    let sizes: Vec<_> = known.sizes.iter().map(u64::to_string).collect();
    let parameter = |(key, value): (&String, &toml::Value)| format!(" {key}={}", workload::shown(value));
    let parameters: String = known.parameters.iter().map(parameter).collect();
    let about = format!(
        "{}; favours: {}; hurts: {}; source: {}; n {}; payload {}; parameters:{parameters}",
        known.summary,
        known.favours,
        known.hurts,
        known.source,
        sizes.join(","),
        known.payload,
    );
    (known.name.clone(), about)
}

fn group(group: &workload::Group) -> (String, String) {
    let members: Vec<_> = group.members.iter().map(workload::Member::selector).collect();
    let about =
        format!("a group: {}; source: {}; workloads: {}", group.summary, group.source, members.join(" "));
    (group.name.clone(), about)
}

fn known(distribution: &distribution::Known) -> (String, String) {
    (distribution.name().to_owned(), format!("{}: {}", distribution.usage, distribution.about))
}

fn metrics() -> Vec<(String, String)> {
    let columns = [Measurement::columns(), Memory::columns()].concat();
    columns.iter().map(|column| (column.name.to_owned(), column.about.to_owned())).collect()
}

fn runs() -> Vec<(String, String)> {
    let about = |path: &std::path::Path| match Manifest::read(path) {
        Ok(manifest) => {
            let state = if manifest.complete { "complete" } else { "interrupted" };
            format!("{state}, started {}: {}", manifest.started, manifest.command.join(" "))
        }
        Err(error) => error.to_string().replace('\n', ";"),
    };
    let name = |path: &std::path::PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        (name, about(path))
    };
    folder::runs().iter().map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stands_first_on_its_line_whether_long_or_not() {
        let named = [("wheel".to_owned(), "round".to_owned()), ("list".to_owned(), "flat".to_owned())];
        assert_eq!(lines(&named, false), "wheel\nlist\n");
        assert_eq!(lines(&named, true), "wheel  round\nlist   flat\n");
    }

    #[test]
    fn every_metric_has_a_description() {
        assert!(metrics().iter().all(|(name, about)| !name.is_empty() && !about.is_empty()));
    }
}
