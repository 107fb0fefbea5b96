//! First chunks from a cache on another disk, and never those that a row does not have.

use blockio::{Op, Strike};
use chunkcache::{CacheOptions, ChunkCache};
use tokio::runtime::{EnterGuard, Runtime};

use super::*;

const LEN: usize = 300_000;

/// A runtime for the cache. Not dropped before the node.
fn runtime() -> (&'static Runtime, EnterGuard<'static>) {
    let runtime: &'static Runtime = Box::leak(Box::new(Runtime::new().unwrap()));
    (runtime, runtime.enter())
}

fn node() -> Node {
    Node::with(|options| {
        let dir = options.dirs[0].path.with_file_name("cache");
        let cache = CacheOptions::new(vec![dir], 64 << 20);
        options.cache = Some(ChunkCache::open(&cache).unwrap());
    })
}

fn cache(node: &Node) -> Arc<ChunkCache> {
    node.options.cache.clone().unwrap()
}

/// Waits until the cache has `chunks` chunks.
fn becomes(node: &Node, chunks: u64) {
    testkit::until_blocking(format!("{chunks} chunks"), || {
        let figures = cache(node).figures();
        if figures.chunks == chunks { Ok(()) } else { Err(figures) }
    });
}

fn read(node: &Node, local: u64, offset: u64, len: u64) -> Result<Bytes> {
    let chunk = ChunkInfo { offset, len, ..block_data(local, &[pattern(1, 1)]).chunks.remove(0) };
    block_on(node.store().read_chunk(id(local), &chunk, ReadTimeout::Unlimited))
}

/// Bytes of an earlier process are missing in the cache.
fn forgotten(node: &Node, local: u64) {
    cache(node).remove(chunkcache::BlockKey { container: CONTAINER.0, local });
    becomes(node, 0);
}

#[test]
fn a_chunk_that_was_written_or_is_read_again_comes_from_there() {
    let (_runtime, _guard) = runtime();
    let mut node = node();
    let chunks = [pattern(1, LEN), pattern(2, LEN)];
    node.put_large(7, &chunks);
    becomes(&node, 1);
    node.faults.always(Op::Read, ".block", Strike::Eio);
    assert_eq!(read(&node, 7, 0, LEN as u64).unwrap(), chunks[0]);
    assert_eq!(read(&node, 7, 20_000, 999).unwrap(), chunks[0].slice(20_000..20_999));
    // The cache has no bytes after the first chunk.
    assert!(read(&node, 7, LEN as u64 - 1, 2).is_err() && read(&node, 7, LEN as u64, 5).is_err());
    node.faults.clear();
    forgotten(&node, 7);
    for _ in 0..2 {
        assert_eq!(read(&node, 7, 0, LEN as u64).unwrap(), chunks[0]);
    }
    becomes(&node, 1);
    node.faults.always(Op::Read, ".block", Strike::Eio);
    assert_eq!(read(&node, 7, 0, LEN as u64).unwrap(), chunks[0]);
    let figures = cache(&node).figures();
    assert_eq!((figures.from_writes, figures.from_reads, figures.hits), (1, 1, 3), "{figures:?}");
}

#[test]
fn a_part_that_is_read_again_brings_the_whole_chunk() {
    let (_runtime, _guard) = runtime();
    let mut node = node();
    let data = pattern(1, LEN);
    node.put_large(7, std::slice::from_ref(&data));
    becomes(&node, 1);
    forgotten(&node, 7);
    for offset in [10, 100_000] {
        assert_eq!(read(&node, 7, offset, 10).unwrap().len(), 10);
    }
    becomes(&node, 1);
    node.faults.always(Op::Read, ".block", Strike::Eio);
    assert_eq!(read(&node, 7, 200_000, 100_000).unwrap(), data.slice(200_000..));
}

#[test]
fn what_is_read_once_brings_nothing_in() {
    let (_runtime, _guard) = runtime();
    let mut node = node();
    for local in 1..=5 {
        node.put_large(local, &[pattern(local, LEN)]);
        becomes(&node, 1);
        forgotten(&node, local);
    }
    for local in 1..=5 {
        read(&node, local, 0, LEN as u64).unwrap();
    }
    node.put_large(6, &[pattern(6, LEN)]);
    becomes(&node, 1);
    assert_eq!(cache(&node).figures().from_reads, 0);
}

#[test]
fn a_small_block_is_kept_too() {
    let (_runtime, _guard) = runtime();
    let mut node = node();
    let data = pattern(1, 10_000);
    node.put_small(7, data.clone());
    becomes(&node, 1);
    node.pipe().flush().unwrap();
    node.faults.always(Op::Read, "chunks", Strike::Eio);
    assert_eq!(read(&node, 7, 0, 10_000).unwrap(), data);
}

#[test]
fn a_deleted_block_is_not_given_out_and_makes_room() {
    let (_runtime, _guard) = runtime();
    let mut node = node();
    node.put_large(7, &[pattern(1, LEN)]);
    node.close();
    becomes(&node, 1);
    node.delete(1, &[7]);
    node.store().reclaim(10).unwrap();
    let gone = read(&node, 7, 0, 10);
    assert!(matches!(gone, Err(StorageError::NoSuchBlock(_))), "{gone:?}");
    becomes(&node, 0);
}

#[test]
fn a_chunk_that_was_written_again_is_given_out_as_its_row_has_it() {
    let (_runtime, _guard) = runtime();
    let mut node = node();
    node.put_large(7, &[pattern(1, 100_000)]);
    becomes(&node, 1);
    // The chunk grows, as hsync has it do.
    let data = pattern(2, LEN);
    let block = block_data(7, std::slice::from_ref(&data));
    block_on(node.store().write_chunk(id(7), &block.chunks[0], data.clone())).unwrap();
    block_on(node.store().sync_block(id(7))).unwrap();
    node.apply(vec![Entry::Put(block)]).pop().unwrap().unwrap();
    assert_eq!(read(&node, 7, 0, LEN as u64).unwrap(), data);
    assert_eq!(read(&node, 7, 0, 100_000).unwrap(), data.slice(..100_000));
}

#[test]
fn wrong_bytes_in_the_cache_are_read_from_the_block_instead() {
    let (_runtime, _guard) = runtime();
    let mut node = node();
    let data = pattern(1, LEN);
    node.put_large(7, std::slice::from_ref(&data));
    becomes(&node, 1);
    let dir = node.disk_dir().with_file_name("cache");
    let file = fs::read_dir(dir.join("07")).unwrap().next().unwrap().unwrap().path();
    let mut bytes = fs::read(&file).unwrap();
    bytes[1_000] ^= 1;
    fs::write(&file, bytes).unwrap();
    assert_eq!(read(&node, 7, 0, 10_000).unwrap(), data.slice(..10_000));
    assert_eq!(cache(&node).figures().load_failures, 1);
    becomes(&node, 0);
}

#[test]
fn chunks_without_checksums_are_none_of_it() {
    let (_runtime, _guard) = runtime();
    let mut node = node();
    node.ensure_container();
    let mut block = block_data(7, &[pattern(1, LEN)]);
    block.chunks[0].checksum_data = checksum::compute(ChecksumType::None, 0, &[]);
    block_on(node.store().write_chunk(id(7), &block.chunks[0], pattern(1, LEN))).unwrap();
    // A later one is cached.
    node.put_large(8, &[pattern(2, LEN)]);
    becomes(&node, 1);
    assert_eq!(cache(&node).figures().from_writes, 1);
}
