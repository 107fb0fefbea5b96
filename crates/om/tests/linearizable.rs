//! Concurrent clients of one directory tree: their results must have an order, compatible with the
//! order of responses and later requests, in which a file system of one thread would have
//! answered the same (Wing and Gong's check).

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Instant;

use proto::ozone::*;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::support::requests::*;
use crate::support::{TestOm, World};

const PATHS: [&str; 8] = ["a", "b", "a/b", "b/a", "a/b/c", "a/c", "b/a/c", "c"];
const CLIENTS: u64 = 4;
const OPS: usize = 6;
const HISTORIES: u64 = 40;

#[derive(Debug, Clone)]
enum Op {
    Mkdir(&'static str),
    Create(&'static str),
    /// Of the file that the client created just before; the number identifies the creation.
    Commit(&'static str, u64),
    Rename(&'static str, &'static str),
    Delete(&'static str, bool),
    IsDirectory(&'static str),
    /// Entries of the directory.
    List(&'static str),
    /// All that is in the bucket.
    ListAll,
}

#[derive(Debug, Clone, PartialEq)]
enum Answer {
    Status(Status),
    IsDirectory(bool),
    /// Paths in order, those of directories with a slash at the end.
    Names(Vec<String>),
}

#[derive(Debug)]
struct Event {
    id: u64,
    op: Op,
    answer: Answer,
    asked: Instant,
    answered: Instant,
}

/// A file system: directories have an identity, which names do not.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
struct Model {
    directories: BTreeMap<(u64, &'static str), u64>,
    files: BTreeSet<(u64, &'static str)>,
    /// Directory that a file was created in, by creation.
    open: BTreeMap<u64, u64>,
}

impl Model {
    /// The directory of the last name, as far as there is one, and the names missing below it.
    fn walk(&self, path: &'static str) -> (u64, Vec<&'static str>, &'static str) {
        let mut names: Vec<&str> = path.split('/').collect();
        let leaf = names.pop().unwrap();
        let (mut at, mut missing) = (0, Vec::new());
        for name in names {
            match self.directories.get(&(at, name)) {
                Some(id) if missing.is_empty() => at = *id,
                _ => missing.push(name),
            }
        }
        (at, missing, leaf)
    }

    fn blocked(&self, at: u64, missing: &[&'static str]) -> bool {
        missing.first().is_some_and(|name| self.files.contains(&(at, name)))
    }

    /// Makes the missing directories, with ids that no other operation makes.
    fn make(&mut self, mut at: u64, missing: &[&'static str], event: u64) -> u64 {
        for (id, name) in (event * 8 + 2..).zip(missing) {
            self.directories.insert((at, name), id);
            at = id;
        }
        at
    }

    fn remove(&mut self, id: u64) {
        self.files.retain(|(parent, _)| *parent != id);
        let below: Vec<(u64, &str)> =
            self.directories.keys().filter(|(parent, _)| *parent == id).copied().collect();
        for child in below {
            if let Some(id) = self.directories.remove(&child) {
                self.remove(id);
            }
        }
    }

    fn answer(&mut self, event: u64, op: &Op) -> Answer {
        Answer::Status(match op {
            Op::Mkdir(path) => {
                let (at, missing, leaf) = self.walk(path);
                if missing.is_empty() && self.directories.contains_key(&(at, leaf)) {
                    Status::DirectoryAlreadyExists
                } else if self.blocked(at, &missing)
                    || (missing.is_empty() && self.files.contains(&(at, leaf)))
                {
                    Status::FileAlreadyExists
                } else {
                    let at = self.make(at, &missing, event);
                    self.directories.insert((at, leaf), event * 8 + 1);
                    Status::Ok
                }
            }
            Op::Create(path) => {
                let (at, missing, leaf) = self.walk(path);
                let directory = missing.is_empty() && self.directories.contains_key(&(at, leaf));
                if directory || self.blocked(at, &missing) {
                    Status::NotAFile
                } else {
                    let at = self.make(at, &missing, event);
                    self.open.insert(event, at);
                    Status::Ok
                }
            }
            Op::Commit(path, created) => {
                let (at, missing, leaf) = self.walk(path);
                if !missing.is_empty() {
                    Status::DirectoryNotFound
                } else if self.open.get(created) != Some(&at) {
                    Status::KeyNotFound
                } else if self.directories.contains_key(&(at, leaf)) {
                    Status::NotAFile
                } else {
                    self.open.remove(created);
                    self.files.insert((at, leaf));
                    Status::Ok
                }
            }
            Op::Rename(from, to) => return Answer::Status(self.rename(from, to)),
            Op::Delete(path, recursive) => {
                let (at, missing, leaf) = self.walk(path);
                if !missing.is_empty() {
                    Status::KeyNotFound
                } else if self.files.remove(&(at, leaf)) {
                    Status::Ok
                } else if let Some(id) = self.directories.get(&(at, leaf)).copied() {
                    let full = self.files.iter().any(|(parent, _)| *parent == id)
                        || self.directories.keys().any(|(parent, _)| *parent == id);
                    if full && !recursive {
                        Status::DirectoryNotEmpty
                    } else {
                        self.directories.remove(&(at, leaf));
                        self.remove(id);
                        Status::Ok
                    }
                } else {
                    Status::KeyNotFound
                }
            }
            Op::IsDirectory(path) => {
                let (at, missing, leaf) = self.walk(path);
                let there = missing.is_empty();
                if there && self.directories.contains_key(&(at, leaf)) {
                    return Answer::IsDirectory(true);
                }
                if there && self.files.contains(&(at, leaf)) {
                    return Answer::IsDirectory(false);
                }
                Status::FileNotFound
            }
            Op::List(path) => {
                let (at, missing, leaf) = self.walk(path);
                if !missing.is_empty() {
                    Status::FileNotFound
                } else if let Some(id) = self.directories.get(&(at, leaf)) {
                    return Answer::Names(self.names(*id, path));
                } else if self.files.contains(&(at, leaf)) {
                    return Answer::Names(vec![(*path).to_owned()]);
                } else {
                    Status::FileNotFound
                }
            }
            Op::ListAll => {
                let mut all = Vec::new();
                self.names_below(0, "", &mut all);
                all.sort();
                return Answer::Names(all);
            }
        })
    }

    /// Entries of directory `id`, which is at `path`, and all below it.
    fn names_below(&self, id: u64, path: &str, all: &mut Vec<String>) {
        all.extend(self.names(id, path));
        let base = if path.is_empty() { String::new() } else { format!("{path}/") };
        for ((parent, name), child) in &self.directories {
            if *parent == id {
                self.names_below(*child, &format!("{base}{name}"), all);
            }
        }
    }

    /// Entries of directory `id`, which is at `path`.
    fn names(&self, id: u64, path: &str) -> Vec<String> {
        let base = if path.is_empty() { String::new() } else { format!("{path}/") };
        let directories = self.directories.keys().filter(|(parent, _)| *parent == id);
        let directories = directories.map(|(_, name)| format!("{base}{name}/"));
        let files = self.files.iter().filter(|(parent, _)| *parent == id);
        let mut names: Vec<String> =
            directories.chain(files.map(|(_, name)| format!("{base}{name}"))).collect();
        names.sort();
        names
    }

    fn rename(&mut self, from: &'static str, to: &'static str) -> Status {
        let (at, missing, leaf) = self.walk(from);
        let directory = self.directories.get(&(at, leaf)).copied();
        if !missing.is_empty() || (directory.is_none() && !self.files.contains(&(at, leaf))) {
            return Status::KeyNotFound;
        }
        if directory.is_some() && to.strip_prefix(from).is_some_and(|rest| rest.starts_with('/')) {
            return Status::KeyRenameError;
        }
        let (target, missing, name) = self.walk(to);
        if !missing.is_empty() {
            return Status::KeyRenameError;
        }
        let taken = match self.directories.get(&(target, name)) {
            Some(into) if from != to => (*into, leaf),
            _ => (target, name),
        };
        if self.directories.contains_key(&taken) || self.files.contains(&taken) {
            return Status::KeyAlreadyExists;
        }
        match directory {
            Some(id) => {
                self.directories.remove(&(at, leaf));
                self.directories.insert(taken, id);
            }
            None => {
                self.files.remove(&(at, leaf));
                self.files.insert(taken);
            }
        }
        Status::Ok
    }
}

/// Returns `true` if the events can be put in an order. `done` has the ordered ones, one bit each.
fn orders(events: &[Event], done: u32, model: &Model, seen: &mut HashSet<(u32, Model)>) -> bool {
    if done.count_ones() as usize == events.len() {
        return true;
    }
    if !seen.insert((done, model.clone())) {
        return false;
    }
    let left = || events.iter().enumerate().filter(|(at, _)| done & (1 << at) == 0);
    // The first response among those left: no request that came later can be before it.
    let Some(first) = left().map(|(_, event)| event.answered).min() else { return true };
    left().filter(|(_, event)| event.asked <= first).any(|(at, event)| {
        let mut next = model.clone();
        next.answer(event.id, &event.op) == event.answer
            && orders(events, done | (1 << at), &next, seen)
    })
}

fn request_of(bucket: &str, op: &Op, session: u64) -> OmRequest {
    let args = |path: &str| key_args("vol", bucket, path, 0);
    match op {
        Op::Mkdir(path) => OmRequest {
            create_directory_request: Some(Box::new(CreateDirectoryRequest {
                key_args: args(path),
            })),
            ..request(Type::CreateDirectory)
        },
        Op::Create(path) => OmRequest {
            create_file_request: Some(Box::new(CreateFileRequest {
                key_args: args(path),
                is_recursive: true,
                is_overwrite: true,
                client_id: None,
            })),
            ..request(Type::CreateFile)
        },
        Op::Commit(path, _) => commit_key(args(path), session),
        Op::Rename(from, to) => rename_key("vol", bucket, from, to),
        Op::Delete(path, recursive) => {
            let mut delete = delete_key("vol", bucket, path);
            if let Some(delete) = &mut delete.delete_key_request {
                delete.key_args.recursive = Some(*recursive);
            }
            delete
        }
        Op::IsDirectory(path) => OmRequest {
            get_file_status_request: Some(Box::new(GetFileStatusRequest { key_args: args(path) })),
            ..request(Type::GetFileStatus)
        },
        Op::List(path) => OmRequest {
            list_status_request: Some(Box::new(ListStatusRequest {
                key_args: args(path),
                recursive: false,
                start_key: String::new(),
                num_entries: 100,
                allow_partial_prefix: None,
            })),
            ..request(Type::ListStatusLight)
        },
        Op::ListAll => list_keys("vol", bucket, "", "", 100),
    }
}

fn answer_of(response: &OmResponse) -> Answer {
    if let Some(found) = &response.get_file_status_response {
        return Answer::IsDirectory(found.status.is_directory.unwrap());
    }
    let mut names: Vec<String> = if let Some(listed) = &response.list_status_light_response {
        let name = |status: &OzoneFileStatusProtoLight| {
            let slash = if status.is_directory == Some(true) { "/" } else { "" };
            format!("{}{slash}", status.basic_key_info.as_ref().unwrap().key_name())
        };
        listed.statuses.iter().map(name).collect()
    } else if let Some(listed) = &response.list_keys_light_response {
        listed.basic_key_info.iter().map(|key| key.key_name().to_owned()).collect()
    } else {
        return Answer::Status(response.status());
    };
    names.sort();
    Answer::Names(names)
}

async fn client(om: Arc<TestOm>, bucket: String, client: u64, seed: u64) -> Vec<Event> {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut events: Vec<Event> = Vec::new();
    let mut session = 0;
    while events.len() < OPS {
        let id = client * OPS as u64 + events.len() as u64;
        let path = PATHS[rng.random_range(0..PATHS.len())];
        let op = match events.last() {
            Some(Event {
                id, op: Op::Create(path), answer: Answer::Status(Status::Ok), ..
            }) => Op::Commit(path, *id),
            _ => match rng.random_range(0..10) {
                0 | 1 => Op::Mkdir(path),
                2 | 3 => Op::Create(path),
                4 | 5 => Op::Rename(path, PATHS[rng.random_range(0..PATHS.len())]),
                6 => Op::Delete(path, rng.random()),
                7 => Op::IsDirectory(path),
                8 => Op::List(path),
                _ => Op::ListAll,
            },
        };
        let request = request_of(&bucket, &op, session);
        let asked = Instant::now();
        let response = om.ask(request).await;
        let answered = Instant::now();
        if let Some(created) = &response.create_file_response {
            session = created.id.unwrap();
        }
        let answer = answer_of(&response);
        events.push(Event { id, op, answer, asked, answered });
    }
    events
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_concurrent_clients_see_has_an_order() {
    let world = World::new().await;
    let om = Arc::new(world.start().await);
    om.ok(create_volume("vol")).await;
    for history in 0..HISTORIES {
        let bucket = format!("tree{history}");
        om.tree("vol", &bucket).await;
        let clients: Vec<_> = (0..CLIENTS)
            .map(|n| {
                let seed = history * CLIENTS + n;
                tokio::spawn(client(Arc::clone(&om), bucket.clone(), n, seed))
            })
            .collect();
        let mut events = Vec::new();
        for client in clients {
            events.extend(client.await.unwrap());
        }
        let ordered = orders(&events, 0, &Model::default(), &mut HashSet::new());
        events.sort_by_key(|event| event.asked);
        assert!(ordered, "history {history} has no order: {events:#?}");
    }
    Arc::into_inner(om).unwrap().handle.shutdown().await;
}

#[test]
fn a_history_without_an_order_is_found_out() {
    let start = Instant::now();
    let at = |ms| start + std::time::Duration::from_millis(ms);
    let event = |id, op, answer, asked, answered| Event {
        id,
        op,
        answer,
        asked: at(asked),
        answered: at(answered),
    };
    let ok = Answer::Status(Status::Ok);
    let gone = Answer::Status(Status::FileNotFound);
    let history = |looked: Answer, asked| {
        vec![
            event(0, Op::Mkdir("a"), ok.clone(), 0, 1),
            event(1, Op::Rename("a", "b"), ok.clone(), 2, 5),
            event(2, Op::IsDirectory("b"), looked, asked, asked + 1),
        ]
    };
    let orders = |events: &[Event]| orders(events, 0, &Model::default(), &mut HashSet::new());
    assert!(orders(&history(gone.clone(), 3)), "the look may come before the rename");
    assert!(orders(&history(Answer::IsDirectory(true), 3)), "or after it");
    assert!(!orders(&history(gone, 6)), "but not once the rename was answered");
}

#[test]
fn a_list_of_two_moments_is_found_out() {
    let start = Instant::now();
    let event = |id, op, answer, asked, answered| {
        let at = |ms| start + std::time::Duration::from_millis(ms);
        Event { id, op, answer, asked: at(asked), answered: at(answered) }
    };
    let ok = || Answer::Status(Status::Ok);
    let history = |seen: &[&str]| {
        let names = seen.iter().map(|name| (*name).to_owned()).collect();
        vec![
            event(0, Op::Mkdir("a"), ok(), 0, 1),
            event(1, Op::Create("c"), ok(), 2, 3),
            event(2, Op::Commit("c", 1), ok(), 4, 5),
            event(3, Op::Mkdir("b"), ok(), 6, 7),
            event(4, Op::ListAll, Answer::Names(names), 0, 9),
        ]
    };
    let orders = |events: &[Event]| orders(events, 0, &Model::default(), &mut HashSet::new());
    for seen in [&[][..], &["a/"], &["a/", "c"], &["a/", "b/", "c"]] {
        assert!(orders(&history(seen)), "{seen:?}");
    }
    assert!(!orders(&history(&["a/", "b/"])), "b was made after c, which is not there");
}
