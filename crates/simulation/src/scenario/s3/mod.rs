//! The cluster of [`super::cluster`] with two S3 gateways, each on a machine of its own, and S3
//! clients that put, copy, read, list and delete objects through them, with and without conditions,
//! and upload some in parts.
//!
//! Every bucket is used for a while by all clients. Each object's history must be that of one value
//! whose writes and deletions obey their conditions ([`conditional`]): of several writers that
//! require its absence, one wins. In the end, after all faults were healed, and once more after all
//! machines lost power at once, everything is read ([`settle`]).

mod board;
mod client;
pub mod content;
pub mod http;
mod settle;
mod upload;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use self::board::Board;
use self::client::bucket;
use self::content::{Content, Piece};
use self::http::{Credentials, Request};
use super::cluster::client::{Reads, connect};
use super::cluster::configuration::{DATANODES, Layout, OMS, SCMS};
use super::cluster::server;
use super::fleet::Fleet;
use super::nemesis::faults::Faults;
use super::nemesis::{FaultPlan, Nemesis};
use super::process::on_runtime;
use super::{Outcome, Plan, within};
use crate::history::{Verdict, conditional};
use crate::world::clock::{Clock, SECOND};
use crate::world::node::{self, End};
use crate::world::random::Random;
use crate::world::world;

/// Gateways.
const GATEWAYS: usize = 2;
/// Clients.
const CLIENTS: usize = 5;
/// Keys of a bucket that all clients use.
const KEYS: u64 = 3;
/// Maximum drift of clocks, in millionths.
const MAX_DRIFT_PPM: u64 = 200;
/// Steps of the search of one history.
const MAX_SEARCH_STEPS: u64 = 300_000;
/// Simulated seconds in which a bucket is used.
const BUCKET_SECONDS: u64 = 20;
/// Time limit from a cluster's start to its first object, in simulated seconds.
const START_TIMEOUT: u64 = 300;
/// Time limit from the last fault until everything works again, in simulated seconds.
const RECOVERY_TIMEOUT: u64 = 300;
/// The user whose key the clients sign with.
const USER: &str = "tester";

/// Runs the scenario.
pub fn run(plan: Plan) -> std::io::Result<Outcome> {
    let Plan { seed, seconds, faults, draws: _ } = plan;
    let mut random = Random::new(seed);
    let mut choices = random.clone();
    let (kinds, contract) = faults.of_seed(&mut choices);
    world().contract = contract;
    world().hooks = faults.hooks(&mut choices);
    world().preempt_once_in(*random.pick(&[0, 16, 64]));
    let layout = match faults {
        Faults::Usual => Layout::new(),
        _ => Layout::new().varied(&kinds, &mut random),
    };
    let buckets = seconds.div_ceil(BUCKET_SECONDS);
    let mut fleet = servers(&layout, &mut random);
    fleet.start_all()?;
    let first_gateway = fleet.members.len() - GATEWAYS;
    let gateways = fleet.members[first_gateway..].iter().map(|member| member.machine).collect();
    let board = Arc::new(Board { gateways, ..Board::default() });
    let mut outcome = Outcome::default();

    let first = node::add_machine(Clock::default());
    let (of, here) = (layout.clone(), board.clone());
    node::start(first, "prepare", move || prepare(&of, &here, buckets));
    if !within(START_TIMEOUT, || board.credentials.lock().is_some()) {
        outcome.violations.push(format!("no object could be put in {START_TIMEOUT} s"));
        return Ok(outcome);
    }
    let mut machines = Vec::new();
    let mut ends = Vec::new();
    for number in 0..CLIENTS {
        let machine = node::add_machine(Clock::default());
        machines.push(machine);
        let (board, random) = (board.clone(), random.split());
        let work = move || client::work(random, board);
        ends.push(node::start(machine, &format!("client-{number}"), work).1);
    }
    next_bucket(board.clone(), world().now, world().now + seconds * SECOND);
    // As in the scenario `cluster`.
    let frail = vec![0, SCMS, SCMS + OMS];
    let near = (SCMS..fleet.members.len()).collect();
    let far = (near, (0..SCMS + OMS).collect());
    let (pause, lasts) = (8 * SECOND, 12 * SECOND);
    let plan = FaultPlan { down: 2, pause, lasts, kinds, frail, far };
    outcome.faults =
        Nemesis::new(&mut fleet, machines, plan, random.split()).run(seconds * SECOND)?;

    board.stop.store(true, Ordering::Release);
    if !within(RECOVERY_TIMEOUT, || {
        fleet.start_all().is_ok() && ends.iter().all(|e| e.load(Ordering::Acquire))
    }) {
        outcome.violations.push("a client does not come to its end".to_owned());
    }
    for when in ["the last fault", "all lost power"] {
        if when == "all lost power" {
            (0..fleet.members.len()).for_each(|number| fleet.kill(number, End::PowerLost));
            fleet.start_all()?;
        }
        let looked = Arc::new(AtomicBool::new(false));
        let (of, here, done) = (layout.clone(), board.clone(), looked.clone());
        let random = random.split();
        let look = move || settle::look(&of, &here, random, buckets, &done);
        node::start(first, "settle", look);
        if !within(RECOVERY_TIMEOUT, || fleet.start_all().is_ok() && looked.load(Ordering::Acquire))
        {
            let lacking = std::mem::take(&mut *board.lacking.lock());
            let told = format!("not all is well {RECOVERY_TIMEOUT} s after {when}: {lacking}");
            outcome.violations.push(told);
            break;
        }
    }
    judge(&board, &mut outcome);
    Ok(outcome)
}

fn servers(layout: &Layout, random: &mut Random) -> Fleet {
    type Start = fn(&Layout, usize, &std::path::Path);
    let kinds: [(&str, usize, Start); 4] = [
        ("scm", SCMS, server::scm),
        ("om", OMS, server::om),
        ("dn", DATANODES, server::datanode),
        ("s3g", GATEWAYS, server::gateway),
    ];
    let mut fleet = Fleet::default();
    for (kind, count, start) in kinds {
        for number in 0..count {
            let drift = random.below(2 * MAX_DRIFT_PPM) as i64 - MAX_DRIFT_PPM as i64;
            let of = layout.clone();
            let run = move |dir: &std::path::Path| start(&of, number, dir);
            fleet.add(format!("{kind}-{number}"), Clock { drift, offset: 0 }, Arc::new(run));
        }
    }
    fleet
}

/// Makes the key pair and the buckets, and puts a first object.
fn prepare(layout: &Layout, board: &Board, buckets: u64) {
    on_runtime(async {
        let pause = || tokio::time::sleep(Duration::from_secs(1));
        let Ok(om) = connect(layout, Reads::Leader) else { return };
        let secret = loop {
            match om.s3_secret(USER, true).await {
                Ok(secret) => break secret,
                Err(error) => tracing::debug!(%error, "no key pair yet"),
            }
            pause().await;
        };
        let credentials = Credentials { id: USER.to_owned(), secret };
        let content = board.content(|number| Content::whole(Piece::of_number(number)));
        let buckets = (0..=buckets).map(|number| format!("/{}", bucket(number)));
        let mut requests: Vec<Request> = buckets.map(|path| Request::new("PUT", path)).collect();
        let first = format!("/{}/first", bucket(requests.len() as u64 - 1));
        requests.push(Request::new("PUT", first).body(content.bytes()));
        for request in requests {
            loop {
                match request.send(board.gateways[0], &credentials).await {
                    http::Outcome::Answer(answer) if matches!(answer.status, 200 | 409) => break,
                    outcome => tracing::debug!(?outcome, "not ready"),
                }
                pause().await;
            }
        }
        *board.credentials.lock() = Some(credentials);
    });
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

fn judge(board: &Board, outcome: &mut Outcome) {
    outcome.violations.append(&mut board.violations.lock());
    outcome.counts.append(&mut board.counts.lock());
    for (object, events) in std::mem::take(&mut *board.seen.lock()) {
        let answered = events.iter().filter(|event| event.answer.is_some()).count();
        outcome.answered += answered;
        outcome.unknown += events.len() - answered;
        match conditional::verdict(events.clone(), MAX_SEARCH_STEPS) {
            Verdict::Linearizable => {}
            Verdict::Unknown => outcome.undecided += 1,
            Verdict::Not => {
                let mut text = format!("what clients saw of {object:?} has no order:");
                for event in events {
                    text.push_str(&format!("\n  {event:?}"));
                }
                outcome.violations.push(text);
            }
        }
    }
}
