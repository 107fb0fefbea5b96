//! Directories, disks, states, reports.

use container::ContainerState;
use proto::datanode::Result as ResultCode;

use super::*;

#[test]
fn a_directory_looks_like_ozones() {
    let mut node = Node::new();
    node.put_small(1, pattern(1, 10));
    node.put_large(2, &[pattern(2, 100_000)]);
    let disk = node.disk_dir();
    let version = fs::read_to_string(disk.join("hdds/VERSION")).unwrap();
    for key in ["clusterID=CID-test", "storageID=DS-", "datanodeUuid=", "ctime=", "layOutVersion=1"]
    {
        assert!(version.contains(key), "{key} in {version}");
    }
    let id = node.store().disks()[0].id().to_owned();
    let cluster = disk.join("hdds/CID-test");
    assert!(cluster.join(id).join("container.db/CURRENT").exists());
    let dir = cluster.join("current/containerDir0/1");
    assert!(dir.join("metadata/1.container").exists());
    assert!(dir.join("chunks/2.block").exists());
}

#[test]
fn foreign_and_used_directories_are_refused() {
    let mut node = Node::new();
    let in_use = ContainerStore::open(node.options.clone()).err().unwrap().to_string();
    assert!(in_use.contains("in use"), "{in_use}");
    node.stop();
    let mut foreign = node.options.clone();
    foreign.cluster_id = "CID-other".into();
    let refused = ContainerStore::open(foreign).err().unwrap().to_string();
    assert!(refused.contains("CID-test") && refused.contains("CID-other"), "{refused}");
    let mut other = node.options.clone();
    other.datanode = DatanodeId::random();
    let refused = ContainerStore::open(other).err().unwrap().to_string();
    assert!(refused.contains("belongs to DataNode"), "{refused}");
}

#[test]
fn states_change_by_the_rules_and_survive() {
    let mut node = Node::new();
    node.ensure_container();
    let store = node.store();
    store.take_changed();
    store.mark_closing(CONTAINER).unwrap();
    assert_eq!(store.check_writable(CONTAINER).unwrap_err().result(), ResultCode::ContainerNotOpen);
    // Writes that were ordered before still come.
    node.put_small(1, pattern(1, 10));
    node.store().quasi_close(CONTAINER).unwrap();
    let late = node.apply(vec![Entry::Small(types::LocalId(2), pattern(2, 10))]);
    // Others carry it out: this replica must not go on as if it had.
    assert_eq!(late[0].as_ref().unwrap_err().result(), ResultCode::ContainerInternalError);
    let behind = node.store().close(CONTAINER, Some(50)).unwrap_err();
    assert_eq!(behind.result(), ResultCode::UnknownBcsid);
    node.store().close(CONTAINER, Some(1)).unwrap();
    node.store().close(CONTAINER, None).unwrap();
    assert_eq!(node.store().take_changed().len(), 1);
    node.kill();
    node.open();
    assert_eq!(node.container().state(), ContainerState::Closed);
    assert_eq!(node.read(1).unwrap(), pattern(1, 10));
}

#[test]
fn reports_say_what_is_there() {
    let mut node = Node::new();
    node.put_small(1, pattern(1, 1000));
    node.put_small(2, pattern(2, 500));
    let report = node.store().report();
    let replica = &report[0];
    assert_eq!(replica.container_id, 1);
    assert_eq!((replica.used, replica.key_count), (Some(1500), Some(2)));
    assert_eq!(replica.block_commit_sequence_id, Some(2));
    assert_eq!(replica.origin_node_id, Some(node.options.datanode.to_string()));
    let disks = node.store().storage_reports();
    let used = node.store().used_bytes();
    assert_eq!(used[node.store().disks()[0].id()], 1500, "not what the file system uses");
    assert_eq!(disks[0].storage_uuid, node.store().disks()[0].id());
    assert_eq!(disks[0].scm_used, Some(1500));
    assert!(disks[0].capacity() >= disks[0].remaining() && disks[0].remaining() > 0);
    assert_eq!(disks[0].committed(), node.options.container_size - 1500);
}

#[test]
fn containers_go_round_the_disks() {
    let mut node = Node::with(|options| {
        let second = options.dirs[0].path.with_file_name("disk2");
        options.dirs.push(DataDirectory::new(second));
        options.choosing = ChoosingPolicy::RoundRobin;
        options.container_size = 1 << 20;
    });
    for n in 1..=6 {
        let new = NewContainer { id: ContainerId(n), ..NewContainer::default() };
        assert!(node.store().create_container(new.clone()).unwrap());
        assert!(!node.store().create_container(new).unwrap());
    }
    let count = |node: &Node, disk: usize| {
        let id = node.store().disks()[disk].id().to_owned();
        let all = node.store().containers();
        all.iter().filter(|c| node.store().container(**c).unwrap().disk().id() == id).count()
    };
    assert_eq!((count(&node, 0), count(&node, 1)), (3, 3));
    node.stop();
    node.open();
    assert_eq!((count(&node, 0), count(&node, 1)), (3, 3));
}

#[test]
fn a_pipeline_is_remembered_on_its_disk_until_it_is_removed() {
    let mut node = Node::new();
    node.put_small(1, pattern(1, 10));
    assert_eq!(node.pipe().containers(), [CONTAINER]);
    node.pipe().flush().unwrap();
    node.kill();
    node.open();
    assert_eq!(node.store().disks()[0].pipelines(), [node.pipeline]);
    node.pipe().remove().unwrap();
    node.kill();
    node.open();
    assert_eq!(node.store().disks()[0].pipelines(), []);
    assert_eq!(node.read(1).unwrap(), pattern(1, 10));
}

#[test]
fn a_replica_index_must_match() {
    let node = Node::new();
    node.ensure_container();
    let other = NewContainer { id: CONTAINER, replica_index: 3, ..NewContainer::default() };
    assert!(node.store().create_container(other).is_err());
}
