//! Compiles in what is found in folders, so that a file dropped there needs no code.

#[path = "build/datasets.rs"]
mod datasets;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    datasets::embed()
}
