//! The checksums of a part of a chunk.

use proto::datanode::ChecksumData;

use super::{ChecksumError, kind};

/// The checksums of bytes `offset..offset + len` of a chunk of `chunk_len` bytes. The part must
/// start and end at slice boundaries, or end at the chunk's end: checksums cannot be split.
///
/// # Errors
/// If the part is not aligned, or the checksum data has too few entries.
pub fn cut(
    sums: &ChecksumData,
    chunk_len: u64,
    offset: u64,
    len: u64,
) -> Result<ChecksumData, ChecksumError> {
    let (_, slice) = kind(sums)?;
    let Some(slice) = slice else { return Ok(sums.clone()) };
    let slice = slice as u64;
    let unaligned = || ChecksumError::Unaligned { offset, len, chunk_len, slice };
    let end = offset.checked_add(len).ok_or_else(unaligned)?;
    if end > chunk_len
        || !offset.is_multiple_of(slice)
        || (!end.is_multiple_of(slice) && end != chunk_len)
    {
        return Err(unaligned());
    }
    let place = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    let first = place(offset.checked_div(slice).ok_or_else(unaligned)?);
    let last = place(end.div_ceil(slice));
    let checksums = sums
        .checksums
        .get(first..last)
        .ok_or(ChecksumError::Count { got: sums.checksums.len(), expected: last })?;
    Ok(ChecksumData { checksums: checksums.to_vec(), ..sums.clone() })
}
