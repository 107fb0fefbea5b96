//! `o3 admin container reconcile`.

use std::collections::BTreeSet;

use clap::Args;
use client::ScmClient;
use config::Configuration;
use proto::hdds::{LifeCycleState, ReplicationType};
use types::ContainerId;

use crate::admin::scm_client::{ScmServiceArgs, nonsense};
use crate::output::ArrayPrinter;
use crate::{ShellError, output, render};

/// Compare the replicas of containers and repair differences from each other.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  o3 admin container reconcile 5 6\n  \
    o3 admin container reconcile --status 5 6")]
pub struct Reconcile {
    /// Container ids; - reads them from standard input, one per line.
    #[arg(required = true, value_parser = item, value_name = "ID")]
    ids: Vec<Item>,
    /// Show the checksums of the replicas and whether they match.
    #[arg(long)]
    status: bool,
    #[command(flatten)]
    scm: ScmServiceArgs,
}

/// An argument.
#[derive(Debug, Clone, Copy)]
enum Item {
    Id(ContainerId),
    Stdin,
}

/// An invalid container id.
#[derive(Debug, thiserror::Error)]
#[error("Container IDs must be positive integers. Invalid container IDs: {0}")]
struct NoIds(String);

fn item(text: &str) -> Result<Item, NoIds> {
    match text {
        "-" => Ok(Item::Stdin),
        _ => id(text).map(Item::Id).ok_or_else(|| NoIds(text.to_owned())),
    }
}

fn id(text: &str) -> Option<ContainerId> {
    let id: i64 = text.parse().ok()?;
    u64::try_from(id).ok().filter(|id| *id > 0).map(ContainerId)
}

/// Runs the command. A rejected container is reported, and the others are processed; the command
/// then fails.
pub(crate) async fn run(args: Reconcile, conf: &Configuration) -> Result<(), ShellError> {
    let ids = ids(&args.ids)?;
    let scm = args.scm.client(conf)?;
    if args.status { status(&scm, &ids).await } else { reconcile(&scm, &ids).await }
}

/// The ids, without duplicates.
fn ids(items: &[Item]) -> Result<Vec<ContainerId>, ShellError> {
    let mut ids = Vec::new();
    for item in items {
        match item {
            Item::Id(id) => ids.push(*id),
            Item::Stdin => {
                let text = std::io::read_to_string(std::io::stdin().lock());
                ids.extend(listed(&text.map_err(ShellError::local("standard input"))?)?);
            }
        }
    }
    let mut seen = BTreeSet::new();
    ids.retain(|id| seen.insert(*id));
    Ok(ids)
}

/// Parses a list of ids, one per line.
fn listed(text: &str) -> Result<Vec<ContainerId>, ShellError> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let wrong: Vec<&str> = lines.iter().copied().filter(|line| id(line).is_none()).collect();
    if !wrong.is_empty() {
        return Err(ShellError::Usage(NoIds(wrong.join(" ")).to_string()));
    }
    Ok(lines.into_iter().filter_map(id).collect())
}

async fn reconcile(scm: &ScmClient, ids: &[ContainerId]) -> Result<(), ShellError> {
    let mut failed = 0;
    for id in ids {
        match scm.reconcile_container(*id).await {
            Ok(()) => {
                output::line(format!("Reconciliation has been triggered for container {id}"))?;
            }
            Err(e) => {
                failed += 1;
                eprintln!("{}", words(&e));
            }
        }
    }
    if failed < ids.len() {
        output::line(
            "\nUse \"o3 admin container reconcile --status\" to see the checksums of each \
             container replica",
        )?;
    }
    outcome("Failed to trigger reconciliation for", failed)
}

async fn status(scm: &ScmClient, ids: &[ContainerId]) -> Result<(), ShellError> {
    let mut printer = ArrayPrinter::new();
    let mut failures = Vec::new();
    for id in ids {
        let container = match scm.container_record(*id).await {
            Ok(container) => container,
            Err(e) => {
                failures.push(not_shown(*id, &e));
                continue;
            }
        };
        if container.state() == LifeCycleState::Open {
            failures.push(format!(
                "Cannot get status of container {id}. \
                 Reconciliation is not supported for open containers"
            ));
        } else if container.replication_type() != ReplicationType::Ratis {
            failures.push(format!(
                "Cannot get status of container {id}. \
                 Reconciliation is only supported for Ratis replicated containers"
            ));
        } else {
            match scm.replicas(*id).await {
                Ok(replicas) => printer.push(
                    &render::reconciliation::status(&container, &replicas).map_err(nonsense)?,
                )?,
                Err(e) => failures.push(not_shown(*id, &e)),
            }
        }
    }
    printer.finish()?;
    failures.iter().for_each(|failure| eprintln!("{failure}"));
    outcome("Failed to process reconciliation status for", failures.len())
}

fn not_shown(id: ContainerId, e: &client::Error) -> String {
    format!("Failed to get reconciliation status of container {id}: {}", words(e))
}

/// SCM's error message in the format of Ozone's command line; otherwise the client's error.
fn words(e: &client::Error) -> String {
    match e {
        client::Error::Scm { message, .. } => message.clone(),
        other => other.to_string(),
    }
}

fn outcome(what: &str, failed: usize) -> Result<(), ShellError> {
    match failed {
        0 => Ok(()),
        1 => Err(ShellError::Refused(format!("{what} 1 container"))),
        _ => Err(ShellError::Refused(format!("{what} {failed} containers"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_positive_numbers_are_ids() {
        assert_eq!(listed(" 7 \n8\r\n7").unwrap(), [7, 8, 7].map(ContainerId));
        let wrong = listed("1\nx\n0\n-5\n9223372036854775808").unwrap_err().to_string();
        let wanted = "Container IDs must be positive integers. \
                      Invalid container IDs: x 0 -5 9223372036854775808";
        assert_eq!(wrong, wanted);
        assert_eq!(ids(&[7, 8, 7].map(|id| Item::Id(ContainerId(id)))).unwrap().len(), 2);
    }
}
