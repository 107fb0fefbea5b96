//! Encoding and decoding of the fixed fields of our frames.

use bytes::{BufMut, Bytes, BytesMut};
use uuid::Uuid;

use crate::error::FrameError;

/// Reads fields from the front of a buffer; slices share it.
pub(crate) struct Reader(pub(crate) Bytes);

impl Reader {
    pub(crate) fn bytes(&mut self, len: usize) -> Result<Bytes, FrameError> {
        if len > self.0.len() {
            return Err(FrameError(format!("{len} bytes expected, {} left", self.0.len())));
        }
        Ok(self.0.split_to(len))
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], FrameError> {
        let mut array = [0; N];
        array.copy_from_slice(&self.bytes(N)?);
        Ok(array)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, FrameError> {
        Ok(u8::from_le_bytes(self.array()?))
    }

    pub(crate) fn u32(&mut self) -> Result<u32, FrameError> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub(crate) fn u64(&mut self) -> Result<u64, FrameError> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    pub(crate) fn uuid(&mut self) -> Result<Uuid, FrameError> {
        Ok(Uuid::from_bytes(self.array()?))
    }

    /// A length-prefixed block.
    pub(crate) fn block(&mut self) -> Result<Bytes, FrameError> {
        let len = self.u32()? as usize;
        self.bytes(len)
    }

    pub(crate) fn end(self) -> Result<(), FrameError> {
        if self.0.is_empty() {
            return Ok(());
        }
        Err(FrameError(format!("{} trailing bytes", self.0.len())))
    }
}

pub(crate) fn put_uuid(out: &mut BytesMut, id: Uuid) {
    out.put_slice(id.as_bytes());
}

pub(crate) fn put_block(out: &mut BytesMut, block: &[u8]) {
    out.put_u32_le(block.len() as u32);
    out.put_slice(block);
}
