//! Lists `datasets/workloads/*.toml`, `datasets/groups/*.toml` and `datasets/traces/*.tt.*` as constants that hold the files.

use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Writes the lists to `datasets.rs` in the build's output folder.
pub(crate) fn embed() -> Result<(), Box<dyn Error>> {
    let datasets = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("../datasets");
    let workloads = files(&datasets.join("workloads"), |name| name.ends_with(".toml"))?;
    let groups = files(&datasets.join("groups"), |name| name.ends_with(".toml"))?;
    let traces = files(&datasets.join("traces"), |name| name.contains(".tt."))?;
    let mut code = String::new();
    list(&mut code, "WORKLOADS", "&str", "include_str", &workloads)?;
    list(&mut code, "GROUPS", "&str", "include_str", &groups)?;
    list(&mut code, "TRACES", "&[u8]", "include_bytes", &traces)?;
    fs::write(Path::new(&env::var("OUT_DIR")?).join("datasets.rs"), code)?;
    Ok(())
}

/// The wanted files of a folder by name. The folder is watched, so a new file is noticed.
fn files(folder: &Path, wanted: fn(&str) -> bool) -> Result<Vec<(String, PathBuf)>, Box<dyn Error>> {
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry?.path().canonicalize()?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if wanted(&name) {
            println!("cargo::rerun-if-changed={}", path.display());
            found.push((name, path));
        }
    }
    // By what stands before the first dot: `cycle.toml` before `cycle-10-due.toml`.
    let stem = |(name, _): &(String, PathBuf)| name.split('.').next().unwrap_or_default().to_owned();
    found.sort_by_key(stem);
    Ok(found)
}

fn list(
    code: &mut String,
    name: &str,
    of: &str,
    include: &str,
    files: &[(String, PathBuf)],
) -> Result<(), Box<dyn Error>> {
    writeln!(code, "pub(crate) const {name}: &[(&str, {of})] = &[")?;
    for (file, path) in files {
        writeln!(code, "    ({file:?}, {include}!({:?})),", path.display().to_string())?;
    }
    writeln!(code, "];")?;
    Ok(())
}
