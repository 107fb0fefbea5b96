//! Random histories of a tree against a model of a file system: the answers, the counters, the
//! blocks and the replayed tables are right after each.

use std::collections::BTreeMap;

use namespace::{Table, replicated_size};
use proptest::prelude::*;
use prost::Message;
use proto::ozone::*;

use crate::harness::*;
use crate::tree::purge_all_directories;

#[derive(Debug, Clone)]
enum Step {
    Mkdir(String),
    Create { path: String, recursive: bool, overwrite: bool, size: u64 },
    Rename { from: String, to: String },
    Delete { path: String, recursive: bool },
    Purge(usize),
    PurgeKeys,
}

fn path() -> impl Strategy<Value = String> {
    let name = prop_oneof![Just("a"), Just("b"), Just("c")];
    proptest::collection::vec(name, 1..4).prop_map(|names| names.join("/"))
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => path().prop_map(Step::Mkdir),
        4 => (path(), any::<bool>(), any::<bool>(), 0..100u64).prop_map(
            |(path, recursive, overwrite, size)| Step::Create { path, recursive, overwrite, size }
        ),
        4 => (path(), path()).prop_map(|(from, to)| Step::Rename { from, to }),
        3 => (path(), any::<bool>()).prop_map(|(path, recursive)| Step::Delete { path, recursive }),
        1 => (1..4usize).prop_map(Step::Purge),
        1 => Just(Step::PurgeKeys),
    ];
    proptest::collection::vec(step, 1..60)
}

/// Paths with the size of a file, `None` for a directory.
#[derive(Default)]
pub struct Model(pub BTreeMap<String, Option<u64>>);

fn parent(path: &str) -> Option<&str> {
    path.rsplit_once('/').map(|(parent, _)| parent)
}

impl Model {
    fn is_directory(&self, path: &str) -> bool {
        self.0.get(path) == Some(&None)
    }

    fn ancestors(path: &str) -> impl Iterator<Item = &str> {
        path.match_indices('/').map(|(at, _)| &path[..at])
    }

    fn below(&self, path: &str) -> Vec<String> {
        let prefix = format!("{path}/");
        self.0.keys().filter(|p| p.starts_with(&prefix)).cloned().collect()
    }

    fn blocked(&self, path: &str) -> bool {
        Self::ancestors(path).any(|above| matches!(self.0.get(above), Some(Some(_))))
    }

    fn make_parents(&mut self, path: &str) {
        for above in Self::ancestors(path) {
            self.0.insert(above.to_owned(), None);
        }
    }

    pub fn mkdir(&mut self, path: &str) -> Status {
        match self.0.get(path) {
            Some(None) => Status::DirectoryAlreadyExists,
            Some(Some(_)) => Status::FileAlreadyExists,
            None if self.blocked(path) => Status::FileAlreadyExists,
            None => {
                self.make_parents(path);
                self.0.insert(path.to_owned(), None);
                Status::Ok
            }
        }
    }

    pub fn create(&mut self, path: &str, recursive: bool, overwrite: bool, size: u64) -> Status {
        if self.is_directory(path) || self.blocked(path) {
            return Status::NotAFile;
        }
        if !recursive && parent(path).is_some_and(|parent| !self.is_directory(parent)) {
            return Status::DirectoryNotFound;
        }
        if !overwrite && self.0.contains_key(path) {
            return Status::FileAlreadyExists;
        }
        self.make_parents(path);
        self.0.insert(path.to_owned(), Some(size));
        Status::Ok
    }

    pub fn rename(&mut self, from: &str, to: &str) -> Status {
        let Some(&moved) = self.0.get(from) else { return Status::KeyNotFound };
        if moved.is_none() && to.starts_with(&format!("{from}/")) {
            return Status::KeyRenameError;
        }
        if parent(to).is_some_and(|parent| !self.is_directory(parent)) {
            return Status::KeyRenameError;
        }
        let into = format!("{to}/{}", from.rsplit('/').next().unwrap());
        let to = if self.is_directory(to) && from != to { into.as_str() } else { to };
        if self.0.contains_key(to) {
            return Status::KeyAlreadyExists;
        }
        for path in self.below(from) {
            let entry = self.0.remove(&path).unwrap();
            self.0.insert(format!("{to}{}", &path[from.len()..]), entry);
        }
        self.0.remove(from);
        self.0.insert(to.to_owned(), moved);
        Status::Ok
    }

    pub fn delete(&mut self, path: &str, recursive: bool) -> Status {
        if !self.0.contains_key(path) {
            return Status::KeyNotFound;
        }
        let below = self.below(path);
        if !recursive && !below.is_empty() {
            return Status::DirectoryNotEmpty;
        }
        for path in below {
            self.0.remove(&path);
        }
        self.0.remove(path);
        Status::Ok
    }
}

fn run(om: &mut Om, model: &mut Model, step: Step) -> (Status, Status) {
    let tree = |path: &str| args(TREE, path);
    match step {
        Step::Mkdir(path) => (status(&om.submit(mkdir(tree(&path)))), model.mkdir(&path)),
        Step::Create { path, recursive, overwrite, size } => {
            let args = KeyArgs { data_size: Some(size), ..tree(&path) };
            let r = om.submit(create_file(args, recursive, overwrite));
            if let Some(created) = &r.create_file_response {
                let info = created.key_info.clone().unwrap();
                let blocks = info.key_location_list[0].key_locations.clone();
                let done = commit(TREE, &path, created.id.unwrap(), size, used(blocks, size));
                om.ok(done);
            }
            (status(&r), model.create(&path, recursive, overwrite, size))
        }
        Step::Rename { from, to } => {
            (status(&om.submit(rename_key(tree(&from), &to))), model.rename(&from, &to))
        }
        Step::Delete { path, recursive } => {
            let args = KeyArgs { recursive: Some(recursive), ..tree(&path) };
            (status(&om.submit(delete_key(args))), model.delete(&path, recursive))
        }
        Step::Purge(most) => {
            purge_all_directories(om, most);
            (Status::Ok, Status::Ok)
        }
        Step::PurgeKeys => {
            let rows = om.rows(Table::DeletedTable);
            om.ok(purge(rows));
            (Status::Ok, Status::Ok)
        }
    }
}

/// Contents of the lists, read directory by directory.
fn contents(om: &mut Om) -> BTreeMap<String, Option<u64>> {
    let mut found = BTreeMap::new();
    let mut left = vec![String::new()];
    while let Some(directory) = left.pop() {
        let request = ListStatusRequest {
            key_args: args(TREE, &directory),
            num_entries: 1000,
            ..ListStatusRequest::default()
        };
        let r = om.ok(list_status(request)).list_status_response.unwrap();
        for entry in r.statuses {
            let key = entry.key_info.unwrap();
            if entry.is_directory == Some(true) {
                left.push(key.key_name.clone());
                found.insert(key.key_name, None);
            } else {
                found.insert(key.key_name, Some(key.data_size));
            }
        }
    }
    found
}

fn all<M: Message + Default>(om: &Om, table: Table) -> Vec<M> {
    om.rows(table).iter().map(|key| om.row(table, key).unwrap()).collect()
}

/// The counters by adding up the rows.
fn recount(om: &Om) -> (u64, u64, u64, u64) {
    let files: Vec<KeyInfo> = all(om, Table::FileTable);
    let directories = om.rows(Table::DirectoryTable).len();
    let deleted: Vec<KeyInfo> = all::<RepeatedKeyInfo>(om, Table::DeletedTable)
        .into_iter()
        .flat_map(|row| row.key_info)
        .filter(|key| key.metadata.iter().any(|e| e.key == "CKDEL"))
        .collect();
    (
        files.iter().map(replicated_size).sum(),
        (files.len() + directories) as u64,
        deleted.iter().map(replicated_size).sum(),
        deleted.len() as u64,
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn a_tree_is_what_a_file_system_would_be(steps in steps()) {
        let mut om = Om::with_paths();
        let mut model = Model::default();
        for step in steps {
            let (answered, expected) = run(&mut om, &mut model, step.clone());
            prop_assert_eq!(answered, expected, "{:?}", step);
            prop_assert_eq!(om.used_in(TREE), recount(&om), "{:?}", step);
        }
        prop_assert_eq!(&contents(&mut om), &model.0);
        for round in [1, 3, 1000] {
            prop_assert!(om.replay(round) == om.tables, "rounds of {}", round);
        }
        // In the end, all deleted entries are purged.
        while purge_all_directories(&mut om, 2) > 0 {}
        let rows = om.rows(Table::DeletedTable);
        om.ok(purge(rows));
        let files = model.0.values().filter_map(|size| *size);
        let expected = (files.map(|size| size * 3).sum(), model.0.len() as u64, 0, 0);
        prop_assert_eq!(om.used_in(TREE), expected);
        prop_assert_eq!(recount(&om), expected);
    }
}
