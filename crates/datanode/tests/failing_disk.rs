//! A replica whose disk fails while it carries out an entry of the log.

use std::path::{Path, PathBuf};

use crate::support::{Cluster, block, bytes};

/// Directories below another that hold containers.
fn container_parents(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        match path.file_name().is_some_and(|name| name == "containerDir0") {
            true => found.push(path),
            false if path.is_dir() => found.extend(container_parents(&path)),
            false => {}
        }
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn a_follower_does_not_go_on_without_an_entry_that_its_disk_refused() {
    let mut cluster = Cluster::start(3).await;
    let mut pipe = cluster.pipeline().await;
    let first = pipe.put_small(block(1, 1), bytes(1, 100)).await.unwrap();
    let follower = cluster.ids().into_iter().find(|id| *id != pipe.leader).unwrap();
    pipe.eventually(|| pipe.get_small(follower, first)).await;

    // The follower cannot make the next container.
    let dir = cluster.node(follower).dir.clone();
    let in_the_way: Vec<_> = container_parents(&dir).iter().map(|dir| dir.join("2")).collect();
    assert!(!in_the_way.is_empty());
    in_the_way.iter().for_each(|path| std::fs::write(path, b"").unwrap());
    let second = pipe.put_small(block(2, 2), bytes(2, 100)).await.unwrap();
    let failed = |known: &crate::support::scm::Known| known.failed.get(&pipe.id).cloned();
    cluster.scm.scm.wait("the follower to give the pipeline up", failed).await;

    // What it lacks is not hidden by what comes later, once its disk works again.
    in_the_way.iter().for_each(|path| std::fs::remove_file(path).unwrap());
    let third = pipe.put_small(block(2, 3), bytes(3, 100)).await.unwrap();
    cluster.node(follower).stop().await;
    cluster.node(follower).restart().await;
    let pipe = cluster.pipe(pipe.id, pipe.leader);
    for (id, seed) in [(second, 2), (third, 3)] {
        assert_eq!(pipe.eventually(|| pipe.get_small(follower, id)).await, bytes(seed, 100));
    }
    cluster.stop().await;
}
