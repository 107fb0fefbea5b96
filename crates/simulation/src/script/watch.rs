//! Clients of a Raft group that write and read while a script runs, at each host separately, and
//! search for reads that lack writes acknowledged before they began.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::ensure;
use framed::Client;
use parking_lot::Mutex;

use super::Server;
use super::hosts::{Hosts, carry_out};
use super::ledger::Ledger;
use super::stage::{Stage, seconds};
use crate::history::register::{Answer, Op};
use crate::scenario::now;
use crate::world::clock::SECOND;

/// The list of the first host's writer; those of the others follow. Lists below are the script's.
const FIRST_LIST: u64 = 100;
/// Delay between two reads at one host.
const BETWEEN_READS: Duration = Duration::from_millis(10);
/// Delay between two writes at one host.
const BETWEEN_WRITES: Duration = Duration::from_millis(40);

/// The clients. Clones share what they found.
#[derive(Clone)]
pub struct Watch {
    ledger: Ledger,
    hosts: u64,
    is_over: Arc<AtomicBool>,
    running: Arc<AtomicUsize>,
    stale: Arc<Mutex<Vec<String>>>,
    reads: Arc<Mutex<BTreeMap<Server, usize>>>,
}

impl Watch {
    /// Clients of this many hosts, which have not begun.
    pub fn new(ledger: Ledger, hosts: usize) -> Self {
        Self {
            ledger,
            hosts: hosts as u64,
            is_over: Arc::default(),
            running: Arc::default(),
            stale: Arc::default(),
            reads: Arc::default(),
        }
    }

    /// The client that writes to one host, whether it leads or not.
    pub async fn write(self, number: usize, client: Client) {
        self.running.fetch_add(1, Ordering::AcqRel);
        let list = FIRST_LIST + number as u64;
        while !self.is_over.load(Ordering::Acquire) {
            let value = self.ledger.next();
            if carry_out(&client, list, Op::Append(value.clone())).await.is_ok() {
                self.ledger.acknowledge(list, value);
            }
            tokio::time::sleep(BETWEEN_WRITES).await;
        }
        self.running.fetch_sub(1, Ordering::AcqRel);
    }

    /// The client that reads at one host, in turn, the values written at each of them.
    pub async fn read(self, number: usize, client: Client) {
        self.running.fetch_add(1, Ordering::AcqRel);
        let host = Server::Host(number);
        for list in (FIRST_LIST..FIRST_LIST + self.hosts).cycle() {
            if self.is_over.load(Ordering::Acquire) {
                break;
            }
            let (least, asked) = (self.ledger.newest(list), now());
            if let Ok(Answer::Value(value)) = carry_out(&client, list, Op::Read).await {
                *self.reads.lock().entry(host).or_default() += 1;
                let has = |least: &String| {
                    value.as_ref().is_some_and(|value| value.split(',').any(|one| one == least))
                };
                if let Some(least) = least.filter(|least| !has(least)) {
                    self.stale.lock().push(format!(
                        "{host} answered a read of {}.{:03} s without {least}, which was acknowledged",
                        asked / SECOND,
                        asked % SECOND / 1_000_000
                    ));
                }
            }
            tokio::time::sleep(BETWEEN_READS).await;
        }
        self.running.fetch_sub(1, Ordering::AcqRel);
    }

    /// Number of reads that a host has answered.
    pub fn reads(&self, host: Server) -> usize {
        self.reads.lock().get(&host).copied().unwrap_or(0)
    }

    /// Number of writes that a host has acknowledged.
    pub fn writes(&self, host: Server) -> usize {
        match host {
            Server::Host(number) => self.ledger.count(FIRST_LIST + number as u64),
            _ => 0,
        }
    }

    /// Checks that no read so far lacked a write acknowledged before it.
    ///
    /// # Errors
    /// Those that did.
    pub fn none_is_stale(&self) -> anyhow::Result<()> {
        let stale = self.stale.lock();
        ensure!(stale.is_empty(), "{} stale reads, the first: {}", stale.len(), stale[0]);
        Ok(())
    }

    /// Has the clients end, and waits for it.
    ///
    /// # Errors
    /// When one hangs, or a read was stale.
    pub fn end(&self, hosts: &mut Hosts) -> anyhow::Result<()> {
        self.is_over.store(true, Ordering::Release);
        hosts.expect("clients that watch end", seconds(30), |_| {
            let running = self.running.load(Ordering::Acquire);
            ensure!(running == 0, "{running} wait for an answer");
            Ok(())
        })?;
        self.none_is_stale()
    }
}
