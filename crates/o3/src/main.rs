//! The one binary.

use std::process::ExitCode;

/// Small allocations in many threads are what servers do; and it gives memory back when they idle.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    o3::run()
}
