//! Random histories of two buckets with snapshots, against copies of all their contents: the
//! contents of each snapshot, the changes between any two, and the freed blocks.

use std::collections::{BTreeMap, BTreeSet};

use namespace::{DiffEnds, MemoryTables, Table, View, apply, diff};
use proptest::prelude::*;
use proto::ozone::diff_report_entry_proto::DiffTypeProto;
use proto::ozone::*;

use crate::harness::*;
use crate::snapshots::*;
use crate::tree::purge_all_directories;

#[derive(Debug, Clone)]
enum Step {
    Put(bool, String, u64),
    Mkdir(String),
    Rename(bool, String, String),
    Delete(bool, String),
    Touch(bool, String),
    SetAcl(bool, String),
    /// A key that is synced, and its session continues.
    Sync(bool, String, u64),
    /// A session ends: with more blocks, or given up.
    Close(usize, bool),
    Upload(bool, String),
    Snapshot(bool),
    DeleteSnapshot(usize),
    PurgeSnapshot(u32),
    PurgeDirectories(usize),
    PurgeKeys,
}

fn path() -> impl Strategy<Value = String> {
    let name = prop_oneof![Just("a"), Just("b"), Just("c")];
    proptest::collection::vec(name, 1..4).prop_map(|names| names.join("/"))
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (any::<bool>(), path(), 0..20u64).prop_map(|(b, p, size)| Step::Put(b, p, size)),
        2 => path().prop_map(Step::Mkdir),
        5 => (any::<bool>(), path(), path()).prop_map(|(b, from, to)| Step::Rename(b, from, to)),
        4 => (any::<bool>(), path()).prop_map(|(b, p)| Step::Delete(b, p)),
        1 => (any::<bool>(), path()).prop_map(|(b, p)| Step::Touch(b, p)),
        1 => (any::<bool>(), path()).prop_map(|(b, p)| Step::SetAcl(b, p)),
        2 => (any::<bool>(), path(), 1..20u64).prop_map(|(b, p, size)| Step::Sync(b, p, size)),
        2 => (0..4usize, any::<bool>()).prop_map(|(i, close)| Step::Close(i, close)),
        1 => (any::<bool>(), path()).prop_map(|(b, p)| Step::Upload(b, p)),
        5 => any::<bool>().prop_map(Step::Snapshot),
        3 => (0..6usize).prop_map(Step::DeleteSnapshot),
        4 => (1..4u32).prop_map(Step::PurgeSnapshot),
        2 => (1..4usize).prop_map(Step::PurgeDirectories),
        2 => Just(Step::PurgeKeys),
    ];
    proptest::collection::vec(step, 1..90)
}

/// Contents of a bucket: all keys and directories by path.
type Copied = BTreeMap<String, KeyInfo>;

struct Snapshot {
    tree: bool,
    name: String,
    copied: Copied,
    deleted: bool,
}

struct Session {
    tree: bool,
    path: String,
    id: u64,
    size: u64,
    blocks: Vec<KeyLocation>,
}

#[derive(Default)]
struct World {
    om: Om,
    snapshots: Vec<Snapshot>,
    sessions: Vec<Session>,
    /// Blocks that SCM received for deletion, each with the number of times.
    reclaimed: BTreeMap<i64, usize>,
}

impl World {
    fn new() -> Self {
        let mut om = Om::with_paths();
        om.settings.min_multipart_part_size = 0;
        Self { om, ..Self::default() }
    }

    /// All that a bucket, or a snapshot of it, shows.
    fn contents(&mut self, tree: bool, snapshot: Option<&str>) -> Copied {
        let prefix = snapshot.map(|name| format!(".snapshot/{name}/")).unwrap_or_default();
        let mut found = Copied::new();
        let mut add = |om: &mut Om, mut key: KeyInfo, directory: bool| {
            let path = key.key_name.strip_prefix(&prefix).unwrap().to_owned();
            key.key_name.clone_from(&path);
            if !directory {
                // Looked up by itself it is the same.
                let args = named(tree, &format!("{prefix}{path}"));
                let looked = om.ok(lookup_key(args)).lookup_key_response.unwrap();
                let mut looked = looked.key_info.unwrap();
                looked.key_name.clone_from(&path);
                assert_eq!(looked, key);
            }
            assert!(found.insert(path, key).is_none());
        };
        if !tree {
            let list = ListKeysRequest {
                volume_name: VOL.to_owned(),
                bucket_name: BUCKET.to_owned(),
                prefix: Some(prefix.clone()),
                count: Some(1000),
                ..ListKeysRequest::default()
            };
            let listed = self.om.ok(list_keys(list)).list_keys_response.unwrap();
            for key in listed.key_info {
                let args = named(false, &key.key_name);
                let looked = self.om.ok(lookup_key(args)).lookup_key_response.unwrap();
                add(&mut self.om, looked.key_info.unwrap(), false);
            }
            return found;
        }
        let mut left = vec![prefix.clone()];
        while let Some(directory) = left.pop() {
            let request = ListStatusRequest {
                key_args: named(true, &directory),
                num_entries: 1000,
                ..ListStatusRequest::default()
            };
            let listed = self.om.ok(list_status(request)).list_status_response.unwrap();
            for entry in listed.statuses {
                let directory = entry.is_directory == Some(true);
                let key = entry.key_info.unwrap();
                if directory {
                    left.push(key.key_name.clone());
                }
                add(&mut self.om, key, directory);
            }
        }
        found
    }

    /// Runs the request; a refusal changes nothing and is of no interest here.
    fn submit(&mut self, request: OmRequest) -> OmResponse {
        self.om.submit(request)
    }

    /// A session of a key; `None` when the path cannot be.
    fn open(&mut self, tree: bool, path: &str, size: u64) -> Option<Session> {
        let args = KeyArgs { data_size: Some(size), ..named(tree, path) };
        let (id, info) = if tree {
            let created = self.submit(create_file(args, true, true)).create_file_response?;
            (created.id?, created.key_info?)
        } else {
            let created = self.submit(create_key(args)).create_key_response?;
            (created.id?, created.key_info?)
        };
        let blocks = info.key_location_list[0].key_locations.clone();
        Some(Session { tree, path: path.to_owned(), id, size, blocks })
    }

    fn commit(&mut self, session: &Session, sync: bool) -> OmResponse {
        let key_locations = used(session.blocks.clone(), session.size);
        let (data_size, args) = (Some(session.size), named(session.tree, &session.path));
        let args = KeyArgs { data_size, key_locations, ..args };
        self.submit(commit_key(args, session.id, sync))
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Put(tree, path, size) => {
                if let Some(session) = self.open(tree, &path, size) {
                    self.commit(&session, false);
                }
            }
            Step::Mkdir(path) => {
                self.submit(mkdir(named(true, &path)));
            }
            Step::Rename(tree, from, to) => {
                self.submit(rename_key(named(tree, &from), &to));
            }
            Step::Delete(tree, path) => {
                let args = KeyArgs { recursive: Some(true), ..named(tree, &path) };
                self.submit(delete_key(args));
            }
            Step::Touch(tree, path) => {
                let set = SetTimesRequest { key_args: named(tree, &path), mtime: 77, atime: 77 };
                let set_times_request = Some(Box::new(set));
                self.submit(OmRequest { set_times_request, ..request(Type::SetTimes) });
            }
            Step::SetAcl(tree, path) => {
                let acl = OzoneAclInfo {
                    r#type: ozone_acl_info::OzoneAclType::User as i32,
                    name: format!("user{}", self.om.log.len()),
                    rights: bytes::Bytes::from_static(&[1]),
                    acl_scope: ozone_acl_info::OzoneAclScope::Access as i32,
                };
                let (obj, modification_time) = (object(tree, &path), None);
                let add = AddAclRequest { obj, acl, modification_time };
                let add_acl_request = Some(Box::new(add));
                self.submit(OmRequest { add_acl_request, ..request(Type::AddAcl) });
            }
            Step::Sync(tree, path, size) => {
                if let Some(session) = self.open(tree, &path, size) {
                    self.commit(&session, true);
                    self.sessions.push(session);
                }
            }
            Step::Close(number, close) => self.close(number, close),
            Step::Upload(tree, path) => self.upload(tree, &path),
            Step::Snapshot(tree) => {
                let name = format!("snap{}", self.snapshots.len());
                let copied = self.contents(tree, None);
                self.om.ok(create_snapshot(tree, &name));
                self.snapshots.push(Snapshot { tree, name, copied, deleted: false });
            }
            Step::DeleteSnapshot(number) => {
                let Some(snapshot) = self.snapshots.get_mut(number) else { return };
                if !std::mem::replace(&mut snapshot.deleted, true) {
                    self.om.ok(delete_snapshot(snapshot.tree, &snapshot.name.clone()));
                }
            }
            Step::PurgeSnapshot(rows) => {
                self.purge_snapshot(rows);
            }
            Step::PurgeDirectories(most) => {
                purge_all_directories(&mut self.om, most);
            }
            Step::PurgeKeys => self.purge_keys(),
        }
    }

    fn close(&mut self, number: usize, close: bool) {
        if number >= self.sessions.len() {
            return;
        }
        let mut session = self.sessions.remove(number);
        if close {
            let args = named(session.tree, &session.path);
            let allocated = self.submit(allocate_block(args, session.id));
            let block = allocated.allocate_block_response.and_then(|r| r.key_location);
            if let Some(mut block) = block {
                // Synced blocks stay, and more is written.
                session.blocks = used(session.blocks, session.size);
                block.length = 5;
                session.size += 5;
                session.blocks.push(block);
            }
            if status(&self.commit(&session, false)) == Status::Ok {
                return;
            }
        }
        self.abandon(session.tree, session.id);
    }

    /// OM closes or removes the sessions of that id.
    fn abandon(&mut self, tree: bool, id: u64) {
        let table = if tree { Table::OpenFileTable } else { Table::OpenKeyTable };
        let end = format!("/{}", id.cast_signed());
        let rows = self.om.rows(table).into_iter().filter(|row| row.ends_with(&end));
        let keys = rows.map(|name| OpenKey { name, client_id: None }).collect();
        let layout = match tree {
            true => BucketLayoutProto::FileSystemOptimized,
            false => BucketLayoutProto::ObjectStore,
        };
        let delete = DeleteOpenKeysRequest {
            open_keys_per_bucket: vec![OpenKeyBucket {
                volume_name: VOL.to_owned(),
                bucket_name: bucket(tree).to_owned(),
                keys,
            }],
            bucket_layout: Some(layout as i32),
        };
        let delete_open_keys_request = Some(Box::new(delete));
        let request = OmRequest { delete_open_keys_request, ..request(Type::DeleteOpenKeys) };
        self.om.ok(request);
    }

    /// A key of two parts, of which one is uploaded twice and one is left out.
    fn upload(&mut self, tree: bool, path: &str) {
        let begun = self.submit(initiate(KeyArgs { recursive: Some(true), ..named(tree, path) }));
        let Some(begun) = begun.initiate_multi_part_upload_response else { return };
        let upload = begun.multipart_upload_id;
        let mut parts = Vec::new();
        for number in [1, 2, 2, 3] {
            let args = KeyArgs {
                data_size: Some(3),
                multipart_upload_id: Some(upload.clone()),
                multipart_number: Some(number),
                is_multipart_key: Some(true),
                ..named(tree, path)
            };
            let Some(created) = self.submit(create_key(args.clone())).create_key_response else {
                continue;
            };
            let blocks = created.key_info.unwrap().key_location_list[0].key_locations.clone();
            let metadata = vec![entry("ETag", &format!("tag{number}"))];
            let args = KeyArgs { key_locations: used(blocks, 3), metadata, ..args };
            let done = self.submit(commit_part(args, created.id.unwrap()));
            if let Some(part) = done.commit_multi_part_upload_response {
                let part_name = part.part_name.unwrap_or_default();
                parts.retain(|p: &Part| p.part_number != number);
                parts.push(Part { part_number: number, part_name, e_tag: part.e_tag });
            }
        }
        parts.retain(|part| part.part_number != 3);
        let args = KeyArgs {
            multipart_upload_id: Some(upload),
            recursive: Some(true),
            ..named(tree, path)
        };
        if status(&self.submit(complete(args.clone(), parts))) != Status::Ok {
            self.submit(abort(args));
        }
    }

    /// One step of taking the oldest deleted snapshot apart; false when there is none.
    fn purge_snapshot(&mut self, rows: u32) -> bool {
        let chains = self.om.tables.snapshots().unwrap();
        let deleted = chains.all().map(|(_, layer)| layer).find(|layer| !layer.active);
        let Some(layer) = deleted else { return false };
        let key = String::from_utf8(layer.info_key.clone()).unwrap();
        self.om.ok(purge_snapshot(&key, rows));
        true
    }

    /// Space that OM reports as freed by a deletion of the snapshot, plain and with all copies.
    fn exclusive(&mut self, number: usize) -> (u64, u64) {
        let snapshot = &self.snapshots[number];
        let (volume_name, bucket_name) = snapshot_names(snapshot.tree);
        let info = SnapshotInfoRequest {
            volume_name,
            bucket_name,
            snapshot_name: Some(snapshot.name.clone()),
        };
        let info = OmRequest {
            snapshot_info_request: Some(Box::new(info)),
            ..request(Type::GetSnapshotInfo)
        };
        let list = ListSnapshotRequest {
            volume_name: Some(VOL.to_owned()),
            bucket_name: Some(bucket(snapshot.tree).to_owned()),
            prefix: Some(snapshot.name.clone()),
            ..ListSnapshotRequest::default()
        };
        let list = OmRequest {
            list_snapshot_request: Some(Box::new(list)),
            ..request(Type::ListSnapshot)
        };
        let told = self.om.ok(info).snapshot_info_response.unwrap().snapshot_info.unwrap();
        let listed = self.om.ok(list).list_snapshot_response.unwrap().snapshot_info;
        assert!(listed.contains(&told));
        (told.exclusive_size(), told.exclusive_replicated_size())
    }

    /// Bytes of all versions that wait for their blocks to be deleted, plain and with all copies.
    fn waiting(&self) -> (u64, u64) {
        let rows = self.om.rows(Table::DeletedTable);
        let row = |row: &String| self.om.row::<RepeatedKeyInfo>(Table::DeletedTable, row).unwrap();
        let versions = rows.iter().map(row).flat_map(|row| row.key_info);
        versions.fold((0, 0), |(plain, all), version| {
            (plain + version.data_size, all + namespace::replicated_size(&version))
        })
    }

    fn purge_keys(&mut self) {
        for (_, blocks) in self.om.deleted() {
            for block in blocks {
                *self.reclaimed.entry(block).or_default() += 1;
            }
        }
        let rows = self.om.rows(Table::DeletedTable);
        self.om.ok(purge(rows));
    }

    /// Blocks that a client can read or will write.
    fn referenced(&self) -> BTreeSet<i64> {
        let mut all = BTreeSet::new();
        for table in [Table::KeyTable, Table::FileTable, Table::OpenKeyTable, Table::OpenFileTable]
        {
            for row in self.om.rows(table) {
                all.extend(local_ids(&self.om.row::<KeyInfo>(table, &row).unwrap()));
            }
        }
        for snapshot in self.snapshots.iter().filter(|snapshot| !snapshot.deleted) {
            all.extend(snapshot.copied.values().flat_map(local_ids));
        }
        all
    }

    fn check_blocks(&self) {
        let referenced = self.referenced();
        let waiting = self.om.deleted().into_iter().flat_map(|(_, blocks)| blocks);
        for block in waiting.chain(self.reclaimed.keys().copied()) {
            assert!(!referenced.contains(&block), "block {block} is needed");
        }
        for (block, times) in &self.reclaimed {
            assert_eq!(*times, 1, "block {block}");
        }
    }

    /// Every snapshot shows the copied contents, and the differences are those of the copies.
    fn check_snapshots(&mut self) {
        let snapshots = std::mem::take(&mut self.snapshots);
        for snapshot in &snapshots {
            if snapshot.deleted {
                let args = named(snapshot.tree, &format!(".snapshot/{}/a", snapshot.name));
                assert_eq!(self.om.refused(lookup_key(args)), Status::FileNotFound);
                continue;
            }
            let shown = self.contents(snapshot.tree, Some(&snapshot.name));
            assert_eq!(shown, snapshot.copied, "{}", snapshot.name);
        }
        let alive = || snapshots.iter().filter(|snapshot| !snapshot.deleted);
        for from in alive() {
            for to in alive().filter(|to| to.tree == from.tree) {
                let ends = DiffEnds {
                    volume: VOL.to_owned(),
                    bucket: bucket(from.tree).to_owned(),
                    from: from.name.clone(),
                    to: to.name.clone(),
                };
                let found = diff(&self.om.tables, &ends, 1000, &|| true).unwrap();
                let (found, expected) = (changes(&found), naive(from, to));
                let compared = (above(found, from.tree), above(expected, from.tree));
                assert_eq!(compared.0, compared.1, "{} to {}", from.name, to.name);
            }
        }
        self.snapshots = snapshots;
    }
}

type Changes = BTreeSet<(i32, String, Option<String>)>;

fn changes(report: &[DiffReportEntryProto]) -> Changes {
    let kinds: Vec<i32> = report.iter().map(|entry| entry.diff_type() as i32).collect();
    let order = |kind: i32| match DiffTypeProto::try_from(kind).unwrap() {
        DiffTypeProto::Delete => 0,
        DiffTypeProto::Rename => 1,
        DiffTypeProto::Create => 2,
        DiffTypeProto::Modify => 3,
    };
    assert!(kinds.is_sorted_by_key(|kind| order(*kind)));
    let set: Changes = report
        .iter()
        .map(|entry| {
            let target = entry.target_path.clone();
            (entry.diff_type() as i32, entry.source_path().to_owned(), target)
        })
        .collect();
    assert_eq!(set.len(), report.len());
    set
}

/// Without the children of created directories: their presence depends on
/// whether the background work of a deletion has touched the rows, as in Ozone.
fn above(changes: Changes, tree: bool) -> Changes {
    let created =
        |path: &str| changes.contains(&(DiffTypeProto::Create as i32, path.to_owned(), None));
    let is_below = |path: &str| path.match_indices('/').any(|(at, _)| created(&path[..at]));
    let kept = changes.iter().filter(|(kind, path, _)| {
        !tree || *kind != DiffTypeProto::Create as i32 || !is_below(path)
    });
    kept.cloned().collect()
}

/// Changes from one copy to another, identified by ids.
fn naive(from: &Snapshot, to: &Snapshot) -> Changes {
    let by_id = |copied: &Copied| -> BTreeMap<u64, (String, KeyInfo)> {
        copied.iter().map(|(path, key)| (key.object_id(), (path.clone(), key.clone()))).collect()
    };
    let place = |path: &str, key: &KeyInfo| match from.tree {
        true => (key.parent_id(), path.rsplit('/').next().unwrap().to_owned()),
        false => (0, path.to_owned()),
    };
    let (old, new) = (by_id(&from.copied), by_id(&to.copied));
    let mut set = Changes::new();
    for (id, (path, key)) in &old {
        let Some((new_path, new_key)) = new.get(id) else {
            // A directory is deleted with its children.
            let above = path.match_indices('/').map(|(at, _)| &path[..at]);
            let gone = |above: &str| {
                from.copied.get(above).is_some_and(|key| !new.contains_key(&key.object_id()))
            };
            if !from.tree || !above.into_iter().any(gone) {
                set.insert((DiffTypeProto::Delete as i32, path.clone(), None));
            }
            continue;
        };
        let moved = place(path, key) != place(new_path, new_key);
        let bare = |key: &KeyInfo| KeyInfo {
            key_name: String::new(),
            parent_id: None,
            modification_time: 0,
            update_id: None,
            committed_at: None,
            ..key.clone()
        };
        let differs = bare(key) != bare(new_key);
        let touched = KeyInfo { key_name: String::new(), ..key.clone() }
            != KeyInfo { key_name: String::new(), ..new_key.clone() };
        if differs || (!moved && touched) {
            set.insert((DiffTypeProto::Modify as i32, path.clone(), None));
        }
        if moved {
            let target = Some(new_path.clone());
            set.insert((DiffTypeProto::Rename as i32, path.clone(), target));
        }
    }
    for (id, (path, _)) in &new {
        if !old.contains_key(id) {
            set.insert((DiffTypeProto::Create as i32, path.clone(), None));
        }
    }
    set
}

fn run(steps: Vec<Step>) {
    let mut world = World::new();
    for step in steps {
        world.step(step);
        world.check_blocks();
    }
    world.check_snapshots();
    assert!(world.om.replay(7) == world.om.tables);
    // In the end everything is deleted.
    while !world.sessions.is_empty() {
        world.close(0, false);
    }
    while world.purge_snapshot(3) {}
    for number in 0..world.snapshots.len() {
        let told = match world.snapshots[number].deleted {
            true => (0, 0),
            false => world.exclusive(number),
        };
        let before = world.waiting();
        world.step(Step::DeleteSnapshot(number));
        while world.purge_snapshot(3) {
            world.check_blocks();
        }
        let after = world.waiting();
        assert_eq!((after.0 - before.0, after.1 - before.1), told, "snapshot {number}");
        world.check_snapshots();
    }
    for tree in [false, true] {
        for path in world.contents(tree, None).into_keys() {
            world.step(Step::Delete(tree, path));
        }
    }
    while purge_all_directories(&mut world.om, 3) > 0 {}
    for table in [Table::OpenKeyTable, Table::OpenFileTable, Table::MultipartPartsTable] {
        assert_eq!(world.om.rows(table), Vec::<String>::new(), "{table:?}");
    }
    world.purge_keys();
    let allocated = allocated(&world.om);
    let reclaimed: BTreeSet<i64> = world.reclaimed.keys().copied().collect();
    assert_eq!(reclaimed, allocated);
    assert!(world.reclaimed.values().all(|times| *times == 1));
    for table in [
        Table::SnapshotInfoTable,
        Table::SnapshotTable,
        Table::SnapshotRowTable,
        Table::SnapshotChangeTable,
        Table::SnapshotGarbageTable,
        Table::SnapshotUsageTable,
    ] {
        assert_eq!(world.om.rows(table), Vec::<String>::new(), "{table:?}");
    }
    for tree in [false, true] {
        assert_eq!(world.om.used_in(bucket(tree)), (0, 0, 0, 0));
        world.om.ok(delete_bucket(bucket(tree)));
    }
}

/// All blocks that an entry of the log gave to a key, as far as it was accepted.
fn allocated(om: &Om) -> BTreeSet<i64> {
    let mut tables = MemoryTables::default();
    let mut all = BTreeSet::new();
    for (tx, entry) in &om.log {
        let applied = apply(entry.clone(), *tx, &tables).unwrap();
        let given = [
            entry.create_key_request.as_ref().map(|r| r.key_args.key_locations.clone()),
            entry.create_file_request.as_ref().map(|r| r.key_args.key_locations.clone()),
            entry
                .allocate_block_request
                .as_ref()
                .map(|r| r.key_location.clone().into_iter().collect()),
        ];
        if applied.response.success == Some(true) {
            let given = given.into_iter().flatten().flatten();
            all.extend(given.map(|l| l.block_id.container_block_id.local_id));
        }
        applied.effects.into_iter().for_each(|effect| tables.apply(effect));
    }
    all
}

/// The children of a directory that was moved into a deleted one were deleted with it, although its
/// row stays until that one is purged.
#[test]
fn a_directory_that_is_deleted_with_another_is_one_change() {
    let path = |path: &str| path.to_owned();
    run(vec![
        Step::Mkdir(path("c")),
        Step::Sync(true, path("b/a/a"), 1),
        Step::Snapshot(true),
        Step::Rename(true, path("b"), path("c")),
        Step::Delete(true, path("c")),
        Step::Close(0, false),
        Step::Snapshot(true),
    ]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn snapshots_are_what_copies_would_be(steps in steps()) {
        run(steps);
    }
}
