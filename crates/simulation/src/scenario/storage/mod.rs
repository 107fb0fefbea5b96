//! One OM, one SCM and DataNodes with one or several disks each, and native clients whose keys are
//! erasure coded or replicated. Each round has one kind of fault; the kinds are those that a
//! nemesis of single faults does not reach:
//!
//! * [`absence`]: all members of a group are down, for longer than any interval, while SCM starts,
//!   and come back a few at a time;
//! * [`volumes`]: disks of a DataNode fail separately and come back;
//! * [`apart`]: DataNodes do not reach each other, and all others reach them, while containers are
//!   copied slowly;
//! * [`tiers`]: disks are of three types, storage policies change, and the mover runs.
//!
//! In half of the seeds an operator works, too ([`upkeep`]). After each round everything must be
//! whole again, as in the scenario `erasure`; and the disks are watched all the time ([`watch`]).

mod absence;
mod apart;
mod policies;
mod scans;
mod tiers;
mod upkeep;
mod volumes;
mod watch;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use types::ReplicationConfig;

use self::watch::Watch;
use super::erasure::board::Board;
use super::erasure::layout::{Layout, Shape};
use super::erasure::{clients, clock, servers, whole};
use super::fleet::Fleet;
use super::nemesis::faults::Faults;
use super::{Outcome, Plan, now, settings, sleep};
use crate::world::clock::{Clock, SECOND};
use crate::world::disk::Contract;
use crate::world::disk::names::Names;
use crate::world::node::{self, End};
use crate::world::random::Random;
use crate::world::world;

/// SCM's place among the servers.
const SCM: usize = 0;
/// The first DataNode's place among the servers.
const FIRST_DATANODE: usize = 2;
/// Time limit from a cluster's start to its first key, in simulated seconds.
const START_TIMEOUT: u64 = 300;
/// Time limit after a round until everything is whole again, in simulated seconds.
const WHOLE_TIMEOUT: u64 = 600;
/// Interval of scans of the disks.
const SCAN_INTERVAL: u64 = 2 * SECOND;
/// Bytes of a disk: keys fill some hundredths of it, which the balancers see.
const CAPACITY: u64 = 1 << 30;
/// Clients that write.
const WRITERS: usize = 3;
/// Duration of a query of all DataNodes' scans, in seconds.
const SCANS_TIME: u64 = 2;
/// Keys that clients leave where they can only delete.
const MIN_KEYS: u64 = 12;

/// A round of faults.
type Round = fn(&mut Cluster) -> std::io::Result<()>;

/// Needs of a kind of fault.
struct Kind {
    shape: Shape,
    /// Replications of keys, each as often as it is in the list.
    replications: &'static [&'static str],
    /// Settings, and the values that the seed picks from.
    settings: &'static [(&'static str, &'static [&'static str])],
    round: Round,
    /// Between two calls of a client at most, in milliseconds.
    think: u64,
    /// No DataNode may find a replica damaged: no disk spoils anything.
    honest: bool,
    /// Disks are of several types, and keys have storage policies.
    tiers: bool,
}

impl Kind {
    fn of(faults: Faults) -> std::io::Result<Self> {
        match faults {
            Faults::Absent => Ok(absence::KIND),
            Faults::Volumes => Ok(volumes::KIND),
            Faults::Apart => Ok(apart::KIND),
            Faults::Tiers => Ok(tiers::KIND),
            _ => Err(std::io::Error::other(
                "the scenario has faults of its own: --faults absent, volumes, apart or tiers",
            )),
        }
    }
}

/// Subject of a run.
struct Cluster {
    layout: Layout,
    board: Arc<Board>,
    fleet: Fleet,
    watch: Watch,
    random: Random,
    outcome: Outcome,
    /// The machine of the observers.
    first: usize,
}

/// Runs it.
pub fn run(plan: Plan) -> std::io::Result<Outcome> {
    let Plan { seed, seconds, faults, draws } = plan;
    let kind = Kind::of(faults)?;
    let mut random = Random::new(seed);
    let names = *random.pick(&[Names::AtOnce, Names::Journal, Names::OfDirectory]);
    world().contract = Contract { any_order: random.one_in(2), names };
    world().preempt_once_in(*random.pick(&[0, 16, 64]));
    world().preempt_anywhere_once_in(*random.pick(&[0, 0, 50, 500]));
    let layout = Layout::new(kind.shape, &mut random);
    let layout = kind.settings.iter().fold(layout, |layout, (key, values)| {
        let value = *random.pick(values);
        layout.with(key, value)
    });
    let layout =
        upkeep::SETTINGS.iter().fold(layout, |layout, (key, value)| layout.with(key, value));
    let settled = |key: &str| kind.settings.iter().any(|(of, _)| *of == key);
    let drawn = if draws { settings::draw(seed, settled) } else { Vec::new() };
    let layout = drawn.iter().fold(layout, |layout, (key, value)| layout.with(key, value));
    let name = *random.pick(kind.replications);
    let replication = replication(name)?;
    let layout = match kind.tiers {
        true => layout.with_types(tiers::types(kind.shape, &mut random)),
        false => layout,
    };
    let board = Arc::new(Board::new(replication));
    board.has_policies.store(kind.tiers, Ordering::Relaxed);
    board.think.store(kind.think, Ordering::Relaxed);
    board.least.store(MIN_KEYS, Ordering::Relaxed);
    let mut fleet = servers(&layout, &mut random);
    for member in &fleet.members {
        world().machines[member.machine].disk.capacity = CAPACITY;
    }
    fleet.start_all()?;

    let first = node::add_machine(Clock::default());
    let (watch, outcome) = (Watch::default(), Outcome { settings: drawn, ..Outcome::default() });
    let mut cluster = Cluster { layout, board, fleet, watch, random, outcome, first };
    let (of, here) = (cluster.layout.clone(), cluster.board.clone());
    node::start(first, "prepare", move || clients::prepare(&of, &here));
    if !cluster.within(START_TIMEOUT, |cluster| cluster.board.is_ready.load(Ordering::Acquire)) {
        cluster.outcome.violations.push(format!("no key could be written in {START_TIMEOUT} s"));
        return Ok(cluster.outcome);
    }
    cluster.add_clients()?;
    if cluster.random.one_in(2) {
        cluster.add_operator();
    }
    let end = now() + seconds * SECOND;
    while now() < end && cluster.outcome.violations.is_empty() {
        (kind.round)(&mut cluster)?;
        cluster.ask_for_scans();
        cluster.board.is_quiet.store(true, Ordering::Release);
        if cluster.random.one_in(2) {
            cluster.all_lose_power()?;
        }
        cluster.verify()?;
        cluster.board.is_quiet.store(false, Ordering::Release);
    }
    if kind.honest {
        cluster.outcome.violations.extend(cluster.watch.damaged());
    }
    Ok(cluster.over())
}

fn replication(text: &str) -> std::io::Result<ReplicationConfig> {
    match text {
        "three" => Ok(ReplicationConfig::RATIS_THREE),
        coding => coding.parse().map(ReplicationConfig::Ec).map_err(std::io::Error::other),
    }
}

/// Work of a client's process.
type Work = fn(&Layout, &Board, u64);

impl Cluster {
    fn add_clients(&mut self) -> std::io::Result<()> {
        let writers = std::iter::repeat_n(("writer", clients::write as Work), WRITERS);
        let of_policies: [(&str, Work); 2] =
            [("policies", policies::change), ("mover", policies::bring)];
        let has_policies = self.board.has_policies.load(Ordering::Relaxed);
        let of_policies = of_policies.into_iter().filter(|_| has_policies);
        let all = writers.chain([("reader", clients::read as Work)]).chain(of_policies);
        for (name, work) in all {
            let (layout, board) = (self.layout.clone(), self.board.clone());
            let seed = self.random.next();
            let run = move |_: &std::path::Path| work(&layout, &board, seed);
            self.fleet.add(name, clock(&mut self.random), Arc::new(run));
        }
        self.fleet.start_all()
    }

    fn add_operator(&mut self) {
        let machine = node::add_machine(Clock::default());
        let (layout, board) = (self.layout.clone(), self.board.clone());
        let seed = self.random.next();
        node::start(machine, "operator", move || upkeep::work(&layout, &board, seed));
    }

    /// Lets this many seconds pass, and watches the disks.
    fn pass(&mut self, seconds: u64) {
        let until = now() + seconds * SECOND;
        while now() < until {
            sleep(SCAN_INTERVAL.min(until - now()));
            self.watch.scan(&self.layout);
        }
    }

    /// Waits until a condition holds, and watches the disks; returns `true` if it did in time.
    fn within(&mut self, seconds: u64, mut holds: impl FnMut(&mut Self) -> bool) -> bool {
        let until = now() + seconds * SECOND;
        while !holds(self) {
            if now() >= until {
                return false;
            }
            self.pass(1);
        }
        true
    }

    /// Ends a server.
    fn end(&mut self, server: usize) {
        let end = *self.random.pick(&[End::Killed, End::PowerLost]);
        self.fleet.kill(server, end);
        self.watch.rebase(&self.layout);
    }

    /// Ends SCM, which starts at once.
    fn restart_scm(&mut self) -> std::io::Result<()> {
        self.count("restart of SCM");
        self.end(SCM);
        self.fleet.start(SCM)
    }

    fn count(&mut self, fault: &'static str) {
        *self.outcome.faults.entry(fault).or_default() += 1;
    }

    fn all_lose_power(&mut self) -> std::io::Result<()> {
        for number in 0..self.fleet.members.len() {
            self.fleet.kill(number, End::PowerLost);
        }
        self.watch.rebase(&self.layout);
        self.fleet.start_all()
    }

    /// Asks the DataNodes that run what they have scanned: they forget it when they start.
    fn ask_for_scans(&mut self) {
        let (of, here) = (self.layout.clone(), self.board.clone());
        node::start(self.first, "scans", move || scans::count(&of, &here));
        self.pass(SCANS_TIME);
    }

    /// Everything must become whole. The space of blocks that were deleted while their DataNodes
    /// were down may be lost (docs/internals/deletions.md): that is not checked.
    fn verify(&mut self) -> std::io::Result<()> {
        self.fleet.start_all()?;
        let done = Arc::new(AtomicBool::new(false));
        let (of, here, seen) = (self.layout.clone(), self.board.clone(), done.clone());
        node::start(self.first, "verify", move || whole::verify(&of, &here, false, &seen));
        // Violations are final.
        let is_decided =
            |board: &Board| done.load(Ordering::Acquire) || !board.violations.lock().is_empty();
        let is_over =
            |cluster: &mut Self| cluster.fleet.start_all().is_ok() && is_decided(&cluster.board);
        if !self.within(WHOLE_TIMEOUT, is_over) {
            let lacking = std::mem::take(&mut *self.board.lacking.lock());
            let told = format!("not all is whole {WHOLE_TIMEOUT} s after a round:");
            self.outcome.violations.push(format!("{told}\n  {}", lacking.join("\n  ")));
        }
        let lost = self.watch.lost(&self.board.holding.lock());
        self.outcome.violations.extend(lost);
        self.outcome.violations.append(&mut self.board.violations.lock());
        Ok(())
    }

    fn over(mut self) -> Outcome {
        let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
        self.outcome.answered = count(&self.board.answered) as usize;
        self.outcome.unknown = count(&self.board.failed) as usize;
        self.outcome.counts.extend(self.board.upkeep.lock().iter());
        let (copies, met) = self.watch.copies();
        self.outcome.counts.insert("copies seen", copies);
        self.outcome.counts.insert("copies beside replicas", met);
        self.outcome.counts.insert("keys", self.board.kept.lock().len() as u64);
        self.outcome.counts.insert("deleted blocks", self.board.gone.lock().len() as u64);
        self.outcome.counts.insert("sets decoded", count(&self.board.decoded));
        self.outcome
    }
}
