//! Members are added to and removed from services of processes, with an operator's commands.

use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;
use testkit::free_ports;
use testkit::until_blocking;

use crate::process::{Daemon, Killed, o3, stderr, stdout};

/// A directory with `ozone-site.xml`, and the processes that read it.
struct Service {
    dir: TempDir,
    properties: Vec<(String, String)>,
}

impl Service {
    fn new() -> Service {
        Service { dir: tempfile::tempdir().unwrap(), properties: Vec::new() }
    }

    fn set(&mut self, key: impl Into<String>, value: impl Into<String>) {
        let key = key.into();
        self.properties.retain(|(known, _)| *known != key);
        self.properties.push((key, value.into()));
        let property = |(k, v): &(String, String)| {
            format!("<property><name>{k}</name><value>{v}</value></property>\n")
        };
        let all: String = self.properties.iter().map(property).collect();
        let file = self.dir.path().join("ozone-site.xml");
        std::fs::write(file, format!("<configuration>\n{all}</configuration>\n")).unwrap();
    }

    /// Configures the first `count` members of a role, with a port for each of its `endpoints`.
    fn name(&mut self, role: &str, endpoints: &[&str], count: usize) {
        let nodes: Vec<String> = (1..=count).map(|n| format!("{role}{n}")).collect();
        self.set(format!("ozone.{role}.nodes.svc"), nodes.join(","));
        for node in nodes {
            let known = format!("ozone.{role}.ratis.port.svc.{node}");
            if self.properties.iter().any(|(key, _)| *key == known) {
                continue;
            }
            let ports = free_ports(endpoints.len() + 1);
            self.set(known, ports[0].to_string());
            for (endpoint, port) in endpoints.iter().zip(&ports[1..]) {
                self.set(
                    format!("ozone.{role}.{endpoint}.svc.{node}"),
                    format!("127.0.0.1:{port}"),
                );
            }
            if role == "scm" {
                self.set(format!("ozone.scm.address.svc.{node}"), "127.0.0.1");
            } else {
                self.set(format!("ozone.om.grpc.port.svc.{node}"), "0");
            }
        }
    }

    fn path(&self, name: &str) -> String {
        self.dir.path().join(name).display().to_string()
    }

    fn command(&self, role: &str, node: &str, more: &[&str]) -> Command {
        let mut command = o3(&[role, "--json", "--conf", &self.path("")]);
        command.args(["-D", &format!("ozone.{role}.node.id={node}")]);
        command.args(["-D", &format!("ozone.metadata.dirs={}", self.path(node))]);
        command.args(more);
        command
    }

    fn start(&self, role: &str, node: &str, more: &[&str]) -> Daemon {
        Daemon::start(self.command(role, node, more))
    }

    /// Starts the initial members of a service: none of its SCMs serves before all are running.
    fn start_all(&self, role: &str, nodes: &[&str]) -> Vec<Daemon> {
        std::thread::scope(|scope| {
            let start = |node| scope.spawn(move || self.start(role, node, &[]));
            let starting: Vec<_> = nodes.iter().map(|node| start(*node)).collect();
            starting.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    }

    /// Starts a member and kills it as soon as a condition holds. The condition receives `true`
    /// once the member has printed its ready line: a state that ends before that may never be seen
    /// on a busy machine.
    fn kill_when(&self, role: &str, node: &str, more: &[&str], mut so: impl FnMut(bool) -> bool) {
        let mut killed = Killed::start(self.command(role, node, more));
        until_blocking("the moment of the kill", || {
            assert_eq!(killed.ended(), None, "{role} {more:?} has ended by itself");
            so(killed.is_ready())
        });
    }

    fn run(&self, args: &[&str]) -> Output {
        o3(args).args(["--conf", &self.path("")]).output().unwrap()
    }

    /// Runs a command until it succeeds: the leader may not be elected yet.
    fn done(&self, args: &[&str]) -> String {
        until_blocking(format!("{args:?}"), || {
            let output = self.run(args);
            if output.status.success() { Ok(stdout(&output)) } else { Err(stderr(&output)) }
        })
    }

    /// The lines of a listing.
    fn roles(&self, args: &[&str]) -> Vec<String> {
        self.done(args).lines().map(str::to_owned).collect()
    }

    /// Waits until all of `count` members in a listing vote.
    fn all_vote(&self, args: &[&str], count: usize) {
        until_blocking("all to vote", || {
            let roles = self.roles(args);
            let all = roles.len() == count && !roles.iter().any(|role| role.contains("LEARNER"));
            if all { Ok(()) } else { Err(roles) }
        });
    }
}

const SCM_ENDPOINTS: [&str; 4] =
    ["client.address", "block.client.address", "datanode.address", "http-address"];
const OM_ENDPOINTS: [&str; 2] = ["address", "http-address"];
const OM_ROLES: [&str; 3] = ["admin", "om", "roles"];
const SCM_ROLES: [&str; 3] = ["admin", "scm", "roles"];

/// The leader in a listing.
fn leader(roles: &[String], names: &[&str]) -> usize {
    let line = roles.iter().find(|role| role.contains("LEADER")).unwrap();
    names.iter().position(|name| line.contains(name)).unwrap_or_else(|| panic!("{line}"))
}

fn files_below(dir: &str) -> bool {
    std::fs::read_dir(Path::new(dir)).is_ok_and(|mut entries| entries.next().is_some())
}

#[test]
fn a_fourth_om_joins_the_leader_goes_for_good_and_all_are_prepared() {
    let mut service = Service::new();
    service.set("ozone.scm.service.ids", "svc");
    service.set("ozone.om.service.ids", "svc");
    service.name("scm", &SCM_ENDPOINTS, 1);
    service.name("om", &OM_ENDPOINTS, 3);
    let scm = service.start("scm", "scm1", &[]);
    let mut oms: Vec<Option<Daemon>> =
        ["om1", "om2", "om3"].iter().map(|node| Some(service.start("om", node, &[]))).collect();
    service.done(&["sh", "volume", "create", "before"]);

    service.name("om", &OM_ENDPOINTS, 4);
    let home = format!("ozone.metadata.dirs={}", service.path("om4"));
    let refused = service.run(&["om", "-D", "ozone.om.node.id=om4", "-D", &home]);
    assert!(
        !refused.status.success() && stderr(&refused).contains("--bootstrap"),
        "{}",
        stderr(&refused)
    );
    oms.push(Some(service.start("om", "om4", &["--bootstrap"])));
    service.all_vote(&OM_ROLES, 4);
    assert!(files_below(&service.path("om4")));

    let names = ["om1", "om2", "om3", "om4"];
    let first = leader(&service.roles(&OM_ROLES), &names);
    let gone = ["admin", "om", "decommission", "--nodeid", names[first], "--hostname", "127.0.0.1"];
    let unmarked = service.run(&gone);
    assert!(stderr(&unmarked).contains("ozone.om.decommissioned.nodes"), "{}", stderr(&unmarked));
    service.set("ozone.om.decommissioned.nodes.svc", names[first]);
    let said = service.done(&gone);
    assert!(said.contains(&format!("Successfully decommissioned OM {}", names[first])), "{said}");
    // It stops by itself; as with Ozone's OM, that is a failure for a supervisor of the process.
    assert!(!oms[first].take().unwrap().ended().success());
    service.all_vote(&OM_ROLES, 3);
    service.done(&["sh", "volume", "create", "without"]);

    let said = service.done(&["admin", "om", "prepare"]);
    assert_eq!(said.matches("PREPARE_COMPLETED").count(), 3, "{said}");
    let refused = service.run(&["sh", "volume", "create", "prepared"]);
    assert!(
        !refused.status.success() && stderr(&refused).contains("PREPARED"),
        "{}",
        stderr(&refused)
    );
    // They stay prepared, whichever OM restarts; reads are still served.
    let another = oms.iter().position(Option::is_some).unwrap();
    oms[another].take().unwrap().kill();
    oms[another] = Some(service.start("om", names[another], &[]));
    assert!(service.done(&["sh", "volume", "list"]).contains("without"));
    assert!(!service.run(&["sh", "volume", "create", "prepared"]).status.success());
    service.done(&["admin", "om", "cancelprepare"]);
    service.done(&["sh", "volume", "create", "after"]);
    for daemon in oms.into_iter().flatten().chain([scm]) {
        assert!(daemon.terminate().success());
    }
}

#[test]
fn a_fourth_scm_joins_and_the_leader_goes_for_good() {
    let mut service = Service::new();
    service.set("ozone.scm.service.ids", "svc");
    service.name("scm", &SCM_ENDPOINTS, 3);
    let names = ["scm1", "scm2", "scm3", "scm4"];
    let mut scms: Vec<Option<Daemon>> =
        service.start_all("scm", &names[..3]).into_iter().map(Some).collect();
    service.all_vote(&SCM_ROLES, 3);
    service.name("scm", &SCM_ENDPOINTS, 4);
    scms.push(Some(service.start("scm", "scm4", &["--bootstrap"])));
    service.all_vote(&SCM_ROLES, 4);

    let ports: Vec<String> = names
        .iter()
        .map(|node| {
            let key = format!("ozone.scm.ratis.port.svc.{node}");
            service.properties.iter().find(|(k, _)| *k == key).unwrap().1.clone()
        })
        .collect();
    let ports: Vec<&str> = ports.iter().map(String::as_str).collect();
    let first = leader(&service.roles(&SCM_ROLES), &ports);
    service.done(&["admin", "scm", "decommission", "--nodeid", names[first]]);
    assert!(!scms[first].take().unwrap().ended().success());
    service.all_vote(&SCM_ROLES, 3);
    assert!(!service.roles(&SCM_ROLES).iter().any(|role| role.contains(ports[first])));
    for daemon in scms.into_iter().flatten() {
        assert!(daemon.terminate().success());
    }
}

#[test]
fn the_leading_scm_tells_of_safe_mode_and_all_when_asked() {
    const STATUS: [&str; 3] = ["admin", "safemode", "status"];
    let mut service = Service::new();
    service.set("ozone.scm.service.ids", "svc");
    service.name("scm", &SCM_ENDPOINTS, 3);
    let names = ["scm1", "scm2", "scm3"];
    let mut scms: Vec<Option<Daemon>> =
        service.start_all("scm", &names).into_iter().map(Some).collect();
    service.all_vote(&SCM_ROLES, 3);
    let set = |key: String| {
        service.properties.iter().find(|(k, _)| *k == key).map(|(_, value)| value.clone()).unwrap()
    };
    let ports = names.map(|node| set(format!("ozone.scm.ratis.port.svc.{node}")));
    let ports: Vec<&str> = ports.iter().map(String::as_str).collect();
    let line = |node: usize, state: &str| {
        let (name, address) =
            (names[node], set(format!("ozone.scm.client.address.svc.{}", names[node])));
        format!("{address} [{name}]: {state} safe mode\n")
    };

    // An election may be in progress.
    let roles = until_blocking("a leader", || {
        let roles = service.roles(&SCM_ROLES);
        if roles.iter().any(|role| role.contains("LEADER")) { Ok(roles) } else { Err(roles) }
    });
    let leading = leader(&roles, &ports);
    assert_eq!(service.done(&STATUS), format!("Service ID: svc\n{}", line(leading, "in")));
    let all: String = (0..3).map(|node| line(node, "in")).collect();
    let asked_all = [&STATUS[..], &["--all"]].concat();
    assert_eq!(service.done(&asked_all), format!("Service ID: svc\n{all}"));
    // An operator ends the leader's safe mode.
    service.done(&["admin", "safemode", "exit"]);
    assert_eq!(service.done(&STATUS), format!("Service ID: svc\n{}", line(leading, "out of")));
    assert_eq!(service.done(&["admin", "safemode", "wait"]), "SCM is out of safe mode.\n");

    // One that does not answer is reported, in addition to the others.
    let gone = (leading + 1) % 3;
    scms[gone].take().unwrap().kill();
    let partial = service.run(&[&asked_all[..], &["-D", "trioxide.client.deadline=2s"]].concat());
    assert!(!partial.status.success());
    assert!(stdout(&partial).contains(&line(leading, "out of")), "{}", stdout(&partial));
    assert!(stderr(&partial).contains(&format!("[{}]", names[gone])), "{}", stderr(&partial));
    for daemon in scms.into_iter().flatten() {
        assert!(daemon.terminate().success());
    }
}

#[test]
fn an_om_that_is_killed_while_it_joins_goes_on_joining_without_being_told() {
    let mut service = Service::new();
    service.set("ozone.scm.service.ids", "svc");
    service.set("ozone.om.service.ids", "svc");
    // The log does not reach back to its beginning: a joining OM receives a snapshot.
    service.set("ozone.om.ratis.snapshot.auto.trigger.threshold", "20");
    service.name("scm", &SCM_ENDPOINTS, 1);
    service.name("om", &OM_ENDPOINTS, 3);
    let scm = service.start("scm", "scm1", &[]);
    let oms: Vec<Daemon> =
        ["om1", "om2", "om3"].iter().map(|node| service.start("om", node, &[])).collect();
    for n in 0..50 {
        service.done(&["sh", "volume", "create", &format!("vol{n}")]);
    }

    service.name("om", &OM_ENDPOINTS, 4);
    let home = service.path("om4");
    let has = |name: &str| files_below(&format!("{home}/{name}"));
    let is = |name: &str| Path::new(&format!("{home}/{name}")).exists();
    let listed = || service.roles(&OM_ROLES).len() == 4;
    service.kill_when("om", "om4", &["--bootstrap"], |ready| ready || is("om/current/JOIN"));
    service.kill_when("om", "om4", &[], |_| has("om/ratis"));
    service.kill_when("om", "om4", &[], |_| listed());
    service.kill_when("om", "om4", &[], |_| {
        has("om/ratis/snapshots") || has("om/snapshots") || listed()
    });
    let om4 = service.start("om", "om4", &[]);
    service.all_vote(&OM_ROLES, 4);
    assert!(!is("om/current/JOIN"));
    // It is a voter: with one other down, three of four continue.
    let mut oms = oms;
    oms.pop().unwrap().kill();
    service.done(&["sh", "volume", "create", "after"]);
    for daemon in oms.into_iter().chain([om4, scm]) {
        assert!(daemon.terminate().success());
    }
}

#[test]
fn an_scm_that_is_killed_while_it_joins_goes_on_joining_without_being_told() {
    let mut service = Service::new();
    service.set("ozone.scm.service.ids", "svc");
    service.name("scm", &SCM_ENDPOINTS, 3);
    let mut scms = service.start_all("scm", &["scm1", "scm2", "scm3"]);
    service.all_vote(&SCM_ROLES, 3);
    service.name("scm", &SCM_ENDPOINTS, 4);
    let home = service.path("scm4");
    let is = |name: &str| Path::new(&format!("{home}/{name}")).exists();
    let listed = || service.roles(&SCM_ROLES).len() == 4;
    service.kill_when("scm", "scm4", &["--bootstrap"], |ready| ready || is("scm/current/JOIN"));
    service.kill_when("scm", "scm4", &[], |_| listed());
    service.kill_when("scm", "scm4", &[], |_| listed());
    scms.push(service.start("scm", "scm4", &[]));
    service.all_vote(&SCM_ROLES, 4);
    assert!(!is("scm/current/JOIN"));
    scms.remove(0).kill();
    service.done(&SCM_ROLES);
    for daemon in scms {
        assert!(daemon.terminate().success());
    }
}
