//! `o3 admin container report`.

use std::collections::BTreeMap;

use clap::Args;
use client::ListContainers;
use config::Configuration;
use proto::hdds::LifeCycleState;
use serde_json::json;
use types::ContainerId;

use crate::admin::ScmArgs;
use crate::{ShellError, output, render};

/// Containers asked for at once.
const PAGE: u32 = 1_000;

/// States in the order Ozone shows them.
const STATES: [LifeCycleState; 7] = [
    LifeCycleState::Open,
    LifeCycleState::Closing,
    LifeCycleState::QuasiClosed,
    LifeCycleState::Closed,
    LifeCycleState::Deleting,
    LifeCycleState::Deleted,
    LifeCycleState::Recovering,
];

/// How many containers are in which state.
#[derive(Debug, Clone, Args)]
pub struct Report {
    /// As JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    scm: ScmArgs,
}

/// Runs it.
pub(crate) async fn run(args: Report, conf: &Configuration) -> Result<(), ShellError> {
    let scm = args.scm.client(conf);
    let mut counts: BTreeMap<&str, u64> = STATES.iter().map(|s| (s.as_str_name(), 0)).collect();
    let mut list =
        ListContainers { start: ContainerId(0), count: PAGE, state: None, replication: None };
    loop {
        let (page, _) = scm.list_containers(&list).await?;
        for container in &page {
            *counts.entry(render::container::state(container)).or_default() += 1;
        }
        match page.last() {
            Some(last) if page.len() == PAGE as usize => {
                list.start = ContainerId(ContainerId::from_wire(last.container_id).0 + 1);
            }
            _ => break,
        }
    }
    if args.json {
        return output::value(&json!({ "stats": counts }));
    }
    output::line("Container State Summary\n=======================")?;
    STATES
        .iter()
        .map(|s| s.as_str_name())
        .try_for_each(|s| output::line(format!("{s}: {}", counts.get(s).copied().unwrap_or(0))))
}
