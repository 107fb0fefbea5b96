//! Chunk lists, checksums and deletions with every number at its limits: rejected or accepted, and
//! never a panic.

use container::chunks::{
    BlockState, extend, is_incremental, locate, merge, validate_list, validate_write,
};
use container::segment::{RecordHeader, SegmentHeader, SegmentInfo};
use container::{bcsid, checksum, deletion};
use proptest::prelude::*;
use prost::Message;
use proto::datanode::{BlockData, ChecksumData, ChunkInfo};
use proto::scm_datanode::DeletedBlocksTransaction;
use testkit::Extremes;
use types::{BlockId, ContainerId, LocalId};

fn make<M: Message + Default>(extremes: &mut Extremes, name: &str) -> M {
    M::decode(extremes.message(name).as_slice()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 0, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn no_chunk_list_panics(seed in any::<u64>()) {
        let mut extremes = Extremes::new(seed);
        let mut there: Option<BlockState> = None;
        let mut chunks: Vec<ChunkInfo> = Vec::new();
        for _ in 0..20 {
            let block: BlockData = make(&mut extremes, ".hadoop.hdds.datanode.BlockData");
            let _ = BlockId::from_datanode(&block.block_id);
            let block = if is_incremental(&block) { extend(&chunks, &block) } else { block };
            let (offset, len) = (extremes.number(), extremes.number());
            let _ = locate(&block.chunks, offset, len);
            for chunk in &block.chunks {
                let _ = validate_write(chunk, extremes.number() as usize);
                let _ = validate_write(chunk, chunk.len as usize);
            }
            let length = match validate_list(&block) {
                Ok(length) => length,
                Err(_) => extremes.number(),
            };
            prop_assert!(validate_list(&block).is_err() || i64::try_from(length).is_ok());
            if let Ok(merged) = merge(there, length, extremes.number()) {
                prop_assert!(merged.block.length >= there.map_or(0, |block| block.length));
                there = Some(merged.block);
                chunks = block.chunks;
            }
        }
    }

    #[test]
    fn no_checksum_panics(seed in any::<u64>()) {
        let mut extremes = Extremes::new(seed);
        let data = vec![7; extremes.below(100_000)];
        for _ in 0..20 {
            let mut sums: ChecksumData = make(&mut extremes, ".hadoop.hdds.datanode.ChecksumData");
            if extremes.chance(50) {
                sums.bytes_per_checksum = 1 + extremes.below(20_000) as u32;
            }
            let _ = checksum::verify(&sums, &data);
            let _ = checksum::verify_part(&sums, extremes.number() as usize, &data);
            let (whole, offset, len) = (extremes.number(), extremes.number(), extremes.number());
            let _ = checksum::cut(&sums, whole, offset, len);
        }
    }

    #[test]
    fn no_deletion_and_no_commit_id_panics(seed in any::<u64>()) {
        let mut extremes = Extremes::new(seed);
        let make = |extremes: &mut Extremes| -> DeletedBlocksTransaction {
            make(extremes, ".hadoop.hdds.scmdatanode.DeletedBlocksTransaction")
        };
        let pending: Vec<_> = (0..10).map(|_| make(&mut extremes)).collect();
        for tx in &pending {
            let _ = deletion::check(tx);
            let _ = deletion::highest(extremes.number(), tx);
        }
        let (done, limit) = (extremes.number() as usize, extremes.number() as usize);
        let portion = deletion::next_portion(&pending, done, limit);
        prop_assert!(!portion.finished.is_empty() || portion.part > Some(done));
        let _ = bcsid::check_container(extremes.number(), extremes.number());
        let _ = bcsid::check_block(extremes.number(), extremes.number());
    }

    #[test]
    fn no_segment_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200), at in any::<u64>()) {
        let id = ContainerId(at);
        let _ = SegmentHeader::decode(&bytes);
        let _ = SegmentInfo::decode(&bytes);
        let _ = RecordHeader::decode(&bytes, id, at);
        let _ = RecordHeader::expect(&bytes, id, at, LocalId(at));
    }
}

/// A record at the maximum offset, with a valid header.
#[test]
fn a_record_at_the_end_of_all_places_is_read() {
    let id = ContainerId(1);
    let header = RecordHeader::new(LocalId(2), 3, b"12345678");
    let mut bytes = header.encode(id, u64::MAX).to_vec();
    bytes.extend_from_slice(b"12345678");
    assert!(RecordHeader::expect(&bytes, id, u64::MAX, LocalId(2)).is_ok());
}
