//! Tasks of this tree: `cargo xtask tidy` checks the house rules, `cargo xtask words` lists refused
//! words, `cargo xtask bench` runs the benchmarks.

mod bench;
mod tidy;
#[cfg(test)]
mod units;

use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    // Of this run, not of the build: clones share a target directory, and a program built in
    // another one.
    let Some(package) = std::env::var_os("CARGO_MANIFEST_DIR") else {
        eprintln!("xtask: run it with cargo: cargo xtask tidy");
        return ExitCode::from(2);
    };
    let root = PathBuf::from(package).join("..");
    // Cargo names files by this form of the path.
    let root = root.canonicalize().unwrap_or(root);
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (task, outcome) = match arguments.split_first() {
        Some((task, rest)) if task == "tidy" && rest == ["--list-circles"] => {
            (task, tidy::list_circles(&root).map(|list| print!("{list}")).map(|()| true))
        }
        Some((task, [])) if task == "tidy" => (task, tidy::run(&root)),
        Some((task, rest)) if task == "words" => (task, tidy::words::run(&root, rest)),
        Some((task, rest)) if task == "bench" => (task, bench::run(&root, rest)),
        _ => {
            eprintln!("usage: cargo xtask tidy                   check the house rules");
            eprintln!("       cargo xtask tidy --list-circles    modules that use each other");
            eprintln!(
                "       cargo xtask bench                  run benchmarks, or show their trend"
            );
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{task}: {error:#}");
            ExitCode::FAILURE
        }
    }
}
