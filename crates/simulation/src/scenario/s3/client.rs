//! The clients: they put, copy, read, list and delete objects, with and without conditions, and
//! upload some in parts.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures::future::join_all;

use super::KEYS;
use super::board::{Board, Came, Object};
use super::content::{Content, Piece};
use super::http::{self, Credentials, Outcome, Request};
use crate::history::conditional::{Answer, Condition, Op};
use crate::scenario::now;
use crate::scenario::process::on_runtime;
use crate::world::random::Random;

/// Between two calls at most, in milliseconds.
const MAX_THINK_TIME: u64 = 1500;
/// Maximum number of writes of a copy's source.
const ATTEMPTS: usize = 3;
/// Requests that race for an object.
const RACERS: usize = 3;
/// A range that is in each content.
const RANGE: Range<usize> = 7..31;

/// The name of a bucket.
pub fn bucket(number: u64) -> String {
    format!("bucket-{number}")
}

/// The path of an object.
pub fn path((number, key): Object) -> String {
    format!("/{}/key-{key}", bucket(number))
}

/// A client.
pub struct Client {
    /// Its shared state.
    pub board: Arc<Board>,
    /// Of its choices.
    pub random: Random,
    /// Credentials of its signatures.
    pub credentials: Credentials,
    /// Contents that it read last, with their ETags: used in conditions.
    met: BTreeMap<Object, (u64, String)>,
}

/// A client's process.
pub fn work(random: Random, board: Arc<Board>) {
    on_runtime(async {
        let Some(mut client) = Client::new(random, board) else { return };
        while !client.board.stop.load(Ordering::Acquire) {
            let bucket = client.board.bucket.load(Ordering::Acquire);
            let object = (bucket, client.random.below(KEYS) as u8);
            client.call(object).await;
            let pause = client.random.below(MAX_THINK_TIME);
            tokio::time::sleep(Duration::from_millis(pause)).await;
        }
    });
}

impl Client {
    /// One that has a key pair.
    pub fn new(random: Random, board: Arc<Board>) -> Option<Self> {
        let credentials = board.credentials.lock().clone()?;
        Some(Self { board, random, credentials, met: BTreeMap::new() })
    }

    async fn call(&mut self, object: Object) {
        match self.random.below(24) {
            0..=2 => self.put(object, Condition::None).await,
            3..=4 => self.put(object, Condition::Absent).await,
            5..=6 => self.race(object, Condition::Absent).await,
            7..=10 => {
                let condition = self.of_met(object);
                match self.random.one_in(2) {
                    true => self.put(object, condition).await,
                    false => self.race(object, condition).await,
                }
            }
            11..=12 => self.copy(object).await,
            13..=15 => self.get(object).await,
            16 => self.head(object).await,
            17 => self.list(object.0).await,
            18..=19 => self.delete(object, Condition::None).await,
            20..=21 => match self.of_met(object) {
                Condition::Is(value) => self.delete(object, Condition::Is(value)).await,
                _ => self.get(object).await,
            },
            _ => self.upload(object).await,
        }
    }

    /// Sends a request to any gateway.
    pub async fn send(&mut self, request: &Request) -> Outcome {
        let gateway = *self.random.pick(&self.board.gateways);
        request.send(gateway, &self.credentials).await
    }

    /// That the object is the one that this client met last, if it met any.
    fn of_met(&self, object: Object) -> Condition {
        self.met.get(&object).map_or(Condition::Absent, |(number, _)| Condition::Is(*number))
    }

    /// Records the content of an object.
    pub fn meet(&mut self, object: Object, content: &Content) {
        self.met.insert(object, (content.number, content.e_tag.clone()));
    }

    /// A request with the headers of a condition.
    fn conditional(&self, request: Request, object: Object, condition: Condition) -> Request {
        match (condition, self.met.get(&object)) {
            (Condition::None, _) => request,
            (Condition::Is(_), Some((_, e_tag))) => {
                request.header("if-match", format!("\"{e_tag}\""))
            }
            (Condition::Absent | Condition::Is(_), _) => request.header("if-none-match", "*"),
        }
    }

    /// Records an unexpected response; the outcome is unknown.
    pub fn unexpected(&self, request: &str, answer: &http::Answer) -> Came {
        let (status, code) = (answer.status, answer.code());
        if code == "RequestTimeTooSkewed" {
            return Came::NotDone;
        }
        self.board.violation(format!("{request} is answered with {status} {code}"));
        Came::Unknown
    }

    /// Counts the outcome of a conditional write or deletion.
    pub fn came(&self, what: &str, condition: Condition, outcome: &Outcome) -> Came {
        let answer = match outcome {
            Outcome::NotSent => return Came::NotDone,
            Outcome::Unknown => return Came::Unknown,
            Outcome::Answer(answer) => answer,
        };
        let names_a_value = matches!(condition, Condition::Is(_));
        match (answer.status, answer.code().as_str()) {
            (200 | 204, _) => Came::Answer(Answer::Done),
            (412, _) if condition != Condition::None => Came::Answer(Answer::Refused),
            (404, "NoSuchKey") if names_a_value => Came::Answer(Answer::Missing),
            _ => self.unexpected(what, answer),
        }
    }

    async fn put(&mut self, object: Object, condition: Condition) {
        let content = self.board.content(|number| Content::whole(Piece::of_number(number)));
        let request = Request::new("PUT", path(object)).body(content.bytes());
        let request = self.conditional(request, object, condition);
        let asked = now();
        let outcome = self.send(&request).await;
        let came = self.came("PutObject", condition, &outcome);
        self.written(object, &content, condition, asked..now(), came, e_tag(&outcome));
    }

    /// Puts several contents under one condition at the same time, as several clients do: some are
    /// opened before the first one is committed.
    async fn race(&mut self, object: Object, condition: Condition) {
        let mut requests = Vec::new();
        for _ in 0..RACERS {
            let content = self.board.content(|number| Content::whole(Piece::of_number(number)));
            let request = Request::new("PUT", path(object)).body(content.bytes());
            let request = self.conditional(request, object, condition);
            requests.push((*self.random.pick(&self.board.gateways), request, content));
        }
        let asked = now();
        let credentials = &self.credentials;
        let sent = requests.iter().map(async |(gateway, request, content)| {
            let outcome = request.send(*gateway, credentials).await;
            (content, outcome, now())
        });
        for (content, outcome, until) in join_all(sent).await {
            let came = self.came("PutObject", condition, &outcome);
            self.written(object, content, condition, asked..until, came, e_tag(&outcome));
        }
        self.board.count("races");
    }

    /// Copies an object of its own, which it puts before.
    async fn copy(&mut self, object: Object) {
        let content = self.board.content(|number| Content::whole(Piece::of_number(number)));
        let name = format!("source-{}", content.number);
        let source = format!("/{}/{name}", bucket(object.0));
        let put = Request::new("PUT", &source).body(content.bytes());
        let mut came = Came::NotDone;
        for _ in 0..ATTEMPTS {
            let outcome = self.send(&put).await;
            came = self.came("PutObject", Condition::None, &outcome);
            if came == Came::Answer(Answer::Done) {
                break;
            }
        }
        if came != Came::Answer(Answer::Done) {
            return;
        }
        self.board.kept.lock().insert((object.0, name, content.e_tag.clone()));
        let condition = match self.random.below(3) {
            0 => Condition::None,
            1 => Condition::Absent,
            _ => self.of_met(object),
        };
        let request = Request::new("PUT", path(object)).header("x-amz-copy-source", source);
        let request = self.conditional(request, object, condition);
        let asked = now();
        let outcome = self.send(&request).await;
        let came = self.came("CopyObject", condition, &outcome);
        let e_tag = match &outcome {
            Outcome::Answer(answer) => answer.element("ETag"),
            _ => None,
        };
        self.written(object, &content, condition, asked..now(), came, e_tag);
    }

    /// Notes a write that was open from one moment to another, and its ETag.
    fn written(
        &mut self,
        object: Object,
        content: &Content,
        condition: Condition,
        open: Range<u64>,
        came: Came,
        e_tag: Option<String>,
    ) {
        let op = Op::Write(content.number, condition);
        self.board.note_until(object, op, open.start, open.end, came);
        let name = match condition {
            Condition::None => "writes",
            Condition::Absent => "writes if absent",
            Condition::Is(_) => "writes of a known ETag",
        };
        if came == Came::Answer(Answer::Done) {
            self.board.count(name);
            self.meet(object, content);
            if e_tag.as_ref() != Some(&content.e_tag) {
                let told =
                    format!("{object:?} with {} is acknowledged with {e_tag:?}", content.e_tag);
                self.board.violation(told);
            }
        }
        if came == Came::Answer(Answer::Refused) {
            self.board.count("refused conditions");
        }
    }

    async fn delete(&mut self, object: Object, condition: Condition) {
        let request = Request::new("DELETE", path(object));
        let request = self.conditional(request, object, condition);
        let asked = now();
        let outcome = self.send(&request).await;
        let came = self.came("DeleteObject", condition, &outcome);
        self.board.note(object, Op::Delete(condition), asked, came);
        if came == Came::Answer(Answer::Done) {
            self.board.count("deletions");
        }
    }

    /// Reads it, or a part of it.
    pub async fn get(&mut self, object: Object) {
        let is_ranged = self.random.one_in(3);
        let request = Request::new("GET", path(object));
        let request = match is_ranged {
            true => request.header("range", format!("bytes={}-{}", RANGE.start, RANGE.end - 1)),
            false => request,
        };
        let asked = now();
        let outcome = self.send(&request).await;
        let Some((came, answer)) = self.read(object, &outcome) else { return };
        if let Some(content) = came
            && let wanted = content.bytes()
            && let wanted = if is_ranged { wanted.slice(RANGE) } else { wanted }
            && answer.body != wanted
        {
            let told = format!("{object:?} of ETag {} has other bytes", content.e_tag);
            self.board.violation(told);
        }
        self.saw(object, asked);
    }

    async fn head(&mut self, object: Object) {
        let request = Request::new("HEAD", path(object));
        let asked = now();
        let outcome = self.send(&request).await;
        let Some((content, answer)) = self.read(object, &outcome) else { return };
        let length = answer.header("content-length").and_then(|length| length.parse().ok());
        if let Some(content) = content
            && length != Some(content.len())
        {
            let told = format!("{object:?} of ETag {} has a length of {length:?}", content.e_tag);
            self.board.violation(told);
        }
        self.saw(object, asked);
    }

    /// The content whose ETag a response names, and the response; `None` if it is unknown.
    fn read<'a>(
        &mut self,
        object: Object,
        outcome: &'a Outcome,
    ) -> Option<(Option<Content>, &'a http::Answer)> {
        let Outcome::Answer(answer) = outcome else { return None };
        match answer.status {
            200 | 206 => {
                let content = self.board.content_of(&answer.e_tag().unwrap_or_default())?;
                self.meet(object, &content);
                Some((Some(content), answer))
            }
            404 => {
                self.met.remove(&object);
                Some((None, answer))
            }
            _ => {
                self.unexpected("GetObject", answer);
                None
            }
        }
    }

    /// Notes what this client read just now.
    fn saw(&self, object: Object, asked: u64) {
        let value = self.met.get(&object).map(|(number, _)| *number);
        self.board.note(object, Op::Read, asked, Came::Answer(Answer::Value(value)));
        self.board.count("reads");
    }

    /// Each line of a list is a read of its object.
    async fn list(&mut self, number: u64) {
        let asked = now();
        let Some(found) = self.objects(number).await else { return };
        for key in 0..KEYS as u8 {
            let name = format!("key-{key}");
            let e_tag = found.iter().find(|(of, _)| *of == name).map(|(_, e_tag)| e_tag);
            let content = e_tag.map(|e_tag| self.board.content_of(e_tag));
            if let Some(None) = content {
                continue;
            }
            let value = content.flatten().map(|content| content.number);
            let answer = Came::Answer(Answer::Value(value));
            self.board.note((number, key), Op::Read, asked, answer);
        }
        self.board.count("lists");
    }

    /// The objects of a bucket, with their ETags; `None` without a response.
    pub async fn objects(&mut self, number: u64) -> Option<Vec<(String, String)>> {
        let list = Request::new("GET", format!("/{}?list-type=2", bucket(number)));
        let Outcome::Answer(answer) = self.send(&list).await else { return None };
        if answer.status != 200 {
            self.unexpected("ListObjectsV2", &answer);
            return None;
        }
        let (keys, tags) = (answer.elements("Key"), answer.elements("ETag"));
        if keys.len() != tags.len() || answer.element("IsTruncated").as_deref() != Some("false") {
            self.board.violation(format!("a list has {} keys, {} ETags", keys.len(), tags.len()));
            return None;
        }
        Some(keys.into_iter().zip(tags).collect())
    }
}

fn e_tag(outcome: &Outcome) -> Option<String> {
    match outcome {
        Outcome::Answer(answer) => answer.e_tag(),
        _ => None,
    }
}
