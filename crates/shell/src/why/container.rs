//! `o3 why container`.

use clap::Args;
use client::{ContainerHistory, ErrorKind, ScmClient};
use config::Configuration;
use proto::hdds::{ContainerInfoProto, LifeCycleState, ScmContainerReplicaProto};
use service::readable_bytes;
use types::{ContainerId, DatanodeId, Pipeline, PipelineId, PipelineState, ReplicationConfig};

use super::answer::count;
use super::{Answer, KnownNode, known_nodes};
use crate::admin::scm_client::{ScmArgs, nonsense};
use crate::{ShellError, render};

/// Explain the state of a container.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  o3 why container 5\n  o3 why container 5 --json")]
pub struct Container {
    /// Container id.
    id: ContainerId,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    scm: ScmArgs,
}

/// State of a container in SCM.
struct Facts {
    info: ContainerInfoProto,
    config: ReplicationConfig,
    replicas: Vec<Replica>,
    /// Its pipeline, if that still exists.
    pipeline: Option<Pipeline>,
    /// Members of the pipeline without current heartbeats.
    silent_members: Vec<String>,
    in_safe_mode: bool,
    /// Its state in the replication manager's last check, if that includes it among its samples.
    health: Option<String>,
    /// Its past events, and operations in progress.
    history: ContainerHistory,
}

/// A replica and its node.
struct Replica {
    host: String,
    /// The node's states, and whether it is in service; `None` if SCM has no such node.
    node: Option<(String, bool)>,
    /// CLOSED, UNHEALTHY and others.
    state: String,
    index: u32,
    sequence_id: i64,
}

/// Runs the command.
pub(super) async fn run(args: Container, conf: &Configuration) -> Result<(), ShellError> {
    let facts = gather(&args.scm.client(conf), args.id).await?;
    explain(&facts).print(&format!("container {}", args.id), args.json)
}

async fn gather(scm: &ScmClient, id: ContainerId) -> Result<Facts, ShellError> {
    let info = scm.container(id).await?.container_info;
    let config = ReplicationConfig::from_wire(
        info.replication_type,
        info.replication_factor,
        info.ec_replication_config.as_ref(),
    )
    .map_err(nonsense)?;
    let nodes = known_nodes(scm).await?;
    let find = |id: DatanodeId| nodes.iter().find(|node| node.details.id == id);
    let replicas = scm.replicas(id).await?;
    let replicas = replicas.iter().map(|r| replica(r, find)).collect::<Result<Vec<_>, _>>()?;
    let pipeline = match &info.pipeline_id {
        Some(id) => pipeline(scm, PipelineId::from_wire(id).map_err(nonsense)?).await?,
        None => None,
    };
    let members = pipeline.iter().flat_map(|p| &p.members);
    let silent_members = members
        .filter_map(|member| match find(member.id) {
            Some(node) if node.health == "HEALTHY" => None,
            Some(node) => Some(format!("{} ({})", member.host, node.states())),
            None => Some(format!("{} (not registered)", member.host)),
        })
        .collect();
    let samples = scm.container_report().await?.stat_sample;
    let named = samples.into_iter().find(|s| s.container.iter().any(|c| c.id == id.0));
    Ok(Facts {
        config,
        replicas,
        pipeline,
        silent_members,
        in_safe_mode: scm.in_safe_mode().await?,
        health: named.map(|sample| sample.key),
        history: scm.container_history(id).await?,
        info,
    })
}

fn replica<'a>(
    r: &ScmContainerReplicaProto,
    find: impl Fn(DatanodeId) -> Option<&'a KnownNode>,
) -> Result<Replica, ShellError> {
    let details = types::DatanodeDetails::from_wire(&r.datanode_details).map_err(nonsense)?;
    Ok(Replica {
        node: find(details.id).map(|node| (node.states(), node.serves())),
        host: details.host,
        state: r.state.clone(),
        index: u32::try_from(r.replica_index()).unwrap_or(0),
        sequence_id: r.sequence_id,
    })
}

async fn pipeline(scm: &ScmClient, id: PipelineId) -> Result<Option<Pipeline>, ShellError> {
    match scm.pipeline(id).await {
        Ok(pipeline) => Pipeline::from_wire(&pipeline).map(Some).map_err(nonsense),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e.into()),
    }
}

impl Facts {
    /// The operations in progress, or else `next`.
    fn ordered_or(&self, next: &str) -> String {
        match &self.history.under_way[..] {
            [] => next.to_owned(),
            under_way => format!("pending operations: {}", under_way.join("; ")),
        }
    }
}

fn explain(facts: &Facts) -> Answer {
    let mut answer = Answer::default();
    let info = &facts.info;
    let (state, kind) = (render::container::state(info), &facts.config);
    let (keys, bytes) = (info.number_of_keys, readable_bytes(info.used_bytes));
    answer.say(format!(
        "Container #{} ({kind}) is {state}: {keys} blocks, {bytes}.",
        info.container_id
    ));
    match LifeCycleState::try_from(info.state) {
        Ok(LifeCycleState::Open) => open(facts, &mut answer),
        Ok(LifeCycleState::Closing) => closing(facts, &mut answer),
        Ok(LifeCycleState::Closed) => closed(facts, "CLOSED", &mut answer),
        Ok(LifeCycleState::QuasiClosed) => quasi_closed(facts, &mut answer),
        Ok(LifeCycleState::Deleting) => deleting(facts, &mut answer),
        _ => {}
    }
    if let Some(health) = &facts.health {
        answer.say(format!("In the replication manager's last run it was {health}."));
    }
    for line in render::container_history::lines(&facts.history) {
        answer.say(line);
    }
    if facts.in_safe_mode && !answer.waits_for.is_empty() {
        answer.wait_for("SCM to leave safe mode, before which it orders nothing (o3 why safemode)");
    }
    answer
}

fn open(facts: &Facts, answer: &mut Answer) {
    let Some(pipeline) = &facts.pipeline else {
        answer.say("Its pipeline does not exist any more.");
        answer.wait_for("SCM to close it");
        return;
    };
    let name = pipeline.id;
    match pipeline.state {
        PipelineState::Open => answer.say(format!("It is written through pipeline {name}.")),
        _ => {
            answer.say(format!("Its pipeline {name} accepts no writes."));
            answer.wait_for("SCM to close it");
        }
    }
    silent_members(facts, answer);
    if !facts.config.is_ec() && pipeline.leader.is_none() {
        answer.wait_for(format!(
            "a leader of pipeline {name}, for which a majority of its members (all if it is new) must be up"
        ));
    }
}

fn silent_members(facts: &Facts, answer: &mut Answer) {
    if !facts.silent_members.is_empty() {
        let names = facts.silent_members.join(", ");
        answer.say(format!("Unhealthy members of its pipeline: {names}."));
    }
}

fn closing(facts: &Facts, answer: &mut Answer) {
    list(facts, |_| None, answer);
    silent_members(facts, answer);
    if facts.replicas.is_empty() {
        answer.wait_for(facts.ordered_or("a DataNode to report a replica; none has"));
    } else {
        answer.wait_for("a member of its pipeline to close its replica and report it");
    }
}

/// Adds the reason for each replica that does not count. A replica counts in `state` on a node in
/// service.
fn list(facts: &Facts, counts: impl Fn(&Replica) -> Option<String>, answer: &mut Answer) -> usize {
    let (mut good, mut others) = (Vec::new(), Vec::new());
    for replica in &facts.replicas {
        match counts(replica) {
            Some(name) => good.push(name),
            None => others.push(replica),
        }
    }
    if !good.is_empty() {
        answer.say(format!("Good replicas: {}.", good.join(", ")));
    }
    for replica in &others {
        let node = replica.node.as_ref().map_or("not registered", |(states, _)| states);
        let (name, state, sequence) = (replica.name(), &replica.state, replica.sequence_id);
        answer.say(format!(
            "{name}: a {state} replica, written up to {sequence}, on a node that is {node}."
        ));
    }
    good.len()
}

impl Replica {
    fn name(&self) -> String {
        match self.index {
            0 => self.host.clone(),
            index => format!("{} (index {index})", self.host),
        }
    }

    /// Its name, if it counts.
    fn if_good(&self, state: &str) -> Option<String> {
        let serves = self.node.as_ref().is_some_and(|(_, serves)| *serves);
        (serves && self.state == state).then(|| self.name())
    }

    fn is_in_maintenance(&self, state: &str) -> bool {
        let node = self.node.as_ref().is_some_and(|(states, _)| states.contains("MAINTENANCE"));
        node && self.state == state
    }

    /// Returns `true` if it can be read now.
    fn is_readable(&self) -> bool {
        let heard = self.node.as_ref().is_some_and(|(states, _)| !states.starts_with("DEAD"));
        heard && !matches!(self.state.as_str(), "UNHEALTHY" | "INVALID" | "DELETED" | "RECOVERING")
    }
}

fn closed(facts: &Facts, state: &str, answer: &mut Answer) {
    let good = list(facts, |replica| replica.if_good(state), answer);
    if let ReplicationConfig::Ec(ec) = facts.config {
        let required = ec.data.saturating_add(ec.parity);
        let has = |index: &u32, which: &dyn Fn(&Replica) -> bool| {
            facts.replicas.iter().any(|r| r.index == *index && which(r))
        };
        let missing: Vec<u32> =
            (1..=required).filter(|index| !has(index, &|r| r.if_good(state).is_some())).collect();
        let readable = (1..=required).filter(|index| has(index, &Replica::is_readable)).count();
        if missing.is_empty() {
            return;
        }
        answer.say(format!("No good replica has index {missing:?}."));
        match readable >= ec.data as usize {
            true => answer.wait_for(facts.ordered_or(
                "copies of these indexes, or their reconstruction: SCM orders them in its next run, \
                 if a node has space and the racks allow it",
            )),
            false => answer.wait_for(format!(
                "nodes to return with other indexes: {readable} can be read, {} are needed",
                ec.data
            )),
        }
        return;
    }
    let required = facts.config.required_nodes() as usize;
    let in_maintenance = facts.replicas.iter().filter(|r| r.is_in_maintenance(state)).count();
    if good > 0 && good < required && good + in_maintenance >= required {
        answer.say(
            "Replicas in maintenance count, while \
             hdds.scm.replication.maintenance.replica.minimum others are online.",
        );
    } else if good < required && !facts.replicas.iter().any(Replica::is_readable) {
        answer.wait_for("a node to return with a replica: none can be read");
    } else if good < required {
        answer.wait_for(facts.ordered_or(&format!(
            "{} to be copied: SCM orders it in its next run, if a node has space and the racks \
             allow it",
            count(required - good, "more replica")
        )));
    } else if good > required {
        let more = count(good - required, "replica");
        let next = format!("{more} too many to be deleted, in SCM's next run");
        answer.wait_for(facts.ordered_or(&next));
    }
}

fn quasi_closed(facts: &Facts, answer: &mut Answer) {
    answer.say(
        "Its pipeline was closed before all members had closed their replicas: it is not known yet \
         which replica has all written data.",
    );
    let before = answer.waits_for.len();
    closed(facts, "QUASI_CLOSED", answer);
    if answer.waits_for.len() == before {
        answer.wait_for(
            "replicas of all nodes that wrote to it, or of a majority with the same data: the most \
             recent one is then closed",
        );
    }
}

fn deleting(facts: &Facts, answer: &mut Answer) {
    answer.say("All its blocks are deleted.");
    let names: Vec<String> = facts.replicas.iter().map(Replica::name).collect();
    if !names.is_empty() {
        answer.wait_for(format!("the deletion of its replicas on {}", names.join(", ")));
    }
}

#[cfg(test)]
mod tests {
    use types::{EcCodec, EcConfig};

    use super::*;

    fn facts(state: LifeCycleState, config: ReplicationConfig) -> Facts {
        let info = ContainerInfoProto {
            container_id: 5,
            state: state as i32,
            number_of_keys: 4,
            used_bytes: 3 << 20,
            ..Default::default()
        };
        Facts {
            info,
            config,
            replicas: Vec::new(),
            pipeline: None,
            silent_members: Vec::new(),
            in_safe_mode: false,
            health: None,
            history: ContainerHistory::default(),
        }
    }

    fn replica(host: &str, state: &str, node: &str, index: u32) -> Replica {
        let node = Some((node.to_owned(), node == "HEALTHY"));
        Replica { host: host.into(), node, state: state.into(), index, sequence_id: 7 }
    }

    #[test]
    fn a_container_that_is_as_it_should_be_waits_for_nothing() {
        let mut facts = facts(LifeCycleState::Closed, ReplicationConfig::RATIS_THREE);
        facts.replicas = ["a", "b", "c"].map(|n| replica(n, "CLOSED", "HEALTHY", 0)).into();
        let answer = explain(&facts);
        assert_eq!(
            answer.says,
            ["Container #5 (RATIS/THREE) is CLOSED: 4 blocks, 3.00 MB.", "Good replicas: a, b, c."]
        );
        assert!(answer.waits_for.is_empty());
    }

    #[test]
    fn replicas_that_do_not_count_say_why() {
        let mut facts = facts(LifeCycleState::Closed, ReplicationConfig::RATIS_THREE);
        facts.replicas = vec![
            replica("a", "CLOSED", "HEALTHY", 0),
            replica("b", "UNHEALTHY", "HEALTHY", 0),
            replica("c", "CLOSED", "DEAD", 0),
        ];
        facts.health = Some("UNDER_REPLICATED".into());
        let answer = explain(&facts);
        assert_eq!(
            answer.says[2..],
            [
                "b: a UNHEALTHY replica, written up to 7, on a node that is HEALTHY.",
                "c: a CLOSED replica, written up to 7, on a node that is DEAD.",
                "In the replication manager's last run it was UNDER_REPLICATED.",
            ]
        );
        assert!(answer.waits_for[0].starts_with("2 more replicas to be copied"), "{answer:?}");
        facts.replicas.remove(0);
        facts.in_safe_mode = true;
        let answer = explain(&facts);
        assert!(answer.waits_for[0].starts_with("a node to return"), "{answer:?}");
        assert!(answer.waits_for[1].contains("safe mode"), "{answer:?}");
    }

    #[test]
    fn what_is_under_way_is_what_is_waited_for() {
        let mut facts = facts(LifeCycleState::Closed, ReplicationConfig::RATIS_THREE);
        facts.replicas = ["a", "b"].map(|n| replica(n, "CLOSED", "HEALTHY", 0)).into();
        facts.history.under_way = vec!["d gets a copy from a".into()];
        facts.history.events = vec![proto::container_location::ContainerEventProto {
            first: 1_795_260_206_000,
            last: 1_795_260_206_000,
            times: 1,
            text: "c is dead: its replica does not count".into(),
        }];
        let answer = explain(&facts);
        assert_eq!(answer.waits_for, ["pending operations: d gets a copy from a"]);
        let last = answer.says.last().map(String::as_str);
        let wanted = "2026-11-21T11:23:26Z c is dead: its replica does not count";
        assert_eq!(last, Some(wanted));
    }

    #[test]
    fn a_node_in_maintenance_is_not_made_up_for() {
        let mut facts = facts(LifeCycleState::Closed, ReplicationConfig::RATIS_THREE);
        facts.replicas = ["a", "b"].map(|n| replica(n, "CLOSED", "HEALTHY", 0)).into();
        facts.replicas.push(replica("c", "CLOSED", "DEAD, IN_MAINTENANCE", 0));
        let answer = explain(&facts);
        assert!(answer.waits_for.is_empty(), "{answer:?}");
        assert!(answer.says[3].starts_with("Replicas in maintenance count"), "{answer:?}");
    }

    #[test]
    fn one_replica_too_many_waits_for_its_deletion() {
        let mut facts = facts(LifeCycleState::Closed, ReplicationConfig::RATIS_ONE);
        facts.replicas = ["a", "b"].map(|n| replica(n, "CLOSED", "HEALTHY", 0)).into();
        assert_eq!(
            explain(&facts).waits_for,
            ["1 replica too many to be deleted, in SCM's next run"]
        );
    }

    #[test]
    fn indexes_that_are_missing_are_named() {
        let ec = EcConfig { codec: EcCodec::Rs, data: 3, parity: 2, chunk_size: 1 << 20 };
        let mut facts = facts(LifeCycleState::Closed, ReplicationConfig::Ec(ec));
        facts.replicas = (1..=4).map(|n| replica("a", "CLOSED", "HEALTHY", n)).collect();
        let answer = explain(&facts);
        assert_eq!(answer.says[2], "No good replica has index [5].");
        assert!(answer.waits_for[0].contains("reconstruction"));
        facts.replicas.truncate(2);
        let answer = explain(&facts);
        assert!(answer.waits_for[0].ends_with("2 can be read, 3 are needed"), "{answer:?}");
    }

    #[test]
    fn a_container_that_is_written_or_closes_says_through_what() {
        let mut open = facts(LifeCycleState::Open, ReplicationConfig::RATIS_THREE);
        assert_eq!(explain(&open).waits_for, ["SCM to close it"]);
        open.silent_members = vec!["b (DEAD)".into()];
        open.info.state = LifeCycleState::Closing as i32;
        open.replicas = vec![replica("a", "OPEN", "HEALTHY", 0)];
        let answer = explain(&open);
        assert!(answer.says.iter().any(|line| line.contains("b (DEAD)")), "{answer:?}");
        assert!(answer.waits_for[0].starts_with("a member of its pipeline"), "{answer:?}");
        open.replicas.clear();
        assert!(explain(&open).waits_for[0].ends_with("none has"));
        open.info.state = LifeCycleState::QuasiClosed as i32;
        open.replicas = ["a", "b", "c"].map(|n| replica(n, "QUASI_CLOSED", "HEALTHY", 0)).into();
        assert!(explain(&open).waits_for[0].starts_with("replicas of all nodes"));
    }
}
