//! `o3`: the command tree and nothing else; each subcommand is one call into a crate below. A
//! library, so that the page of all commands can be made from it (`examples/cli_reference.rs`); the
//! binary is one call into it.

mod cli;
mod client_command;
mod config_command;
mod daemon;
mod print;
mod roles;
mod server_command;
mod settings;
mod version;
mod words;

use std::process::ExitCode;
use std::time::Instant;

use clap::{CommandFactory, Parser};

use cli::{Cli, Command};

/// The tree of commands.
pub fn commands() -> clap::Command {
    Cli::command()
}

/// Runs the command of this process's command line.
pub fn run() -> ExitCode {
    let began = Instant::now();
    let cli = Cli::parse_from(words::words(std::env::args_os()));
    let outcome = match cli.command {
        Command::Server(args) => server_command::run(args, began),
        Command::Role(role) => roles::run(role, began),
        Command::Sh(args) => client_command::sh(args),
        Command::Admin(args) => client_command::admin(args),
        Command::Why(args) => client_command::why(args),
        Command::Debug(args) => client_command::debug(args),
        Command::Repair(args) => client_command::repair(args),
        Command::Freon(args) => client_command::freon(args),
        Command::Config(args) => config_command::run(args),
        Command::Version(args) => version::run(&args),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("o3: {error:#}");
        ExitCode::FAILURE
    })
}
