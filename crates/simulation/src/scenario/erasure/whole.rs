//! Checks that all acknowledged data exists: SCM has every index of each container on a node, and
//! of its healthy replicas, every set with the number of data indexes gives the contents of each
//! key.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use client::{Client, ScmClient};
use erasure::{BlockGroup, Codec, ReplicaIndex, Scheme};
use framed::ClientPool;
use proto::hdds::LifeCycleState;
use types::replication::EcConfig;
use types::{BlockId, ContainerId, DatanodeDetails, ReplicationConfig};

use super::board::{Board, connect, path};
use super::layout::{Layout, replica_file};
use super::placed;
use crate::scenario::process::on_runtime;
use crate::scenario::replica::{Absent, read};
use crate::scenario::safe_mode::Operator;

/// Interval of checks.
const INTERVAL: Duration = Duration::from_secs(3);

/// A block of a key that was acknowledged.
struct Wanted {
    name: String,
    id: BlockId,
    /// All its bytes.
    data: Bytes,
    /// Those of each index.
    parts: BTreeMap<u32, Bytes>,
}

/// A replica that SCM calls healthy.
type Healthy = (u32, DatanodeDetails);

/// Looks until all is whole.
pub fn verify(layout: &Layout, board: &Board, is_last: bool, done: &AtomicBool) {
    on_runtime(async {
        let Ok(client) = connect(layout) else { return };
        let scm = ScmClient::connect(layout.client());
        let pool = ClientPool::new(framed::ClientOptions::default());
        let looker = Looker { client, scm, pool, board, layout };
        let mut operator = Operator::default();
        loop {
            let mut lacking = looker.lacking().await;
            if !lacking.is_empty() {
                lacking.extend(operator.look(&looker.scm).await);
            }
            if board.has_policies.load(Ordering::Acquire) && lacking.is_empty() {
                lacking = placed::misplaced(&looker.client, &looker.scm, board, layout).await;
            }
            if is_last && lacking.is_empty() {
                lacking = looker.left_over().await;
                if !lacking.is_empty() {
                    lacking.extend(operator.look(&looker.scm).await);
                }
            }
            let is_whole = lacking.is_empty();
            *board.lacking.lock() = lacking;
            if is_whole {
                break;
            }
            tokio::time::sleep(INTERVAL).await;
        }
        done.store(true, Ordering::Release);
    });
}

struct Looker<'a> {
    client: Client,
    scm: ScmClient,
    pool: ClientPool,
    board: &'a Board,
    layout: &'a Layout,
}

impl Looker<'_> {
    /// Defects.
    async fn lacking(&self) -> Vec<String> {
        let wanted = match self.wanted().await {
            Ok(wanted) => wanted,
            Err(why) => return vec![why.to_string()],
        };
        let containers: BTreeSet<ContainerId> = wanted.iter().map(|of| of.id.container).collect();
        let mut healthy = BTreeMap::new();
        let mut lacking = Vec::new();
        for container in containers {
            match self.healthy(container).await {
                Ok(found) => _ = healthy.insert(container, found),
                Err(why) => lacking.push(format!("container {container}: {why}")),
            }
        }
        if !lacking.is_empty() {
            return lacking;
        }
        for block in &wanted {
            if let Some(nodes) = healthy.get(&block.id.container) {
                lacking.extend(self.check(block, nodes).await);
            }
        }
        lacking
    }

    /// The blocks of all keys that were acknowledged.
    async fn wanted(&self) -> anyhow::Result<Vec<Wanted>> {
        let mut kept = self.board.kept.lock().clone();
        kept.retain(|_, kept| kept.is_settled());
        let (mut wanted, mut holding) = (Vec::new(), BTreeSet::new());
        for (number, kept) in kept {
            let name = format!("key {number}");
            let info = self.client.key_info(&path(number)).await;
            let info = info.map_err(|error| anyhow::anyhow!("{name}: {error}"))?;
            let mut rest = kept.bytes();
            for location in info.key_location_list.iter().flat_map(|list| &list.key_locations) {
                let id = BlockId::from_wire(&location.block_id);
                let data = rest.split_to((location.length as usize).min(rest.len()));
                let parts = self.board.parts(&data);
                let there = parts.iter().filter(|(_, part)| !part.is_empty());
                holding.extend(there.map(|(index, _)| (id.container, *index)));
                wanted.push(Wanted { name: name.clone(), id, data, parts });
            }
            if !rest.is_empty() {
                anyhow::bail!("{name}: {} of its bytes are in no block", rest.len());
            }
        }
        *self.board.holding.lock() = holding;
        Ok(wanted)
    }

    /// The replicas of a container that SCM calls healthy, each index at least once. One that is
    /// open is closed.
    async fn healthy(&self, container: ContainerId) -> anyhow::Result<Vec<Healthy>> {
        let state = self.scm.container(container).await?.container_info.state();
        if state == LifeCycleState::Open {
            self.scm.close_container(container).await?;
        }
        let replicas = self.scm.replicas(container).await?;
        let closed = replicas.iter().filter(|replica| replica.state == "CLOSED");
        let healthy = closed.filter_map(|replica| {
            let index = u32::try_from(replica.replica_index()).ok()?;
            Some((index, DatanodeDetails::from_wire(&replica.datanode_details).ok()?))
        });
        let healthy: Vec<Healthy> = healthy.collect();
        let there: BTreeSet<u32> = healthy.iter().map(|(index, _)| *index).collect();
        let (all, count) = self.board.replicas();
        match state == LifeCycleState::Closed && there == all && healthy.len() >= count {
            true => Ok(healthy),
            false => {
                let states = replicas.iter().map(|r| {
                    let host = &r.datanode_details.host_name;
                    format!("{} of index {} on {host}", r.state, r.replica_index())
                });
                anyhow::bail!("{}, {}", state.as_str_name(), states.collect::<Vec<_>>().join(", "))
            }
        }
    }

    /// Reads a block from every set of replicas.
    async fn check(&self, block: &Wanted, nodes: &[Healthy]) -> Vec<String> {
        let mut lacking = Vec::new();
        let mut found = Vec::new();
        for (index, node) in nodes {
            let here =
                || format!("{} block {} index {index} on {}", block.name, block.id, node.host);
            let Some(part) = block.parts.get(index) else { continue };
            match read(&self.pool, node, block.id).await {
                // Padding has no block where nothing was written.
                Err(Absent::Nothing) if part.is_empty() => found.push((*index, Bytes::new())),
                Ok(replica) if replica.index != *index => {
                    lacking.push(format!("{} is of index {}", here(), replica.index));
                }
                // There may be stripes after the acknowledged ones.
                Ok(replica) if replica.bytes.starts_with(part) => {
                    found.push((*index, replica.bytes.slice(..part.len())));
                }
                Ok(replica) => {
                    let (got, long) = (replica.bytes.len(), part.len());
                    lacking.push(format!("{} has {got} bytes, {long} others were written", here()));
                }
                Err(absent) => lacking.push(format!("{}: {absent:?}", here())),
            }
        }
        if lacking.is_empty()
            && let ReplicationConfig::Ec(coding) = self.board.replication
            && let Err(why) = self.decode(coding, block, &found)
        {
            lacking.push(format!("{} block {}: {why}", block.name, block.id));
        }
        lacking
    }

    /// Decodes a block from every set of d replicas.
    fn decode(
        &self,
        coding: EcConfig,
        block: &Wanted,
        found: &[(u32, Bytes)],
    ) -> anyhow::Result<()> {
        let scheme = Scheme::new(coding)?;
        let (codec, group) = (Codec::new(scheme), BlockGroup::new(scheme, block.data.len() as u64));
        let lengths = group.lengths(0..group.longest_replica())?;
        for set in sets(found.len(), scheme.data()) {
            let of_set = |at: &usize| Some((scheme.replica(found[*at].0).ok()?, &found[*at].1));
            let mut cells: BTreeMap<ReplicaIndex, &[u8]> =
                set.iter().filter_map(of_set).map(|(index, bytes)| (index, &bytes[..])).collect();
            if cells.len() < scheme.data() {
                // The same index on two nodes.
                continue;
            }
            // Padding is known.
            for index in scheme.data_replicas().filter(|index| lengths.is_padding(*index)) {
                cells.entry(index).or_default();
            }
            let available: Vec<ReplicaIndex> = cells.keys().copied().collect();
            let wanted = scheme.data_replicas().filter(|index| !cells.contains_key(index));
            let wanted: Vec<ReplicaIndex> = wanted.collect();
            let length = |index: &ReplicaIndex| usize::try_from(lengths.of(*index)).unwrap_or(0);
            let mut decoded: Vec<Vec<u8>> = wanted.iter().map(|i| vec![0; length(i)]).collect();
            let mut out: Vec<&mut [u8]> = decoded.iter_mut().map(Vec::as_mut_slice).collect();
            let decoder = codec.decoder(&available, &wanted)?;
            let sources: Vec<&[u8]> = decoder.sources().iter().map(|index| cells[index]).collect();
            decoder.decode(&lengths, &sources, &mut out)?;
            for (index, bytes) in wanted.iter().zip(&decoded) {
                if block.parts.get(&index.get()).is_none_or(|part| part != bytes) {
                    anyhow::bail!("index {index} is another one, decoded from {available:?}");
                }
            }
            self.board.decoded.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Leftovers: replicas that a coordinator began to write, and blocks of deleted keys.
    async fn left_over(&self) -> Vec<String> {
        let mut left: Vec<String> = recovering(self.layout);
        let nodes = match self.scm.nodes(None, None).await {
            Ok(nodes) => nodes,
            Err(error) => return vec![error.to_string()],
        };
        let nodes = nodes.iter().filter_map(|node| DatanodeDetails::from_wire(&node.node_id).ok());
        let nodes: Vec<DatanodeDetails> = nodes.collect();
        let gone = self.board.gone.lock().clone();
        let mut containers = BTreeSet::new();
        for block in gone {
            for node in &nodes {
                match read(&self.pool, node, block).await {
                    Ok(_) | Err(Absent::Wrong(_)) => {
                        containers.insert(block.container);
                        left.push(format!("block {block} was deleted, and is on {}", node.host));
                    }
                    Err(_) => {}
                }
            }
        }
        // Blocks are deleted where their containers are closed.
        for container in containers {
            match self.scm.container(container).await {
                Ok(found) if found.container_info.state() == LifeCycleState::Open => {
                    let _ = self.scm.close_container(container).await;
                }
                Ok(found) => {
                    let state = found.container_info.state().as_str_name();
                    left.push(format!("container {container} is {state}"));
                }
                Err(error) => left.push(format!("container {container}: {error}")),
            }
        }
        left
    }
}

/// All sets of `of` numbers below `count`.
fn sets(count: usize, of: usize) -> Vec<Vec<usize>> {
    let all = (0_u32..1 << count).filter(|set| set.count_ones() as usize == of);
    all.map(|set| (0..count).filter(|at| set & 1 << at != 0).collect()).collect()
}

/// Replicas that are still RECOVERING by their container files.
fn recovering(layout: &Layout) -> Vec<String> {
    let all = (0..layout.datanodes()).flat_map(|datanode| {
        layout.containers(datanode).into_iter().map(move |found| (datanode, found))
    });
    let recovering = all
        .filter(|(_, (_, dir))| replica_file(dir).lines().any(|line| line == "state: RECOVERING"));
    let told = recovering.map(|(datanode, (container, _))| {
        format!("DataNode {datanode} has container {container} as RECOVERING")
    });
    told.collect()
}
