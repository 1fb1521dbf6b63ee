//! How much code a structure is: statements, branches, index operations, lines and unsafe blocks of each method,
//! counted from the syntax tree, and the fields that its methods have to keep in step.
//!
//! ```text
//! impls/src/lib.rs   names the module of each structure    -> its files, and the private modules that they use
//! each file          -> its functions, tests left out      -> counts (`count`)
//! ```
//!
//! Sources are read when it is asked, from the clone that this executable lies in or from a folder that is named:
//! so counts are of what is there, and no build carries the sources with it.

mod count;
mod source;
mod table;

pub use count::Counts;
pub use source::{Part, Sources};
pub use table::{By, Code, grid, rows};

use crate::error::Error;
use crate::select::Structure;

/// A function of a structure's code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its file, from `impls/src` on.
    pub file: String,
    /// The type that it is a method of; none for a free function.
    pub owner: Option<String>,
    /// Its name.
    pub name: String,
    /// Whether the contract asks for it: a method of `TimerQueue` or `Batch`.
    pub is_contract: bool,
    /// What it consists of.
    pub counts: Counts,
}

/// A field that methods write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its file, from `impls/src` on.
    pub file: String,
    /// The struct and the field: `Chain.last`.
    pub name: String,
    /// Places that write it: see [`Counts`].
    pub writes: u64,
}

/// The code of one structure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complexity {
    /// The structure's name in the registry.
    pub structure: String,
    /// Its own code, then what it shares with others, by private module of `impls`.
    pub parts: Vec<(Part, Vec<Function>, Vec<Field>)>,
}

/// Counts the code of some structures.
pub fn complexity(sources: &Sources, structures: &[Structure]) -> Result<Vec<Complexity>, Error> {
    let of = |structure: &Structure| {
        let mut parts = Vec::new();
        for (part, files) in sources.parts(&structure.name)? {
            let (functions, fields) = count::count(&files);
            parts.push((part, functions, fields));
        }
        Ok(Complexity { structure: structure.name.clone(), parts })
    };
    structures.iter().map(of).collect()
}

#[cfg(test)]
mod tests;
