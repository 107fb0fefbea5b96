//! Pipelines: leaders, members that go and come back, closing.

use std::time::Duration;

use config::Configuration;
use framed::Code;
use proto::scm_datanode::container_replica_proto::State;
use testkit::until;
use types::{DatanodeId, PipelineId};

use crate::failing_disk::{container_parents, disk_of};
use crate::failing_group::{http, metric};
use crate::support::{Cluster, block, bytes};

#[tokio::test(flavor = "multi_thread")]
async fn the_preferred_member_leads_and_the_others_point_to_it() {
    let cluster = Cluster::start(3).await;
    let pipe = cluster.pipeline().await;
    let preferred = cluster.ids()[0];
    cluster
        .scm
        .scm
        .wait("the preferred leader", |known| {
            known.pipelines[&pipe.id].get(&preferred).filter(|leads| **leads).map(|_| ())
        })
        .await;
    let mut other = cluster.pipe(pipe.id, cluster.ids()[1]);
    let refused = other
        .send(
            cluster.ids()[1],
            proto::datanode::ContainerCommandRequestProto {
                cmd_type: proto::datanode::Type::CreateContainer as i32,
                container_id: 1,
                pipeline_id: Some(pipe.id.to_string()),
                create_container: Some(Default::default()),
                ..Default::default()
            },
            Default::default(),
        )
        .await
        .unwrap_err();
    assert_eq!(refused.status(), Some(Code::NotLeader));
    // A writer that asks the wrong member finds the right one.
    other.put_small(block(1, 1), bytes(1, 10)).await.unwrap();
    assert_eq!(other.leader, preferred);
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_follower_that_was_away_longer_than_the_log_reaches_catches_up_with_a_snapshot() {
    let mut cluster =
        Cluster::start_with(3, |conf| conf.with("hdds.ratis.snapshot.threshold", 40)).await;
    let mut pipe = cluster.pipeline().await;
    let mut written = Vec::new();
    for local in 1..=10 {
        let data = bytes(local, 3_000);
        written.push((pipe.put_small(block(1, local), data.clone()).await.unwrap(), data));
    }
    let away = cluster.ids().into_iter().find(|id| *id != pipe.leader).unwrap();
    cluster.node(away).stop().await;
    for local in 11..=300 {
        let data = bytes(local, 3_000);
        let id = block(1 + local % 2, local);
        written.push((pipe.put_small(id, data.clone()).await.unwrap(), data));
        if local % 100 == 0 {
            let large = bytes(local, 3 << 20);
            let id = block(3, 1_000 + local);
            written.push((pipe.put_large(id, &large, 1 << 20).await.unwrap(), large));
        }
    }
    for node in cluster.ids().into_iter().filter(|id| *id != away) {
        cluster.scm.scm.send_close_container(node, 3, pipe.id, false);
    }
    for node in cluster.ids().into_iter().filter(|id| *id != away) {
        cluster.scm.scm.wait_for_replica(node, 3, State::Closed).await;
    }
    cluster.node(away).restart().await;
    let mut pipe = cluster.pipe(pipe.id, pipe.leader);
    for (id, data) in &written {
        assert_eq!(pipe.eventually(|| pipe.get_large(away, *id)).await, data, "{id}");
    }
    cluster.scm.scm.wait_for_replica(away, 3, State::Closed).await;
    // It takes part again: the next writes need it when another one stops.
    let other = cluster.ids().into_iter().find(|id| *id != away && *id != pipe.leader).unwrap();
    cluster.node(other).stop().await;
    let id = pipe.put_small(block(1, 9_999), bytes(9, 9)).await.unwrap();
    assert_eq!(pipe.eventually(|| pipe.get_small(away, id)).await, bytes(9, 9));
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pipelines_are_spread_over_the_disks() {
    let cluster = Cluster::start(1).await;
    let node = cluster.ids()[0];
    for _ in 0..4 {
        cluster.scm.scm.create_pipeline(&[node]).await;
    }
    for disk in 0..2 {
        let dir = cluster.nodes[0].dir.join(format!("disk{disk}"));
        assert!(dir.is_dir());
    }
    let page = status(&cluster).await;
    let disks: Vec<_> = page["Pipelines"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["disk"].as_str().unwrap().to_owned())
        .collect();
    let first = disks.iter().filter(|disk| **disk == disks[0]).count();
    assert_eq!((disks.len(), first), (4, 2));
    cluster.stop().await;
}

async fn status(cluster: &Cluster) -> serde_json::Value {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let address = cluster.nodes[0].handle.as_ref().unwrap().addresses().http.unwrap();
    let mut socket = tokio::net::TcpStream::connect(address).await.unwrap();
    let request = "GET /status.json HTTP/1.1\r\nHost: dn\r\nConnection: close\r\n\r\n";
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await.unwrap();
    serde_json::from_str(answer.split("\r\n\r\n").nth(1).unwrap()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_closed_pipeline_is_gone_for_good_and_its_blocks_stay() {
    let mut cluster = Cluster::start(3).await;
    let mut pipe = cluster.pipeline().await;
    let data = bytes(1, 1_000);
    let id = pipe.put_small(block(1, 1), data.clone()).await.unwrap();
    // A majority has it; a slow one may not have received it yet, and would close without.
    for node in cluster.ids() {
        cluster.scm.scm.wait_for_container(node, 1).await;
    }
    for node in cluster.ids() {
        cluster.scm.scm.send_close_pipeline(node, pipe.id);
    }
    for node in cluster.ids() {
        let quasi = proto::scm_datanode::container_replica_proto::State::QuasiClosed;
        cluster.scm.scm.wait_for_replica(node, 1, quasi).await;
    }
    for node in cluster.ids() {
        let create = |request: &mut proto::datanode::ContainerCommandRequestProto| {
            request.create_container = Some(Default::default());
        };
        let kind = proto::datanode::Type::CreateContainer;
        let problem = pipe.simple(node, kind, 2, create).await.unwrap_err();
        assert_eq!(problem.status(), Some(Code::NotFound), "{problem:?}");
        assert_eq!(pipe.get_small(node, id).await.unwrap(), data);
        cluster.node(node).stop().await;
        cluster.node(node).restart().await;
    }
    // Its log is erased: nothing of it is reported after the restart.
    cluster.scm.scm.with(|known| known.pipelines.remove(&pipe.id));
    cluster.scm.stop().await;
    cluster.scm.restart().await;
    cluster.scm.scm.wait_for_nodes(3).await;
    let known = cluster.scm.scm.with(|known| known.pipelines.contains_key(&pipe.id));
    assert!(!known);
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_comes_again_does_no_harm() {
    let cluster = Cluster::start(3).await;
    let mut pipe = cluster.pipeline().await;
    let id = pipe.put_small(block(1, 1), bytes(1, 10)).await.unwrap();
    for _ in 0..3 {
        cluster.scm.scm.send_create_pipeline(pipe.id, &cluster.ids());
    }
    cluster.scm.scm.send_close_pipeline(pipe.leader, PipelineId::random());
    until("the commands to be done", async || {
        cluster.scm.scm.with(|known| known.statuses.len() >= 4)
    })
    .await;
    pipe.put_small(block(1, 2), bytes(2, 10)).await.unwrap();
    assert_eq!(pipe.get_small(pipe.leader, id).await.unwrap(), bytes(1, 10));
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn scm_may_forget_everything() {
    let mut cluster = Cluster::start(3).await;
    let mut pipe = cluster.pipeline().await;
    pipe.put_small(block(1, 1), bytes(1, 10)).await.unwrap();
    cluster.scm.stop().await;
    // Data does not need SCM.
    pipe.put_small(block(1, 2), bytes(2, 10)).await.unwrap();
    cluster.scm.restart().await;
    cluster.scm.scm.wait_for_nodes(3).await;
    cluster
        .scm
        .scm
        .wait("all replicas and pipelines", |known| {
            let replicas = known.replicas.keys().filter(|(_, container)| *container == 1).count();
            let members = known.pipelines.get(&pipe.id)?.len();
            (replicas == 3 && members == 3).then_some(())
        })
        .await;
    cluster.stop().await;
}

/// The rows of acknowledged blocks are on the disk, their bytes are in the log alone; then the
/// pipeline is closed, and its log erased, while it has no leader.
#[tokio::test(flavor = "multi_thread")]
async fn a_pipeline_that_is_closed_right_after_a_restart_puts_its_bytes_back_first() {
    let mut cluster = Cluster::start(3).await;
    let mut pipe = cluster.pipeline().await;
    let mut written = Vec::new();
    for local in 1..=10 {
        let data = bytes(local, 2_000);
        written.push((pipe.put_small(block(1, local), data.clone()).await.unwrap(), data));
    }
    let one = cluster.ids()[0];
    for (id, data) in &written {
        assert_eq!(pipe.eventually(|| pipe.get_small(one, *id)).await, *data);
    }
    let disk = disk_of(&cluster.node(one).dir);
    let chunks = container_parents(&disk)[0].join("1/chunks");
    let failing = testkit::fail_syncs(&chunks.display().to_string(), usize::MAX);
    for node in cluster.ids() {
        cluster.node(node).stop().await;
    }
    assert!(failing.struck() > 0, "the node ends without a flush");
    drop(failing);
    // Bytes that were not synced are lost.
    for file in std::fs::read_dir(&chunks).unwrap() {
        std::fs::File::options()
            .write(true)
            .open(file.unwrap().path())
            .unwrap()
            .set_len(0)
            .unwrap();
    }
    restart_impatient(&mut cluster, one).await;
    cluster.scm.scm.send_close_pipeline(one, pipe.id);
    cluster.scm.scm.wait_for_replica(one, 1, State::QuasiClosed).await;
    let pipe = cluster.pipe(pipe.id, one);
    for (id, data) in &written {
        assert_eq!(pipe.get_small(one, *id).await.unwrap(), *data);
    }
    cluster.stop().await;
}

/// Starts a node that counts other members as lost after ten seconds. A node with this limit takes
/// an SCM that it has not heard for a second for lost, too, and then closes the containers of the
/// pipelines that it leads: it is for one that is alone, and leads nothing.
async fn restart_impatient(cluster: &mut Cluster, node: DatanodeId) {
    let node = cluster.node(node);
    node.conf = lost_after("1s")(node.conf.clone());
    node.restart().await;
}

/// A DataNode that counts others as lost after ten times this.
fn lost_after(time: &'static str) -> impl Fn(Configuration) -> Configuration {
    move |conf| conf.with("ozone.scm.dead.node.interval", time)
}

/// State of a pipeline that a DataNode reports to another member: 1 for one that it closed with all
/// committed entries, 2 for no record of it.
async fn presence(address: &str, id: PipelineId) -> u8 {
    let client = framed::Client::new(address, framed::ClientOptions::default());
    let question = bytes::Bytes::copy_from_slice(id.0.as_bytes());
    let (method, timeout) = (proto::method::PIPELINE_PRESENCE, testkit::LIMIT);
    let reply = client.call(method, question, bytes::Bytes::new(), timeout).await.unwrap();
    *reply.header.last().unwrap()
}

/// Waits until the log of a node has an entry that is not decided; `false` when the node does not
/// lead any more, so that it takes none.
async fn has_undecided(cluster: &Cluster, node: DatanodeId, id: PipelineId) -> bool {
    let node = cluster.nodes.iter().find(|other| other.id == node).unwrap();
    let group = node.handle.as_ref().unwrap().raft().unwrap().group(id.0).unwrap();
    testkit::until("an entry that is not decided, or another leader", async || {
        let status = group.status().await?;
        let undecided = status.last_index > status.commit;
        (undecided || status.role != multiraft::Role::Leader).then_some(undecided)
    })
    .await
}

/// A group that too few members were there to begin has nothing to wait for.
#[tokio::test(flavor = "multi_thread")]
async fn a_pipeline_that_never_began_is_closed_without_its_other_members() {
    // Longer than the test waits for anything.
    let mut cluster = Cluster::start_with(3, lost_after("300s")).await;
    let members = cluster.ids();
    for node in &members[1..] {
        cluster.node(*node).stop().await;
    }
    let id = PipelineId::random();
    let scm = cluster.scm.scm.clone();
    scm.send_create_pipeline(id, &members);
    scm.wait("one member", |known| known.pipelines.get(&id).map(|_| ())).await;
    scm.send_close_pipeline(members[0], id);
    let address = cluster.node(members[0]).address();
    testkit::until("it is closed", async || presence(&address, id).await == 2).await;
    cluster.stop().await;
}

/// No member is waited for whose log was erased: the others' data of the pipeline is in their
/// containers, and one alone decides nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_pipeline_that_all_other_members_have_closed_is_not_kept_for_a_decision() {
    // Longer than the test waits for anything.
    let mut cluster = Cluster::start_with(3, lost_after("300s")).await;
    let mut pipe = cluster.pipeline().await;
    let id = pipe.id;
    let written = pipe.put_small(block(1, 1), bytes(1, 3_000)).await.unwrap();
    // A leader that is alone for too long steps down before it has the entry: then another try.
    let mut local = 2;
    let (leader, others) = loop {
        local += 1;
        pipe = cluster.pipe(id, pipe.leader);
        pipe.put_small(block(1, local), bytes(3, 10)).await.unwrap();
        let leader = pipe.leader;
        let others: Vec<_> = cluster.ids().into_iter().filter(|node| *node != leader).collect();
        for node in &others {
            cluster.node(*node).stop().await;
        }
        let mut late = cluster.pipe(id, leader);
        let put = tokio::spawn(async move { late.put_small(block(1, 2), bytes(2, 10)).await });
        let undecided = has_undecided(&cluster, leader, id).await;
        put.abort();
        if undecided {
            cluster.node(leader).stop().await;
        }
        for node in &others {
            cluster.node(*node).restart().await;
        }
        if undecided {
            break (leader, others);
        }
    };
    for node in &others {
        cluster.scm.scm.send_close_pipeline(*node, id);
    }
    for node in &others {
        cluster.scm.scm.wait_for_replica(*node, 1, State::QuasiClosed).await;
    }
    for node in &others {
        let address = cluster.node(*node).address();
        testkit::until("the pipeline to be gone", async || presence(&address, id).await == 1).await;
    }
    cluster.node(leader).restart().await;
    cluster.scm.scm.send_close_pipeline(leader, id);
    cluster.scm.scm.wait_for_replica(leader, 1, State::QuasiClosed).await;
    let pipe = cluster.pipe(id, leader);
    for node in cluster.ids() {
        assert_eq!(pipe.get_small(node, written).await.unwrap(), bytes(1, 3_000));
    }
    cluster.stop().await;
}

/// Entries that a member lacks may have been acknowledged by the others: if it left before it has
/// them, the one of them that comes back could decide nothing any more. It has a leader long before
/// it has the leader's entries.
#[tokio::test(flavor = "multi_thread")]
async fn a_member_with_a_slow_disk_waits_for_the_blocks_that_it_lacks() {
    let mut cluster = Cluster::start_with(3, lost_after("300s")).await;
    let mut pipe = cluster.pipeline().await;
    let (leader, id) = (pipe.leader, pipe.id);
    let mut written = vec![pipe.put_small(block(1, 1), bytes(1, 3_000)).await.unwrap()];
    let others: Vec<_> = cluster.ids().into_iter().filter(|node| *node != leader).collect();
    let (lacks, has) = (others[0], others[1]);
    assert_eq!(pipe.eventually(|| pipe.get_small(lacks, written[0])).await, bytes(1, 3_000));
    cluster.node(lacks).stop().await;
    for local in 2..10 {
        written.push(pipe.put_small(block(1, local), bytes(local, 3_000)).await.unwrap());
    }
    cluster.node(leader).stop().await;
    cluster.node(has).stop().await;
    cluster.node(lacks).restart().await;
    cluster.scm.scm.send_close_pipeline(lacks, id);
    // It was alone at two rounds of asking, and could have left after each.
    let address = http(&mut cluster, lacks);
    testkit::until("the other members to be asked", async || {
        metric(address, "datanode_pipeline_censuses").await >= 2.0
    })
    .await;
    let closed = |known: &crate::support::scm::Known| {
        known.replicas.get(&(lacks, 1)).is_some_and(|replica| replica.state() == State::QuasiClosed)
    };
    assert!(!cluster.scm.scm.with(|known| closed(known)), "it left without what it lacks");
    let blocks = &container_parents(&disk_of(&cluster.node(lacks).dir))[0];
    let delay = Duration::from_secs(2);
    let _slow = testkit::delay_syncs(&blocks.display().to_string(), delay);
    // The leader is lost.
    cluster.node(has).restart().await;
    cluster.scm.scm.send_close_pipeline(has, id);
    let pipe = cluster.pipe(id, has);
    for node in [lacks, has] {
        cluster.scm.scm.wait_for_replica(node, 1, State::QuasiClosed).await;
        for (written, seed) in written.iter().zip(1..) {
            assert_eq!(pipe.get_small(node, *written).await.unwrap(), bytes(seed, 3_000));
        }
    }
    cluster.stop().await;
}
