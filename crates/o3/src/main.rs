//! `o3`: the only binary. It contains the command tree; each subcommand is one call into a crate.

use std::process::ExitCode;

/// Servers make small allocations in many threads; mimalloc also returns memory when they are idle.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    o3::run()
}
