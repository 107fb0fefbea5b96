//! A client: one call after the other, to a host that it guesses, and a record of the responses.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use framed::{Client, ClientOptions, Code};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use super::KEYS;
use super::message::{CALL, DUMP, Request, Through, decode_answer};
use super::server::{Setup, host_address};
use crate::history::register::{Answer, Op};
use crate::history::{Event, NEVER};
use crate::scenario::now;
use crate::world::random::Random;

/// One call and its outcome.
pub type RegisterEvent = Event<Op, Answer>;
/// Events of each register.
pub type Seen = Arc<Mutex<FxHashMap<(u64, u64), Vec<RegisterEvent>>>>;

/// Time limit for a response.
const TIMEOUT: Duration = Duration::from_secs(2);
/// Between two calls at most, in milliseconds.
const MAX_THINK_TIME: u64 = 400;

/// Runs something to its end on this thread.
pub fn block_on<R>(work: impl Future<Output = R>) -> Option<R> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
    Some(runtime.block_on(work))
}

/// All data of a replica of a group.
pub fn dump(group: u64, host: usize) -> Option<String> {
    block_on(async {
        let client = Client::new(host_address(host), ClientOptions::default());
        let header = Bytes::from(group.to_string());
        let reply = client.call(DUMP, header, Bytes::new(), Duration::from_secs(10)).await.ok()?;
        String::from_utf8(reply.header.to_vec()).ok()
    })?
}

/// A client's process.
pub fn work(number: usize, setup: &Setup, mut random: Random, seen: &Seen, stop: &AtomicBool) {
    let hosts = setup.hosts + setup.spares;
    let clients = (0..hosts).map(|host| Client::new(host_address(host), ClientOptions::default()));
    block_on(async {
        let clients: Vec<Client> = clients.collect();
        let mut likely: FxHashMap<u64, usize> = FxHashMap::default();
        let mut last = String::from("none");
        for count in 0.. {
            if stop.load(Ordering::Acquire) {
                return;
            }
            let group = random.below(setup.groups);
            let key = random.below(KEYS);
            let value = format!("{number}-{count}");
            let op = match random.below(10) {
                0..=3 => Op::Read,
                4..=7 => Op::Write(value),
                _ => Op::Swap(last.clone(), value),
            };
            let through = *random.pick(&[Through::Leader, Through::Anywhere]);
            let guess = random.below(hosts as u64) as usize;
            let host = match random.below(8) {
                0 => guess,
                _ => likely.get(&group).copied().unwrap_or(guess),
            };
            let request = Request { group, key, op: op.clone(), through };
            let header = Bytes::from(request.encode());
            let asked = now();
            let reply = clients[host].call(CALL, header, Bytes::new(), TIMEOUT).await;
            let answered = now();
            let event = |answer: Option<Answer>| {
                let answered = if answer.is_some() { answered } else { NEVER };
                Event { op, answer, asked, answered }
            };
            let event = match reply {
                Ok(reply) => {
                    likely.insert(group, host);
                    let text = String::from_utf8_lossy(&reply.header).into_owned();
                    event(decode_answer(&text))
                }
                Err(error) => {
                    likely.remove(&group);
                    let refused = matches!(error.code(), Some(Code::NotLeader));
                    if refused || error.not_begun() {
                        tokio::time::sleep(Duration::from_millis(random.below(MAX_THINK_TIME / 2)))
                            .await;
                        continue;
                    }
                    event(None)
                }
            };
            if let Some(Answer::Value(Some(value))) = &event.answer {
                last = value.clone();
            }
            seen.lock().entry((group, key)).or_default().push(event);
            tokio::time::sleep(Duration::from_millis(random.below(MAX_THINK_TIME))).await;
        }
    });
}
