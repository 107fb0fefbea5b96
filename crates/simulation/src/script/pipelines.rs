//! Pipelines as SCM has them, and reports of single DataNodes.

use std::collections::BTreeSet;

use anyhow::{Context, ensure};
use bytes::Bytes;
use proto::datanode as dn;
use proto::datanode::container_data_proto::State;
use proto::hdds::NodeState;
use types::{ContainerId, DatanodeDetails, Pipeline, PipelineId, PipelineState};

use super::Server;
use super::cluster::Cluster;
use super::keys::Key;
use super::stage::Stage;
use crate::scenario::replica;

/// An open pipeline of three as SCM has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PipelineSeen {
    /// Its id.
    pub id: PipelineId,
    /// Its members, in order.
    pub members: Vec<Server>,
    /// Its leader, if one reported to SCM.
    pub leader: Option<Server>,
}

impl PipelineSeen {
    /// The member that leads.
    ///
    /// # Errors
    /// When none reported to SCM.
    pub fn leader(&self) -> anyhow::Result<Server> {
        self.leader.with_context(|| format!("no member leads: {self:?}"))
    }

    /// The members that do not lead.
    ///
    /// # Errors
    /// When no leader reported to SCM.
    pub fn followers(&self) -> anyhow::Result<Vec<Server>> {
        let leader = self.leader()?;
        Ok(self.members.iter().copied().filter(|member| *member != leader).collect())
    }
}

impl Cluster {
    /// The open pipelines of three.
    ///
    /// # Errors
    /// When SCM does not answer.
    pub fn pipelines(&mut self) -> anyhow::Result<Vec<PipelineSeen>> {
        let all = self.ask(|it| async move { it.scm.pipelines().await })??;
        let mut found = Vec::new();
        for pipeline in all {
            let pipeline = Pipeline::from_wire(&pipeline)?;
            if pipeline.state != PipelineState::Open || pipeline.members.len() != 3 {
                continue;
            }
            let server_of = |node: &DatanodeDetails| {
                self.machines().server_at(&node.host).with_context(|| node.host.clone())
            };
            let leader = pipeline.leader.and_then(|id| pipeline.member(id));
            let leader = leader.map(server_of).transpose()?;
            let members = pipeline.members.iter().map(server_of);
            let mut members = members.collect::<anyhow::Result<Vec<Server>>>()?;
            members.sort_unstable();
            found.push(PipelineSeen { id: pipeline.id, members, leader });
        }
        Ok(found)
    }

    /// The ids of the open pipelines of three.
    ///
    /// # Errors
    /// When SCM does not answer.
    pub fn pipeline_ids(&mut self) -> anyhow::Result<BTreeSet<PipelineId>> {
        Ok(self.pipelines()?.into_iter().map(|pipeline| pipeline.id).collect())
    }

    /// The open pipeline of three that a key was written through: its container is still open, and
    /// the member that leads has a replica of it.
    ///
    /// # Errors
    /// When there is none any more, or its leader is unknown.
    pub fn written_through(&mut self, key: &Key) -> anyhow::Result<PipelineSeen> {
        let containers = self.containers(std::slice::from_ref(key))?;
        let id = *containers.last().with_context(|| format!("key {} has no block", key.name))?;
        let told = self.ask(move |it| async move { it.scm.container(id).await })??;
        let of = PipelineId::from_wire(&told.pipeline.id)?;
        let pipeline = self.pipelines()?.into_iter().find(|pipeline| pipeline.id == of);
        let pipeline = pipeline.with_context(|| format!("container {id} has no open pipeline"))?;
        let leader = pipeline.leader()?;
        ensure!(self.on_disk(leader)?.contains(&id), "{leader} leads and has no container {id}");
        Ok(pipeline)
    }

    /// Returns `true` if a DataNode has replicas of some of these containers on its disk: its
    /// faults affect them.
    ///
    /// # Errors
    /// When it has none.
    pub fn holds(
        &self,
        datanode: Server,
        containers: &BTreeSet<ContainerId>,
    ) -> anyhow::Result<BTreeSet<ContainerId>> {
        let there = self.on_disk(datanode)?;
        let held: BTreeSet<ContainerId> = there.intersection(containers).copied().collect();
        ensure!(!held.is_empty(), "{datanode} has {there:?} and none of {containers:?}");
        Ok(held)
    }

    /// Returns `true` if not all replicas of these keys exist: a fault affected them.
    ///
    /// # Errors
    /// When they are.
    pub fn lack_replicas(&mut self, keys: &[Key]) -> anyhow::Result<()> {
        let whole = self.whole(keys);
        ensure!(whole.is_err(), "each block of these keys has all its replicas");
        Ok(())
    }

    /// A DataNode as SCM has it.
    ///
    /// # Errors
    /// When it has none.
    pub fn details(&mut self, datanode: Server) -> anyhow::Result<DatanodeDetails> {
        let nodes = self.nodes()?;
        let lives =
            |node: &proto::hdds::Node| node.node_states().any(|state| state != NodeState::Dead);
        let of = nodes.iter().filter(|(server, _)| *server == datanode).map(|(_, node)| node);
        // One that got another disk is registered twice.
        let node = of.clone().find(|node| lives(node)).or(of.clone().next());
        let node = node.with_context(|| format!("SCM has no {datanode}"))?;
        Ok(DatanodeDetails::from_wire(&node.node_id)?)
    }

    /// The state of a container's replica, as its DataNode reports it.
    ///
    /// # Errors
    /// When the DataNode has none, or does not answer.
    pub fn state_on(&mut self, datanode: Server, id: ContainerId) -> anyhow::Result<State> {
        let node = self.details(datanode)?;
        let read = dn::ContainerCommandRequestProto {
            cmd_type: dn::Type::ReadContainer as i32,
            read_container: Some(dn::ReadContainerRequestProto {}),
            ..replica::command(&node, id)
        };
        let answer =
            self.ask(
                move |it| async move { replica::call(&it.pool, &node, read, Bytes::new()).await },
            )?;
        let (answer, _) = answer.map_err(|absent| anyhow::anyhow!("{datanode}: {absent:?}"))?;
        let data = answer.read_container.and_then(|of| of.container_data);
        Ok(data.with_context(|| format!("{datanode} says nothing of container {id}"))?.state())
    }
}
