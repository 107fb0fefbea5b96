//! `o3 admin containerbalancer`.

mod start;
mod status;
mod stop;

use clap::Subcommand;
use config::Configuration;

use crate::ShellError;

/// What can be done with the container balancer.
#[derive(Debug, Clone, Subcommand)]
pub enum ContainerBalancerCommand {
    /// Start it.
    Start(start::Start),
    /// Stop it.
    Stop(stop::Stop),
    /// Whether it runs, and what it has moved.
    Status(status::Status),
}

/// Runs one.
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
