//! Whole clusters in one process on virtual time, from a seed.
//!
//! `simulation run` runs seeds, each in a process of its own; `simulation script` runs directed
//! scenarios. docs/simulation.md says how to use it and what it found.
//!
//! * [`world`]: the simulated operating system: threads, time, network, disks. Start here to see
//!   how it works.
//! * [`scenario`]: what is simulated, and what goes wrong.
//! * [`script`]: scenarios that take a course that is written down.
//! * [`history`]: whether what clients saw can be explained.
//! * [`seeds`]: one run for a seed, many runs, their sum.
//!
//! This is a library so that it is compiled once: the program is its [`run`], and its unit tests
//! take in only what they call.

mod history;
mod scenario;
mod script;
mod seeds;
mod world;

use std::process::ExitCode;

use clap::Parser;

use seeds::Command;

/// Does what the command line says.
pub fn run() -> ExitCode {
    match Command::parse().run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("simulation: {error:#}");
            ExitCode::from(2)
        }
    }
}
