//! Encodes one stripe as `rs-3-2` does, loses two cells, and decodes them from the other three.
//!
//! ```text
//! cargo run --release --example encode
//! ```

use std::error::Error;

use erasure::{BlockGroup, CellLengths, Codec, Scheme};
use types::EcConfig;

fn main() -> Result<(), Box<dyn Error>> {
    let scheme = Scheme::new("rs-3-2-1024k".parse::<EcConfig>()?)?;
    let codec = Codec::new(scheme);

    // Cells of a full stripe have equal lengths.
    let data: [&[u8]; 3] = [b"Hello, ", b"erasure", b" coding"];
    let length = data[0].len();
    let mut parity = vec![vec![0; length]; scheme.parity()];
    let mut cells: Vec<&mut [u8]> = parity.iter_mut().map(Vec::as_mut_slice).collect();
    codec.encode(&data, &mut cells)?;
    println!("parity: {parity:02x?}");

    // Replicas 1 and 3 are lost. A plan is made once for the remaining replicas, and used for every
    // stripe.
    let lost = [scheme.replica(1)?, scheme.replica(3)?];
    let left = [scheme.replica(2)?, scheme.replica(4)?, scheme.replica(5)?];
    let decoder = codec.decoder(&left, &lost)?;
    let lengths = CellLengths::equal(length as u64);
    let mut decoded = vec![vec![0; length]; lost.len()];
    let mut into: Vec<&mut [u8]> = decoded.iter_mut().map(Vec::as_mut_slice).collect();
    decoder.decode(&lengths, &[data[1], &parity[0], &parity[1]], &mut into)?;
    assert_eq!(decoded, [data[0], data[2]]);
    println!(
        "decoded: {:?}",
        decoded.iter().map(|c| String::from_utf8_lossy(c)).collect::<Vec<_>>()
    );

    // Positions of the bytes of a longer block group: cells of 1 MiB in turn.
    let group = BlockGroup::new(scheme, 5 << 20);
    for replica in scheme.replicas() {
        println!("replica {}: {} bytes", replica.get(), group.replica_length(replica));
    }
    Ok(())
}
