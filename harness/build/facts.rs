//! What only the build knows of itself, for the manifest of every run. Nothing here differs between two
//! builds of one tree, so it makes nothing to be built anew.

use std::env;
use std::error::Error;
use std::process::Command;

/// Hands compiler, target and level over to the crate as environment variables of the compilation.
pub(crate) fn tell() -> Result<(), Box<dyn Error>> {
    let version = Command::new(env::var("RUSTC")?).arg("--version").output()?;
    println!("cargo::rustc-env=TWB_RUSTC={}", String::from_utf8(version.stdout)?.trim());
    println!("cargo::rustc-env=TWB_TARGET={}", env::var("TARGET")?);
    println!("cargo::rustc-env=TWB_OPT_LEVEL={}", env::var("OPT_LEVEL")?);
    Ok(())
}
