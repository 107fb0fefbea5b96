//! One binary for all targets: `FUZZ_TARGET` names the parser. `fuzz/run` starts it for each.
//!
//! The targets stand beside their parsers (`src/fuzzing.rs` of each crate), and the tests of these
//! crates run them, too, for a moment and without a look at what they reach (`testkit::fuzz`).
#![no_main]

use std::path::Path;
use std::process::exit;
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;

type Target = (&'static str, fn(&[u8]), Vec<Vec<u8>>);

fn targets() -> Vec<Target> {
    [
        config::fuzzing::targets(),
        container::fuzzing::targets(),
        framed::fuzzing::targets(),
        hadoop_rpc::fuzzing::targets(),
        multiraft::fuzzing::targets(),
        namespace::fuzzing::targets(),
        ratis_wire::fuzzing::targets(),
        topology::fuzzing::targets(),
        types::fuzzing::targets(),
    ]
    .concat()
}

/// The parser that is meant. Without a name the targets are listed and their seeds written below
/// `FUZZ_SEEDS`.
fn target() -> fn(&[u8]) {
    let targets = targets();
    let wanted = std::env::var("FUZZ_TARGET").unwrap_or_default();
    if let Some((_, run, _)) = targets.iter().find(|(name, ..)| *name == wanted) {
        // Without it libFuzzer writes what it finds into the current directory.
        if !std::env::args().any(|argument| argument.starts_with("-artifact_prefix=")) {
            eprintln!("-artifact_prefix=DIRECTORY/ is missing: start targets with fuzz/run");
            exit(2);
        }
        return *run;
    }
    let seeds = std::env::var_os("FUZZ_SEEDS");
    for (name, _, inputs) in &targets {
        println!("{name}");
        let Some(dir) = seeds.as_deref().map(|dir| Path::new(dir).join(name)) else { continue };
        for (number, input) in inputs.iter().enumerate() {
            let file = dir.join(format!("seed-{number}"));
            if let Err(e) =
                std::fs::create_dir_all(&dir).and_then(|()| std::fs::write(&file, input))
            {
                eprintln!("cannot write {}: {e}", file.display());
                exit(1);
            }
        }
    }
    exit(i32::from(!wanted.is_empty()));
}

static TARGET: OnceLock<fn(&[u8])> = OnceLock::new();

/// Chooses the target before libFuzzer runs anything: an exit in the middle of an input would be
/// taken for a crash, and be written as one.
fn choose() {
    TARGET.get_or_init(target);
}

fuzz_target!(init: choose(), |data: &[u8]| {
    if let Some(run) = TARGET.get() {
        run(data);
    }
});
