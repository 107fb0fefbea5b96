//! House rules, as a program: `cargo xtask tidy`.

mod tidy;

use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    // Of this run, not of the build: clones share a target directory, and a program built in
    // another one.
    let Some(package) = std::env::var_os("CARGO_MANIFEST_DIR") else {
        eprintln!("tidy: run it with cargo: cargo run -p xtask -- tidy");
        return ExitCode::from(2);
    };
    let root = PathBuf::from(package).join("..");
    match std::env::args().nth(1).as_deref() {
        Some("tidy") => match tidy::run(&root) {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => ExitCode::FAILURE,
            Err(e) => {
                eprintln!("tidy: {e:#}");
                ExitCode::FAILURE
            }
        },
        _ => {
            eprintln!("usage: cargo xtask tidy    check the house rules");
            ExitCode::from(2)
        }
    }
}
