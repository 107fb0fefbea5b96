//! The parity cells of a stripe.

use bytes::Bytes;
use erasure::Codec;
use framed::AlignedBuf;
use tokio::task::JoinHandle;

use crate::write::chunk::Chunk;
use crate::{Checksum, Error, Result};

/// Parity cells with their checksums, computed once even if the stripe is written several times.
pub(super) enum Parity {
    Computing(JoinHandle<Result<Vec<Chunk>, erasure::Error>>),
    Computed(Vec<Chunk>),
}

impl Parity {
    /// Starts to compute the parity of `cells` on another core.
    pub(super) fn of(codec: Codec, cells: Vec<Chunk>, how: Checksum) -> Self {
        Self::Computing(tokio::task::spawn_blocking(move || {
            let parity = encode(&codec, &cells)?;
            Ok(parity.into_iter().map(|cell| Chunk::new(cell.freeze(), how)).collect())
        }))
    }

    /// The cells.
    pub(super) async fn get(&mut self) -> Result<&[Chunk]> {
        if let Self::Computing(task) = self {
            let outcome = task.await;
            let cells = outcome
                .map_err(|e| Error::Usage(format!("parity was not computed: {e}")))?
                .map_err(|e| Error::Usage(format!("parity cannot be computed: {e}")))?;
            *self = Self::Computed(cells);
        }
        match self {
            Self::Computed(cells) => Ok(cells),
            Self::Computing(_) => Ok(&[]),
        }
    }
}

/// Encodes cells that are in pieces, without copying them together: one piece of parity after the
/// other, each as long as all cells have it in one piece. Parity cells are in reused buffers: fresh
/// pages would be zeroed and faulted in for every stripe.
fn encode(codec: &Codec, cells: &[Chunk]) -> Result<Vec<AlignedBuf>, erasure::Error> {
    let scheme = codec.scheme();
    let length = cells.first().map_or(0, |cell| cell.len);
    let mut parity: Vec<AlignedBuf> =
        (0..scheme.parity()).map(|_| AlignedBuf::new(length)).collect();
    let mut pieces: Vec<Pieces<'_>> = (0..scheme.data())
        .map(|position| Pieces::of(cells.get(position).map_or(&[], |cell| &cell.parts)))
        .collect();
    let mut at = 0;
    while at < length {
        let data: Vec<&[u8]> = pieces.iter_mut().map(Pieces::current).collect();
        let step = data.iter().map(|piece| piece.len()).filter(|len| *len > 0).min();
        let step = step.unwrap_or(length - at).min(length - at);
        let data: Vec<&[u8]> =
            data.into_iter().map(|piece| piece.get(..step).unwrap_or_default()).collect();
        let mut out: Vec<&mut [u8]> =
            parity.iter_mut().map(|cell| &mut cell[at..at + step]).collect();
        codec.encode(&data, &mut out)?;
        pieces.iter_mut().for_each(|cell| cell.advance(step));
        at += step;
    }
    Ok(parity)
}

/// The rest of a cell.
struct Pieces<'c> {
    current: &'c [u8],
    rest: std::slice::Iter<'c, Bytes>,
}

impl<'c> Pieces<'c> {
    fn of(parts: &'c [Bytes]) -> Self {
        Self { current: &[], rest: parts.iter() }
    }

    /// The current piece; empty after the end of the cell.
    fn current(&mut self) -> &'c [u8] {
        while self.current.is_empty() {
            match self.rest.next() {
                Some(next) => self.current = next,
                None => break,
            }
        }
        self.current
    }

    fn advance(&mut self, by: usize) {
        self.current = self.current.get(by..).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use erasure::Scheme;
    use proto::datanode::ChecksumType;
    use types::replication::EcConfig;

    use super::*;
    use crate::write::chunk::ChunkBuffer;

    #[test]
    fn pieces_of_any_size_have_the_same_parity() {
        let config: EcConfig = "rs-3-2-1024k".parse().unwrap();
        let codec = Codec::new(Scheme::new(config).unwrap());
        let how = Checksum { kind: ChecksumType::Crc32, bytes_per_checksum: 16 << 10 };
        let data: Vec<u8> = (0..250_000u32).map(|i| (i * 7 % 251) as u8).collect();
        let lengths = [100_000, 100_000, 50_000];
        let cells = |piece: usize| -> Vec<Chunk> {
            let mut data = Bytes::from(data.clone());
            let cut = |(cell, length): (usize, usize)| {
                let mut cell_data = data.split_to(length);
                let mut buffer = ChunkBuffer::default();
                // Pieces of other sizes in every cell.
                let piece = piece + 13 * cell;
                while !cell_data.is_empty() {
                    buffer.push(cell_data.split_to(piece.min(cell_data.len())));
                }
                buffer.take(how)
            };
            lengths.into_iter().enumerate().map(cut).collect()
        };
        let encoded = |piece| -> Vec<Vec<u8>> {
            let parity = encode(&codec, &cells(piece)).unwrap();
            parity.into_iter().map(|cell| cell.to_vec()).collect()
        };
        let whole = encoded(data.len());
        assert!(whole.iter().all(|cell| cell.len() == 100_000));
        for piece in [100, 4096, 5000, 65_536] {
            assert_eq!(encoded(piece), whole, "pieces of {piece}");
        }
    }
}
