//! Load generators: `o3 freon`, with the generators and flags of Ozone's freon.
//!
//! * [`ockg`]: create keys with content; [`ockr`]: read them; [`ockv`]: read and compare
//! * [`ockc`]: overwrite keys and check what is read meanwhile, by the rules of [`history`]
//! * [`ommg`]: metadata operations only
//! * [`rk`]: volumes, buckets and keys, read back and compared
//! * [`runner`]: n tests over t tasks, until done or out of time
//! * [`timer`], [`report`]: what was measured, as text and JSON
//! * [`cpu`]: CPU time of server processes, per operation: the figure that a busy machine moves
//!   least
//!
//! A generator is an async function of a test's number; everything else is shared.

mod args;
mod content;
mod cpu;
mod edition;
mod error;
mod findings;
mod gaps;
mod history;
mod ockc;
mod ockg;
mod ockr;
mod ockv;
mod ommg;
mod report;
mod rk;
mod runner;
mod target;
mod timer;

use std::process::ExitCode;

use clap::Subcommand;
use config::Configuration;

pub use error::FreonError;

/// A load generator.
#[derive(Debug, Clone, Subcommand)]
pub enum FreonCommand {
    /// Overwrite keys while others read them, and check what was seen.
    Ockc(ockc::Ockc),
    /// Create keys with content.
    Ockg(ockg::Ockg),
    /// Read keys that ockg created.
    Ockr(ockr::Ockr),
    /// Read keys that ockg created and compare their content.
    Ockv(ockv::Ockv),
    /// Metadata operations: create, look up and list without data.
    Ommg(ommg::Ommg),
    /// Create volumes, buckets and keys, and compare what was written.
    #[command(visible_alias = "randomkeys")]
    Rk(rk::Rk),
}

/// Runs a generator; the exit code is 0 when every test succeeded.
pub async fn run(command: FreonCommand, conf: Configuration) -> ExitCode {
    let outcome = match command {
        FreonCommand::Ockc(args) => {
            return ockc::run(args, &conf).await.unwrap_or_else(|e| {
                eprintln!("{e}");
                ExitCode::FAILURE
            });
        }
        FreonCommand::Ockg(args) => ockg::run(args, &conf).await,
        FreonCommand::Ockr(args) => ockr::run(args, &conf).await,
        FreonCommand::Ockv(args) => ockv::run(args, &conf).await,
        FreonCommand::Ommg(args) => ommg::run(args, &conf).await,
        FreonCommand::Rk(args) => rk::run(args, &conf).await,
    };
    match outcome {
        Ok(report) if report.failures == 0 => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(e) => {
            eprintln!("{e}");
            ExitCode::FAILURE
        }
    }
}
