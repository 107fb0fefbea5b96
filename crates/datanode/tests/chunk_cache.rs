//! First chunks of blocks on a fast disk, by a DataNode's settings.

use config::Configuration;
use config::keys::datanode as dn;
use datanode::{Datanode, DatanodeError, DatanodeOptions};
use testkit::until;

use crate::failing_group::{get, http, metric};
use crate::support::{Cluster, block, bytes};

const CHUNK: usize = 1 << 20;

fn cached(conf: Configuration) -> Configuration {
    let disk = conf.get(&dn::HDDS_DATANODE_DIR).remove(0);
    conf.with("trioxide.datanode.cache.dirs", disk.path.with_file_name("fast").display())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_written_is_read_from_there_also_after_a_restart() {
    let mut cluster = Cluster::start_with(1, cached).await;
    let mut pipe = cluster.pipeline().await;
    let (node, data) = (cluster.ids()[0], bytes(1, 2 * CHUNK));
    let id = pipe.put_large(block(1, 11), &data, CHUNK).await.unwrap();
    for start in 0..2 {
        let at = http(&mut cluster, node);
        until("the first chunk is there", async || {
            metric(at, "datanode_chunk_cache_chunks").await == 1.0
        })
        .await;
        assert_eq!(pipe.eventually(|| pipe.get_large(node, id)).await, data);
        assert_eq!(metric(at, "datanode_chunk_cache_hits").await, 1.0, "start {start}");
        assert_eq!(metric(at, "datanode_chunk_cache_load_failures").await, 0.0);
        let page = get(at, "/status.json").await;
        assert!(page.contains("Chunk cache") && page.contains("hit rate"), "{page}");
        cluster.node(node).stop().await;
        cluster.node(node).restart().await;
        pipe = cluster.pipe(pipe.id, node);
    }
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_directory_of_somebody_else_stops_the_start_and_is_left_alone() {
    let mut cluster = Cluster::start_with(1, |conf| conf).await;
    let node = cluster.ids()[0];
    let node = cluster.node(node);
    node.stop().await;
    let home = node.dir.join("home");
    std::fs::create_dir(&home).unwrap();
    std::fs::write(home.join("thesis.txt"), b"years of work").unwrap();
    let conf = node.conf.with("trioxide.datanode.cache.dirs", home.display());
    let failed = Datanode::start(&conf, DatanodeOptions::default()).await.map(drop);
    assert!(
        matches!(&failed, Err(error) if error.to_string().contains("thesis.txt")),
        "{failed:?}"
    );
    assert_eq!(std::fs::read_dir(&home).unwrap().count(), 1, "nothing else is there");
    let refused = node.conf.with("trioxide.datanode.cache.capacity", "1KB");
    let refused = Datanode::start(&refused, DatanodeOptions::default()).await.map(drop);
    assert!(matches!(refused, Err(DatanodeError::Setting { .. })), "{refused:?}");
    node.restart().await;
    cluster.stop().await;
}
