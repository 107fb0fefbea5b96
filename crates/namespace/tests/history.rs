//! Random histories: the counters are a recount of the rows, a replay gives the same tables,
//! rounds through an overlay give the same tables as one entry at a time, and no block is lost.

use std::collections::{BTreeMap, BTreeSet};

use namespace::{Purged, Table, View, replicated_size};
use proptest::prelude::*;
use prost::Message;
use proto::ozone::*;

use crate::harness::*;
use crate::multipart::{of_upload, put_part, start};

#[derive(Debug, Clone)]
enum Step {
    Put { key: u8, size: u64 },
    Open { key: u8, size: u64 },
    CommitOpen { nth: usize, sync: bool, size: u64 },
    Delete { key: u8 },
    DeleteMany { keys: Vec<u8> },
    Rename { from: u8, to: u8 },
    Start { key: u8 },
    Part { nth: usize, number: u32, size: u64 },
    Complete { nth: usize, skip: bool },
    Abort { nth: usize },
    Abandon,
    Purge,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let key = 0..5u8;
    let size = prop_oneof![Just(0u64), 1..1000u64, Just((256 << 20) + 1)];
    let step = prop_oneof![
        4 => (key.clone(), size.clone()).prop_map(|(key, size)| Step::Put { key, size }),
        2 => (key.clone(), size.clone()).prop_map(|(key, size)| Step::Open { key, size }),
        3 => (0..8usize, any::<bool>(), 0..1000u64)
            .prop_map(|(nth, sync, size)| Step::CommitOpen { nth, sync, size }),
        2 => key.clone().prop_map(|key| Step::Delete { key }),
        1 => proptest::collection::vec(key.clone(), 0..4)
            .prop_map(|keys| Step::DeleteMany { keys }),
        1 => (key.clone(), key.clone()).prop_map(|(from, to)| Step::Rename { from, to }),
        1 => key.prop_map(|key| Step::Start { key }),
        3 => (0..4usize, 1..4u32, 0..1000u64)
            .prop_map(|(nth, number, size)| Step::Part { nth, number, size }),
        1 => (0..4usize, any::<bool>()).prop_map(|(nth, skip)| Step::Complete { nth, skip }),
        1 => (0..4usize).prop_map(|nth| Step::Abort { nth }),
        1 => Just(Step::Abandon),
        1 => Just(Step::Purge),
    ];
    proptest::collection::vec(step, 1..60)
}

/// State that a history needs besides the tables.
#[derive(Default)]
struct Sessions {
    open: Vec<(String, u64, Vec<KeyLocation>)>,
    uploads: Vec<(String, String, BTreeMap<u32, Part>)>,
    purged: BTreeSet<i64>,
}

fn run(om: &mut Om, s: &mut Sessions, step: Step) {
    let name = |key: u8| format!("key-{key}");
    match step {
        Step::Put { key, size } => drop(om.put(&name(key), size)),
        Step::Open { key, size } => {
            let (id, blocks) = om.open(BUCKET, &name(key), size);
            s.open.push((name(key), id, blocks));
        }
        Step::CommitOpen { nth, sync, size } => {
            let Some((key, id, blocks)) = s.open.get(nth).cloned() else { return };
            let size = if blocks.is_empty() { 0 } else { size };
            let args = KeyArgs {
                data_size: Some(size),
                key_locations: used(blocks, size),
                ..args(BUCKET, &key)
            };
            om.submit(commit_key(args, id, sync));
            if !sync {
                s.open.remove(nth);
            }
        }
        Step::Delete { key } => drop(om.submit(delete_key(args(BUCKET, &name(key))))),
        Step::DeleteMany { keys } => {
            let keys: Vec<String> = keys.into_iter().map(name).collect();
            let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
            om.submit(delete_keys(&keys));
        }
        Step::Rename { from, to } => {
            om.submit(rename_key(args(BUCKET, &name(from)), &name(to)));
        }
        Step::Start { key } => {
            let upload = start(om, &name(key));
            s.uploads.push((name(key), upload, BTreeMap::new()));
        }
        Step::Part { nth, number, size } => {
            let Some((key, upload, parts)) = s.uploads.get_mut(nth) else { return };
            parts.insert(number, put_part(om, key, upload, number, size));
        }
        Step::Complete { nth, skip } => {
            let Some((key, upload, parts)) = s.uploads.get(nth) else { return };
            let parts: Vec<Part> = parts.values().skip(usize::from(skip)).cloned().collect();
            let r = om.submit(complete(of_upload(key, upload), parts));
            if status(&r) == Status::Ok {
                s.uploads.remove(nth);
            }
        }
        Step::Abort { nth } => {
            let Some((key, upload, _)) = s.uploads.get(nth) else { return };
            om.ok(abort(of_upload(key, upload)));
            s.uploads.remove(nth);
        }
        Step::Abandon => {
            let keys: Vec<OpenKey> = om
                .rows(Table::OpenKeyTable)
                .into_iter()
                .map(|name| OpenKey { name, client_id: None })
                .collect();
            om.ok(OmRequest {
                delete_open_keys_request: Some(Box::new(DeleteOpenKeysRequest {
                    open_keys_per_bucket: vec![OpenKeyBucket {
                        volume_name: VOL.to_owned(),
                        bucket_name: BUCKET.to_owned(),
                        keys,
                    }],
                    bucket_layout: None,
                })),
                ..request(Type::DeleteOpenKeys)
            });
            s.open.clear();
        }
        Step::Purge => {
            s.purged.extend(om.deleted().into_iter().flat_map(|(_, blocks)| blocks));
            let rows = om.rows(Table::DeletedTable);
            let mut said = Purged::default();
            for row in all::<RepeatedKeyInfo>(om, Table::DeletedTable) {
                let mut one = Purged::default();
                one.add(&row);
                said.extend(one);
            }
            let found = om.prepared(purge(rows.clone())).unwrap().purge_keys_request.unwrap();
            let sizes = said.into_sizes();
            assert_eq!(sizes, found.bucket_purge_keys_size);
            // Sizes read before another purge of the rows free nothing more.
            let mut said = purge(rows);
            said.purge_keys_request.as_mut().unwrap().bucket_purge_keys_size = sizes;
            om.ok(said.clone());
            let again = om.prepared(said).unwrap().purge_keys_request.unwrap();
            assert!(again.bucket_purge_keys_size.is_empty());
        }
    }
}

fn all<M: Message + Default>(om: &Om, table: Table) -> Vec<M> {
    om.rows(table).iter().map(|key| om.row(table, key).unwrap()).collect()
}

/// The counters by adding up the rows.
fn recount(om: &Om) -> (u64, u64, u64, u64) {
    let keys: Vec<KeyInfo> = all(om, Table::KeyTable);
    let mut parts = 0;
    om.tables
        .scan(Table::MultipartPartsTable, b"", None, &mut |_, value| {
            parts += 3 * MultipartPartInfo::decode(value).unwrap().data_size.unwrap();
            std::ops::ControlFlow::Continue(())
        })
        .unwrap();
    let deleted: Vec<KeyInfo> = all::<RepeatedKeyInfo>(om, Table::DeletedTable)
        .into_iter()
        .flat_map(|row| row.key_info)
        .filter(|key| key.metadata.iter().any(|e| e.key == "CKDEL"))
        .collect();
    (
        keys.iter().map(replicated_size).sum::<u64>() + parts,
        keys.len() as u64,
        deleted.iter().map(replicated_size).sum(),
        deleted.len() as u64,
    )
}

/// Every block that was ever given out is of a live or open key, of a part, waits for deletion or
/// was purged; and none that is live was given up.
fn check_blocks(om: &Om, purged: &BTreeSet<i64>) {
    let mut live: BTreeSet<i64> =
        all::<KeyInfo>(om, Table::KeyTable).iter().flat_map(local_ids).collect();
    let mut given_up = purged.clone();
    given_up.extend(om.deleted().into_iter().flat_map(|(_, blocks)| blocks));
    om.tables
        .scan(Table::MultipartPartsTable, b"", None, &mut |_, value| {
            let part = MultipartPartInfo::decode(value).unwrap();
            let blocks = part.key_location_list.into_iter().flat_map(|l| l.key_locations);
            live.extend(blocks.map(|l| l.block_id.container_block_id.local_id));
            std::ops::ControlFlow::Continue(())
        })
        .unwrap();
    assert!(
        live.is_disjoint(&given_up),
        "live blocks given up: {:?}",
        live.intersection(&given_up)
    );
    let mut known = &live | &given_up;
    known.extend(all::<KeyInfo>(om, Table::OpenKeyTable).iter().flat_map(local_ids));
    let given: BTreeSet<i64> = om
        .log
        .iter()
        .flat_map(|(_, entry)| {
            let create = entry.create_key_request.iter().flat_map(|r| &r.key_args.key_locations);
            let allocate = entry.allocate_block_request.iter().flat_map(|r| &r.key_location);
            create.chain(allocate).map(|l| l.block_id.container_block_id.local_id)
        })
        .collect();
    assert_eq!(known, given);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn counters_blocks_and_replays_are_right_after_any_history(steps in steps()) {
        let mut om = Om::new();
        om.settings.min_multipart_part_size = 0;
        let mut sessions = Sessions::default();
        for step in steps {
            run(&mut om, &mut sessions, step);
            prop_assert_eq!(om.used(), recount(&om));
        }
        check_blocks(&om, &sessions.purged);
        for round in [1, 3, 1000] {
            prop_assert!(om.replay(round) == om.tables, "rounds of {}", round);
        }
    }
}
