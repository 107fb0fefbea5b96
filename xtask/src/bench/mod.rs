//! Benchmarks with a memory: `cargo xtask bench` runs them and keeps every figure with its commit,
//! time and machine; `cargo xtask bench trend` holds the last figures against the ones before.
//!
//! * [`programs`]: which benchmarks there are, and how each is started
//! * [`criterion`]: the figures of `cargo bench`
//! * [`results`]: the file of all figures, a line of JSON each
//! * [`trend`]: the last figure of each name against the median of the ones before

mod criterion;
mod programs;
mod results;
mod trend;

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use self::programs::PROGRAMS;
use self::results::Origin;

/// Help of `cargo xtask bench`, printed for unknown arguments.
const USAGE: &str = "usage: cargo xtask bench [NAME...]    run benchmarks, all without a name
       cargo xtask bench list         name them
       cargo xtask bench trend        the last figures against the ones before";

/// Runs what `arguments` say; `false` when a benchmark failed.
///
/// # Errors
/// When there is no such benchmark, or results cannot be kept.
pub fn run(root: &Path, arguments: &[String]) -> Result<bool> {
    let directory = target_directory(root).join("bench");
    let results = directory.join("results.jsonl");
    match arguments.first().map(String::as_str) {
        Some("list") => {
            for program in PROGRAMS {
                println!("{:12} {}", program.name, program.what);
            }
            return Ok(true);
        }
        Some("trend") => {
            print!("{}", trend::table(&results::read(&results)?, &results::machine()?));
            return Ok(true);
        }
        _ => {}
    }
    let known = |name: &String| PROGRAMS.iter().any(|program| program.name == name);
    if let Some(unknown) = arguments.iter().find(|name| !known(name)) {
        bail!("no benchmark is called {unknown}\n{USAGE}");
    }
    let origin = Origin::of(root)?;
    let mut failed = Vec::new();
    let chosen = |name: &str| arguments.is_empty() || arguments.iter().any(|given| given == name);
    for program in PROGRAMS.iter().filter(|program| chosen(program.name)) {
        println!("== {}: {}", program.name, program.what);
        match program.run(root, &directory) {
            Ok(figures) => results::append(&results, &origin, &figures)?,
            Err(error) => {
                eprintln!("bench: {}: {error:#}", program.name);
                failed.push(program.name);
            }
        }
    }
    println!("figures are in {}", results.display());
    if !failed.is_empty() {
        eprintln!("bench: failed: {}", failed.join(", "));
    }
    Ok(failed.is_empty())
}

fn target_directory(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
}
