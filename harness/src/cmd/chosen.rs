//! Which cells the commands that read runs look at.

use clap::Args;

use crate::error::Error;
use crate::select;
use crate::study::Study;
use crate::study::filter::Filter;

/// What is looked at; everything when nothing is named.
#[derive(Args, Clone, Debug, Default)]
pub struct Chosen {
    /// Only these structures: names or globs
    #[arg(long = "impl", value_name = "NAMES")]
    pub structures: Vec<String>,
    /// Only this workload: a name or a glob; repeatable
    #[arg(long, value_name = "GLOB")]
    pub workload: Vec<String>,
    /// Only these sizes, such as `10k,200k`
    #[arg(long, value_name = "SIZES", value_delimiter = ',', value_parser = select::size)]
    pub n: Vec<u64>,
    /// Only this operation, phase or point: `take`, `drain`, `drain-take`, `drained`; repeatable
    #[arg(long, value_name = "GLOB")]
    pub operation: Vec<String>,
}

impl Chosen {
    /// The filter, once it is known that everything named is there.
    pub fn filter(&self, studies: &[Study]) -> Result<Filter, Error> {
        let structures: Vec<String> =
            self.structures.iter().flat_map(|selector| select::tokens(selector)).collect();
        let filter = Filter::new(&structures, &self.workload, &self.operation, &self.n)?;
        filter.check(studies)?;
        Ok(filter)
    }
}
