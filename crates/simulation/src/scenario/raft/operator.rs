//! An operator who adds hosts to groups and removes others during faults.
//!
//! A host is removed only when there are more voters than in the beginning, so that those whose
//! disks may be lost stay fewer than half.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use framed::{Client, ClientOptions};
use multiraft::Membership;

use super::client::block_on;
use super::message::{CHANGE, JOIN, MEMBERS};
use super::server::{Setup, host_address, node_id};
use crate::world::random::Random;

/// Time limit of a response.
const TIMEOUT: Duration = Duration::from_secs(3);
/// Between two changes at most, in milliseconds.
const MAX_INTERVAL: u64 = 8_000;

/// Counts of an operator's actions.
#[derive(Debug, Default)]
pub struct Done {
    /// Hosts that were added to a group.
    pub added: AtomicU64,
    /// Hosts that were removed from one.
    pub removed: AtomicU64,
}

/// Connections to all hosts.
pub struct HostClients(Vec<Client>);

impl HostClients {
    /// Not connected yet.
    pub fn new(setup: &Setup) -> Self {
        let all = 0..setup.hosts + setup.spares;
        Self(all.map(|host| Client::new(host_address(host), ClientOptions::default())).collect())
    }

    async fn call(&self, host: usize, method: u16, text: String, payload: Bytes) -> Option<Bytes> {
        let reply = self.0[host].call(method, text.into(), payload, TIMEOUT).await;
        reply.ok().map(|reply| reply.header)
    }

    /// The members of a group, as of the newest change that any host has; starts it on those that
    /// lack it.
    pub async fn members(&self, group: u64) -> Option<Vec<usize>> {
        let mut last: Option<Membership> = None;
        let mut without = Vec::new();
        for host in 0..self.0.len() {
            let told = self.call(host, MEMBERS, group.to_string(), Bytes::new()).await;
            match told.and_then(|told| Membership::decode(told).ok()) {
                Some(told) if last.as_ref().is_none_or(|last| last.index < told.index) => {
                    last = Some(told);
                }
                Some(_) => {}
                None => without.push(host),
            }
        }
        let last = last?;
        for host in without.into_iter().filter(|host| last.contains(node_id(*host))) {
            self.call(host, JOIN, group.to_string(), last.encode()).await;
        }
        Some((0..self.0.len()).filter(|host| last.contains(node_id(*host))).collect())
    }

    /// Asks each host for the change; returns `true` if one made it.
    async fn change(&self, text: &str) -> bool {
        for host in 0..self.0.len() {
            if self.call(host, CHANGE, text.to_owned(), Bytes::new()).await.is_some() {
                return true;
            }
        }
        false
    }
}

/// The operator's process.
pub fn work(setup: &Setup, mut random: Random, done: &Arc<Done>, stop: &AtomicBool) {
    block_on(async {
        let clients = HostClients::new(setup);
        while !stop.load(Ordering::Acquire) {
            tokio::time::sleep(Duration::from_millis(random.below(MAX_INTERVAL))).await;
            let group = random.below(setup.groups);
            let Some(members) = clients.members(group).await else { continue };
            let others: Vec<usize> =
                (0..setup.hosts + setup.spares).filter(|host| !members.contains(host)).collect();
            let (kind, host) = match members.len() > setup.hosts || others.is_empty() {
                true => ("remove", *random.pick(&members)),
                false => ("add", *random.pick(&others)),
            };
            let made = clients.change(&format!("{group} {kind} {host}")).await;
            tracing::info!(group, kind, host, made, "a change of members");
            let count = if kind == "add" { &done.added } else { &done.removed };
            count.fetch_add(u64::from(made), Ordering::Relaxed);
        }
    });
}
