//! Chunk checksums as Ozone computes them.
//!
//! A chunk is split into slices of `bytesPerChecksum`, the last of which may be shorter; slices
//! restart at every chunk. `ChecksumData.checksums` has one entry per slice: 4 bytes big-endian for
//! CRC32 and CRC32C, the digest for MD5 and SHA-256, no entries for NONE.

mod compute;
mod cut;
mod error;
mod form;
mod stream;
mod verify;

pub use compute::{compute, compute_slice};
pub use cut::cut;
pub use error::ChecksumError;
pub use form::check_form;
pub use stream::ChecksumStream;
pub use verify::{verify, verify_part};

use proto::datanode::{ChecksumData, ChecksumType};

/// Ozone's default `ozone.client.bytes.per.checksum`.
pub const DEFAULT_BYTES_PER_CHECKSUM: u32 = 16 << 10;

/// Checksum data of a chunk without checksums.
pub fn none() -> ChecksumData {
    ChecksumData { r#type: ChecksumType::None as i32, bytes_per_checksum: 0, checksums: Vec::new() }
}

/// The type and slice length of checksum data, checked; the length is `None` for type NONE.
fn kind(data: &ChecksumData) -> Result<(ChecksumType, Option<usize>), ChecksumError> {
    let kind =
        ChecksumType::try_from(data.r#type).map_err(|_| ChecksumError::UnknownType(data.r#type))?;
    if kind == ChecksumType::None {
        return Ok((kind, None));
    }
    match usize::try_from(data.bytes_per_checksum) {
        Ok(slice) if slice > 0 => Ok((kind, Some(slice))),
        _ => Err(ChecksumError::NoSliceLength),
    }
}
