//! `o3 why safemode`.

use std::collections::{BTreeMap, BTreeSet};

use clap::Args;
use client::{ListContainers, ScmClient};
use config::Configuration;
use futures::{StreamExt, TryStreamExt, stream};
use proto::container_location::SafeModeRuleStatusProto;
use proto::hdds::{ContainerInfoProto, LifeCycleState};
use types::{ContainerId, DatanodeId, Pipeline, PipelineState, ReplicationConfig};

use super::answer::some_of;
use super::{Answer, known_nodes};
use crate::ShellError;
use crate::admin::safemode::leader;
use crate::admin::scm_client::{ScmArgs, nonsense};

/// Maximum number of containers, pipelines or nodes listed.
const NAMED: usize = 10;
/// Maximum number of containers checked, and requested in one call.
const MOST_CONTAINERS: usize = 5_000;
const PAGE: u32 = 1_000;
/// Number of containers whose replicas are requested in parallel.
const AT_ONCE: usize = 16;

/// Explain why SCM is in safe mode.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  o3 why safemode\n  o3 why safemode --json")]
pub struct Safemode {
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    scm: ScmArgs,
}

/// State of SCM in safe mode.
#[derive(Default)]
struct Facts {
    rules: Vec<SafeModeRuleStatusProto>,
    /// Hosts of the DataNodes that have registered.
    registered: Vec<String>,
    /// Open RATIS/THREE pipelines with the members that are not healthy, by host.
    pipelines: Vec<(String, Vec<String>)>,
    /// Containers of RATIS, and of EC, with too few reported replicas.
    unreported: BTreeMap<&'static str, Vec<String>>,
    /// True if not all containers were checked.
    partial: bool,
}

/// Runs the command.
pub(super) async fn run(args: Safemode, conf: &Configuration) -> Result<(), ShellError> {
    let scm = leader::or_named(&args.scm, conf).await?;
    let answer = match scm.in_safe_mode().await? {
        false => out(),
        true => explain(&gather(&scm).await?),
    };
    answer.print("safemode", args.json)
}

fn out() -> Answer {
    let mut answer = Answer::default();
    answer.say("SCM is out of safe mode.");
    answer
}

async fn gather(scm: &ScmClient) -> Result<Facts, ShellError> {
    let rules = scm.safe_mode_rules().await?;
    let nodes = known_nodes(scm).await?;
    let healthy: BTreeSet<DatanodeId> =
        nodes.iter().filter(|n| n.health == "HEALTHY").map(|n| n.details.id).collect();
    let mut facts = Facts {
        registered: nodes.iter().map(|node| node.details.host.clone()).collect(),
        ..Facts::default()
    };
    for pipeline in scm.pipelines().await? {
        let p = Pipeline::from_wire(&pipeline).map_err(nonsense)?;
        if p.state == PipelineState::Open && p.config == ReplicationConfig::RATIS_THREE {
            let missing = p.members.iter().filter(|m| !healthy.contains(&m.id));
            let missing: Vec<String> = missing.map(|m| m.host.clone()).collect();
            if !missing.is_empty() {
                facts.pipelines.push((p.id.to_string(), missing));
            }
        }
    }
    let waits = |name: &str| rules.iter().any(|r| r.rule_name == name && !r.validate);
    if waits("RatisContainerSafeModeRule") || waits("ECContainerSafeModeRule") {
        unreported(scm, &mut facts).await?;
    }
    facts.rules = rules;
    Ok(facts)
}

/// Finds the containers without a reported replica, or with too few indexes.
async fn unreported(scm: &ScmClient, facts: &mut Facts) -> Result<(), ShellError> {
    let mut wanted = Vec::new();
    for state in [LifeCycleState::Closed, LifeCycleState::QuasiClosed] {
        let mut start = ContainerId(0);
        loop {
            let list = ListContainers { start, count: PAGE, state: Some(state), replication: None };
            let (page, _) = scm.list_containers(&list).await?;
            let Some(last) = page.last() else { break };
            let next = ContainerId(ContainerId::from_wire(last.container_id).0.saturating_add(1));
            let is_last = page.len() < PAGE as usize || next <= start;
            wanted.extend(page.into_iter().filter(|c| c.number_of_keys > 0));
            facts.partial |= wanted.len() > MOST_CONTAINERS;
            if is_last || facts.partial {
                break;
            }
            start = next;
        }
    }
    wanted.truncate(MOST_CONTAINERS);
    let looks = wanted.iter().map(|info| lacks(scm, info));
    let mut found = stream::iter(looks).buffered(AT_ONCE);
    while let Some(lacking) = found.try_next().await? {
        if let Some((kind, name)) = lacking {
            facts.unreported.entry(kind).or_default().push(name);
        }
    }
    Ok(())
}

/// The kind and the name of a container with too few reported replicas.
async fn lacks(
    scm: &ScmClient,
    info: &ContainerInfoProto,
) -> Result<Option<(&'static str, String)>, ShellError> {
    let config = ReplicationConfig::from_wire(
        info.replication_type,
        info.replication_factor,
        info.ec_replication_config.as_ref(),
    )
    .map_err(nonsense)?;
    let id = ContainerId::from_wire(info.container_id);
    let replicas = scm.replicas(id).await?;
    let indexes: BTreeSet<i64> = replicas.iter().map(|r| r.replica_index()).collect();
    Ok(match config {
        ReplicationConfig::Ec(ec) if indexes.len() < ec.data as usize => {
            Some(("EC", format!("#{id} ({} of {} indexes)", indexes.len(), ec.data)))
        }
        ReplicationConfig::Ec(_) => None,
        _ => replicas.is_empty().then(|| ("RATIS", format!("#{id}"))),
    })
}

fn explain(facts: &Facts) -> Answer {
    let mut answer = Answer::default();
    let held: Vec<_> = facts.rules.iter().filter(|rule| !rule.validate).collect();
    answer.say(format!(
        "SCM is in safe mode: {} of {} rules are not satisfied yet.",
        held.len(),
        facts.rules.len()
    ));
    for rule in held {
        answer.say(format!("{}: {}.", rule.rule_name, rule.status_text));
        answer.wait_for(wanted_by(&rule.rule_name, facts));
    }
    if facts.partial {
        answer.say(format!("Only the first {MOST_CONTAINERS} containers were checked."));
    }
    answer
}

/// The condition that satisfies a rule.
fn wanted_by(rule: &str, facts: &Facts) -> String {
    match rule {
        "DataNodeSafeModeRule" => {
            let registered = match &facts.registered[..] {
                [] => "none has registered".to_owned(),
                hosts => format!("registered: {}", some_of(hosts, NAMED)),
            };
            format!("more DataNodes (hdds.scm.safemode.min.datanode); {registered}")
        }
        "RatisContainerSafeModeRule" | "ECContainerSafeModeRule" => {
            let kind = if rule.starts_with("EC") { "EC" } else { "RATIS" };
            let names = facts.unreported.get(kind).map_or(&[][..], Vec::as_slice);
            format!("DataNodes that report containers {}", some_of(names, NAMED))
        }
        "HealthyPipelineSafeModeRule" | "OneReplicaPipelineSafeModeRule" => {
            let name = |(id, hosts): &(String, Vec<String>)| {
                format!("{} of pipeline {id}", hosts.join(" and "))
            };
            let names: Vec<String> = facts.pipelines.iter().map(name).collect();
            match names.is_empty() {
                true => "DataNodes that form pipelines, and report them".to_owned(),
                false => format!("heartbeats of {}", some_of(&names, NAMED)),
            }
        }
        "StateMachineReadyRule" => "SCM's tables to have caught up with its Raft log".to_owned(),
        other => format!("rule {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(name: &str, validate: bool) -> SafeModeRuleStatusProto {
        SafeModeRuleStatusProto { rule_name: name.into(), validate, status_text: "figures".into() }
    }

    #[test]
    fn rules_that_hold_are_not_waited_for() {
        let facts = Facts {
            rules: vec![rule("DataNodeSafeModeRule", true), rule("ECContainerSafeModeRule", false)],
            unreported: [("EC", vec!["#3 (1 of 3 indexes)".to_owned()])].into(),
            ..Facts::default()
        };
        let answer = explain(&facts);
        assert_eq!(
            answer.says,
            [
                "SCM is in safe mode: 1 of 2 rules are not satisfied yet.",
                "ECContainerSafeModeRule: figures.",
            ]
        );
        assert_eq!(answer.waits_for, ["DataNodes that report containers #3 (1 of 3 indexes)"]);
        assert_eq!(out().waits_for, [""; 0]);
    }

    #[test]
    fn each_rule_names_what_it_waits_for() {
        let facts = Facts {
            registered: vec!["host1".into()],
            pipelines: vec![("p1".into(), vec!["host2".into(), "host3".into()])],
            unreported: [("RATIS", vec!["#4".to_owned()])].into(),
            ..Facts::default()
        };
        let wanted = |rule| wanted_by(rule, &facts);
        assert!(wanted("DataNodeSafeModeRule").ends_with("; registered: host1"));
        assert_eq!(wanted("RatisContainerSafeModeRule"), "DataNodes that report containers #4");
        let pipelines = "heartbeats of host2 and host3 of pipeline p1";
        assert_eq!(wanted("HealthyPipelineSafeModeRule"), pipelines);
        assert_eq!(wanted("OneReplicaPipelineSafeModeRule"), pipelines);
        assert!(
            wanted_by("DataNodeSafeModeRule", &Facts::default()).ends_with("none has registered")
        );
    }
}
