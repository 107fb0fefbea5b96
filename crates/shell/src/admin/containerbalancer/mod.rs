//! `o3 admin containerbalancer`.

mod start;
mod status;
mod stop;

use clap::Subcommand;
use config::Configuration;

use crate::ShellError;

/// Commands for the container balancer.
#[derive(Debug, Clone, Subcommand)]
pub enum ContainerBalancerCommand {
    /// Start the container balancer.
    Start(start::Start),
    /// Stop the container balancer.
    Stop(stop::Stop),
    /// Show whether the container balancer runs, and its progress.
    Status(status::Status),
}

/// Runs a command.
pub(crate) async fn run(
    command: ContainerBalancerCommand,
    verbose: bool,
    conf: &Configuration,
) -> Result<(), ShellError> {
    match command {
        ContainerBalancerCommand::Start(args) => start::run(args, conf).await,
        ContainerBalancerCommand::Stop(args) => stop::run(args, conf).await,
        ContainerBalancerCommand::Status(args) => status::run(args, verbose, conf).await,
    }
}
