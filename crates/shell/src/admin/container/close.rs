//! `o3 admin container close`.

use clap::Args;
use config::Configuration;
use types::ContainerId;

use crate::ShellError;
use crate::admin::scm_client::ScmArgs;

/// Close a container, so that no more blocks are allocated in it.
#[derive(Debug, Clone, Args)]
pub struct Close {
    /// The container's id.
    id: ContainerId,
    #[command(flatten)]
    scm: ScmArgs,
}

/// Runs the command.
pub(crate) async fn run(args: Close, conf: &Configuration) -> Result<(), ShellError> {
    use proto::container_location::scm_close_container_response_proto::Status;
    match args.scm.client(conf).close_container(args.id).await? {
        Status::Ok => Ok(()),
        Status::ContainerAlreadyClosed => {
            Err(ShellError::Refused(format!("Container #{} is already closed", args.id)))
        }
        Status::ContainerAlreadyClosing => {
            Err(ShellError::Refused(format!("Container #{} is already closing", args.id)))
        }
    }
}
