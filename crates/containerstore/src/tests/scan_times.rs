//! Times of containers' scans, choice of the next one, and results of an interrupted scan.

use std::time::{Duration, UNIX_EPOCH};

use container::ContainerState;

use super::*;
use crate::scan::Pace;

const HOUR: Duration = Duration::from_secs(3_600);

fn at(hours: u32) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_800_000_000) + HOUR * hours
}

/// Closed containers of these numbers.
fn with_closed(ids: impl IntoIterator<Item = u64>) -> Node {
    let node = Node::new();
    for number in ids {
        let new = NewContainer { id: ContainerId(number), ..NewContainer::default() };
        node.store().create_container(new).unwrap();
        node.store().close(ContainerId(number), None).unwrap();
    }
    node
}

fn next(node: &Node, now: SystemTime) -> Option<u64> {
    let store = node.store();
    store.next_scans(&store.disks()[0], HOUR * 100, now, 1).first().map(|id| id.0)
}

async fn read(node: &Node, id: u64, now: SystemTime) {
    let read = node.store().scan_data(ContainerId(id), ScanKind::Data, &Unpaced, now).await;
    assert_eq!(read.unwrap(), Verdict::Sound);
}

#[tokio::test]
async fn the_container_that_was_read_longest_ago_is_next_also_after_a_restart() {
    let mut node = with_closed(1..=3);
    for (hour, id) in [(0, 1), (1, 2), (2, 3)] {
        assert_eq!(next(&node, at(hour)), Some(id));
        read(&node, id, at(hour)).await;
    }
    assert_eq!(next(&node, at(3)), None);
    assert_eq!(next(&node, at(100)), Some(1));
    read(&node, 1, at(100)).await;
    for restarted in [false, true] {
        assert_eq!(next(&node, at(100)), None);
        assert_eq!(next(&node, at(101)), Some(2));
        assert_eq!(next(&node, at(201)), Some(2));
        let overview = node.store().scan_overview(&node.store().disks()[0]);
        assert_eq!((overview.containers, overview.closed, overview.never), (3, 3, 0));
        assert_eq!(overview.oldest, Some(at(1)));
        let lately = |now| node.store().was_scanned_lately(ContainerId(1), now);
        assert!(lately(at(100) + HOUR / 5) && !lately(at(100) + HOUR / 3));
        if !restarted {
            node.store().flush_all().unwrap();
            node.stop();
            node.open();
        }
    }
    // One that was never read is before all others.
    let new = NewContainer { id: ContainerId(9), ..NewContainer::default() };
    node.store().create_container(new).unwrap();
    assert_eq!(next(&node, at(201)), Some(2), "it is open");
    node.store().quasi_close(ContainerId(9)).unwrap();
    assert_eq!(next(&node, at(201)), Some(9));
}

#[tokio::test]
async fn a_time_that_a_crash_lost_has_the_container_read_again() {
    let mut node = with_closed([1]);
    node.store().flush_all().unwrap();
    read(&node, 1, at(0)).await;
    node.kill();
    node.open();
    assert_eq!(next(&node, at(1)), Some(1));
    assert_eq!(node.container().state(), ContainerState::Closed);
}

/// Reports that a scan has reached a block, and holds it there.
#[derive(Default)]
struct Held(tokio::sync::Notify);

#[async_trait::async_trait]
impl Pace for Held {
    async fn pass(&self, _disk: &Disk, _bytes: u64) {
        self.0.notify_one();
        std::future::pending().await
    }
}

#[tokio::test]
async fn a_scan_that_is_cut_off_leaves_nothing_behind() {
    let mut node = Node::new();
    node.put_large(1, &[pattern(1, 300_000)]);
    node.close();
    node.store().take_changed();
    let held = Held::default();
    tokio::select! {
        outcome = node.store().scan_data(CONTAINER, ScanKind::Data, &held, at(0)) => {
            panic!("it ends: {outcome:?}");
        }
        () = held.0.notified() => {}
    }
    assert_eq!(node.container().state(), ContainerState::Closed);
    assert!(node.store().take_changed().is_empty());
    assert_eq!(next(&node, at(0)), None, "it is not begun again at once");
    assert_eq!(next(&node, at(1)), Some(1), "and counts as never read");
    assert_eq!(node.store().scans(ScanKind::Data).containers, 0);
}

#[tokio::test]
async fn a_time_that_a_wrong_clock_gave_is_no_obstacle() {
    let node = with_closed([1]);
    read(&node, 1, at(5_000)).await;
    assert_eq!(next(&node, at(0)), Some(1), "it was read far in the future");
}
