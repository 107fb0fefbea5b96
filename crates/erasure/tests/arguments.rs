//! Invalid arguments of encoding and decoding are rejected with the reason, and nothing panics.

use erasure::{BlockGroup, CellLengths, Codec, Error, ErrorKind, ReplicaIndex, Scheme};
use types::replication::{EcCodec, EcConfig};

use crate::{SCHEMES, muts, refs, scheme};

fn config(codec: EcCodec, data: u32, parity: u32, chunk_size: u32) -> EcConfig {
    EcConfig { data, parity, codec, chunk_size }
}

#[test]
fn schemes_that_cannot_be_are_refused() {
    let most = i32::MAX as u32;
    for (data, parity) in [(0, 1), (1, 0), (0, 0), (128, 128), (255, 1), (256, 1), (1, u32::MAX)] {
        let refused = Scheme::new(config(EcCodec::Rs, data, parity, 1024)).unwrap_err();
        assert_eq!(refused, Error::ReplicaCounts { data, parity });
        assert_eq!(refused.kind(), ErrorKind::Unsupported);
    }
    assert!(Scheme::new(config(EcCodec::Rs, u32::MAX, 1, 1024)).is_err());
    let xor = Scheme::new(config(EcCodec::Xor, 4, 2, 1024));
    assert_eq!(xor, Err(Error::XorParity { parity: 2 }));
    for chunk_size in [0, most + 1, u32::MAX] {
        let refused = Scheme::new(config(EcCodec::Rs, 3, 2, chunk_size));
        assert_eq!(refused, Err(Error::ChunkSize { chunk_size }));
    }
    assert!(Scheme::new(config(EcCodec::Rs, 254, 1, most)).is_ok());
    for name in SCHEMES {
        let shown = scheme(name).to_string();
        assert!(name.starts_with(shown.trim_end_matches(|c: char| c != '-')), "{name} {shown}");
    }
}

#[test]
fn replicas_are_numbered_from_one() {
    let scheme = scheme("rs-3-2-1024k");
    for index in [0, 6, 255, 256, 257, u32::MAX] {
        assert_eq!(scheme.replica(index), Err(Error::NoSuchReplica { index, replicas: 5 }));
    }
    let all: Vec<u32> = scheme.replicas().map(ReplicaIndex::get).collect();
    assert_eq!(all, [1, 2, 3, 4, 5]);
    let data: Vec<ReplicaIndex> = scheme.data_replicas().collect();
    let parity: Vec<ReplicaIndex> = scheme.parity_replicas().collect();
    assert!(data.iter().all(|replica| scheme.is_data(*replica)));
    assert!(!parity.iter().any(|replica| scheme.is_data(*replica)));
    assert_eq!([data, parity].concat(), scheme.replicas().collect::<Vec<_>>());
    assert_eq!(scheme.replica(4).unwrap().to_string(), "4");
}

#[test]
fn buffers_that_do_not_fit_are_not_encoded() {
    let codec = Codec::new(scheme("rs-3-2-1024k"));
    let encode = |data: &[usize], parity: &[usize]| {
        let data: Vec<Vec<u8>> = data.iter().map(|length| vec![1; *length]).collect();
        let mut parity: Vec<Vec<u8>> = parity.iter().map(|length| vec![0; *length]).collect();
        codec.encode(&refs(&data), &mut muts(&mut parity))
    };
    let count = |what, expected, found| Err(Error::BufferCount { what, expected, found });
    assert_eq!(encode(&[8, 8], &[8, 8]), count("data", 3, 2));
    assert_eq!(encode(&[], &[]), count("data", 3, 0));
    assert_eq!(encode(&[8; 4], &[8, 8]), count("data", 3, 4));
    assert_eq!(encode(&[8; 3], &[8]), count("parity", 2, 1));
    assert_eq!(encode(&[8; 3], &[8; 3]), count("parity", 2, 3));
    let replica = |index| codec.scheme().replica(index).unwrap();
    let length = |index, expected, found| {
        Err(Error::BufferLength { replica: replica(index), expected, found })
    };
    assert_eq!(encode(&[8; 3], &[8, 7]), length(5, 8, 7));
    assert_eq!(encode(&[8, 8, 3], &[9, 8]), length(4, 8, 9));
    let after = Error::CellAfterPadding { replica: replica(3), before: 7, found: 8 };
    assert_eq!(encode(&[8, 7, 8], &[8, 8]), Err(after));
    // Nothing to encode is no error, nor is padding.
    assert_eq!(encode(&[0; 3], &[0; 2]), Ok(()));
    assert_eq!(encode(&[8, 0, 0], &[8, 8]), Ok(()));
}

#[test]
fn cells_that_do_not_fit_are_not_added() {
    let codec = Codec::new(scheme("rs-3-2-1024k"));
    let replica = |index| codec.scheme().replica(index).unwrap();
    let (mut one, mut two, mut short) = (vec![0; 8], vec![0; 8], vec![0; 7]);
    let parity = codec.add(replica(4), &[1; 8], &mut [&mut one, &mut two]);
    assert_eq!(parity, Err(Error::NoSuchReplica { index: 4, replicas: 3 }));
    let foreign = scheme("rs-6-3-1024k").replica(6).unwrap();
    assert!(codec.add(foreign, &[1; 8], &mut [&mut one, &mut two]).is_err());
    assert!(codec.add(replica(1), &[1; 8], &mut [&mut one]).is_err());
    assert!(codec.add(replica(1), &[1; 9], &mut [&mut one, &mut two]).is_err());
    assert!(codec.add(replica(1), &[1; 7], &mut [&mut one, &mut short]).is_err());
    assert!(one.iter().chain(&two).all(|byte| *byte == 0), "nothing was added");
    assert_eq!(codec.add(replica(1), &[], &mut [&mut one, &mut two]), Ok(()));
}

#[test]
fn replicas_that_do_not_fit_are_not_planned() {
    let scheme = scheme("rs-3-2-1024k");
    let codec = Codec::new(scheme);
    let plan = |available: &[u32], wanted: &[u32]| {
        let replicas = |indexes: &[u32]| -> Vec<ReplicaIndex> {
            indexes.iter().map(|index| scheme.replica(*index).unwrap()).collect()
        };
        codec.decoder(&replicas(available), &replicas(wanted)).map(|_| ())
    };
    let twice = |index| Err(Error::NamedTwice { replica: scheme.replica(index).unwrap() });
    assert_eq!(plan(&[1, 2], &[3]), Err(Error::TooFewReplicas { needed: 3, available: 2 }));
    assert_eq!(plan(&[], &[]), Err(Error::TooFewReplicas { needed: 3, available: 0 }));
    assert_eq!(plan(&[1, 2, 2, 4], &[3]), twice(2));
    assert_eq!(plan(&[1, 2, 4], &[4]), twice(4));
    assert_eq!(plan(&[1, 2, 4], &[3, 3]), twice(3));
    assert_eq!(plan(&[1, 2, 4], &[3]), Ok(()));
    let foreign = crate::scheme("rs-6-3-1024k").replica(7).unwrap();
    let refused = codec.decoder(&[foreign], &[]).unwrap_err();
    assert_eq!(refused, Error::NoSuchReplica { index: 7, replicas: 5 });
}

#[test]
fn a_source_that_was_cut_off_is_not_padding() {
    let scheme = scheme("rs-3-2-1k");
    let codec = Codec::new(scheme);
    let replicas: Vec<ReplicaIndex> = scheme.replicas().collect();
    let decoder = codec.decoder(&replicas[1..], &replicas[..1]).unwrap();
    let decode = |lengths: &CellLengths, sources: [usize; 3], decoded: usize| {
        let sources: Vec<Vec<u8>> = sources.iter().map(|length| vec![0; *length]).collect();
        let mut decoded = vec![vec![0; decoded]];
        decoder.decode(lengths, &refs(&sources), &mut muts(&mut decoded))
    };
    let length = |position: usize, expected, found| {
        Err(Error::BufferLength { replica: replicas[position], expected, found })
    };
    let stripe = BlockGroup::new(scheme, 1024 + 500).stripe(0).unwrap();
    assert_eq!(decode(&stripe, [500, 0, 1024], 1024), Ok(()));
    assert_eq!(decode(&stripe, [499, 0, 1024], 1024), length(1, 500, 499));
    assert_eq!(decode(&stripe, [500, 1, 1024], 1024), length(2, 0, 1));
    assert_eq!(decode(&stripe, [500, 0, 1023], 1024), length(3, 1024, 1023));
    assert_eq!(decode(&stripe, [500, 0, 1024], 1025), length(0, 1024, 1025));
    // Lengths claimed by a message are not trusted.
    let claimed = CellLengths::equal(u64::MAX);
    assert_eq!(decode(&claimed, [1; 3], 1), length(1, u64::MAX, 1));
    let empty = CellLengths::equal(0);
    assert_eq!(decode(&empty, [0; 3], 0), Ok(()));
}

#[test]
fn wrong_numbers_of_cells_are_not_decoded() {
    let scheme = scheme("rs-3-2-1k");
    let codec = Codec::new(scheme);
    let replicas: Vec<ReplicaIndex> = scheme.replicas().collect();
    let decoder = codec.decoder(&replicas[1..], &replicas[..1]).unwrap();
    let lengths = CellLengths::equal(4);
    let cell: &[u8] = &[0; 4];
    let mut decoded = [0; 4];
    let count = |what, expected, found| Err(Error::BufferCount { what, expected, found });
    let all = "available replicas";
    assert_eq!(decoder.decode(&lengths, &[], &mut [&mut decoded]), count(all, 3, 0));
    assert_eq!(decoder.decode(&lengths, &[cell; 4], &mut [&mut decoded]), count(all, 3, 4));
    assert_eq!(decoder.decode(&lengths, &[cell; 3], &mut []), count("wanted replicas", 1, 0));
    let checked = decoder.decode_checked(&lengths, &[cell; 3], &mut [&mut decoded]);
    assert_eq!(checked, count(all, 4, 3));
}
