//! From what was asked for to a plan: structures, workloads, sizes, allocators, blocks, the processor; and whether
//! there is memory for it.

use std::hash::Hash;
use std::path::Path;

use itertools::Itertools;

use crate::cli::RunArgs;
use crate::error::Error;
use crate::machine;
use crate::plan::{self, Order, Plan, PlannedWorkload};
use crate::select;
use crate::spec::{AllocatorKind, Pass, PayloadKind};
use crate::workload::{self, Workload};

/// The allocator of a run that names none.
const ALLOCATOR: AllocatorKind = AllocatorKind::Jemalloc;

/// What a run measures that is not told.
const MEASURES: [Pass; 4] = [Pass::Time, Pass::Latency, Pass::Resident, Pass::Heap];

/// What was asked for, as far as it can be found wrong before anything is made.
pub(super) fn asked(args: &RunArgs) -> Result<(Plan, Vec<Workload>), Error> {
    let workloads = workloads(&args.workload)?;
    let plan = plan(args, &workloads)?;
    has_cells(&plan)?;
    fits(&plan, &workloads)?;
    Ok((plan, workloads))
}

/// The workloads that all selectors name, each once.
pub(super) fn workloads(selectors: &[String]) -> Result<Vec<Workload>, Error> {
    let mut found: Vec<Workload> = Vec::new();
    for selector in selectors {
        for workload in workload::resolve(selector).map_err(|error| of_workload(&error))? {
            if found.iter().all(|known| known.name() != workload.name()) {
                found.push(workload);
            }
        }
    }
    Ok(found)
}

pub(super) fn of_workload(error: &workload::WorkloadError) -> Error {
    let words = error.to_string();
    if error.is_usage() { Error::usage(words) } else { Error::failed(words) }
}

fn plan(args: &RunArgs, workloads: &[Workload]) -> Result<Plan, Error> {
    if !args.n.is_empty() && workloads.iter().all(|workload| workload.replay().is_some()) {
        return Err(Error::usage("--n has nothing to set: a replay has the size of its trace")
            .mend("leave --n away, or name a workload that is made"));
    }
    let asked = args.payload.as_deref().map(payload).transpose()?;
    if let (Some(_), Some(own)) = (asked, workloads.iter().find(|workload| workload.names_payload())) {
        return Err(Error::usage(format!(
            "a payload is given twice: by --payload and by {}",
            own.selector()
        ))
        .mend("leave one of them away"));
    }
    let own = |workload: &Workload| {
        if args.alloc.is_empty() { distinct(workload.allocators()) } else { Vec::new() }
    };
    let measures = |workload: &Workload| {
        if args.measure.is_empty() { passes(workload.measures()) } else { Vec::new() }
    };
    let planned = workloads.iter().map(|workload| {
        let planned = planned(workload, &args.n, asked)?;
        Ok(PlannedWorkload { allocators: own(workload), passes: measures(workload), ..planned })
    });
    let allocators = if args.alloc.is_empty() { vec![ALLOCATOR] } else { distinct(&args.alloc) };
    Ok(Plan {
        structures: select::structures(&args.structures)?,
        workloads: planned.collect::<Result<_, Error>>()?,
        passes: passes(if args.measure.is_empty() { &MEASURES } else { &args.measure }),
        blocks: args.block_count(),
        seed: args.seed,
        clock: args.clock,
        allocators,
        timeout_s: args.timeout,
        keep_samples: args.keep_samples,
        order: Order::AllFirst,
        cpu: args.pin.cpu()?,
        shard: args.shard,
        budget: args.budget,
    })
}

/// Each once, in the order in which they run.
fn passes(given: &[Pass]) -> Vec<Pass> {
    let mut passes = distinct(given);
    passes.sort_unstable();
    passes
}

/// Each once, in the order given.
fn distinct<T: Copy + Eq + Hash>(given: &[T]) -> Vec<T> {
    given.iter().copied().unique().collect()
}

/// Whether there is a block for every shard.
fn has_cells(plan: &Plan) -> Result<(), Error> {
    let Some(shard) = plan.shard else { return Ok(()) };
    let mut passes = (0..plan.workloads.len()).flat_map(|workload| plan.passes_of(workload));
    if !passes.any(|pass| plan::timed(*pass)) {
        return Err(Error::usage("--shard deals out blocks, and nothing of this run is measured in blocks")
            .mend("measure time or latency, or leave --shard away"));
    }
    if shard.count > plan.blocks {
        return Err(Error::usage(format!("{} blocks are too few for {} shards", plan.blocks, shard.count))
            .mend("a block is never divided: give fewer shards, or more --blocks"));
    }
    Ok(())
}

/// A workload as a plan has it. Sizes are checked here.
pub(super) fn planned(
    workload: &Workload,
    sizes: &[u64],
    asked: Option<PayloadKind>,
) -> Result<PlannedWorkload, Error> {
    let mut sizes = workload.sizes(sizes);
    sizes.sort_unstable();
    sizes.dedup();
    for &size in &sizes {
        workload.check(size).map_err(|error| of_workload(&error))?;
    }
    let parameters = workload.parameters().into_iter().map(|(key, value)| format!("{key}={value}"));
    Ok(PlannedWorkload {
        selector: from_anywhere(workload.selector()),
        name: workload.name().to_owned(),
        parameters: parameters.collect::<Vec<_>>().join(","),
        sizes,
        payload: asked.unwrap_or(workload.payload()),
        allocators: Vec::new(),
        passes: Vec::new(),
    })
}

fn payload(text: &str) -> Result<PayloadKind, Error> {
    let payload: PayloadKind = text.parse().map_err(|error| Error::usage(format!("--payload: {error}")))?;
    match payload {
        PayloadKind::Inline(bytes) if !PayloadKind::INLINE.contains(&bytes) => {
            Err(Error::usage(format!("--payload: {bytes} bytes inline are not compiled in"))
                .mend(format!("use 0, 16, 64 or 448, or `box:{bytes}`")))
        }
        payload => Ok(payload),
    }
}

/// The name of a workload with the path of its file made absolute, so that it is found from any folder.
fn from_anywhere(name: &str) -> String {
    let (form, rest) = if name.starts_with("replay:") { name.split_at("replay:".len()) } else { ("", name) };
    let ends = rest.match_indices(':').map(|(at, _)| at).chain([rest.len()]);
    let file = ends.map(|end| rest.split_at(end)).find(|(file, _)| Path::new(file).is_file());
    match file.and_then(|(file, rest)| Some((std::path::absolute(file).ok()?, rest))) {
        Some((file, parameters)) => format!("{form}{}{parameters}", file.display()),
        None => name.to_owned(),
    }
}

/// Whether every cell has room in memory.
fn fits(plan: &Plan, workloads: &[Workload]) -> Result<(), Error> {
    for (planned, workload) in plan.workloads.iter().zip(workloads) {
        planned.sizes.iter().try_for_each(|size| has_room(workload, *size, planned.payload))?;
    }
    Ok(())
}

/// Whether a cell has room in memory.
pub(super) fn has_room(workload: &Workload, size: u64, payload: PayloadKind) -> Result<(), Error> {
    let Some(available) = machine::memory_available() else { return Ok(()) };
    let need = plan::memory_need(size, payload, workload.stream_bytes(size));
    if need <= available {
        return Ok(());
    }
    let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
    Err(Error::failed(format!(
        "{} with n = {} needs about {:.1} GiB of memory, and {:.1} GiB can be had",
        workload.name(),
        select::thousands(size),
        gib(need),
        gib(available)
    ))
    .mend(smaller(workload, size, need, available)))
}

/// What would fit.
fn smaller(workload: &Workload, size: u64, need: u64, available: u64) -> String {
    match workload.replay() {
        Some(_) => "give fewer `copies`, or a larger `batch`".into(),
        None => {
            let fit = select::thousands(size_that_fits(size, need, available));
            format!("give a smaller --n; about {fit} fit")
        }
    }
}

/// A round size below what would fit.
fn size_that_fits(size: u64, need: u64, available: u64) -> u64 {
    let fits = (size as f64 * available as f64 / need as f64) as u64;
    let magnitude = 10_u64.pow(fits.max(1).ilog10());
    fits / magnitude * magnitude
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_that_fits_is_round_and_below_what_is_there() {
        assert_eq!(size_that_fits(1_000_000, 1000, 250), 200_000);
        assert_eq!(size_that_fits(10, 1000, 1), 0);
    }

    #[test]
    fn a_workload_in_a_file_is_found_from_any_folder() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("mine.toml");
        std::fs::write(&file, "").unwrap();
        let name = format!("{}:step=5", file.display());
        assert_eq!(from_anywhere(&name), name);
        assert_eq!(from_anywhere("burst:step=5"), "burst:step=5");
    }
}
