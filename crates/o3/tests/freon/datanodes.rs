//! Generators for DataNodes and SCM: the stored data afterwards.

use super::{counts, fail, listed, run, timed};
use crate::transcript::Transcript;

#[test]
fn chunks_are_written_and_compared_on_every_replica() {
    let cluster = Transcript::of_datanodes(3);
    let written = run(&cluster, "dcg -n 45 -t 4 -s 2048 -p run");
    assert_eq!((counts(&written), timed(&written, "chunk-write")), ([45, 0, 45 * 2048], 45));
    // 135 reads of 45 chunks: each DataNode returns each of them.
    let compared = run(&cluster, "dcv -n 45 -t 1 --duration 700ms -s 2048 -p run");
    assert!(timed(&compared, "chunk-validate") > 3 * 45, "{compared}");
    assert_eq!(counts(&compared)[1], 0, "{compared}");
    let owners = listed(&cluster, "admin container list --json");
    assert!(owners.iter().any(|container| container["owner"] == "freon-run"), "{owners:?}");
    // There are no more, and none of another prefix.
    assert!(fail(&cluster, "dcv -n 46 -t 1 -s 2048 -p run").contains("test 45 failed"));
    assert!(fail(&cluster, "dcv -n 1 -p other").contains("dcg has created no container"));
    // The same container is written on.
    let one = run(&cluster, "dcg -n 60 -t 4 -s 2048 -p run");
    assert_eq!(counts(&one), [60, 0, 60 * 2048], "{one}");
    run(&cluster, "dcv -n 60 -t 4 -s 2048 -p run");
    let again = listed(&cluster, "admin container list --json");
    assert_eq!(again.len(), owners.len(), "{again:?}");
}

#[test]
fn chunks_of_one_replica_are_written_and_compared() {
    let cluster = Transcript::of_cluster();
    run(&cluster, "dcg -n 5 -t 2 -r ONE -p run");
    assert_eq!(counts(&run(&cluster, "dcv -n 5 -t 2 -p run")), [5, 0, 5 * 1024]);
    let refused = fail(&cluster, "dcg -n 5 --type EC -r rs-3-2-1024k -p run");
    assert!(refused.contains("RATIS pipelines only"), "{refused}");
}

#[test]
fn datanodes_give_back_the_bytes_that_are_asked_for() {
    let cluster = Transcript::of_datanodes(3);
    let sent = run(&cluster, "dn-echo -n 12 -t 3 --clients 2 --payload-req 2");
    // By default the payload is echoed.
    assert_eq!((counts(&sent), timed(&sent, "rpc-payload")), ([12, 0, 12 * 4 * 1024], 12));
    run(&cluster, "dcg -n 1 -t 1 -p run");
    let container = &listed(&cluster, "admin container list --json")[0]["containerID"];
    let asked =
        format!("dne -n 6 -t 3 --container-id {container} --payload-resp 3 --sleep-time-ms 20");
    let answered = run(&cluster, &asked);
    assert_eq!(counts(&answered), [6, 0, 6 * 3 * 1024], "{answered}");
    assert!(answered["timers"]["rpc-payload"]["minMs"].as_f64().unwrap() >= 20.0, "{answered}");
    assert!(fail(&cluster, "dne -n 1 --container-id 987654").contains("987654"));
}

#[test]
fn scm_allocates_blocks_and_containers() {
    let cluster = Transcript::of_datanodes(3);
    let stb = |line: &str| run(&cluster, &format!("stb {line}"));
    let blocks = stb("--benchmark AllocateBlocks --num-blocks 20 --num-threads 3 --block-size 1MB");
    assert_eq!((counts(&blocks), timed(&blocks, "allocate-block")), ([20, 0, 0], 20));
    assert_eq!(blocks["entries"], 20, "{blocks}");
    let before = listed(&cluster, "admin container list --json").len();
    let made = stb("--benchmark allocatecontainers --num-containers 6 --num-threads 2 -r ONE");
    assert_eq!((counts(&made), timed(&made, "allocate-container")), ([6, 0, 0], 6));
    let containers = listed(&cluster, "admin container list --json");
    assert_eq!(containers.len(), before + 6);
    assert!(containers.iter().filter(|container| container["owner"] == "STB").count() >= 6);
}
