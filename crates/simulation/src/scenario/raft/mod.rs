//! Several Raft groups on three or five hosts, each group a small key-value store: clients write,
//! swap and read registers through any host; every register's history must be linearizable, and in
//! the end all replicas be the same.

mod client;
mod faulty_transport;
pub mod limits;
mod machine;
pub mod message;
mod operator;
pub mod server;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use self::client::{Seen, block_on, work};
use self::limits::Limits;
use self::operator::{Done, HostClients};
use self::server::Setup;
use super::fleet::Fleet;
use super::nemesis::faults::{Faults, Kind};
use super::nemesis::{FaultPlan, Nemesis};
use super::{Outcome, Plan, now, within};
use crate::history::{Verdict, register};
use crate::world::clock::{Clock, SECOND};
use crate::world::random::Random;
use crate::world::{node, world};

/// Hosts that may join groups in addition to the first members.
const SPARES: usize = 2;
/// Registers of a group.
const KEYS: u64 = 3;
/// Maximum drift of clocks, in millionths.
const MAX_DRIFT_PPM: u64 = 200;
/// Steps of the search of one history.
const MAX_SEARCH_STEPS: u64 = 2_000_000;
/// Time limit from the last fault until everything works again, in seconds.
const RECOVERY_TIMEOUT: u64 = 120;

/// Runs the scenario.
pub fn run(plan: Plan) -> std::io::Result<Outcome> {
    let Plan { seed, seconds, faults, draws: _ } = plan;
    let mut random = Random::new(seed);
    let mut choices = random.clone();
    let (mut kinds, contract) = faults.of_raft_seed(&mut choices);
    world().contract = contract;
    let hooks = faults.hooks(&mut choices);
    let limits = match faults {
        Faults::Hooks => Limits::extreme(&mut choices),
        Faults::Any if choices.one_in(2) => Limits::extreme(&mut choices),
        _ => Limits::default(),
    };
    if faults == Faults::Members && choices.one_in(2) {
        kinds.extend([Kind::LostDisk, Kind::LostLog, Kind::SyncErrors, Kind::WriteErrors]);
    }
    let spares = if kinds.contains(&Kind::Leave) { SPARES } else { 0 };
    let replays = kinds.contains(&Kind::Mangle);
    let hosts = *random.pick(&[3, 3, 5]);
    let groups = random.range(1, 7);
    let restless = *random.pick(&[0, 4, 32]);
    world().preempt_once_in(restless);
    let faulty_transport = random.one_in(2);
    let setup = Setup { hosts, spares, groups, faulty_transport, replays, limits, seed };
    let setup = Arc::new(setup);
    world().hooks = hooks;
    let mut fleet = Fleet::default();
    for number in 0..hosts + spares {
        let drift = random.below(2 * MAX_DRIFT_PPM) as i64 - MAX_DRIFT_PPM as i64;
        let setup = setup.clone();
        let run = move |dir: &std::path::Path| server::run(&setup, number, dir);
        fleet.add(format!("host-{number}"), Clock { drift, offset: 0 }, Arc::new(run));
    }
    fleet.start_all()?;
    let seen: Seen = Arc::default();
    let stop = Arc::new(AtomicBool::new(false));
    let mut clients = Vec::new();
    let mut ends = Vec::new();
    for number in 0..random.range(2, 6) as usize {
        let machine = node::add_machine(Clock::default());
        clients.push(machine);
        let (setup, seen, stop, random) =
            (setup.clone(), seen.clone(), stop.clone(), random.split());
        let run = move || work(number, &setup, random, &seen, &stop);
        ends.push(node::start(machine, &format!("client-{number}"), run).1);
    }
    let changes: Arc<operator::Done> = Arc::default();
    if spares > 0 {
        let machine = node::add_machine(Clock::default());
        let (setup, changes, stop, random) =
            (setup.clone(), changes.clone(), stop.clone(), random.split());
        let run = move || operator::work(&setup, random, &changes, &stop);
        ends.push(node::start(machine, "operator", run).1);
    }
    // Fewer than half of the disks may lose what was synced.
    let frail = (0..(hosts - 1) / 2).collect();
    let far = ((0..hosts).collect(), (0..hosts).collect());
    let plan = FaultPlan { pause: 4 * SECOND, lasts: 8 * SECOND, down: hosts, kinds, frail, far };
    let nemesis = Nemesis::new(&mut fleet, clients, plan, random.split());
    let mut outcome = Outcome { faults: nemesis.run(seconds * SECOND)?, ..Outcome::default() };
    let calm = now();
    // Everything works again: each register is written and read once more.
    let all = (groups * KEYS) as usize;
    let worked = |seen: &Seen| {
        let seen = seen.lock();
        let fresh = |events: &Vec<client::RegisterEvent>| {
            let later = |e: &client::RegisterEvent| e.asked > calm && e.answer.is_some();
            let read = events.iter().any(|e| later(e) && e.op == register::Op::Read);
            read && events.iter().any(|e| later(e) && e.op != register::Op::Read)
        };
        seen.values().filter(|events| fresh(events)).count() == all
    };
    let healed = within(RECOVERY_TIMEOUT, || {
        // A host that stopped on a full disk is restarted, as an operator would.
        fleet.start_all().is_ok() && worked(&seen)
    });
    if !healed {
        outcome
            .violations
            .push(format!("not every register works {RECOVERY_TIMEOUT} s after the last fault"));
    }
    stop.store(true, Ordering::Release);
    within(30, || ends.iter().all(|end| end.load(Ordering::Acquire)));
    if spares > 0 {
        let Done { added, removed } = &*changes;
        outcome.counts.insert("members added", added.load(Ordering::Relaxed));
        outcome.counts.insert("members removed", removed.load(Ordering::Relaxed));
    }
    compare(&setup, &mut outcome);
    judge(&seen, &mut outcome);
    Ok(outcome)
}

fn judge(seen: &Seen, outcome: &mut Outcome) {
    let seen: FxHashMap<_, _> = std::mem::take(&mut *seen.lock());
    let mut registers: Vec<_> = seen.into_iter().collect();
    registers.sort_by_key(|(register, _)| *register);
    for ((group, key), events) in registers {
        outcome.answered += events.iter().filter(|e| e.answer.is_some()).count();
        outcome.unknown += events.iter().filter(|e| e.answer.is_none()).count();
        match register::verdict(events.clone(), MAX_SEARCH_STEPS) {
            Verdict::Linearizable => {}
            Verdict::Unknown => outcome.undecided += 1,
            Verdict::Not => {
                let mut text = format!("register {key} of group {group} is not linearizable:");
                let mut events = events;
                events.sort_by_key(|e| e.asked);
                for event in events {
                    text.push_str(&format!("\n  {event:?}"));
                }
                outcome.violations.push(text);
            }
        }
    }
}

/// The hosts that are members of a group.
fn members(setup: &Arc<Setup>, machine: usize, group: u64) -> Vec<usize> {
    if setup.spares == 0 {
        return (0..setup.hosts).collect();
    }
    let found: Arc<Mutex<Vec<usize>>> = Arc::default();
    let (of, told) = (setup.clone(), found.clone());
    let run = move || {
        let members = block_on(async { HostClients::new(&of).members(group).await });
        *told.lock() = members.flatten().unwrap_or_default();
    };
    let (_, end) = node::start(machine, "members", run);
    within(60, || end.load(Ordering::Acquire));
    std::mem::take(&mut *found.lock())
}

/// All replicas of a group hold the same, once they had time to catch up.
fn compare(setup: &Arc<Setup>, outcome: &mut Outcome) {
    let dumps: Arc<Mutex<Vec<Option<String>>>> = Arc::new(Mutex::new(Vec::new()));
    let machine = node::add_machine(Clock::default());
    for group in 0..setup.groups {
        let mut last = Vec::new();
        let same = within(RECOVERY_TIMEOUT, || {
            for host in members(setup, machine, group) {
                let dumps = dumps.clone();
                let run = move || dumps.lock().push(client::dump(group, host));
                let (_, end) = node::start(machine, "dump", run);
                within(60, || end.load(Ordering::Acquire));
            }
            last = std::mem::take(&mut *dumps.lock());
            if setup.spares > 0 {
                // A change of members is an entry that the state machine is not given, and a
                // position of a snapshot.
                let registers = |dump: &String| Some(dump.split_once('\n')?.1.to_owned());
                last.iter_mut().for_each(|dump| *dump = dump.as_ref().and_then(registers));
            }
            !last.is_empty() && last.iter().all(|dump| *dump == last[0] && dump.is_some())
        });
        if !same {
            outcome.violations.push(format!("replicas of group {group} differ: {last:#?}"));
        }
    }
}
