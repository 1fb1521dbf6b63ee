//! Groups: workloads with sizes that are asked for by one name, as data.

use std::sync::OnceLock;

use itertools::Itertools;
use serde::Deserialize;

use super::definition::GROUPS;

/// A group as its file has it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// The name of its file without `.toml`.
    #[serde(skip)]
    pub name: String,
    /// What it is, in one line.
    pub summary: String,
    /// Where it comes from.
    pub source: String,
    /// Its workloads.
    #[serde(rename = "workload")]
    pub members: Vec<Member>,
}

/// A workload of a group.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Member {
    /// Its name, with parameters that are changed.
    pub name: String,
    /// Its sizes; its own where there are none.
    #[serde(default)]
    pub n: Vec<u64>,
}

impl Member {
    /// What selects the workload with its sizes: `burst:n=1000+200000`.
    pub fn selector(&self) -> String {
        if self.n.is_empty() {
            return self.name.clone();
        }
        let mark = if self.name.contains('=') { ',' } else { ':' };
        format!("{}{mark}n={}", self.name, self.n.iter().join("+"))
    }
}

/// The built-in groups, in order of their names.
pub fn groups() -> &'static [Group] {
    static BUILTIN: OnceLock<Vec<Group>> = OnceLock::new();
    BUILTIN.get_or_init(|| {
        let parse = |(file, text): &(&str, &str)| {
            // A test parses them all, so a broken one does not get as far as this.
            let group: Group =
                toml::from_str(text).unwrap_or_else(|error| panic!("datasets/groups/{file}: {error}"));
            Group { name: file.trim_end_matches(".toml").to_owned(), ..group }
        };
        GROUPS.iter().map(parse).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::super::{builtin, resolve};
    use super::*;

    #[test]
    fn every_group_names_workloads_that_are_there_once_each_with_their_sizes() {
        assert!(groups().iter().any(|group| group.name == "documents"));
        for group in groups() {
            assert!(
                builtin().iter().all(|known| known.name != group.name),
                "{} is a workload, too",
                group.name
            );
            let found = resolve(&group.name).unwrap();
            assert_eq!(found.len(), group.members.len(), "{}", group.name);
            for (workload, member) in found.iter().zip(&group.members) {
                assert_eq!(workload.selector(), member.name);
                if !member.n.is_empty() {
                    assert_eq!(workload.sizes(&[]), member.n, "{}", member.name);
                }
                assert_eq!(workload.sizes(&[70]), [70], "sizes that are asked for go before");
                workload.sizes(&[]).into_iter().for_each(|n| workload.check(n).unwrap());
            }
        }
    }

    #[test]
    fn a_group_is_one_of_several_selectors_and_takes_no_parameters() {
        let all = resolve("documents,hold").unwrap();
        assert_eq!(all.last().unwrap().name(), "hold");
        let error = resolve("documents:step=5").unwrap_err().to_string();
        assert!(error.contains("a group"), "{error}");
    }
}
