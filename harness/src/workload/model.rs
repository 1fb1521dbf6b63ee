//! What every model of a workload offers, and the list of models.

use std::fmt::Debug;
use std::path::Path;

use rand_xoshiro::Xoshiro256PlusPlus;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::builder::Builder;
use super::error::WorkloadError;
use super::replay::Replay;

/// The generator of every model: the same numbers on every machine.
pub type Random = Xoshiro256PlusPlus;

/// A shape of work with its parameters: `Deserialize` names them, and a missing one has its default.
pub trait Model: Debug + Send + Sync {
    /// How large a stream for `n` timers will be, at most.
    fn extent(&self, n: u64) -> Extent;

    /// Lays the stream down. It follows from the parameters, `n` and the random numbers alone; `n` has been
    /// checked against [`Model::extent`].
    fn generate(&self, n: u64, random: &mut Random, out: &mut Builder);

    /// A parameter whose value cannot be, and why.
    fn impossible(&self) -> Option<(&'static str, String)> {
        None
    }

    /// Reads what the parameters name. `folder` is where relative names start.
    fn load(&mut self, folder: &Path) -> Result<(), WorkloadError> {
        let _ = folder;
        Ok(())
    }

    /// The model as a replay, if it is one.
    fn replay(&self) -> Option<&Replay> {
        None
    }
}

/// The size of a stream, at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Distinct timers.
    pub timers: u64,
    /// Operations.
    pub operations: u64,
}

/// A model with what it was made from.
#[derive(Debug)]
pub(super) struct Made {
    pub(super) model: Box<dyn Model>,
    /// All its parameters, with the defaults.
    pub(super) parameters: toml::Table,
}

/// One line of the list of models.
pub(super) struct Entry {
    pub(super) name: &'static str,
    /// From the text of a whole definition, so that an error has its place.
    pub(super) parse: fn(&str) -> Result<super::definition::File<Made>, toml::de::Error>,
    /// From parameters.
    pub(super) make: fn(toml::Table) -> Result<Made, toml::de::Error>,
}

fn made<M: Model + Serialize + 'static>(model: M) -> Made {
    let parameters = toml::Table::try_from(&model).expect("parameters are numbers, names and lists of them");
    Made { model: Box::new(model), parameters }
}

fn make<M: Model + Serialize + DeserializeOwned + 'static>(
    table: toml::Table,
) -> Result<Made, toml::de::Error> {
    table.try_into::<M>().map(made)
}

macro_rules! models {
    ($( $name:literal => $model:ty, )*) => {
        /// Every model: one line each, beside its file.
        pub(super) const MODELS: &[Entry] = &[$( Entry {
            name: $name,
            parse: |text| Ok(toml::from_str::<super::definition::File<$model>>(text)?.map(made)),
            make: make::<$model>,
        } ),*];
    };
}

models! {
    "burst" => super::burst::Burst,
    "retention" => super::retention::Retention,
    "grow" => super::grow::Grow,
    "cycle" => super::cycle::Cycle,
    "window" => super::window::Window,
    "insert" => super::insert::Insert,
    "steady" => super::steady::Steady,
    "cancel" => super::cancel::Cancel,
    "reset" => super::reset::Reset,
    "periodic" => super::periodic::Periodic,
    "event-groups" => super::event_groups::EventGroups,
    "important" => super::important::Important,
    "mail-day" => super::mail_day::MailDay,
    "hold" => super::hold::Hold,
    "place" => super::place::Place,
    "waves" => super::waves::Waves,
    "server" => super::server::Server,
    "schedule" => super::schedule::Schedule,
    "fitted" => super::fitted::Fitted,
    "replay" => Replay,
}
