//! Three OMs, three SCMs and DataNodes, each a process on a machine of its own, and native clients that create,
//! overwrite, rename, delete, read and list keys.
//!
//! Every bucket is used for a while by all clients. In the end, when all is well again, every key of each bucket is
//! read once more: what was acknowledged must be there, byte by byte. Each bucket's history must be linearizable,
//! whether clients read at the leader or at any OM; a client that reads what any OM has (`LOCAL_LEASE`) may be behind
//! by no more than promised.

mod bucket;
mod client;
mod configuration;
mod lease;
mod replicas;
mod server;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;

use self::bucket::Keys;
use self::client::{Reads, Seen};
use self::configuration::{DATANODES, Layout, OMS, SCMS};
use super::fleet::Fleet;
use super::storm::{Storm, Weather};
use super::{Outcome, within};
use crate::history::{Verdict, check};
use crate::world::clock::{Clock, SECOND};
use crate::world::node::{self, End};
use crate::world::random::Random;
use crate::world::world;

/// Clocks run wrong by at most so many millionths.
const DRIFT: u64 = 200;
/// Steps of the search of one history.
const SEARCH: u64 = 300_000;
/// Simulated seconds in which a bucket is used.
const TERM: u64 = 20;
/// How long a cluster may take to its first key, in simulated seconds.
const START: u64 = 300;
/// How long after the storm everything must work again, in simulated seconds.
const HEALED: u64 = 300;

/// What clients and the one who looks on share.
#[derive(Default)]
pub struct Board {
    /// The bucket in use.
    bucket: AtomicU64,
    /// Whether clients are to come to an end.
    stop: AtomicBool,
    /// Whether the cluster has taken its first key.
    ready: AtomicBool,
    seen: Mutex<Vec<Seen>>,
    lease: Mutex<lease::Seen>,
    /// What keys held when they were read for the last time, by bucket and key.
    kept: Mutex<BTreeMap<(u64, u8), u64>>,
    /// Blocks that lack replicas, when they were last looked at.
    lacking: Mutex<Vec<String>>,
    violations: Mutex<Vec<String>>,
}

/// Runs it for so many seconds of storm.
pub fn run(seed: u64, seconds: u64) -> std::io::Result<Outcome> {
    let mut random = Random::new(seed);
    world().make_restless(*random.pick(&[0, 16, 64]));
    let layout = Layout::new();
    let buckets = seconds.div_ceil(TERM);
    let mut fleet = Fleet::default();
    let clock = |random: &mut Random| {
        let drift = random.below(2 * DRIFT) as i64 - DRIFT as i64;
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
    fleet.start_all()?;
    let board = Arc::new(Board::default());
    let mut outcome = Outcome::default();

    let first = node::add_machine(Clock::default());
    let (of, here) = (layout.clone(), board.clone());
    node::start(first, "prepare", move || client::prepare(&of, &here, buckets));
    if !within(START, || board.ready.load(Ordering::Acquire)) {
        outcome.violations.push(format!("no key could be written in {START} s"));
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
    let turn = board.clone();
    let (from, until) = (world().now, world().now + seconds * SECOND);
    next_bucket(turn, from, until);
    let weather = Weather { down: 2, pause: 8 * SECOND, lasts: 12 * SECOND };
    outcome.faults =
        Storm::new(&mut fleet, machines, weather, random.split()).rage(seconds * SECOND)?;

    board.stop.store(true, Ordering::Release);
    if !within(HEALED, || {
        fleet.start_all().is_ok() && ends.iter().all(|e| e.load(Ordering::Acquire))
    }) {
        outcome.violations.push("a client does not come to its end".to_owned());
    }
    let looked = Arc::new(AtomicBool::new(false));
    let (of, here, done) = (layout.clone(), board.clone(), looked.clone());
    let last = move || client::look(&of, &here, buckets, &done);
    node::start(first, "look", last);
    if !within(HEALED, || fleet.start_all().is_ok() && looked.load(Ordering::Acquire)) {
        outcome.violations.push(format!("not every key can be read {HEALED} s after the storm"));
    }
    for number in 0..fleet.members.len() {
        fleet.kill(number, End::PowerLost);
    }
    fleet.start_all()?;
    let counted = Arc::new(AtomicBool::new(false));
    let (of, here, done) = (layout.clone(), board.clone(), counted.clone());
    node::start(first, "replicas", move || replicas::count(&of, &here, &done));
    if !within(HEALED, || fleet.start_all().is_ok() && counted.load(Ordering::Acquire)) {
        let told = format!("replicas are wrong or too few {HEALED} s after all lost power:");
        let lacking = std::mem::take(&mut *board.lacking.lock());
        outcome.violations.push(format!("{told}\n  {}", lacking.join("\n  ")));
    }
    judge(&board, buckets, &mut outcome);
    Ok(outcome)
}

/// Passes on to the next bucket every so often.
fn next_bucket(board: Arc<Board>, from: u64, until: u64) {
    let next = from + TERM * SECOND;
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
        match check(&Keys, Default::default(), &events, SEARCH) {
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
