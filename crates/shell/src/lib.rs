//! The command line of users and administrators, with Ozone's verbs, flags and JSON shapes.
//!
//! * [`ShCommand`], [`run_sh`]: `o3 sh volume|bucket|key`
//! * [`AdminCommand`], [`run_admin`]: `o3 admin datanode|pipeline|container|safemode|scm`
//! * `volume/`, `bucket/`, `key/`, `admin/`: a folder is a noun, a file is a verb
//! * `render/`: what a thing looks like as JSON, in Ozone's order of fields
//! * `json`: JSON as Jackson's default pretty printer writes it, which scripts have come to read
//! * `address`: `o3://host:port/volume/bucket/key` and its shorter forms
//!
//! Results go to standard output, everything else to standard error. A command that fails prints
//! `STATUS_NAME message` and exits with 255, as Ozone's shell does.

mod address;
mod admin;
mod bucket;
mod error;
mod json;
mod key;
mod output;
mod quota;
mod render;
mod replication;
mod volume;

use std::process::ExitCode;

use clap::Subcommand;
use config::Configuration;

pub use admin::AdminCommand;
pub use error::ShellError;

/// What users do.
#[derive(Debug, Clone, Subcommand)]
pub enum ShCommand {
    /// Volumes: create, info, list, update, delete, quotas.
    #[command(subcommand, visible_alias = "vol")]
    Volume(volume::VolumeCommand),
    /// Buckets: create, info, list, update, delete, quotas, replication.
    #[command(subcommand)]
    Bucket(bucket::BucketCommand),
    /// Keys: put, get, cat, info, list, delete, rename, copy.
    #[command(subcommand)]
    Key(key::KeyCommand),
}

/// Runs a user's command.
pub async fn run_sh(command: ShCommand, conf: Configuration) -> ExitCode {
    finish(match command {
        ShCommand::Volume(command) => volume::run(command, &conf).await,
        ShCommand::Bucket(command) => bucket::run(command, &conf).await,
        ShCommand::Key(command) => key::run(command, &conf).await,
    })
}

/// Runs an administrator's command.
pub async fn run_admin(command: AdminCommand, conf: Configuration) -> ExitCode {
    finish(admin::run(command, &conf).await)
}

fn finish(result: Result<(), ShellError>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) if e.is_broken_pipe() => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("{e}");
            ExitCode::from(e.exit_code())
        }
    }
}
