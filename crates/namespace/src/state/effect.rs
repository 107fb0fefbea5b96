//! Effects of a command on the tables.

use bytes::Bytes;

use crate::state::row::Bucket;
use crate::tables::Table;

/// One change to one row.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// The row has this value from now on.
    Put {
        /// Table of the row.
        table: Table,
        /// Key of the row.
        key: Vec<u8>,
        /// Its value.
        value: Bytes,
    },
    /// A row of the bucketTable has this value from now on. Not encoded yet: of the many
    /// commands of a round that change one bucket, only the last one's value is written.
    PutBucket {
        /// Key of the row.
        key: Vec<u8>,
        /// Its value; [`Bucket::encode`] makes the bytes.
        bucket: Bucket,
    },
    /// Removes the row, if it exists.
    Delete {
        /// Table of the row.
        table: Table,
        /// Key of the row.
        key: Vec<u8>,
    },
}

impl Effect {
    /// Table of the changed row.
    pub fn table(&self) -> Table {
        match self {
            Effect::Put { table, .. } | Effect::Delete { table, .. } => *table,
            Effect::PutBucket { .. } => Table::BucketTable,
        }
    }

    /// Key of the changed row.
    pub fn key(&self) -> &[u8] {
        match self {
            Effect::Put { key, .. }
            | Effect::PutBucket { key, .. }
            | Effect::Delete { key, .. } => key,
        }
    }
}
