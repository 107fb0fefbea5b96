//! Closed containers are loaded from rows, and their files looked at later.

use std::os::unix::fs::FileExt;
use std::sync::atomic::Ordering;

use container::ContainerState;

use super::damage::flip;
use super::*;

/// With a closed container whose rows are durable, and stopped.
fn stopped() -> Node {
    let mut node = Node::new();
    for local in 1..=20 {
        node.put_small(local, pattern(local, 10_000));
    }
    node.put_large(30, &[pattern(30, 300_000)]);
    node.close();
    node.store().flush_all().unwrap();
    node.stop();
    node
}

fn is_unseen(node: &Node) -> bool {
    node.container().unseen.load(Ordering::Relaxed)
}

async fn scan(node: &Node) -> Verdict {
    node.store().scan_metadata(CONTAINER, SystemTime::now()).await.unwrap()
}

fn segment(node: &Node) -> PathBuf {
    let disk = node.disk_dir();
    let mut found = Vec::new();
    let mut dirs = vec![disk];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            match path.extension().is_some_and(|name| name == "segment") {
                true => found.push(path),
                false if path.is_dir() => dirs.push(path),
                false => {}
            }
        }
    }
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

#[tokio::test]
async fn a_closed_container_is_loaded_from_rows_and_is_what_it_was() {
    let mut node = stopped();
    node.options.closed_from_rows = false;
    node.open_unseen();
    assert!(!is_unseen(&node));
    let before = node.container().info();
    let text = || {
        let path = node.container().path().join(format!("metadata/{CONTAINER}.container"));
        fs::read_to_string(path).unwrap()
    };
    let file = text();
    node.stop();
    node.options.closed_from_rows = true;
    node.open_unseen();
    assert!(is_unseen(&node));
    assert_eq!(node.container().info(), before);
    assert_eq!(node.container().check_file(ContainerState::Closed).unwrap(), None);
    assert_eq!(node.read(7).unwrap(), pattern(7, 10_000));
    assert_eq!(node.read(30).unwrap(), pattern(30, 300_000));
    assert_eq!(scan(&node).await, Verdict::Sound);
    assert!(!is_unseen(&node));
    // It is deleted from, and emptied, as any other.
    node.delete(1, &(1..=20).collect::<Vec<_>>());
    node.delete(2, &[30]);
    let done = node.store().reclaim(100).unwrap();
    assert_eq!((done.blocks, done.dropped, node.space_used()), (21, 1, 0));
    let path = node.container().path().join(format!("metadata/{CONTAINER}.container"));
    assert_eq!(fs::read_to_string(path).unwrap(), file, "it was not written");
    node.store().delete_container(CONTAINER, false).unwrap();
    node.stop();
    node.open_unseen();
    let gone = node.store().container(CONTAINER).unwrap_err();
    assert!(matches!(gone, StorageError::ContainerNotFound(_)), "and not lost: {gone}");
}

#[test]
fn no_row_says_closed_of_one_that_was_found_bad() {
    let mut node = stopped();
    node.open();
    node.store().mark_unhealthy(CONTAINER, "a test").unwrap();
    node.kill();
    node.open_unseen();
    assert_eq!((node.container().state(), is_unseen(&node)), (ContainerState::Unhealthy, false));
}

#[test]
fn without_its_row_a_container_is_read_from_its_file() {
    let mut node = Node::new();
    node.put_small(1, pattern(1, 10_000));
    node.close();
    node.kill();
    node.open_unseen();
    assert_eq!((node.container().state(), is_unseen(&node)), (ContainerState::Closed, false));
    // And has it from then on.
    node.store().flush_all().unwrap();
    node.stop();
    node.open_unseen();
    assert!(is_unseen(&node));
    assert_eq!(node.read(1).unwrap(), pattern(1, 10_000));
}

#[tokio::test]
async fn what_is_wrong_with_files_is_found_by_the_scan_of_their_metadata() {
    let lost = |path: &Path| fs::remove_file(path).unwrap();
    let short = |path: &Path| {
        let file = fs::OpenOptions::new().write(true).open(path).unwrap();
        file.set_len(file.metadata().unwrap().len() - 1).unwrap();
    };
    let begins_otherwise = |path: &Path| flip(path, 5);
    let folder_gone = |path: &Path| fs::remove_dir_all(path.parent().unwrap()).unwrap();
    let file_gone = |path: &Path| {
        let metadata = path.parent().unwrap().with_file_name("metadata");
        fs::remove_file(metadata.join(format!("{CONTAINER}.container"))).unwrap();
    };
    let damages: [(&str, &dyn Fn(&Path)); 5] = [
        ("lost", &lost),
        ("short", &short),
        ("begins otherwise", &begins_otherwise),
        ("folder gone", &folder_gone),
        ("file gone", &file_gone),
    ];
    for (name, damage) in damages {
        let mut node = stopped();
        damage(&segment(&node));
        node.open_unseen();
        assert!(is_unseen(&node), "{name}");
        let verdict = scan(&node).await;
        assert!(matches!(verdict, Verdict::Damaged(_)), "{name}: {verdict:?}");
        assert_eq!(node.container().state(), ContainerState::Unhealthy, "{name}");
    }
}

#[tokio::test]
async fn what_no_row_knows_is_removed_by_the_first_look() {
    let mut node = stopped();
    let path = segment(&node);
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    let len = file.metadata().unwrap().len();
    file.write_all_at(&[7; 5000], len).unwrap();
    let unknown = path.with_file_name("00000009.segment");
    fs::write(&unknown, "of a copy that a crash cut off").unwrap();
    node.open_unseen();
    assert_eq!(scan(&node).await, Verdict::Sound);
    assert!(!unknown.exists());
    assert_eq!(file.metadata().unwrap().len(), len);
    assert_eq!(node.read(20).unwrap(), pattern(20, 10_000));
}

#[test]
fn rows_that_a_disk_lost_are_found_without_a_look_at_files() {
    use metastore::{Batch, Durability};
    let mut node = stopped();
    node.open();
    let mut batch = Batch::new();
    batch.delete(tables::METADATA, tables::metadata_key(CONTAINER, tables::BCSID));
    node.container().disk().db.write(batch, Durability::NoWal).unwrap();
    node.store().flush_all().unwrap();
    node.stop();
    node.open_unseen();
    assert_eq!(node.container().state(), ContainerState::Unhealthy);
}
