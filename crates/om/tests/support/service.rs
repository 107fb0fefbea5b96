//! A service of several OMs in one process, and the native client.

use std::path::PathBuf;

use client::{Client, ClientOptions};
use config::Configuration;
use om::{Om, OmHandle, OmOptions};
use proto::om_admin::OmStateResponse;
use proto::ozone::*;
use testkit::free_ports;
use testkit::until;

use super::World;

/// Ids of the OMs.
pub const NODES: [&str; 3] = ["om1", "om2", "om3"];

pub struct Service {
    pub world: World,
    conf: Configuration,
    nodes: Vec<String>,
    /// Addresses of those that came later.
    later: Vec<(String, String)>,
    /// `None` while an OM is down.
    pub oms: Vec<Option<OmHandle>>,
}

impl Service {
    /// All of them, starting.
    pub async fn start(world: World) -> Self {
        testkit::log();
        let ports = free_ports(2 * NODES.len());
        let nodes: Vec<String> = NODES.iter().map(|node| (*node).to_owned()).collect();
        write_file(&world, &nodes, &[], &[]);
        let mut conf = world.conf(world.dir.path()).with("ozone.om.service.ids", "svc");
        for (n, node) in NODES.iter().enumerate() {
            conf = conf
                .with(
                    &format!("ozone.om.address.svc.{node}"),
                    format!("127.0.0.1:{}", ports[2 * n]),
                )
                .with(&format!("ozone.om.ratis.port.svc.{node}"), ports[2 * n + 1]);
        }
        let mut service = Self { world, conf, nodes, later: Vec::new(), oms: Vec::new() };
        for n in 0..NODES.len() {
            let om = service.make(n).await;
            service.oms.push(Some(om));
        }
        // One that no leader has spoken to yet might have had a past, and does not vote.
        service.settled().await;
        service
    }

    /// Directory of an OM's files.
    pub fn dir(&self, n: usize) -> PathBuf {
        self.world.dir.path().join(self.node(n))
    }

    /// The id of an OM.
    pub fn node(&self, n: usize) -> &str {
        &self.nodes[n]
    }

    pub fn conf(&self, n: usize) -> Configuration {
        // As a process would that starts now.
        let mut conf = self.conf.reloaded().unwrap();
        if n >= NODES.len() {
            conf = conf.with("ozone.om.nodes.svc", self.nodes.join(","));
            conf = self.later.iter().fold(conf, |conf, (key, value)| conf.with(key, value));
        }
        conf.with("ozone.om.db.dirs", self.dir(n).display()).with("ozone.om.node.id", self.node(n))
    }

    /// A further OM, which only its own configuration names until the file is written.
    pub fn grow(&mut self, node: &str) -> usize {
        let ports = free_ports(2);
        let address = format!("127.0.0.1:{}", ports[0]);
        self.later.push((format!("ozone.om.address.svc.{node}"), address));
        self.later.push((format!("ozone.om.ratis.port.svc.{node}"), ports[1].to_string()));
        self.nodes.push(node.to_owned());
        self.oms.push(None);
        self.oms.len() - 1
    }

    /// Writes the file that all OMs read: the members, and those to be removed.
    pub fn write_file(&self, gone: &[&str]) {
        write_file(&self.world, &self.nodes, gone, &self.later);
    }

    /// Changes a setting for OMs that start from now on.
    pub fn set(&mut self, key: &str, value: &str) {
        self.conf = self.conf.with(key, value);
    }

    async fn make(&self, n: usize) -> OmHandle {
        Om::start(&self.conf(n), OmOptions::default()).await.unwrap()
    }

    /// Starts an OM that is down.
    pub async fn revive(&mut self, n: usize) {
        self.oms[n] = Some(self.make(n).await);
    }

    pub fn om(&self, n: usize) -> &OmHandle {
        self.oms[n].as_ref().unwrap()
    }

    pub fn up(&self) -> Vec<usize> {
        (0..self.oms.len()).filter(|n| self.oms[*n].is_some()).collect()
    }

    /// Waits for one that leads and serves.
    pub async fn leader(&self) -> usize {
        let leads = |n: &usize| self.oms[*n].as_ref().is_some_and(OmHandle::is_leader);
        until("an OM that leads", async || self.up().into_iter().find(leads)).await
    }

    /// Waits until every OM that is up has everything.
    pub async fn settled(&self) {
        let client = self.client();
        until("all to have everything", async || {
            let states = client.om_states().await;
            let up: Vec<_> = states.iter().filter_map(|(_, s)| s.as_ref().ok()).collect();
            let newest = up.iter().map(|(s, _)| s.committed).max().unwrap_or_default();
            let whole = |s: &OmStateResponse| s.applied == newest && s.leader_id.is_some();
            let all = up.len() == self.up().len() && up.iter().all(|(s, _)| whole(s));
            if newest > 0 && all { Ok(()) } else { Err(format!("{states:?}")) }
        })
        .await;
    }

    /// Takes an OM down as a kill would.
    pub async fn kill(&mut self, n: usize) {
        self.oms[n].take().unwrap().abandon().await;
    }

    pub fn client(&self) -> Client {
        Client::connect(&self.conf.reloaded().unwrap()).unwrap()
    }

    pub fn client_options(&self) -> ClientOptions {
        ClientOptions::from_configuration(&self.conf.reloaded().unwrap())
    }

    pub async fn stop(mut self) {
        for om in self.oms.iter_mut().filter_map(Option::take) {
            om.shutdown().await;
        }
    }
}

fn write_file(world: &World, nodes: &[String], gone: &[&str], later: &[(String, String)]) {
    let property = |key: &str, value: &str| {
        format!("<property><name>{key}</name><value>{value}</value></property>")
    };
    let nodes = property("ozone.om.nodes.svc", &nodes.join(","));
    let gone = property("ozone.om.decommissioned.nodes.svc", &gone.join(","));
    let later: String = later.iter().map(|(key, value)| property(key, value)).collect();
    let xml = format!("<configuration>{nodes}{gone}{later}</configuration>");
    std::fs::write(world.dir.path().join("ozone-site.xml"), xml).unwrap();
}

/// The answer, which must be a success.
pub async fn ok(client: &Client, request: OmRequest) -> OmResponse {
    let answer = client.submit(request.clone()).await.unwrap();
    assert_eq!(answer.status(), Status::Ok, "{request:?}: {:?}", answer.message);
    answer
}
