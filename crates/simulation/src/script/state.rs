//! Reports of servers about themselves and each other.

use std::fmt::Write as _;

use anyhow::{Context, ensure};
use client::ListContainers;
use proto::hdds::{
    LifeCycleState, Node, NodeOperationalState, NodeState, TransferLeadershipRequestProto,
};
use proto::ozone::{OmRequest, Status, Type};
use types::{ContainerId, DatanodeDetails, Pipeline, PipelineState};

use super::Server;
use super::cluster::Cluster;
use super::keys::Key;
use super::stage::{Stage, minutes};

/// A replica as SCM has it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReplicaSeen {
    /// Its server.
    pub on: Server,
    /// Its state, as SCM names it.
    pub state: String,
    /// Its index, 0 for a full copy.
    pub index: i64,
}

/// A container as SCM has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContainerSeen {
    /// Its id.
    pub id: ContainerId,
    /// Its state.
    pub state: LifeCycleState,
    /// Blocks in it.
    pub keys: u64,
    /// Replicas that it is to have.
    pub copies: usize,
}

/// Containers that a listing shows at most.
const LISTED: u32 = 10_000;

/// Health states that SCM reports for containers in need of repair.
const TROUBLES: [&str; 4] = ["UNDER_REPLICATED", "OVER_REPLICATED", "MIS_REPLICATED", "UNHEALTHY"];

impl Cluster {
    /// Has the OM that leads hand over.
    ///
    /// # Errors
    /// When that is refused.
    pub fn transfer_om_leadership(&mut self, to: Server) -> anyhow::Result<()> {
        let new_leader_id = to.to_string();
        let asked = TransferLeadershipRequestProto { new_leader_id };
        let request = OmRequest {
            cmd_type: Type::TransferLeadership as i32,
            transfer_om_leadership_request: Some(Box::new(asked)),
            ..OmRequest::default()
        };
        let answer = self.ask(move |it| async move { it.om.submit(request).await })??;
        ensure!(answer.status() == Status::Ok, "{to} does not lead: {answer:?}");
        Ok(())
    }

    /// Has an OM lead, whichever does.
    ///
    /// # Errors
    /// When it does not.
    pub fn have_om_lead(&mut self, om: Server) -> anyhow::Result<()> {
        self.transfer_om_leadership(om)?;
        let leader = self.om_leader()?;
        ensure!(leader == om, "{leader} leads");
        Ok(())
    }

    /// Decommissions an OM; whether that was done, and why not.
    ///
    /// # Errors
    /// When no OM answers.
    pub fn decommission_om(&mut self, om: Server, host: &str) -> anyhow::Result<(bool, String)> {
        let (name, host) = (om.to_string(), host.to_owned());
        let asked = self.ask(move |it| async move { it.om.decommission_om(&name, &host).await });
        let answer = asked??;
        Ok((answer.success, answer.error_msg.unwrap_or_default()))
    }

    /// The OM that leads and serves.
    ///
    /// # Errors
    /// When none does.
    pub fn om_leader(&mut self) -> anyhow::Result<Server> {
        let states = self.ask(|it| async move { it.om.om_states().await })?;
        let states = states.into_iter().filter_map(|(_, state)| Some(state.ok()?.0));
        let leads = states.filter(|state| state.role == "LEADER" && state.ready);
        let leader = leads.max_by_key(|state| state.term).context("no OM leads")?;
        let found =
            self.machines().servers().iter().find(|server| server.to_string() == leader.node_id);
        found.copied().with_context(|| format!("{} leads", leader.node_id))
    }

    /// Has an OM lead, and reads everything there.
    ///
    /// # Errors
    /// When it does not lead, or a key is not there or another one.
    pub fn leads_and_has_all(&mut self, om: Server, keys: &[Key]) -> anyhow::Result<()> {
        self.expect(&format!("{om} leads"), minutes(1), |c| {
            c.transfer_om_leadership(om)?;
            let leader = c.om_leader()?;
            ensure!(leader == om, "{leader} leads");
            Ok(())
        })?;
        self.read(keys)
    }

    /// Checks that an OM has applied all entries that the service has committed.
    ///
    /// # Errors
    /// How far it is, when it is not.
    pub fn om_is_even(&mut self, om: Server) -> anyhow::Result<()> {
        let states = self.ask(|it| async move { it.om.om_states().await })?;
        let states: Vec<_> =
            states.into_iter().filter_map(|(_, state)| Some(state.ok()?.0)).collect();
        let newest = states.iter().map(|state| state.committed).max().unwrap_or(0);
        let own = states.iter().find(|state| state.node_id == om.to_string());
        let own = own.with_context(|| format!("{om} does not answer"))?;
        let (applied, leader) = (own.applied, &own.leader_id);
        ensure!(
            applied == newest && leader.is_some(),
            "{om} has {applied} of {newest}, {leader:?} leads"
        );
        Ok(())
    }

    /// The names of the OMs with a vote.
    ///
    /// # Errors
    /// When no OM answers.
    pub fn om_voters(&mut self) -> anyhow::Result<Vec<Server>> {
        let told = self.ask(|it| async move { it.om.om_configurations().await })?;
        let told = told.into_iter().filter_map(|(_, answer)| answer.ok()?.membership);
        let told = told.filter_map(|bytes| multiraft::Membership::decode(bytes).ok());
        let last = told.max_by_key(|members| members.index).context("no OM reports its members")?;
        Ok(self.voters(&last))
    }

    /// The servers with a vote, in order.
    pub fn voters(&self, members: &multiraft::Membership) -> Vec<Server> {
        let hosts = members.voters().filter_map(|voter| voter.peer.address.rsplit_once(':'));
        let mut found: Vec<Server> =
            hosts.filter_map(|(host, _)| self.machines().server_at(host)).collect();
        found.sort_unstable();
        found
    }

    /// The DataNodes as SCM has them, some of them twice after they got another disk.
    ///
    /// # Errors
    /// When SCM does not say.
    pub fn nodes(&mut self) -> anyhow::Result<Vec<(Server, Node)>> {
        let nodes = self.ask(|it| async move { it.scm.nodes(None, None).await })??;
        let mut found = Vec::new();
        for node in nodes {
            let host = DatanodeDetails::from_wire(&node.node_id)?.host;
            found.push((self.machines().server_at(&host).with_context(|| host.clone())?, node));
        }
        Ok(found)
    }

    /// Checks that SCM has a node in a state.
    ///
    /// # Errors
    /// The states that SCM has it in.
    pub fn node_is(&mut self, server: Server, state: NodeState) -> anyhow::Result<()> {
        let of_node = self.nodes()?.into_iter().filter(|(of, _)| *of == server);
        let states: Vec<NodeState> =
            of_node.flat_map(|(_, node)| node.node_states().collect::<Vec<_>>()).collect();
        ensure!(states.contains(&state), "{server} is {states:?}");
        Ok(())
    }

    /// Checks that an operator's order for a node was carried out.
    ///
    /// # Errors
    /// The states that SCM has it in.
    pub fn node_has(&mut self, server: Server, state: NodeOperationalState) -> anyhow::Result<()> {
        let of_node = self.nodes()?.into_iter().filter(|(of, _)| *of == server);
        let states: Vec<NodeOperationalState> = of_node
            .flat_map(|(_, node)| node.node_operational_states().collect::<Vec<_>>())
            .collect();
        ensure!(states.contains(&state), "{server} is {states:?}");
        Ok(())
    }

    /// The members of each pipeline that is open.
    ///
    /// # Errors
    /// When SCM does not say.
    pub fn open_pipelines(&mut self) -> anyhow::Result<Vec<Vec<Server>>> {
        let told = self.ask(|it| async move { it.scm.pipelines().await })??;
        let mut found = Vec::new();
        for pipeline in told {
            let pipeline = Pipeline::from_wire(&pipeline)?;
            if pipeline.state == PipelineState::Open {
                let on = pipeline.members.iter().filter_map(|m| self.machines().server_at(&m.host));
                found.push(on.collect());
            }
        }
        Ok(found)
    }

    /// The members of the pipelines of three, each with the one that leads.
    ///
    /// # Errors
    /// When SCM does not say, or no member leads one of them.
    pub fn led_pipelines(&mut self) -> anyhow::Result<Vec<(Server, Vec<Server>)>> {
        let told = self.ask(|it| async move { it.scm.pipelines().await })??;
        let mut found = Vec::new();
        for pipeline in told.iter().filter(|pipeline| pipeline.members.len() == 3) {
            let mut members = Vec::new();
            let mut leader = None;
            for member in &pipeline.members {
                let node = DatanodeDetails::from_wire(member)?;
                let here = self.machines().server_at(&node.host);
                let server = here.with_context(|| node.host.clone())?;
                leader = leader.or((node.id.to_string() == pipeline.leader_id()).then_some(server));
                members.push(server);
            }
            members.sort_unstable();
            found.push((leader.context("a pipeline has no leader")?, members));
        }
        Ok(found)
    }

    /// The replicas of a container in SCM, in order.
    ///
    /// # Errors
    /// When SCM does not say.
    pub fn replicas(&mut self, container: ContainerId) -> anyhow::Result<Vec<ReplicaSeen>> {
        let told = self.ask(move |it| async move { it.scm.replicas(container).await })??;
        let mut found = Vec::new();
        for replica in told {
            let host = &replica.datanode_details.host_name;
            let on = self.machines().server_at(host).with_context(|| host.clone())?;
            let index = replica.replica_index();
            found.push(ReplicaSeen { on, state: replica.state, index });
        }
        found.sort_unstable();
        Ok(found)
    }

    /// All containers of SCM.
    ///
    /// # Errors
    /// When SCM does not say.
    pub fn all_containers(&mut self) -> anyhow::Result<Vec<ContainerSeen>> {
        let all = ListContainers { count: LISTED, ..ListContainers::default() };
        let told = self.ask(move |it| async move { it.scm.list_containers(&all).await })??.0;
        let one = |c: &proto::hdds::ContainerInfoProto| ContainerSeen {
            id: ContainerId::from_wire(c.container_id),
            state: c.state(),
            keys: c.number_of_keys,
            copies: c.ec_replication_config.as_ref().map_or(3, |of| (of.data + of.parity) as usize),
        };
        Ok(told.iter().map(one).collect())
    }

    /// Has SCM close all containers that are open, and does not wait.
    ///
    /// # Errors
    /// When SCM does not.
    pub fn close_open_containers(&mut self) -> anyhow::Result<()> {
        for ContainerSeen { id, state, .. } in self.all_containers()? {
            if state == LifeCycleState::Open {
                self.ask(move |it| async move { it.scm.close_container(id).await })??;
            }
        }
        Ok(())
    }

    /// Has the containers of all keys closed, and waits until they are.
    ///
    /// # Errors
    /// When they are not.
    pub fn close_containers(&mut self) -> anyhow::Result<()> {
        self.expect("all containers with keys are closed", minutes(10), |c| {
            c.close_open_containers()?;
            for container in c.all_containers()? {
                let ContainerSeen { id, state, keys, .. } = container;
                let is_over = matches!(state, LifeCycleState::Closed | LifeCycleState::Deleted);
                ensure!(is_over || keys == 0 && state != LifeCycleState::Open, "{id} is {state:?}");
            }
            Ok(())
        })
    }

    /// Checks that each container with keys is closed and has its required number of replicas, all
    /// CLOSED, and SCM has nothing to repair.
    ///
    /// # Errors
    /// What is not so.
    pub fn settled(&mut self) -> anyhow::Result<()> {
        for ContainerSeen { id, state, keys, copies } in self.all_containers()? {
            if keys == 0 || matches!(state, LifeCycleState::Deleted | LifeCycleState::Deleting) {
                continue;
            }
            let there = self.replicas(id)?;
            let closed = there.iter().filter(|replica| replica.state == "CLOSED").count();
            let is_settled = state == LifeCycleState::Closed && there.len() == copies;
            ensure!(is_settled && closed == copies, "container {id} is {state:?}: {there:?}");
        }
        let report = self.ask(|it| async move { it.scm.container_report().await })??;
        let troubled = report.stat.iter().filter(|stat| TROUBLES.contains(&stat.key.as_str()));
        let troubled: Vec<String> = troubled
            .filter(|stat| stat.value() > 0)
            .map(|stat| format!("{} {}", stat.value(), stat.key))
            .collect();
        ensure!(troubled.is_empty(), "{troubled:?}");
        Ok(())
    }

    /// State of all servers, for the text of a failure.
    pub fn describe(&mut self) -> String {
        let mut text = String::new();
        let _ = writeln!(text, "  OM that leads: {:?}", self.om_leader());
        let _ = writeln!(text, "  SCM that leads: {:?}", self.scm_leader());
        let _ = writeln!(text, "  safe mode: {:?}", self.safe_mode());
        for (server, node) in self.nodes().unwrap_or_default() {
            let (health, state) =
                (node.node_states().next(), node.node_operational_states().next());
            let _ = writeln!(text, "  {server} is {health:?}, {state:?}");
        }
        for ContainerSeen { id, state, keys, .. } in self.all_containers().unwrap_or_default() {
            let replicas = self.replicas(id).unwrap_or_default();
            let one = |replica: &ReplicaSeen| {
                format!("{} {} {}", replica.on, replica.state, replica.index)
            };
            let replicas: Vec<String> = replicas.iter().map(one).collect();
            let _ =
                writeln!(text, "  container {id} {state:?}, {keys} keys: {}", replicas.join(", "));
        }
        text
    }
}
