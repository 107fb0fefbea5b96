//! A healthy container is never reported, whatever runs concurrently with the scan.

use std::collections::BTreeSet;

use container::ContainerState;
use parking_lot::Mutex;
use proptest::prelude::*;

use super::*;
use crate::scan::Pace;

/// Changes the storage before each read of a scan.
struct Meanwhile<F>(Mutex<F>);

impl<F: FnMut() + Send> Meanwhile<F> {
    fn new(act: F) -> Self {
        Self(Mutex::new(act))
    }
}

#[async_trait::async_trait]
impl<F: FnMut() + Send> Pace for Meanwhile<F> {
    async fn pass(&self, _disk: &Disk, _bytes: u64) {
        (*self.0.lock())();
    }
}

async fn scan_while(node: &Node, act: impl FnMut() + Send) -> Verdict {
    let (store, now) = (node.store(), SystemTime::now());
    let pace = Meanwhile::new(act);
    store.scan_data(CONTAINER, ScanKind::OnDemand, &pace, now).await.unwrap()
}

/// The segment that compaction would take first.
fn oldest_sealed(container: &Container) -> Option<u32> {
    let segments = container.segments.lock();
    segments.infos.iter().find(|(_, info)| info.sealed).map(|(number, _)| *number)
}

/// Small and large blocks, more than fit into a segment.
fn filled() -> Node {
    let mut node = Node::with(|options| options.segment_size = 20_000);
    for local in 1..=30 {
        node.put_small(local, pattern(local, 3_000));
    }
    for local in 31..=36 {
        node.put_large(local, &[pattern(local, 100_000)]);
    }
    node
}

#[tokio::test]
async fn blocks_that_are_deleted_while_they_are_read_are_no_damage() {
    for closed in [false, true] {
        let mut node = filled();
        if closed {
            node.close();
        }
        let store = node.store().clone();
        let (mut next, mut passed) = (36u64, 0);
        let verdict = scan_while(&node, || {
            passed += 1;
            // The last rows go first, one of them is the one that is about to be read.
            for local in [next, 37 - next] {
                let deleted = store.delete_blocks(&[transaction(local as i64, &[local])]);
                deleted.into_iter().for_each(|result| result.outcome.unwrap());
            }
            store.reclaim(100).unwrap();
            next = next.saturating_sub(1).max(19);
        });
        assert_eq!(verdict.await, Verdict::Sound);
        assert!(passed > 5, "it was read meanwhile");
        assert_ne!(node.container().state(), ContainerState::Unhealthy);
    }
}

#[tokio::test]
async fn rows_and_sums_are_compared_as_of_one_moment() {
    let mut node = Node::new();
    for local in 1..=200 {
        node.put_small(local, pattern(local, 100));
    }
    node.close();
    let store = node.store().clone();
    let deleting = std::thread::spawn(move || {
        for local in 1..=200 {
            let deleted = store.delete_blocks(&[transaction(local, &[local as u64])]);
            deleted.into_iter().for_each(|result| result.outcome.unwrap());
            store.reclaim(100).unwrap();
        }
    });
    let mut scans = 0;
    while !deleting.is_finished() {
        assert_eq!(node.scan(ScanKind::Data).await, Verdict::Sound);
        scans += 1;
    }
    deleting.join().unwrap();
    assert!(scans > 0 && node.container().info().blocks == 0);
}

#[tokio::test]
async fn records_that_move_while_they_are_read_are_no_damage() {
    let mut node = filled();
    node.close();
    let (container, disk) = (node.container(), node.store().disks()[0].clone());
    let mut moved = 0;
    let verdict = scan_while(&node, || {
        // All live records of the oldest segment are moved, and its file is deleted.
        if let Some(number) = oldest_sealed(&container).filter(|_| moved < 20) {
            move_out_of(&container, number, 20_000).unwrap();
            disk.flush().unwrap();
            moved += u64::from(container.drop_segment(number).unwrap() > 0);
        }
    });
    assert_eq!(verdict.await, Verdict::Sound);
    assert!(moved > 5, "{moved} segments moved");
    for local in 1..=30 {
        assert_eq!(node.read(local).unwrap(), pattern(local, 3_000));
    }
}

#[tokio::test]
async fn a_container_that_is_removed_while_it_is_read_is_no_damage() {
    let mut node = filled();
    node.close();
    let store = node.store().clone();
    let mut here = true;
    let verdict = scan_while(&node, || {
        if std::mem::take(&mut here) {
            store.delete_container(CONTAINER, true).unwrap();
        }
    });
    assert_eq!(verdict.await, Verdict::Moot);
    assert!(store.take_changed().is_empty());
}

#[tokio::test]
async fn a_disk_that_fails_is_the_finding_and_not_its_containers() {
    let mut node = filled();
    node.close();
    node.store().take_changed();
    let failing = node.store().disks()[0].clone();
    let verdict = scan_while(&node, || {
        failing.io().fail("test", failing.path(), "as the test wants it");
    });
    assert_eq!(verdict.await, Verdict::Moot);
    assert_eq!(node.container().state(), ContainerState::Closed);

    let mut node = filled();
    node.close();
    let current = node.store().disks()[0].containers_dir();
    fs::rename(&current, node.disk_dir().join("elsewhere")).unwrap();
    for kind in ScanKind::ALL {
        let verdict = node.scan(kind).await;
        assert!(matches!(verdict, Verdict::DiskGone(_)), "{kind:?}: {verdict:?}");
    }
    fs::rename(node.disk_dir().join("elsewhere"), &current).unwrap();
    assert_eq!(node.container().state(), ContainerState::Closed);
    assert_eq!(node.scan(ScanKind::Data).await, Verdict::Sound);
}

/// Acts during a scan.
#[derive(Debug, Clone)]
enum Act {
    Nothing,
    Small(u64, usize),
    Large(u64, usize),
    Delete(Vec<u64>),
    Reclaim,
    Flush,
    Compact,
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        4 => Just(Act::Nothing),
        4 => (1u64..60, 1usize..9_000).prop_map(|(n, len)| Act::Small(n, len)),
        2 => (61u64..70, 1usize..150_000).prop_map(|(n, len)| Act::Large(n, len)),
        3 => prop::collection::vec(1u64..70, 1..12).prop_map(Act::Delete),
        3 => Just(Act::Reclaim),
        1 => Just(Act::Flush),
        2 => Just(Act::Compact),
    ];
    prop::collection::vec(act, 1..60)
}

/// The storage with the expected data.
struct World {
    node: Node,
    written: BTreeSet<u64>,
    deleted: BTreeSet<u64>,
    next_tx: i64,
}

impl World {
    fn new() -> Self {
        let node = Node::with(|options| {
            options.segment_size = 30_000;
            options.pending_bytes = 20_000;
        });
        node.ensure_container();
        Self { node, written: BTreeSet::new(), deleted: BTreeSet::new(), next_tx: 1 }
    }

    fn usable(&self, local: u64) -> bool {
        let open = self.node.container().state() == ContainerState::Open;
        open && !self.deleted.contains(&local)
    }

    fn act(&mut self, act: &Act) {
        match act {
            Act::Small(local, len) if self.usable(*local) && self.written.insert(*local) => {
                self.node.put_small(*local, pattern(*local, *len));
            }
            Act::Large(local, len) if self.usable(*local) && self.written.insert(*local) => {
                let (one, two) = (pattern(*local, *len), pattern(*local + 1, *len / 2 + 1));
                self.node.put_large(*local, &[one, two]);
            }
            Act::Delete(locals) => {
                self.node.delete(self.next_tx, locals);
                self.next_tx += 1;
                self.deleted.extend(locals);
            }
            Act::Reclaim => {
                self.node.store().reclaim(5).unwrap();
            }
            Act::Flush => {
                self.node.pipe().flush().unwrap();
            }
            Act::Compact => {
                let container = self.node.container();
                if let Some(number) = oldest_sealed(&container) {
                    move_out_of(&container, number, 30_000).unwrap();
                    container.disk().flush().unwrap();
                    container.drop_segment(number).unwrap();
                }
            }
            Act::Nothing | Act::Small(..) | Act::Large(..) => {}
        }
    }

    /// Runs a scan during which these acts are done.
    fn scan(&mut self, kind: ScanKind, acts: &[Act]) -> Verdict {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (store, now) = (self.node.store().clone(), SystemTime::now());
        let mut left = acts.iter();
        let pace = Meanwhile::new(|| {
            if let Some(act) = left.next() {
                self.act(act);
            }
        });
        runtime.block_on(store.scan_data(CONTAINER, kind, &pace, now)).unwrap()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 40, ..ProptestConfig::default() })]
    #[test]
    fn no_history_beside_a_scan_makes_a_healthy_container_a_damaged_one(
        before in acts(), open in acts(), closed in acts(), kill in any::<bool>(),
    ) {
        let mut world = World::new();
        before.iter().for_each(|act| world.act(act));
        prop_assert_eq!(world.scan(ScanKind::OnDemand, &open), Verdict::Sound);
        world.node.close();
        prop_assert_eq!(world.scan(ScanKind::Data, &closed), Verdict::Sound);
        if kill { world.node.kill() } else { world.node.stop() }
        world.node.open();
        // Until the log is replayed, no replica is judged.
        let early = world.scan(ScanKind::Data, &[]);
        prop_assert!(matches!(early, Verdict::Sound | Verdict::Moot), "{:?}", early);
        world.node.replay();
        prop_assert_eq!(world.scan(ScanKind::Data, &closed), Verdict::Sound);
        prop_assert_eq!(world.node.container().state(), ContainerState::Closed);
    }
}
