//! A Raft group of lists on hosts of its own, those of the scenario `raft`: for what happens in a
//! group, whatever is replicated.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use bytes::Bytes;
use framed::{Client, ClientOptions};
use multiraft::Membership;

use super::Server;
use super::ledger::{Ledger, lists};
use super::operator::Operator;
use super::stage::{Machines, Stage, minutes};
use super::watch::Watch;
use crate::history::register::{Answer, Op};
use crate::scenario::raft::limits::Limits;
use crate::scenario::raft::message::{
    CALL, CHANGE, DUMP, HAND_OVER, JOIN, MEMBERS, Request, STATUS, Through, decode_answer,
};
use crate::scenario::raft::server::{self, Setup, host_address, node_id};
use crate::world::world;

/// The only group.
const GROUP: u64 = 0;
/// Lists that a script writes to in turn.
const LISTS: u64 = 10;
/// Time limit for a host's response.
const TIMEOUT: Duration = Duration::from_secs(3);

/// This many hosts with one group, and spares that may join it later. Logs are trimmed after this
/// many entries.
///
/// # Errors
/// When they do not start to work.
pub fn hosts(count: usize, spares: usize, log: u64) -> anyhow::Result<Hosts> {
    let mut random = world().random.split();
    let setup = Arc::new(Setup {
        hosts: count,
        spares,
        groups: 1,
        faulty_transport: false,
        replays: false,
        limits: Limits::trimmed_behind(log),
        seed: random.next(),
    });
    let mut machines = Machines::default();
    for number in 0..count + spares {
        let setup = setup.clone();
        let run = move |dir: &Path| server::run(&setup, number, dir);
        machines.add(Server::Host(number), &mut random, Arc::new(run));
    }
    let connect = |host| Client::new(host_address(host), ClientOptions::default());
    let clients: Arc<[Client]> = (0..count + spares).map(connect).collect();
    let operator = Operator::new(|| Ok(clients))?;
    let mut hosts = Hosts { machines, operator, ledger: Ledger::default(), written: 0 };
    hosts.start((0..count).map(Server::Host))?;
    hosts.expect("the group takes a value", minutes(1), Hosts::write)?;
    Ok(hosts)
}

/// Has a host carry something out, or read.
///
/// # Errors
/// When it does not, or does not answer.
pub async fn carry_out(client: &Client, key: u64, op: Op) -> anyhow::Result<Answer> {
    let text = Request { group: GROUP, key, op, through: Through::Leader }.encode();
    let reply = client.call(CALL, text.into(), Bytes::new(), TIMEOUT).await?;
    decode_answer(&String::from_utf8_lossy(&reply.header)).context("no answer")
}

/// Hosts, and the acknowledged values of their lists.
pub struct Hosts {
    machines: Machines,
    operator: Operator<Arc<[Client]>>,
    ledger: Ledger,
    /// Values that the script has written.
    written: u64,
}

impl Stage for Hosts {
    fn machines(&self) -> &Machines {
        &self.machines
    }

    fn machines_mut(&mut self) -> &mut Machines {
        &mut self.machines
    }

    fn state(&mut self) -> String {
        let hosts = self.machines.servers().to_vec();
        hosts.into_iter().map(|host| format!("  {host}: {:?}\n", self.dump(host))).collect()
    }
}

impl Hosts {
    fn call(
        &mut self,
        host: Server,
        method: u16,
        text: String,
        body: Bytes,
    ) -> anyhow::Result<Bytes> {
        let Server::Host(number) = host else { bail!("{host} is no host") };
        let Self { machines, operator, .. } = self;
        let call = |clients: Arc<[Client]>| async move {
            clients[number].call(method, text.into(), body, TIMEOUT).await
        };
        let reply = operator.ask(call, || machines.tick())?;
        Ok(reply.with_context(|| host.to_string())?.header)
    }

    /// Has a host carry something out, or read.
    ///
    /// # Errors
    /// When it does not, or does not answer.
    pub fn at(&mut self, host: Server, list: u64, op: Op) -> anyhow::Result<Answer> {
        let Server::Host(number) = host else { bail!("{host} is no host") };
        let Self { machines, operator, .. } = self;
        let work =
            |clients: Arc<[Client]>| async move { carry_out(&clients[number], list, op).await };
        operator.ask(work, || machines.tick())?.with_context(|| host.to_string())
    }

    /// Has a host put the next value into a list.
    ///
    /// # Errors
    /// When it does not acknowledge it.
    fn write_at(&mut self, host: Server, list: u64) -> anyhow::Result<()> {
        let value = self.ledger.next();
        let answer = self.at(host, list, Op::Append(value.clone()))?;
        ensure!(answer == Answer::Written, "{host} answers {answer:?}");
        self.ledger.acknowledge(list, value);
        Ok(())
    }

    /// Has clients write and read at each host, until they are ended.
    pub fn watch(&self) -> Watch {
        let count = self.machines.servers().len();
        let watch = Watch::new(self.ledger.clone(), count);
        for number in 0..count {
            let (of_writer, of_reader) = (watch.clone(), watch.clone());
            self.operator.begin(move |clients| of_writer.write(number, clients[number].clone()));
            self.operator.begin(move |clients| of_reader.read(number, clients[number].clone()));
        }
        watch
    }

    fn running(&self) -> Vec<Server> {
        self.machines.servers().iter().copied().filter(|host| self.runs(*host)).collect()
    }

    /// Puts the next value into the next list, at the leading host.
    ///
    /// # Errors
    /// When none does.
    pub fn write(&mut self) -> anyhow::Result<()> {
        let mut last = anyhow::anyhow!("no host runs");
        for host in self.running() {
            match self.write_at(host, self.written % LISTS) {
                Ok(()) => {
                    self.written += 1;
                    return Ok(());
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Writes this many values, one after the other.
    ///
    /// # Errors
    /// When one of them is not acknowledged.
    pub fn write_all(&mut self, count: u64) -> anyhow::Result<()> {
        for _ in 0..count {
            self.expect("a value is acknowledged", minutes(1), Self::write)?;
        }
        Ok(())
    }

    /// A number that a host reports of its replica, or that it counted since it started.
    ///
    /// # Errors
    /// When it does not answer, or has no such number.
    pub fn number(&mut self, host: Server, name: &str) -> anyhow::Result<u64> {
        let told = self.call(host, STATUS, GROUP.to_string(), Bytes::new())?;
        let told = String::from_utf8_lossy(&told).into_owned();
        let mut values = told.lines().filter_map(|line| line.split_once(' '));
        let value = values.find(|(of, _)| *of == name).and_then(|(_, value)| value.parse().ok());
        value.with_context(|| format!("{name} is none of {told}"))
    }

    /// The leading host, in the newest term of any.
    ///
    /// # Errors
    /// When none does.
    pub fn leader(&mut self) -> anyhow::Result<Server> {
        let mut last = None;
        for host in self.running() {
            if self.number(host, "leads").is_ok_and(|leads| leads == 1) {
                last = last.max(Some((self.number(host, "term")?, host)));
            }
        }
        last.map(|(_, host)| host).context("no host leads")
    }

    /// Waits until a host leads that is none of these.
    ///
    /// # Errors
    /// When none does within half a minute.
    pub fn another_leader(&mut self, than: &[Server]) -> anyhow::Result<Server> {
        self.expect("another host leads", Duration::from_secs(30), |h| {
            let leader = h.leader()?;
            ensure!(!than.contains(&leader), "{leader} leads");
            Ok(leader)
        })
    }

    /// Has the leader hand over to another host.
    ///
    /// # Errors
    /// When none leads.
    pub fn hand_over(&mut self, to: Server) -> anyhow::Result<()> {
        let Server::Host(number) = to else { bail!("{to} is no host") };
        let leader = self.leader()?;
        self.call(leader, HAND_OVER, format!("{GROUP} {number}"), Bytes::new()).map(drop)
    }

    /// Contents of a host's replica, in memory.
    ///
    /// # Errors
    /// When it does not answer.
    pub fn dump(&mut self, host: Server) -> anyhow::Result<String> {
        let told = self.call(host, DUMP, GROUP.to_string(), Bytes::new())?;
        Ok(String::from_utf8_lossy(&told).into_owned())
    }

    /// Looks for two minutes that none of these hosts can be read: none of them leads.
    ///
    /// # Errors
    /// When one was read.
    pub fn none_leads(&mut self, hosts: &[Server]) -> anyhow::Result<()> {
        self.expect_always("none of them leads", minutes(2), |h| {
            for host in hosts {
                let answer = h.at(*host, 1, Op::Read);
                ensure!(answer.is_err(), "{host} is read: {answer:?}");
            }
            Ok(())
        })
    }

    /// Waits until a host that lost something has all again, and votes.
    ///
    /// # Errors
    /// When it does not within a minute.
    pub fn counts_again(&mut self, host: Server) -> anyhow::Result<()> {
        self.expect("it counts again", minutes(1), |h| {
            ensure!(h.number(host, "incomplete")? == 0, "{host} is incomplete");
            Ok(())
        })
    }

    /// Waits until these hosts hold the same: all acknowledged values, each once and in order, and
    /// none that was not sent.
    ///
    /// # Errors
    /// When they do not within two minutes.
    pub fn agree(&mut self, hosts: &[Server]) -> anyhow::Result<()> {
        self.expect("replicas hold what was acknowledged", minutes(2), |h| {
            let mut first = None;
            for host in hosts {
                let held = lists(&h.dump(*host)?);
                h.ledger.judge(&held).with_context(|| host.to_string())?;
                let first = first.get_or_insert_with(|| held.clone());
                ensure!(*first == held, "{host} holds {held:?}, {} {first:?}", hosts[0]);
            }
            Ok(())
        })
    }

    /// The members, as a host has them.
    ///
    /// # Errors
    /// When it does not answer.
    pub fn members(&mut self, host: Server) -> anyhow::Result<Membership> {
        Ok(Membership::decode(self.call(host, MEMBERS, GROUP.to_string(), Bytes::new())?)?)
    }

    /// Returns `true` if the leader counts a host as a member with a vote.
    ///
    /// # Errors
    /// When no host leads.
    pub fn votes(&mut self, host: Server) -> anyhow::Result<bool> {
        let Server::Host(number) = host else { bail!("{host} is no host") };
        let leader = self.leader()?;
        let members = self.members(leader)?;
        Ok(members.voters().any(|voter| voter.peer.node == node_id(number)))
    }

    /// Adds a host to the group, starts it, and waits for its vote.
    ///
    /// # Errors
    /// When it does not get one.
    pub fn add(&mut self, host: Server) -> anyhow::Result<()> {
        let Server::Host(number) = host else { bail!("{host} is no host") };
        self.start([host])?;
        self.change(&format!("{GROUP} add {number}"))?;
        self.expect("the host that was added votes", minutes(2), |h| {
            let leader = h.leader()?;
            let members = h.members(leader)?.encode();
            h.call(host, JOIN, GROUP.to_string(), members)?;
            ensure!(h.votes(host)?, "it does not");
            Ok(())
        })
    }

    /// Removes a host from the group; it runs on.
    ///
    /// # Errors
    /// When no host does that.
    pub fn remove(&mut self, host: Server) -> anyhow::Result<()> {
        let Server::Host(number) = host else { bail!("{host} is no host") };
        self.change(&format!("{GROUP} remove {number}"))
    }

    fn change(&mut self, text: &str) -> anyhow::Result<()> {
        self.expect("a change of members", minutes(1), |h| {
            let leader = h.leader()?;
            h.call(leader, CHANGE, text.to_owned(), Bytes::new()).map(drop)
        })
    }
}
