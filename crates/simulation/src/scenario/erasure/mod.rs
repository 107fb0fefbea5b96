//! Erasure-coded keys on seven DataNodes, whose disks are lost, damaged and cut off in rounds: in
//! each of them as many DataNodes as there are parities lose or damage their data, in addition any
//! other server is killed, cut off, slow or full, coordinators and clients fail halfway, and nodes
//! come back with replicas that were rebuilt elsewhere meanwhile.
//!
//! After each round everything must be whole again: SCM has every index of each container, and
//! every set of replicas with the number of data indexes, among those that SCM reports as healthy,
//! gives all acknowledged bytes ([`whole`]). All machines lose power at once before that check.

pub(super) mod board;
pub(super) mod clients;
mod idle;
pub(super) mod layout;
mod placed;
pub(super) mod whole;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use types::ReplicationConfig;
use types::replication::EcConfig;

use self::board::Board;
use self::layout::{Layout, Shape};
use super::fleet::Fleet;
use super::nemesis::faults::OF_ERASURE_CODED;
use super::nemesis::{FaultPlan, Nemesis};
use super::{Outcome, Plan, within};
use crate::world::clock::{Clock, SECOND};
use crate::world::disk::Contract;
use crate::world::disk::names::Names;
use crate::world::node::{self, End};
use crate::world::random::Random;
use crate::world::world;

/// Maximum drift of clocks, in millionths.
const DRIFT: u64 = 200;
/// Simulated seconds of a round's faults.
const ROUND: u64 = 60;
/// Time limit from a cluster's start to its first key, in simulated seconds.
const START: u64 = 300;
/// Time limit after a round until everything is whole again, in simulated seconds.
const WHOLE: u64 = 600;
/// Clients that write.
const WRITERS: usize = 3;
/// Erasure codings of keys, with cells small enough for many stripes per key.
const CODINGS: [&str; 4] = ["rs-3-2-16k", "rs-3-2-64k", "rs-2-2-16k", "xor-2-1-16k"];

/// Two DataNodes more than the largest scheme has replicas.
const SHAPE: Shape = Shape { datanodes: 7, disks: 1 };

/// Runs it.
pub fn run(plan: Plan) -> std::io::Result<Outcome> {
    let Plan { seed, seconds, faults: _, draws: _ } = plan;
    let mut random = Random::new(seed);
    let names = *random.pick(&[Names::AtOnce, Names::Journal, Names::OfDirectory]);
    world().contract = Contract { any_order: random.one_in(2), names };
    world().preempt_once_in(*random.pick(&[0, 16, 64]));
    let layout = Layout::new(SHAPE, &mut random);
    let coding: EcConfig = random.pick(&CODINGS).parse().map_err(std::io::Error::other)?;
    let board = Arc::new(Board::new(ReplicationConfig::Ec(coding)));
    let mut fleet = servers(&layout, &mut random);
    fleet.start_all()?;
    let mut outcome = Outcome::default();

    let first = node::add_machine(Clock::default());
    let (of, here) = (layout.clone(), board.clone());
    node::start(first, "prepare", move || clients::prepare(&of, &here));
    if !within(START, || board.is_ready.load(Ordering::Acquire)) {
        outcome.violations.push(format!("no key could be written in {START} s"));
        return Ok(outcome);
    }
    clients(&layout, &board, &mut fleet, &mut random);
    fleet.start_all()?;
    let rounds = seconds.div_ceil(ROUND);
    for round in 1..=rounds {
        let faults = fault_plan(coding.parity as usize, &mut random);
        board.is_quiet.store(false, Ordering::Release);
        let nemesis = Nemesis::new(&mut fleet, vec![first], faults, random.split());
        for (fault, count) in nemesis.run(ROUND * SECOND)? {
            *outcome.faults.entry(fault).or_default() += count;
        }
        board.is_quiet.store(true, Ordering::Release);
        let is_last = round == rounds;
        for number in 0..fleet.members.len() {
            fleet.kill(number, End::PowerLost);
        }
        fleet.start_all()?;
        let done = Arc::new(AtomicBool::new(false));
        let (of, here, seen) = (layout.clone(), board.clone(), done.clone());
        node::start(first, "verify", move || whole::verify(&of, &here, is_last, &seen));
        if !within(WHOLE, || fleet.start_all().is_ok() && done.load(Ordering::Acquire)) {
            let lacking = std::mem::take(&mut *board.lacking.lock());
            let told = format!("not all is whole {WHOLE} s after round {round} of {rounds}:");
            outcome.violations.push(format!("{told}\n  {}", lacking.join("\n  ")));
            break;
        }
        fleet.forget_damage();
    }
    outcome.violations.append(&mut board.violations.lock());
    let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
    outcome.answered = count(&board.answered) as usize;
    outcome.unknown = count(&board.failed) as usize;
    outcome.counts.insert("keys", board.kept.lock().len() as u64);
    outcome.counts.insert("deleted blocks", board.gone.lock().len() as u64);
    outcome.counts.insert("idle coordinators", count(&board.idle));
    outcome.counts.insert("sets decoded", count(&board.decoded));
    Ok(outcome)
}

pub(super) fn clock(random: &mut Random) -> Clock {
    Clock { drift: random.below(2 * DRIFT) as i64 - DRIFT as i64, offset: 0 }
}

/// SCM, OM and the DataNodes, in the order of their machines.
pub(super) fn servers(layout: &Layout, random: &mut Random) -> Fleet {
    let mut fleet = Fleet::default();
    let of = layout.clone();
    fleet.add("scm", clock(random), Arc::new(move |dir: &std::path::Path| of.run_scm(dir)));
    let of = layout.clone();
    fleet.add("om", clock(random), Arc::new(move |dir: &std::path::Path| of.run_om(dir)));
    for number in 0..layout.datanodes() {
        let of = layout.clone();
        let run = move |dir: &std::path::Path| of.run_datanode(number, dir);
        fleet.add(format!("dn-{number}"), clock(random), Arc::new(run));
    }
    fleet
}

/// Work of a client's process.
type Work = fn(&Layout, &Board, u64);

/// The clients: they are killed and started again like servers.
fn clients(layout: &Layout, board: &Arc<Board>, fleet: &mut Fleet, random: &mut Random) {
    let readers: [(&str, Work); 2] = [("reader", clients::read), ("idle coordinator", idle::work)];
    let writers = std::iter::repeat_n(("writer", clients::write as Work), WRITERS);
    for (name, work) in writers.chain(readers) {
        let (layout, board, seed) = (layout.clone(), board.clone(), random.next());
        let run = move |_: &std::path::Path| work(&layout, &board, seed);
        fleet.add(name, clock(random), Arc::new(run));
    }
}

/// The faults of a round: the DataNodes whose disks are spoiled are others in each.
fn fault_plan(parity: usize, random: &mut Random) -> FaultPlan {
    let datanodes = 2..2 + SHAPE.datanodes;
    let mut frail: Vec<usize> = datanodes.clone().collect();
    while frail.len() > parity {
        frail.swap_remove(random.below(frail.len() as u64) as usize);
    }
    let far = (datanodes.collect(), vec![0]);
    let (pause, lasts) = (4 * SECOND, 40 * SECOND);
    FaultPlan { down: 3, pause, lasts, kinds: OF_ERASURE_CODED.to_vec(), frail, far }
}
