//! Compiles in what is found in folders, so that a file dropped there needs no code, and tells the crate how
//! it is built.

#[path = "build/datasets.rs"]
mod datasets;
#[path = "build/facts.rs"]
mod facts;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=build");
    facts::tell()?;
    datasets::embed()
}
