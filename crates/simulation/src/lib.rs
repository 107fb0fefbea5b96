//! Whole clusters in one process on virtual time, from a seed.
//!
//! `simulation run` runs seeds, each in its own process; `simulation script` runs directed
//! scenarios. docs/simulation.md describes its use and its findings.
//!
//! * [`world`]: the simulated operating system: threads, time, network, disks. Start here.
//! * [`scenario`]: the simulated systems, and their faults.
//! * [`script`]: scenarios with a fixed course.
//! * [`history`]: checks of the results that clients saw.
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

/// Executes the command line.
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
