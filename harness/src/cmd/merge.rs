//! `merge`: the shards of a run, joined into a run of their own.

use super::outcome::{Finished, can_print, say};
use crate::cli::MergeArgs;
use crate::error::{Error, Exit};
use crate::folder::{self, Manifest};
use crate::journal;
use crate::merge::{Merged, Part, copy_files, merge};

/// Joins shards, writes the tables of the whole run and prints them. The shards stay as they are.
pub fn merge_runs(args: &MergeArgs) -> Result<Exit, Error> {
    can_print(args.format)?;
    let parts = args.runs.iter().map(|run| Part::read(run)).collect::<Result<Vec<_>, _>>()?;
    let Merged { plan, entries, shards, differences } = merge(parts.clone())?;
    let first = &shards[0];
    let labels = parts.iter().map(|part| part.manifest.label.clone());
    let label = labels.reduce(|one, two| one.filter(|one| two.as_ref() == Some(one))).flatten();
    let folder = folder::create(args.out.as_deref(), label.as_deref())?;
    let name = folder.file_name().map_or_else(|| ".".into(), |name| name.to_string_lossy().into_owned());
    let whole = Manifest::new(name, label, plan);
    let manifest = Manifest {
        machine: first.machine.clone(),
        build: parts[0].manifest.build.clone(),
        revision: parts[0].manifest.revision.clone(),
        started: shards.iter().map(|part| part.started.clone()).min().unwrap_or(whole.started),
        shards,
        ..whole
    };
    journal::write(&folder, &entries)?;
    manifest.write(&folder)?;
    copy_files(&parts, &folder)?;
    say(manifest.build.warning());
    if !differences.is_empty() {
        say(Some(format!(
            "warning: the shards ran on machines that differ, so compare within blocks alone\n    {}",
            differences.join("\n    ")
        )));
    }
    Finished { folder, manifest }.tell(&entries, args.format, args.fail_on_error)
}
