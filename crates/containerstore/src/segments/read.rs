//! Reading packed blocks.

use bytes::Bytes;
use container::segment::{RECORD_HEADER_LEN, RecordHeader, SegmentError};
use types::{BlockId, LocalId};

use crate::containers::Container;
use crate::error::{Result, StorageError};
use crate::read_timeout::ReadTimeout;
use crate::tables::Packed;

impl Container {
    /// All bytes of a packed block, checked against its record.
    ///
    /// # Errors
    /// Also when the bytes changed on the disk.
    pub(crate) async fn read_packed(
        &self,
        local: LocalId,
        packed: Packed,
        timeout: ReadTimeout,
    ) -> Result<Bytes> {
        let key = (packed.segment, packed.offset);
        if let Some(pending) = self.segments.lock().pending.get(&key) {
            return Ok(pending.data.clone());
        }
        let len = (RECORD_HEADER_LEN + u64::from(packed.len)) as usize;
        let path = self.segment_path(packed.segment);
        let record = self
            .disk()
            .read(path, packed.offset, len, timeout)
            .await
            .map_err(StorageError::io(self.id()))?;
        let block = BlockId::new(self.id(), local);
        let header = RecordHeader::expect(&record, self.id(), packed.offset, local)
            .map_err(|error| StorageError::Damaged { block, error })?;
        if header.len != packed.len {
            let (got, expected) = (u64::from(header.len), u64::from(packed.len));
            let error = SegmentError::Short { got, expected };
            return Err(StorageError::Damaged { block, error });
        }
        Ok(record.slice(RECORD_HEADER_LEN as usize..))
    }
}
