//! SCMs that come and go while a DataNode runs.

use proto::hdds::{ScmPlaceProto, ScmPlacesProto};

use crate::support::{Cluster, RunningScm};

/// An SCM's list: these belong to the service as of that change.
fn places(index: u64, scms: &[&RunningScm]) -> ScmPlacesProto {
    let place = |scm: &&RunningScm| ScmPlaceProto {
        node_id: scm.address.port().to_string(),
        client_address: scm.address.to_string(),
        block_address: scm.address.to_string(),
        datanode_address: scm.address.to_string(),
    };
    ScmPlacesProto { index, scms: scms.iter().map(place).collect() }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_datanode_registers_with_an_scm_that_comes_and_leaves_one_that_goes() {
    let cluster = Cluster::start(1).await;
    let (id, old) = (cluster.ids()[0], &cluster.scm);
    let new = RunningScm::start().await;
    let pipe = cluster.pipeline().await;
    old.scm.with(|known| known.places = Some(places(5, &[old, &new])));
    new.scm.wait_for_nodes(1).await;
    new.scm.wait("all that it has", |k| k.pipelines.contains_key(&pipe.id).then_some(())).await;
    // Both receive heartbeats.
    let beats = |scm: &RunningScm| scm.scm.with(|known| known.beats);
    let more = async |scm: &RunningScm, than: usize| {
        scm.scm.wait("heartbeats", |known| (known.beats > than).then_some(())).await;
    };
    more(old, beats(old)).await;
    more(&new, beats(&new)).await;
    // The old one is removed. Its own lists are of an earlier change from then on; and if the
    // DataNode still reported to it, it would have to register again.
    new.scm.with(|known| known.places = Some(places(6, &[&new])));
    more(&new, beats(&new) + 1).await;
    old.scm.with(|known| {
        known.nodes.clear();
        known.registrations.clear();
    });
    new.scm.with(|known| known.places = Some(places(5, &[old])));
    more(&new, beats(&new) + 5).await;
    assert_eq!(old.scm.with(|known| known.registrations.get(&id).copied()), None);
    cluster.stop().await;
}
