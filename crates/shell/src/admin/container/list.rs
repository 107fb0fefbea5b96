//! `o3 admin container list`.

use clap::Args;
use client::ListContainers;
use config::Configuration;
use proto::hdds::{LifeCycleState, ReplicationType};
use types::{ContainerId, ReplicationConfig};

use crate::admin::scm_client::ScmArgs;
use crate::output::ArrayPrinter;
use crate::{ShellError, render};

/// Number of containers per request.
const PAGE: u32 = 1_000;

/// List containers as JSON.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  o3 admin container list --state CLOSED\n  \
    o3 admin container list --all --type RATIS --replication THREE")]
pub struct List {
    /// First container id.
    #[arg(short = 's', long, default_value_t = 0, value_name = "ID")]
    start: u64,
    /// Maximum number of containers.
    #[arg(short = 'c', long, default_value_t = 20, value_name = "N")]
    count: u32,
    /// List all containers.
    #[arg(short = 'a', long)]
    all: bool,
    /// Only containers in this state: OPEN, CLOSING, QUASI_CLOSED, CLOSED, DELETING, DELETED.
    #[arg(long, value_parser = state, value_name = "STATE")]
    state: Option<LifeCycleState>,
    /// Only containers of this replication type: RATIS, STAND_ALONE, EC.
    #[arg(short = 't', long = "type", value_parser = crate::replication::kind, value_name = "TYPE")]
    kind: Option<String>,
    /// Only containers of this replication: ONE, THREE.
    #[arg(short = 'r', long, visible_alias = "factor", value_name = "REPLICATION")]
    replication: Option<String>,
    /// Accepted for compatibility: the output is always JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    scm: ScmArgs,
}

/// An unknown container state.
#[derive(Debug, thiserror::Error)]
#[error("states are OPEN, CLOSING, QUASI_CLOSED, CLOSED, DELETING, DELETED, RECOVERING")]
struct UnknownState;

fn state(text: &str) -> Result<LifeCycleState, UnknownState> {
    LifeCycleState::from_str_name(&text.to_ascii_uppercase()).ok_or(UnknownState)
}

/// Runs the command.
pub(crate) async fn run(args: List, conf: &Configuration) -> Result<(), ShellError> {
    let replication = args
        .replication
        .as_deref()
        .map(|value| ReplicationConfig::parse(args.kind.as_deref().unwrap_or("RATIS"), value))
        .transpose()
        .map_err(|e| ShellError::Usage(e.to_string()))?;
    let wanted_kind = args.kind.as_deref().and_then(ReplicationType::from_str_name);
    let scm = args.scm.client(conf);
    let mut left = if args.all { u64::MAX } else { u64::from(args.count) };
    let mut start = ContainerId(args.start);
    let mut total = None;
    let mut printer = ArrayPrinter::new();
    while left > 0 {
        let count = u32::try_from(left).unwrap_or(PAGE).min(PAGE);
        let list = ListContainers { start, count, state: args.state, replication };
        let (page, all) = scm.list_containers(&list).await?;
        total = total.or(all);
        // SCM has no filter by type alone.
        for container in
            page.iter().filter(|c| wanted_kind.is_none_or(|kind| c.replication_type == kind as i32))
        {
            printer.push(&render::container::container(container))?;
            left -= 1;
        }
        match page.last() {
            Some(last) if page.len() as u64 == u64::from(count) => {
                start = ContainerId(ContainerId::from_wire(last.container_id).0 + 1);
            }
            _ => break,
        }
    }
    let shown = printer.finish()? as u64;
    if let Some(all) = total.filter(|all| !args.all && left == 0 && *all > shown) {
        eprintln!(
            "Displaying {shown} out of {all} containers. Container list has more containers."
        );
    }
    Ok(())
}
