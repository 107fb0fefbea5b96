//! The configuration of each role.

use config::keys::{datanode, hdds, om, s3g, scm};
use config::{Configuration, HostPort};
use server::Directory;
use server::derive::Base;

struct Fixture {
    _dir: tempfile::TempDir,
    directory: Directory,
    base: Base,
}

fn server(definitions: &[&str], datanodes: usize) -> Fixture {
    let dir = tempfile::tempdir().unwrap();
    let directory = Directory::open(dir.path()).unwrap();
    let builder = definitions.iter().fold(Configuration::builder(), |b, d| b.define(d).unwrap());
    let base = Base::new(&builder.build().unwrap(), "127.0.0.1", datanodes);
    Fixture { _dir: dir, directory, base }
}

fn data_dirs(conf: &Configuration) -> Vec<std::path::PathBuf> {
    conf.get(&datanode::HDDS_DATANODE_DIR).into_iter().map(|dir| dir.path).collect()
}

#[test]
fn endpoints_have_ozones_ports_on_the_servers_interface() {
    let f = server(&[], 3);
    let scm = f.base.scm(&f.directory, 1);
    assert_eq!(scm.get(&scm::OZONE_SCM_CLIENT_ADDRESS).to_string(), "127.0.0.1:9860");
    assert_eq!(scm.get(&scm::OZONE_SCM_DATANODE_ADDRESS).to_string(), "127.0.0.1:9861");
    let om = f.base.om(&f.directory, 1);
    assert_eq!(om.get(&om::OZONE_OM_ADDRESS).to_string(), "127.0.0.1:9862");
    assert_eq!(om.get(&s3g::OZONE_S3G_HTTP_ADDRESS).to_string(), "127.0.0.1:9878");
}

#[test]
fn free_ports_can_be_set_for_all_endpoints_at_once() {
    let f = server(&["trioxide.server.ports=free"], 3);
    let conf = f.base.om(&f.directory, 1);
    let endpoints = [
        &om::OZONE_OM_ADDRESS,
        &om::OZONE_OM_HTTP_ADDRESS,
        &scm::OZONE_SCM_CLIENT_ADDRESS,
        &scm::OZONE_SCM_BLOCK_CLIENT_ADDRESS,
        &scm::OZONE_SCM_DATANODE_ADDRESS,
        &scm::OZONE_SCM_HTTP_ADDRESS,
        &s3g::OZONE_S3G_HTTP_ADDRESS,
        &s3g::OZONE_S3G_WEBADMIN_HTTP_ADDRESS,
        &datanode::HDDS_DATANODE_HTTP_ADDRESS,
    ];
    for endpoint in endpoints {
        assert_eq!(conf.get(endpoint).to_string(), "127.0.0.1:0", "{}", endpoint.name());
    }
    assert_eq!(conf.get(&om::OZONE_OM_GRPC_PORT), 0);
}

#[test]
fn what_is_set_is_kept() {
    let f = server(
        &[
            "ozone.om.address=127.0.0.2:0",
            "ozone.server.default.replication=3",
            "hdds.container.ipc.port=9859",
        ],
        1,
    );
    assert_eq!(f.base.om(&f.directory, 1).get(&om::OZONE_OM_ADDRESS).to_string(), "127.0.0.2:0");
    assert_eq!(f.base.om(&f.directory, 1).get(&hdds::OZONE_SERVER_DEFAULT_REPLICATION), "3");
    assert_eq!(f.base.datanode(&f.directory, 1).get(&datanode::HDDS_CONTAINER_IPC_PORT), 9859);
    assert_eq!(f.base.datanode(&f.directory, 2).get(&datanode::HDDS_CONTAINER_IPC_PORT), 0);
}

#[test]
fn too_few_datanodes_for_three_replicas_mean_one_replica() {
    let replication = |datanodes| {
        let f = server(&[], datanodes);
        f.base.om(&f.directory, 1).get(&hdds::OZONE_SERVER_DEFAULT_REPLICATION)
    };
    assert_eq!([1, 2, 3, 4].map(replication), ["1", "1", "3", "3"]);
}

#[test]
fn roles_have_directories_of_their_own() {
    let f = server(&["ozone.metadata.dirs=/elsewhere"], 3);
    let om = f.base.om(&f.directory, 1).directory(&om::OZONE_OM_DB_DIRS).unwrap();
    let scm = f.base.scm(&f.directory, 1).directory(&scm::OZONE_SCM_DB_DIRS).unwrap();
    assert_eq!((om, scm), (f.directory.om(1), f.directory.scm(1)));
    for number in 1..=3 {
        let conf = f.base.datanode(&f.directory, number);
        assert_eq!(data_dirs(&conf), [f.directory.datanode_disk(number, 1)]);
        assert_eq!(
            conf.directory(&datanode::OZONE_SCM_DATANODE_ID_DIR).unwrap(),
            f.directory.datanode(number)
        );
    }
}

#[test]
fn roles_that_start_later_know_where_the_others_listen() {
    let f = server(&["trioxide.server.ports=free"], 3);
    let at = |port| HostPort::new("127.0.0.1", port);
    let base = f.base.with_scm(&at(1), &at(2), &at(3));
    assert_eq!(base.datanode(&f.directory, 1).get(&scm::OZONE_SCM_DATANODE_ADDRESS).port, 3);
    assert_eq!(base.om(&f.directory, 1).get(&scm::OZONE_SCM_BLOCK_CLIENT_ADDRESS).port, 2);
    let client = base.client(&at(4), Some(5));
    assert_eq!(
        (client.get(&om::OZONE_OM_ADDRESS).port, client.get(&om::OZONE_OM_GRPC_PORT)),
        (4, 5)
    );
}

#[test]
fn several_oms_and_scms_are_services_whose_members_have_ports_of_their_own() {
    let f = server(&["ozone.om.address=127.0.0.2:5000"], 3);
    let base = f.base.clone().with_members(3, 2).unwrap();
    let conf = base.om(&f.directory, 2);
    let of = |name: &str| conf.raw(name).unwrap().to_owned();
    assert_eq!(of("ozone.om.node.id"), "om2");
    assert_eq!(of("ozone.om.nodes.omservice"), "om1,om2,om3");
    let addresses = ["om1", "om2", "om3"].map(|n| of(&format!("ozone.om.address.omservice.{n}")));
    assert_eq!(addresses, ["127.0.0.2:5000", "127.0.0.2:5100", "127.0.0.2:5200"]);
    assert_eq!(conf.directory(&om::OZONE_OM_DB_DIRS).unwrap(), f.directory.om(2));
    let scm = base.scm(&f.directory, 2);
    assert_eq!(scm.raw("ozone.scm.node.id"), Some("scm2"));
    let service = scm.scm_service().unwrap();
    assert_eq!(service.nodes[1].block.to_string(), "127.0.0.1:9963");
    let mut all: Vec<_> = (base.site(&conf).into_iter()).map(|(_, value)| value).collect();
    let count = all.len();
    all.sort();
    all.dedup();
    // The SCMs have the same host.
    assert_eq!(all.len(), count - 1, "no address is assigned twice");
}

#[test]
fn free_ports_are_all_different() {
    let f = server(&["trioxide.server.ports=free"], 3);
    let base = f.base.clone().with_members(3, 3).unwrap();
    let endpoints = base.site(&base.om(&f.directory, 1)).into_iter().filter_map(|(name, value)| {
        let port = value.rsplit(':').next()?.parse::<u16>().ok()?;
        (!name.contains("nodes")).then_some(port)
    });
    let mut ports: Vec<_> = endpoints.collect();
    assert_eq!(ports.len(), 3 * 4 + 3 * 5);
    assert!(!ports.contains(&0));
    ports.sort();
    ports.dedup();
    assert_eq!(ports.len(), 3 * 4 + 3 * 5);
}

#[test]
fn datanodes_have_as_many_disks_as_are_asked_for() {
    let f = server(&[], 3);
    let conf = f.base.clone().with_disks(3).datanode(&f.directory, 2);
    let disks = [1, 2, 3].map(|disk| f.directory.datanode_disk(2, disk));
    assert_eq!(data_dirs(&conf), disks);
    let types = server(&["trioxide.server.storage.types=ssd,DISK"], 3);
    let conf = types.base.clone().with_disks(3).datanode(&types.directory, 2);
    let dirs = conf.get(&datanode::HDDS_DATANODE_DIR);
    let types: Vec<_> = dirs.iter().map(|dir| dir.storage_type).collect();
    assert_eq!(types, ["SSD", "DISK", "SSD"]);
    assert_eq!(f.directory.known_disks().unwrap(), 0);
    std::fs::create_dir_all(f.directory.datanode_disk(1, 4)).unwrap();
    assert_eq!(f.directory.known_disks().unwrap(), 4);
}

/// Hadoop's commands resolve a path without a scheme in the cluster.
#[test]
fn clients_are_told_of_their_file_system() {
    let default_fs = |base: &Base, conf: &Configuration| {
        let site = base.site(conf);
        let found = site.into_iter().find(|(name, _)| name == "fs.defaultFS");
        found.map(|(_, value)| value)
    };
    let f = server(&["trioxide.server.ports=free"], 3);
    let client = f.base.client(&HostPort::new("127.0.0.1", 4), None);
    assert_eq!(default_fs(&f.base, &client).as_deref(), Some("ofs://127.0.0.1:4/"));
    let base = f.base.clone().with_members(3, 1).unwrap();
    let client = base.om(&f.directory, 1);
    assert_eq!(default_fs(&base, &client).as_deref(), Some("ofs://omservice/"));
}
