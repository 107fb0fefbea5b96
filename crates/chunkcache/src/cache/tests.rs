//! A cache of one or two directories on disks that fail.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use blockio::{FaultyBackend, Op, Strike};
use tempfile::TempDir;
use testkit::{Gate, until, until_blocking};

use super::*;

const LEN: usize = 1_000;

struct Bed {
    dir: TempDir,
    backend: FaultyBackend,
    options: CacheOptions,
    cache: Arc<ChunkCache>,
}

impl Bed {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut options = CacheOptions::new(vec![dir.path().join("fast")], 10_000);
        // No read is late because of a busy machine.
        options.read_limit = testkit::LIMIT;
        let backend = FaultyBackend::default();
        let cache = open(&options, &backend).unwrap();
        Self { dir, backend, options, cache }
    }

    /// As after a restart.
    fn reopen(self) -> Self {
        let Self { dir, backend, options, cache } = self;
        drop(cache);
        // The directory is locked until the last job of the old one has ended.
        let cache = until_blocking("the directory to be let go", || open(&options, &backend));
        Self { dir, backend, options, cache }
    }

    fn files(&self) -> Vec<PathBuf> {
        let folders = fs::read_dir(self.dir.path().join("fast")).unwrap();
        let folders = folders.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
        folders
            .flat_map(|folder| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()))
            .collect()
    }

    async fn insert(&self, local: u64, origin: Origin) {
        self.cache.insert(id(local), bytes(local), origin);
        self.settle().await;
    }

    /// Waits until all pending jobs are done.
    async fn settle(&self) {
        until("the jobs to be done", async || {
            let all_done = self.cache.directories.iter().all(|one| one.pending() == 0);
            if all_done { Ok(()) } else { Err(self.cache.figures()) }
        })
        .await;
        assert_eq!(self.cache.figures().chunks, self.files().len() as u64);
    }

    async fn until_chunks(&self, chunks: u64) {
        until("the number of chunks", async || {
            let figures = self.cache.figures();
            if figures.chunks == chunks { Ok(()) } else { Err(figures) }
        })
        .await;
    }

    async fn read(&self, local: u64) -> Option<Bytes> {
        let expected = bytes(local).slice(10..20);
        let read = self.cache.read(&id(local), 10, 10, |data| *data == expected).await;
        assert!(read.as_ref().is_none_or(|data| *data == expected));
        read
    }
}

fn open(
    options: &CacheOptions,
    backend: &FaultyBackend,
) -> Result<Arc<ChunkCache>, crate::CacheError> {
    ChunkCache::open_on(options, &|_| Box::new(backend.clone()))
}

fn id(local: u64) -> ChunkId {
    ChunkId { block: BlockKey { container: 1, local }, content: 7, len: LEN as u32 }
}

fn bytes(local: u64) -> Bytes {
    vec![local as u8; LEN].into()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_came_in_is_read_and_the_oldest_makes_room() {
    let bed = Bed::new();
    for local in 1..=12 {
        bed.insert(local, Origin::Read).await;
    }
    assert!(bed.read(1).await.is_none() && bed.read(2).await.is_none());
    for local in 3..=12 {
        assert!(bed.read(local).await.is_some(), "{local}");
    }
    assert_eq!(bed.files().len(), 10, "files go with their chunks");
    let figures = bed.cache.figures();
    let expected = Figures {
        from_reads: 12,
        hits: 10,
        misses: 2,
        evictions: 2,
        chunks: 10,
        bytes: 10_000,
        ..Figures::default()
    };
    assert_eq!(figures, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_there_after_a_restart_and_what_was_cut_off_is_not() {
    let bed = Bed::new();
    for local in 1..=3 {
        bed.insert(local, Origin::Read).await;
    }
    let cut = bed.files().into_iter().find(|path| path.ends_with(id(1).file_name())).unwrap();
    fs::write(&cut, b"short").unwrap();
    let bed = bed.reopen();
    bed.settle().await;
    assert!(bed.read(1).await.is_none() && !cut.exists());
    assert!(bed.read(2).await.is_some() && bed.read(3).await.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wiped_cache_is_an_empty_one() {
    let bed = Bed::new();
    bed.insert(1, Origin::Read).await;
    fs::remove_dir_all(bed.dir.path().join("fast")).unwrap();
    let bed = bed.reopen();
    assert!(bed.read(1).await.is_none());
    bed.insert(1, Origin::Read).await;
    assert!(bed.read(1).await.is_some());
    // After a wipe during use, at most open files exist.
    bed.insert(2, Origin::Read).await;
    bed.files().iter().for_each(|file| fs::remove_file(file).unwrap());
    assert!(bed.read(2).await.is_none());
    bed.read(1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_bytes_are_not_given_out_and_go() {
    let bed = Bed::new();
    bed.insert(1, Origin::Read).await;
    let [file] = &bed.files()[..] else { panic!("{:?}", bed.files()) };
    fs::write(file, vec![9; LEN]).unwrap();
    assert!(bed.read(1).await.is_none());
    bed.settle().await;
    assert_eq!((bed.files().len(), bed.cache.figures().load_failures), (0, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_block_and_another_content_are_not_there() {
    let bed = Bed::new();
    bed.insert(1, Origin::Read).await;
    let rewritten = ChunkId { content: 8, ..id(1) };
    assert!(bed.cache.read(&rewritten, 0, 10, |_| true).await.is_none());
    bed.cache.insert(rewritten, bytes(2), Origin::Written);
    bed.settle().await;
    assert!(bed.read(1).await.is_none());
    let there = bed.cache.read(&rewritten, 0, LEN, |data| *data == bytes(2)).await;
    assert!(there.is_some());
    bed.cache.remove(id(1).block);
    bed.settle().await;
    assert!(bed.cache.read(&rewritten, 0, 10, |_| true).await.is_none() && bed.files().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_directory_that_fails_is_not_used_any_more_and_others_are() {
    let mut bed = Bed::new();
    bed.options.dirs.push(bed.dir.path().join("other"));
    let mut bed = bed.reopen();
    for local in 1..=8 {
        bed.cache.insert(id(local), bytes(local), Origin::Read);
    }
    bed.until_chunks(8).await;
    let fast = bed.options.dirs.remove(0);
    let fast = fast.to_str().unwrap();
    bed.backend.faults.always(Op::Read, fast, Strike::Eio);
    for local in 1..=8 {
        bed.read(local).await;
    }
    let failed: Vec<_> = bed.cache.directories().into_iter().map(|one| one.failure).collect();
    assert!(failed[0].is_some() && failed[1].is_none(), "{failed:?}");
    for local in 1..=8 {
        bed.cache.insert(id(local), bytes(local), Origin::Read);
    }
    bed.until_chunks(8).await;
    for local in 1..=8 {
        assert!(bed.read(local).await.is_some(), "{local}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_hangs_makes_misses_and_is_left() {
    let (mut bed, gate) = (Bed::new(), Gate::closed());
    bed.insert(1, Origin::Read).await;
    bed.options.read_limit = Duration::from_millis(50);
    let bed = bed.reopen();
    bed.until_chunks(1).await;
    // Cached pages are served even if the disk hangs.
    bed.backend.faults.always(Op::Read, "fast", Strike::hold(gate.blocking()));
    let mut missed = 0;
    while bed.cache.directories()[0].failure.is_none() {
        assert!(bed.read(1).await.is_none());
        missed += 1;
        assert!(missed < 20);
    }
    // All of them completed while the first one still hung.
    assert_eq!(gate.passed(), 0);
    assert!(gate.waiting() > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_file_system_makes_room_instead_of_a_failure() {
    let bed = Bed::new();
    for local in 1..=6 {
        bed.insert(local, Origin::Read).await;
    }
    bed.backend.faults.once(Op::Write, "fast", Strike::NoSpace);
    bed.insert(7, Origin::Read).await;
    assert_eq!((bed.cache.figures().left_out, bed.files().len()), (1, 2));
    bed.insert(8, Origin::Read).await;
    assert!(bed.read(7).await.is_none() && bed.read(8).await.is_some());
    assert!(bed.cache.directories()[0].failure.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_comes_while_too_much_waits_is_left_out() {
    let (mut bed, gate) = (Bed::new(), Gate::closed());
    bed.options.queue_bytes = 2 * LEN;
    let bed = bed.reopen();
    bed.backend.faults.always(Op::Write, "fast", Strike::hold(gate.blocking()));
    for local in 1..=5 {
        bed.cache.insert(id(local), bytes(local), Origin::Read);
    }
    assert_eq!(bed.cache.figures().left_out, 3);
    gate.open();
    bed.settle().await;
    assert!(bed.read(2).await.is_some() && bed.read(3).await.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_directory_of_another_purpose_or_process_is_refused() {
    let bed = Bed::new();
    let locked = open(&bed.options, &bed.backend).map(drop);
    assert!(matches!(locked, Err(crate::CacheError::Directory { .. })), "{locked:?}");
    let home = bed.dir.path().join("home");
    fs::create_dir(&home).unwrap();
    fs::write(home.join("thesis.txt"), b"years of work").unwrap();
    let options = CacheOptions { dirs: vec![home.clone()], ..bed.options.clone() };
    let refused = open(&options, &bed.backend).map(drop);
    assert!(matches!(refused, Err(crate::CacheError::Foreign { .. })), "{refused:?}");
    assert!(home.join("thesis.txt").exists());
    let options = CacheOptions { dirs: vec![home.clone(), home], ..bed.options.clone() };
    let refused = open(&options, &bed.backend).map(drop);
    assert!(matches!(refused, Err(crate::CacheError::Twice(_))), "{refused:?}");
}
