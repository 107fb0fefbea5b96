//! Ids of three SCMs that lead one after the other: none is given out twice, and they rise.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use framed::{Client, ClientOptions};
use parking_lot::Mutex;
use proto::block_location::{
    AllocateScmBlockRequestProto, DeleteScmKeyBlocksRequestProto, KeyBlocks,
    ScmBlockLocationRequest, ScmBlockLocationResponse, Type as BlockType,
};
use proto::container_location::{
    ContainerRequestProto, ScmContainerLocationRequest, ScmContainerLocationResponse, Type,
};
use proto::hdds::{BlockId, ContainerBlockId, TransferLeadershipRequestProto};
use proto::method;
use scm::{Scm, ScmHandle};
use testkit::until;
use types::DatanodeId;

use crate::datanode::{Disk, FakeDatanode};
use crate::harness::THREE;
use crate::members::{TIMEOUT, configuration, leader, three_of};

async fn block_call(
    address: SocketAddr,
    request: &ScmBlockLocationRequest,
) -> Option<ScmBlockLocationResponse> {
    let client = Client::new(address.to_string(), ClientOptions::default());
    framed::message::call(&client, method::SCM_BLOCK, request, TIMEOUT).await.ok()
}

async fn location_call(
    address: SocketAddr,
    request: &ScmContainerLocationRequest,
) -> Option<ScmContainerLocationResponse> {
    let client = Client::new(address.to_string(), ClientOptions::default());
    framed::message::call(&client, method::SCM_CONTAINER_LOCATION, request, TIMEOUT).await.ok()
}

/// Blocks, when the SCM gives some out.
async fn allocate(address: SocketAddr, count: u32) -> Option<Vec<ContainerBlockId>> {
    let request = ScmBlockLocationRequest {
        cmd_type: BlockType::AllocateScmBlock as i32,
        allocate_scm_block_request: Some(AllocateScmBlockRequestProto {
            size: 256 << 20,
            num_blocks: count,
            r#type: THREE.wire_type() as i32,
            factor: THREE.wire_factor().map(|f| f as i32),
            owner: "om".to_owned(),
            ..Default::default()
        }),
        ..Default::default()
    };
    let response = block_call(address, &request).await?;
    let blocks = response.allocate_scm_block_response?.blocks;
    Some(blocks.into_iter().map(|block| block.container_block_id.unwrap()).collect())
}

/// A container of its own for the caller.
async fn create_container(address: SocketAddr) -> Option<i64> {
    let request = ScmContainerLocationRequest {
        cmd_type: Type::AllocateContainer as i32,
        container_request: Some(ContainerRequestProto {
            replication_factor: THREE.wire_factor().map(|f| f as i32),
            replication_type: THREE.wire_type() as i32,
            owner: "admin".to_owned(),
            ..Default::default()
        }),
        ..Default::default()
    };
    let response = location_call(address, &request).await?.container_response?;
    Some(response.container_with_pipeline.container_info.container_id)
}

async fn delete(address: SocketAddr, blocks: &[ContainerBlockId]) -> bool {
    let block =
        |id: &ContainerBlockId| BlockId { container_block_id: *id, block_commit_sequence_id: None };
    let request = ScmBlockLocationRequest {
        cmd_type: BlockType::DeleteScmKeyBlocks as i32,
        delete_scm_key_blocks_request: Some(DeleteScmKeyBlocksRequestProto {
            key_blocks: vec![KeyBlocks {
                key: "/v/b/k".to_owned(),
                size: vec![100; blocks.len()],
                replicated_size: vec![300; blocks.len()],
                size_per_replica: vec![100; blocks.len()],
                blocks: blocks.iter().map(block).collect(),
            }],
        }),
        ..Default::default()
    };
    block_call(address, &request).await.is_some_and(|r| r.delete_scm_key_blocks_response.is_some())
}

/// DataNodes with the contents of their disks, as one SCM has them.
struct Nodes {
    disks: Vec<(DatanodeId, Arc<Mutex<Disk>>)>,
    up: Vec<FakeDatanode>,
}

impl Nodes {
    fn new() -> Self {
        let disk = || Arc::new(Mutex::new(Disk::new()));
        let disks = (0..3).map(|_| (DatanodeId::random(), disk())).collect();
        Self { disks, up: Vec::new() }
    }

    async fn report_to(&mut self, scm: &ScmHandle) {
        self.up.clear();
        for (id, disk) in &self.disks {
            let at = scm.addresses().datanode;
            self.up.push(FakeDatanode::start_with(at, *id, disk.clone()).await);
        }
        tokio::time::timeout(TIMEOUT, scm.ready_for(THREE)).await.expect("a pipeline is open");
    }

    /// Ids of the received transactions, each with its blocks.
    fn transactions(&self) -> BTreeMap<i64, BTreeSet<i64>> {
        let mut seen = BTreeMap::new();
        for (_, disk) in &self.disks {
            for t in &disk.lock().transactions {
                let blocks: BTreeSet<i64> = t.local_id.iter().copied().collect();
                let known = seen.entry(t.tx_id).or_insert_with(|| blocks.clone());
                assert_eq!(*known, blocks, "transaction {} is two", t.tx_id);
            }
        }
        seen
    }
}

/// Ids handed out so far.
#[derive(Default)]
struct Given {
    locals: BTreeSet<i64>,
    containers: BTreeSet<i64>,
    transactions: BTreeSet<i64>,
}

fn all_above(kind: &str, known: &mut BTreeSet<i64>, fresh: &[i64]) {
    let highest = known.last().copied().unwrap_or(0);
    for id in fresh {
        assert!(
            *id > highest,
            "{kind} {id} is not behind {highest}, which another leader gave out"
        );
        assert!(known.insert(*id), "{kind} {id} twice");
    }
}

impl Given {
    /// Has the leader hand out ids of each kind, all of which must be new and greater than all
    /// before.
    async fn work(&mut self, scm: &ScmHandle, nodes: &Nodes) {
        let at = scm.addresses();
        // The SCM may have been elected a moment ago.
        let mut blocks = Vec::new();
        until("blocks are given out", async || match allocate(at.block, 50).await {
            Some(given) if given.len() == 50 => {
                blocks = given;
                true
            }
            _ => false,
        })
        .await;
        let locals: Vec<i64> = blocks.iter().map(|block| block.local_id).collect();
        all_above("block", &mut self.locals, &locals);
        let mut made = Vec::new();
        for _ in 0..3 {
            made.push(create_container(at.client).await.expect("a container"));
        }
        // Containers that an earlier leader made are used on.
        let known = self.containers.clone();
        let used = blocks.iter().map(|block| block.container_id).filter(|id| !known.contains(id));
        let fresh: BTreeSet<i64> = made.iter().copied().chain(used).collect();
        assert!(made.iter().all(|id| !known.contains(id)), "{made:?} twice");
        all_above("container", &mut self.containers, &fresh.into_iter().collect::<Vec<_>>());

        // Existing replicas have the blocks to delete.
        for node in &nodes.up {
            for id in &self.containers {
                node.write(types::ContainerId::from_wire(*id), 1_000, 1 << 20);
            }
        }
        assert!(delete(at.block, &blocks[..20]).await);
        let wanted: BTreeSet<i64> = locals[..20].iter().copied().collect();
        let deleted = || {
            let seen = nodes.transactions();
            wanted.iter().all(|id| seen.values().any(|blocks| blocks.contains(id)))
        };
        until("the deletions come", async || deleted()).await;
        let seen = nodes.transactions().into_keys().filter(|id| !self.transactions.contains(id));
        let fresh: Vec<i64> = seen.collect();
        assert!(!fresh.is_empty());
        all_above("transaction", &mut self.transactions, &fresh);
    }
}

async fn hand_over(scms: &[Option<ScmHandle>], from: usize, to: usize) {
    let request = ScmContainerLocationRequest {
        cmd_type: Type::TransferLeadership as i32,
        transfer_scm_leadership_request: Some(TransferLeadershipRequestProto {
            new_leader_id: format!("scm{}", to + 1),
        }),
        ..Default::default()
    };
    let at = scms[from].as_ref().unwrap().addresses().client;
    until("it takes over", async || {
        location_call(at, &request).await;
        scms[to].as_ref().unwrap().leads()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_id_is_given_out_twice_and_all_rise_when_another_scm_leads() {
    let (dir, mut scms) = three_of(3).await;
    // A client requests ids all the time from any SCM that answers, also during a change.
    let places: Vec<SocketAddr> = scms.iter().flatten().map(|scm| scm.addresses().block).collect();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let meanwhile = tokio::spawn({
        let asked = asked.clone();
        async move {
            for place in places.iter().cycle() {
                let blocks = allocate(*place, 7).await.unwrap_or_default();
                asked.lock().extend(blocks.iter().map(|block| block.local_id));
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
    });
    let (mut nodes, mut given) = (Nodes::new(), Given::default());
    let first = leader(&scms).await;
    let at = |n: usize| n % 3;
    // Two leaders alternate: the rest of the first one's batches must not be used.
    for (from, to) in [(first, at(first + 1)), (at(first + 1), first), (first, at(first + 2))] {
        let leads = scms[from].as_ref().unwrap();
        nodes.report_to(leads).await;
        given.work(leads, &nodes).await;
        hand_over(&scms, from, to).await;
    }
    // One after the other is down for a while; the last leader is killed.
    for round in 0..3 {
        let lead = leader(&scms).await;
        let leads = scms[lead].as_ref().unwrap();
        nodes.report_to(leads).await;
        given.work(leads, &nodes).await;
        let leads = scms[lead].take().unwrap();
        match round {
            2 => drop(leads),
            _ => leads.shutdown().await,
        }
        let next = leader(&scms).await;
        let leads = scms[next].as_ref().unwrap();
        nodes.report_to(leads).await;
        given.work(leads, &nodes).await;
        if round < 2 {
            let again = configuration(dir.path(), &format!("scm{}", lead + 1));
            scms[lead] = Some(Scm::start(&again).await.unwrap());
        }
    }
    meanwhile.abort();
    let asked = std::mem::take(&mut *asked.lock());
    assert!(!asked.is_empty());
    let mut all = given.locals.clone();
    for id in asked {
        assert!(all.insert(id), "block {id} twice");
    }
    futures::future::join_all(scms.into_iter().flatten().map(ScmHandle::shutdown)).await;
}
