//! One role per process.

use std::path::Path;
use std::process::Command;

use crate::process::{Daemon, o3, stderr};

/// A cluster of processes on free ports.
struct Cluster {
    dir: tempfile::TempDir,
    scm: Option<Daemon>,
    om: Option<Daemon>,
    datanodes: Vec<Daemon>,
    s3g: Option<Daemon>,
    /// Definitions of the addresses of SCM and OM.
    definitions: Vec<String>,
}

/// A role with these definitions, on loopback.
fn role(name: &str, definitions: &[String]) -> Command {
    let mut args = vec![name.to_string(), "--json".into()];
    args.extend(definitions.iter().flat_map(|d| ["-D".to_string(), d.clone()]));
    o3(&args.iter().map(String::as_str).collect::<Vec<_>>())
}

fn address(daemon: &Daemon, name: &str) -> String {
    daemon.ready["addresses"][name]
        .as_str()
        .unwrap_or_else(|| panic!("no {name} in {}", daemon.ready))
        .into()
}

impl Cluster {
    fn start(datanodes: usize) -> Cluster {
        let dir = tempfile::tempdir().unwrap();
        let mut cluster = Cluster {
            dir,
            scm: None,
            om: None,
            datanodes: Vec::new(),
            s3g: None,
            definitions: Vec::new(),
        };
        cluster.start_scm(&["127.0.0.1:0"; 3].map(String::from));
        cluster.start_om("127.0.0.1:0");
        for number in 1..=datanodes {
            let daemon = cluster.datanode(number);
            cluster.datanodes.push(daemon);
        }
        let mut definitions = cluster.definitions.clone();
        definitions.push("ozone.s3g.http-address=127.0.0.1:0".into());
        definitions.push("ozone.s3g.webadmin.http-address=127.0.0.1:0".into());
        cluster.s3g = Some(Daemon::start(role("s3g", &definitions)));
        cluster
    }

    fn path(&self, name: &str) -> String {
        self.dir.path().join(name).display().to_string()
    }

    /// Starts SCM on these addresses: client, block, DataNode.
    fn start_scm(&mut self, at: &[String; 3]) {
        let keys = [
            "ozone.scm.client.address",
            "ozone.scm.block.client.address",
            "ozone.scm.datanode.address",
        ];
        let mut definitions: Vec<String> =
            keys.iter().zip(at).map(|(k, a)| format!("{k}={a}")).collect();
        definitions.push("ozone.scm.http-address=127.0.0.1:0".into());
        definitions.push(format!("ozone.scm.db.dirs={}", self.path("scm")));
        let scm = Daemon::start(role("scm", &definitions));
        let found = ["client", "block", "datanode"].map(|name| address(&scm, name));
        self.definitions = keys.iter().zip(found).map(|(k, a)| format!("{k}={a}")).collect();
        self.scm = Some(scm);
    }

    fn start_om(&mut self, at: &str) {
        let mut definitions = self.definitions.clone();
        definitions.push(format!("ozone.om.address={at}"));
        definitions.push("ozone.om.grpc.port=0".into());
        definitions.push("ozone.om.http-address=127.0.0.1:0".into());
        definitions.push(format!("ozone.metadata.dirs={}", self.path("om")));
        let om = Daemon::start(role("om", &definitions));
        self.definitions.push(format!("ozone.om.address={}", address(&om, "om")));
        self.om = Some(om);
    }

    fn datanode(&self, number: usize) -> Daemon {
        let mut definitions = self.definitions.clone();
        definitions.extend(
            [
                "trioxide.datanode.bind.host=127.0.0.1",
                "hdds.datanode.hostname=127.0.0.1",
                "hdds.container.ipc.random.port=true",
                "hdds.container.ratis.ipc.random.port=true",
                "hdds.datanode.http-address=127.0.0.1:0",
            ]
            .map(String::from),
        );
        definitions
            .push(format!("hdds.datanode.dir={0}/d1,{0}/d2", self.path(&format!("dn{number}"))));
        definitions.push(format!("ozone.metadata.dirs={}", self.path(&format!("dn{number}"))));
        Daemon::start(role("datanode", &definitions))
    }

    /// Runs a load generator; it must succeed.
    fn freon(&self, args: &[&str]) {
        let mut command = o3(&["freon"]);
        command.args(self.definitions.iter().flat_map(|d| ["-D", d]));
        let output = command.args(args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", stderr(&output));
    }
}

#[test]
fn roles_as_processes_form_a_cluster_that_survives_kills() {
    let mut cluster = Cluster::start(4);
    let ids: Vec<String> = [cluster.scm.as_ref().unwrap(), cluster.om.as_ref().unwrap()]
        .iter()
        .map(|d| address(d, "cluster"))
        .collect();
    assert_eq!(ids[0], ids[1]);
    cluster.freon(&["ockg", "-n", "40", "-t", "4", "--size", "10KB", "-p", "before"]);

    // One of four DataNodes is lost: writers continue, and everything can still be read.
    cluster.datanodes.remove(0).kill();
    cluster.freon(&["ockg", "-n", "20", "-t", "4", "--size", "100KB", "-p", "without"]);
    cluster.freon(&["ockv", "-n", "40", "-t", "4", "-p", "before"]);

    // All other processes are killed and restarted.
    let scm = cluster.scm.take().unwrap();
    let at = ["client", "block", "datanode"].map(|name| address(&scm, name));
    let om = cluster.om.take().unwrap();
    let om_at = address(&om, "om");
    scm.kill();
    om.kill();
    cluster.datanodes.drain(..).for_each(Daemon::kill);
    cluster.start_scm(&at);
    cluster.start_om(&om_at);
    cluster.datanodes = (1..=4).map(|number| cluster.datanode(number)).collect();
    cluster.freon(&["ockv", "-n", "40", "-t", "4", "-p", "before"]);
    cluster.freon(&["ockv", "-n", "20", "-t", "4", "-p", "without"]);

    for daemon in cluster
        .datanodes
        .drain(..)
        .chain(cluster.s3g.take())
        .chain(cluster.om.take())
        .chain(cluster.scm.take())
    {
        assert_eq!(daemon.terminate().code(), Some(0));
    }
}

#[test]
fn a_role_without_a_directory_says_which_key_to_set() {
    for (name, key) in [
        ("om", "ozone.om.db.dirs"),
        ("scm", "ozone.scm.db.dirs"),
        ("datanode", "hdds.datanode.dir"),
    ] {
        let output = role(name, &[]).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{name}");
        assert!(stderr(&output).contains(key), "{name}: {}", stderr(&output));
    }
}

#[test]
fn roles_are_configured_by_an_ozone_site_file() {
    let dir = tempfile::tempdir().unwrap();
    let site = dir.path().join("ozone-site.xml");
    let property = |name: &str, value: &str| {
        format!("<property><name>{name}</name><value>{value}</value></property>\n")
    };
    let text = [
        ("ozone.scm.names", "127.0.0.1"),
        ("ozone.scm.client.port", "0"),
        ("ozone.scm.block.client.port", "0"),
        ("ozone.scm.datanode.port", "0"),
        ("ozone.scm.http-address", "127.0.0.1:0"),
        ("ozone.scm.db.dirs", &dir.path().join("${env.O3_TEST_NAME}").display().to_string()),
    ]
    .map(|(name, value)| property(name, value))
    .concat();
    std::fs::write(&site, format!("<configuration>\n{text}</configuration>\n")).unwrap();
    let mut command = o3(&["scm", "--json"]);
    command.env("OZONE_CONF_DIR", dir.path()).env("O3_TEST_NAME", "scm-of-test");
    let scm = Daemon::start(command);
    assert!(address(&scm, "client").starts_with("127.0.0.1:"));
    assert!(Path::new(&dir.path().join("scm-of-test")).is_dir());
    assert_eq!(scm.terminate().code(), Some(0));
}
