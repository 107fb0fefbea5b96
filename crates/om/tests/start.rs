//! Starts: the initial state, and refused configurations.

use om::{Error, Om, OmOptions, RootCredentials};
use proto::ozone::*;

use crate::support::World;
use crate::support::requests::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_new_om_has_the_s3_volume_and_a_root_key_pair_that_stays() {
    let world = World::new().await;
    let om = world.start().await;
    let info = InfoVolumeRequest { volume_name: "s3v".to_owned() };
    let info = OmRequest { info_volume_request: Some(Box::new(info)), ..request(Type::InfoVolume) };
    let volume = om.ok(info).await.info_volume_response.unwrap().volume_info.unwrap();
    assert_eq!(volume.object_id, Some(0xBFFF_FFFF_FFFF_FF00));
    let root = om.handle.root_credentials().unwrap();
    assert_eq!((root.access_key.len(), root.secret_key.len()), (20, 40));
    let secret = om.ok(get_s3_secret(&root.access_key)).await.get_s3_secret_response.unwrap();
    assert_eq!(secret.s3_secret.aws_secret, root.secret_key);
    om.handle.shutdown().await;

    let om = world.start().await;
    assert_eq!(om.handle.root_credentials().as_ref(), Some(&root));
    om.handle.shutdown().await;

    let given = RootCredentials { access_key: "mine".to_owned(), secret_key: "secret".to_owned() };
    for secret in ["secret", "another"] {
        let root = RootCredentials { secret_key: secret.to_owned(), ..given.clone() };
        let options = OmOptions { root_credentials: Some(root.clone()), ..OmOptions::default() };
        let om = Om::start(&world.conf(world.dir.path()), options).await.unwrap();
        assert_eq!(om.root_credentials().as_ref(), Some(&root));
        om.shutdown().await;
        let om = world.start().await;
        assert_eq!(om.handle.root_credentials().as_ref(), Some(&root), "it is kept");
        om.handle.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_directory_in_use_is_refused_and_free_again_after_a_shutdown() {
    let world = World::new().await;
    let om = world.start().await;
    let conf = world.conf(world.dir.path());
    let refused = Om::start(&conf, OmOptions::default()).await.err().expect("it is in use");
    assert!(matches!(&refused, Error::Directory(service::DataDirError::InUse { .. })), "{refused}");
    om.handle.shutdown().await;
    world.start().await.handle.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_scm_of_another_cluster_is_refused() {
    let world = World::new().await;
    world.start().await.handle.shutdown().await;
    *world.scm.cluster_id.lock().unwrap() = "cluster-2".to_owned();
    let conf = world.conf(world.dir.path());
    let refused = Om::start(&conf, OmOptions::default()).await.err().expect("a foreign SCM");
    let text = refused.to_string();
    assert!(text.contains("cluster-1") && text.contains("cluster-2"), "{text}");
    let told = OmOptions { cluster_id: Some("cluster-2".to_owned()), ..OmOptions::default() };
    let refused = Om::start(&conf, told).await.err().expect("a foreign directory");
    let foreign =
        matches!(&refused, Error::Directory(service::DataDirError::ForeignCluster { .. }));
    assert!(foreign, "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_port_that_is_taken_is_named_with_its_key() {
    let world = World::new().await;
    let taken = world.scm_server.local_addr();
    let conf = world.conf(world.dir.path()).with("ozone.om.address", taken);
    let refused = Om::start(&conf, OmOptions::default()).await.err().expect("it is taken");
    assert!(refused.to_string().contains("ozone.om.address"), "{refused}");
    // And nothing keeps the directory.
    testkit::until("the directory to be free", async || {
        Om::start(&world.conf(world.dir.path()), OmOptions::default()).await.map(drop)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn all_of_ozones_tables_and_its_version_file_are_there() {
    let world = World::new().await;
    world.start().await.handle.shutdown().await;
    let version = std::fs::read_to_string(world.dir.path().join("om/current/VERSION")).unwrap();
    for expected in
        ["nodeType=OM", "clusterID=cluster-1", "omUuid=", "nodeId=om1", "cTime=", "layoutVersion=9"]
    {
        assert!(version.contains(expected), "{expected} in {version}");
    }
    let store = metastore::Store::open(
        &world.dir.path().join("om.db"),
        &[],
        &metastore::StoreOptions::default(),
    )
    .unwrap();
    for table in namespace::Table::ALL {
        store.table(table.name()).unwrap();
    }
    let position = store.table("transactionInfoTable").unwrap();
    let position = store.get(position, b"#TRANSACTIONINFO").unwrap().unwrap();
    let text = String::from_utf8(position.to_vec()).unwrap();
    let (term, index) = text.split_once('#').unwrap();
    assert!(term.parse::<u64>().unwrap() >= 1 && index.parse::<u64>().unwrap() >= 1, "{text}");
}

/// A kill while the first start makes the tables, one after another.
#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_a_first_start_made_a_part_of_is_no_database_of_ozones() {
    for tables in [0, 1, 3, namespace::Table::ALL.len()] {
        let world = World::new().await;
        begin_tables(world.dir.path(), tables);
        let om = world.start().await;
        om.ok(create_volume("vol")).await;
        om.handle.shutdown().await;
        world.start().await.handle.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_in_a_ratis_log_are_not_lost_because_the_tables_are_empty() {
    let world = World::new().await;
    begin_tables(world.dir.path(), namespace::Table::ALL.len());
    let group = world.dir.path().join("om.ratis/group/current");
    std::fs::create_dir_all(&group).unwrap();
    // Term 1, index 3, a command of one byte; then a checksum.
    let entry = [7, 0x08, 1, 0x10, 3, 0x1a, 1, b'x', 0, 0, 0, 0];
    std::fs::write(group.join("log_inprogress_0"), [&b"RaftLog1"[..], &entry].concat()).unwrap();
    let conf = world.conf(world.dir.path());
    let refused = Om::start(&conf, OmOptions::default()).await.err().expect("a log is ahead");
    assert!(refused.to_string().contains("goes to entry 3, the tables to 0"), "{refused}");
}

fn begin_tables(dir: &std::path::Path, count: usize) {
    let specs: Vec<_> = namespace::Table::ALL[..count]
        .iter()
        .map(|table| metastore::TableSpec::new(table.name(), metastore::Preset::Point))
        .collect();
    metastore::Store::open(&dir.join("om.db"), &specs, &metastore::StoreOptions::default())
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn replications_that_nobody_can_ask_for_are_no_pattern() {
    let world = World::new().await;
    for pattern in ["RATIS/(", "(?!RATIS).*"] {
        let conf = world.conf(world.dir.path()).with("ozone.replication.allowed-configs", pattern);
        let refused = Om::start(&conf, OmOptions::default()).await.err().expect("no pattern");
        let text = refused.to_string();
        assert!(text.contains("ozone.replication.allowed-configs"), "{text}");
    }
    world.start().await.handle.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_else_may_enter_the_directories_of_tables_and_log() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new().await;
    let (tables, log) = (world.dir.path().join("tables"), world.dir.path().join("log"));
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    let world = world.with("ozone.om.ratis.storage.dir", log.display());
    // One that is there already, and one that is not.
    std::fs::create_dir(&tables).unwrap();
    std::fs::set_permissions(&tables, std::fs::Permissions::from_mode(0o755)).unwrap();
    world.start_in(&tables).await.handle.shutdown().await;
    assert_eq!((mode(&tables), mode(&log)), (0o700, 0o700));
    let world = world.with("ozone.om.db.dirs.permissions", "rwxr-x---");
    world.start_in(&tables).await.handle.shutdown().await;
    assert_eq!((mode(&tables), mode(&log)), (0o750, 0o750));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_that_is_to_be_kept_out_must_be_known() {
    let world = World::new().await.with("ozone.acl.enabled", true);
    let conf = world.conf(world.dir.path()).with("ozone.blacklist.groups", "no-such-group");
    let refused =
        Om::start(&conf, OmOptions::default()).await.err().expect("the group does not exist");
    let text = refused.to_string();
    assert!(text.contains("ozone.blacklist.groups") && text.contains("no-such-group"), "{text}");
    let conf = conf.with("hadoop.user.group.static.mapping.overrides", "eve=no-such-group");
    Om::start(&conf, OmOptions::default()).await.unwrap().shutdown().await;
}
