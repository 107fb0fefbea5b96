//! Three OMs, three SCMs and DataNodes, each a process on a machine of its own, and native clients
//! that create, overwrite, rename, delete, read and list keys.
//!
//! Every bucket is used for a while by all clients. In the end, after all faults were healed, every
//! key of each bucket is read once more: acknowledged data must exist, byte by byte. Each bucket's
//! history must be linearizable, whether clients read at the leader or at any OM; a client that
//! reads the state of any OM (`LOCAL_LEASE`) may lag by the guaranteed time at most.

mod blocked_reader;
mod bucket;
pub mod client;
pub mod configuration;
mod copies;
mod deletions;
mod isolated_leader;
mod lease;
mod operator;
mod recommission;
mod replicas;
pub mod server;
mod services;
mod settings;
mod slow;
mod snapshots;
mod stranger;
mod syncs;
mod tables;
mod unhealthy;
mod write_once;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use proto::ozone::BucketLayoutProto;
use types::replication::EcConfig;

use self::bucket::Keys;
use self::client::{Reads, Seen};
use self::configuration::{DATANODES, Layout, OMS, SCMS};
use super::fleet::Fleet;
use super::nemesis::faults::{Faults, Kind};
use super::nemesis::{FaultPlan, Nemesis};
use super::{Outcome, Plan, within};
use crate::history::{Verdict, check};
use crate::world::clock::{Clock, SECOND};
use crate::world::node::{self, End};
use crate::world::random::Random;
use crate::world::{disk, world};

/// Maximum drift of clocks, in millionths.
const MAX_DRIFT_PPM: u64 = 200;
/// Steps of the search of one history.
const MAX_SEARCH_STEPS: u64 = 300_000;
/// Simulated seconds in which a bucket is used.
const BUCKET_SECONDS: u64 = 20;
/// Time limit from a cluster's start to its first key, in simulated seconds.
const START_TIMEOUT: u64 = 300;
/// Processes that write keys for minutes.
const SLOW_WRITERS: usize = 3;
/// Time limit from the last fault until everything works again, in simulated seconds.
const RECOVERY_TIMEOUT: u64 = 300;

/// Erasure codings of keys, with cells small enough for many stripes per key. Five DataNodes leave
/// one or two to rebuild indexes on.
const CODINGS: [&str; 4] = ["rs-2-2-16k", "rs-2-2-64k", "xor-2-1-16k", "rs-2-1-16k"];

/// Layouts of buckets that have snapshots.
const BUCKET_LAYOUTS: [BucketLayoutProto; 2] =
    [BucketLayoutProto::ObjectStore, BucketLayoutProto::FileSystemOptimized];

/// Work of a fault's process.
type Work = fn(&Layout, Random, &Board);

/// Faults that processes make, and what these do.
const PROCESSES: [(Kind, &str, Work); 9] = [
    (Kind::Leave, "operator", operator::work),
    (Kind::ServiceMembers, "operator of services", services::work),
    (Kind::Stranger, "stranger", stranger::work),
    (Kind::IsolatedLeader, "isolated leader", isolated_leader::work),
    (Kind::BlockSyncErrors, "block syncs", syncs::work),
    (Kind::RecommissionBesideStale, "recommission beside stale", recommission::work),
    (Kind::Snapshots, "snapshots", snapshots::work),
    (Kind::Copies, "copies", copies::work),
    (Kind::BlockedReader, "blocked reader", blocked_reader::work),
];

/// State shared by clients and the observer.
#[derive(Default)]
pub struct Board {
    /// The bucket in use.
    bucket: AtomicU64,
    /// True if clients should stop.
    stop: AtomicBool,
    /// True after the cluster has stored its first key.
    ready: AtomicBool,
    seen: Mutex<Vec<Seen>>,
    lease: Mutex<lease::Seen>,
    /// Contents of keys at the last reads, by bucket and key.
    kept: Mutex<BTreeMap<(u64, u8), u64>>,
    /// The bucket of keys that are written once: slowly, or before something happens to their
    /// containers.
    write_once: u64,
    /// Numbers of those keys.
    numbers: AtomicU64,
    /// Containers with blocks of keys that are kept.
    containers: Mutex<BTreeSet<u64>>,
    /// Hosts of DataNodes on which bits flipped: wrong bytes there are not the product's.
    corrupt: Mutex<BTreeSet<String>>,
    /// Erasure coding of keys, if any.
    coding: Option<EcConfig>,
    /// The layout of buckets; `None` for OM's default.
    bucket_layout: Option<BucketLayoutProto>,
    snapshots: Mutex<snapshots::Snapshots>,
    /// Complete copies of OMs' tables.
    copies: AtomicU64,
    /// Ranges of tables that OMs compacted since they started for the last time.
    compacted: AtomicU64,
    /// Disks tell of everything that they lose: no replica may lack at the end what it once had
    /// durably.
    honest: bool,
    /// Blocks that lacked replicas in the last check.
    lacking: Mutex<Vec<String>>,
    violations: Mutex<Vec<String>>,
}

impl Board {
    /// Waits for this many seconds, or fewer if clients should stop.
    async fn pass(&self, seconds: u64) {
        for _ in 0..seconds {
            if self.stop.load(Ordering::Acquire) {
                return;
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }
}

/// Runs the scenario.
pub fn run(plan: Plan) -> std::io::Result<Outcome> {
    let Plan { seed, seconds, faults, draws } = plan;
    let mut random = Random::new(seed);
    let mut choices = random.clone();
    let (kinds, contract) = faults.of_seed(&mut choices);
    world().contract = contract;
    world().hooks = faults.hooks(&mut choices);
    world().preempt_once_in(*random.pick(&[0, 16, 64]));
    let layout = match faults {
        Faults::Usual => Layout::new(),
        Faults::Services => {
            Layout::with_services(&disk::aside("ozone-site.xml"))?.varied(&kinds, &mut random)
        }
        _ => Layout::new().varied(&kinds, &mut random),
    };
    let drawn = match faults {
        Faults::Usual => Vec::new(),
        _ if draws => settings::draw_beside(seed, &kinds),
        _ => Vec::new(),
    };
    let layout = layout.drawn(&drawn);
    let spares = usize::from(layout.services().is_some());
    let buckets = seconds.div_ceil(BUCKET_SECONDS);
    let mut fleet = Fleet::default();
    let clock = |random: &mut Random| {
        let drift = random.below(2 * MAX_DRIFT_PPM) as i64 - MAX_DRIFT_PPM as i64;
        Clock { drift, offset: 0 }
    };
    for number in 0..SCMS {
        let (layout, clock) = (layout.clone(), clock(&mut random));
        let run = move |dir: &std::path::Path| server::scm(&layout, number, dir);
        fleet.add(format!("scm-{number}"), clock, Arc::new(run));
    }
    for number in 0..OMS {
        let (layout, clock) = (layout.clone(), clock(&mut random));
        let run = move |dir: &std::path::Path| server::om(&layout, number, dir);
        fleet.add(format!("om-{number}"), clock, Arc::new(run));
    }
    for number in 0..DATANODES {
        let (layout, clock) = (layout.clone(), clock(&mut random));
        let run = move |dir: &std::path::Path| server::datanode(&layout, number, dir);
        fleet.add(format!("dn-{number}"), clock, Arc::new(run));
    }
    for number in OMS..OMS + spares {
        let (layout, clock) = (layout.clone(), clock(&mut random));
        let run = move |dir: &std::path::Path| server::om(&layout, number, dir);
        fleet.add(format!("om-{number}"), clock, Arc::new(run));
    }
    for number in SCMS..SCMS + spares {
        let (layout, clock) = (layout.clone(), clock(&mut random));
        let run = move |dir: &std::path::Path| server::scm(&layout, number, dir);
        fleet.add(format!("scm-{number}"), clock, Arc::new(run));
    }
    fleet.start_all()?;
    let honest = kinds.contains(&Kind::BlockSyncErrors);
    let coding = match faults {
        Faults::Erasure => random.pick(&CODINGS).parse().ok(),
        _ => None,
    };
    let has_snapshots = kinds.contains(&Kind::Snapshots);
    let bucket_layout = has_snapshots.then(|| *random.pick(&BUCKET_LAYOUTS));
    let board = Board { write_once: buckets, coding, honest, bucket_layout, ..Board::default() };
    let board = Arc::new(board);
    let mut outcome = Outcome { settings: drawn, ..Outcome::default() };

    let first = node::add_machine(Clock::default());
    let (of, here) = (layout.clone(), board.clone());
    node::start(first, "prepare", move || client::prepare(&of, &here, buckets));
    if !within(START_TIMEOUT, || board.ready.load(Ordering::Acquire)) {
        outcome.violations.push(format!("no key could be written in {START_TIMEOUT} s"));
        return Ok(outcome);
    }
    let mut machines = Vec::new();
    let mut ends = Vec::new();
    for (number, reads) in [Reads::Leader, Reads::Leader, Reads::Anywhere].into_iter().enumerate() {
        let machine = node::add_machine(Clock::default());
        machines.push(machine);
        let (layout, board, random) = (layout.clone(), board.clone(), random.split());
        let work = move || client::work(number, reads, &layout, random, &board);
        ends.push(node::start(machine, &format!("client-{number}"), work).1);
    }
    for reads in [false, true] {
        let machine = node::add_machine(Clock::default());
        machines.push(machine);
        let (layout, board) = (layout.clone(), board.clone());
        let work = move || lease::work(reads, &layout, &board);
        ends.push(node::start(machine, "lease", work).1);
    }
    let deletions: Arc<Mutex<deletions::Deletions>> = Arc::default();
    if faults != Faults::Usual {
        deletions::begin(deletions.clone());
        for number in 0..SLOW_WRITERS {
            let machine = node::add_machine(Clock::default());
            machines.push(machine);
            let (layout, board, random) = (layout.clone(), board.clone(), random.split());
            let work = move || slow::work(&layout, random, &board);
            ends.push(node::start(machine, &format!("slow-{number}"), work).1);
        }
    }
    for (kind, name, work) in PROCESSES {
        if kinds.contains(&kind) {
            let machine = node::add_machine(Clock::default());
            let (layout, board, random) = (layout.clone(), board.clone(), random.split());
            ends.push(node::start(machine, name, move || work(&layout, random, &board)).1);
        }
    }
    let turn = board.clone();
    let (from, until) = (world().now, world().now + seconds * SECOND);
    next_bucket(turn, from, until);
    // One disk of each kind of server may lose what was synced; the DataNode is cut off more often
    // than others.
    let frail = vec![0, SCMS, SCMS + OMS];
    let near = (SCMS..SCMS + OMS + DATANODES).chain([SCMS + OMS; 4]).collect();
    let far = (near, (0..SCMS).collect());
    let (pause, lasts) = (8 * SECOND, 12 * SECOND);
    let plan = FaultPlan { down: 2, pause, lasts, kinds, frail, far };
    outcome.faults =
        Nemesis::new(&mut fleet, machines, plan, random.split()).run(seconds * SECOND)?;

    for member in fleet.members.iter().filter(|member| member.corrupt) {
        board.corrupt.lock().insert(node::address(member.machine));
    }
    board.stop.store(true, Ordering::Release);
    if !within(RECOVERY_TIMEOUT, || {
        fleet.start_all().is_ok() && ends.iter().all(|e| e.load(Ordering::Acquire))
    }) {
        outcome.violations.push("a client does not come to its end".to_owned());
    }
    if let Some((services, _)) = layout.services() {
        if !within(RECOVERY_TIMEOUT, || {
            fleet.start_all().is_ok() && services.lingering().is_empty()
        }) {
            let lingering = services.lingering();
            let told = format!("{lingering:?} were decommissioned and do not stop");
            outcome.violations.push(told);
        }
        let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
        outcome.counts.insert("joined", count(&services.joined));
        outcome.counts.insert("decommissioned", count(&services.decommissioned));
    }
    let looked = Arc::new(AtomicBool::new(false));
    let (of, here, done) = (layout.clone(), board.clone(), looked.clone());
    let last = move || client::read_all(&of, &here, buckets, &done);
    node::start(first, "read all", last);
    if !within(RECOVERY_TIMEOUT, || fleet.start_all().is_ok() && looked.load(Ordering::Acquire)) {
        outcome
            .violations
            .push(format!("not every key can be read {RECOVERY_TIMEOUT} s after the last fault"));
    }
    let before = unhealthy::replicas();
    for number in 0..fleet.members.len() {
        fleet.kill(number, End::PowerLost);
    }
    fleet.start_all()?;
    let counted = Arc::new(AtomicBool::new(false));
    let (of, here, done) = (layout.clone(), board.clone(), counted.clone());
    node::start(first, "replicas", move || replicas::count(&of, &here, &done));
    let mut damaged = BTreeSet::new();
    // Replicas lost with a disk are copied after SCM has declared the node dead.
    let patience = RECOVERY_TIMEOUT + layout.dead_after();
    if !within(patience, || {
        if honest {
            damaged.extend(unhealthy::replicas().difference(&before));
        }
        fleet.start_all().is_ok() && counted.load(Ordering::Acquire)
    }) {
        let told = format!("replicas are wrong or too few {patience} s after all lost power:");
        let lacking = std::mem::take(&mut *board.lacking.lock());
        outcome.violations.push(format!("{told}\n  {}", lacking.join("\n  ")));
    }
    for (datanode, container) in damaged {
        let told =
            format!("DataNode {datanode} finds its replica of container {container} damaged");
        outcome.violations.push(told);
    }
    if has_snapshots {
        outcome.violations.extend(tables::compare(&mut fleet, &layout, &board, first)?);
        let snapshots = board.snapshots.lock();
        outcome.counts.insert("snapshots", snapshots.created);
        outcome.counts.insert("deleted snapshots", snapshots.deleted);
        outcome.counts.insert("compared snapshots", snapshots.compared);
        outcome.counts.insert("copies of tables", board.copies.load(Ordering::Relaxed));
        outcome.counts.insert("compacted ranges", board.compacted.load(Ordering::Relaxed));
    }
    judge(&board, buckets, &mut outcome);
    let enough = board.coding.map_or(deletions::COPIES, |config| config.data as usize);
    outcome.violations.extend(deletions.lock().judge(&board.containers.lock(), enough));
    Ok(outcome)
}

/// Moves on to the next bucket at intervals.
fn next_bucket(board: Arc<Board>, from: u64, until: u64) {
    let next = from + BUCKET_SECONDS * SECOND;
    if next < until {
        world().at(next, move |_| {
            board.bucket.fetch_add(1, Ordering::AcqRel);
            next_bucket(board, next, until);
        });
    }
}

fn judge(board: &Board, buckets: u64, outcome: &mut Outcome) {
    outcome.violations.append(&mut board.violations.lock());
    let seen = std::mem::take(&mut *board.seen.lock());
    outcome.answered = seen.iter().filter(|s| s.event.answer.is_some()).count();
    outcome.unknown = seen.len() - outcome.answered;
    for bucket in 0..buckets {
        let mut events: Vec<_> =
            seen.iter().filter(|s| s.bucket == bucket).map(|s| s.event.clone()).collect();
        events.sort_by_key(|e| e.asked);
        match check(&Keys, Default::default(), &events, MAX_SEARCH_STEPS) {
            Verdict::Linearizable => {}
            Verdict::Unknown => outcome.undecided += 1,
            Verdict::Not => {
                let mut text = format!("what clients saw of bucket {bucket} has no order:");
                for event in events {
                    text.push_str(&format!("\n  {event:?}"));
                }
                outcome.violations.push(text);
            }
        }
    }
    let (reads, late) = board.lease.lock().judge();
    outcome.answered += reads;
    outcome.violations.extend(late);
}
