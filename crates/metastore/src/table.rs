//! Tables of typed keys and values.

use std::marker::PhantomData;

use crate::{Batch, Cursor, Error, IterRange, Result, Store, Table};

/// Keys of a table. Encoded keys must sort as the table's readers expect.
pub trait KeyCodec {
    /// The bytes of a key.
    fn encode(&self) -> Vec<u8>;
    /// Decodes a key; `None` if it is malformed.
    fn decode(bytes: &[u8]) -> Option<Self>
    where
        Self: Sized;
}

/// Values of a table.
pub trait ValueCodec {
    /// The bytes of a value.
    fn encode(&self) -> Vec<u8>;
    /// Decodes a value; `None` if it is malformed.
    fn decode(bytes: &[u8]) -> Option<Self>
    where
        Self: Sized;
}

impl KeyCodec for u64 {
    fn encode(&self) -> Vec<u8> {
        self.to_be_bytes().to_vec()
    }
    fn decode(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self::from_be_bytes)
    }
}

impl KeyCodec for String {
    fn encode(&self) -> Vec<u8> {
        self.as_bytes().to_vec()
    }
    fn decode(bytes: &[u8]) -> Option<Self> {
        Self::from_utf8(bytes.to_vec()).ok()
    }
}

/// A table whose keys and values have a type.
pub struct TypedTable<K, V> {
    table: Table,
    types: PhantomData<fn(K) -> V>,
}

impl<K, V> Clone for TypedTable<K, V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K, V> Copy for TypedTable<K, V> {}

impl<K: KeyCodec, V: ValueCodec> TypedTable<K, V> {
    /// The table of that name, as a constant of the crate that owns it.
    pub const fn named(name: &'static str) -> Self {
        Self { table: Table::named(name), types: PhantomData }
    }

    /// The untyped table.
    pub fn raw(&self) -> Table {
        self.table
    }

    fn corrupt(&self, what: &str, bytes: &[u8]) -> Error {
        Error::Corrupt {
            table: self.table.name().to_owned(),
            reason: format!("a {what} of {} bytes does not decode", bytes.len()),
        }
    }

    /// The value of `key`.
    ///
    /// # Errors
    /// If the read fails or the value does not decode.
    pub fn get(&self, store: &Store, key: &K) -> Result<Option<V>> {
        match store.get(self.table, &key.encode())? {
            None => Ok(None),
            Some(value) => V::decode(&value).map(Some).ok_or_else(|| self.corrupt("value", &value)),
        }
    }

    /// Adds a put to `batch`.
    pub fn put(&self, batch: &mut Batch, key: &K, value: &V) {
        batch.put(self.table, key.encode(), value.encode());
    }

    /// Adds a delete to `batch`.
    pub fn delete(&self, batch: &mut Batch, key: &K) {
        batch.delete(self.table, key.encode());
    }

    /// A cursor over the table.
    ///
    /// # Errors
    /// If there is no such table.
    pub fn iter<'a>(&self, store: &'a Store, range: IterRange) -> Result<Cursor<'a>> {
        store.iter(self.table, range)
    }

    /// All rows of `range`; for tables that are known to be small.
    ///
    /// # Errors
    /// If the read fails or a row does not decode.
    pub fn rows(&self, store: &Store, range: IterRange) -> Result<Vec<(K, V)>> {
        let mut cursor = store.iter(self.table, range)?;
        cursor.first();
        let mut rows = Vec::new();
        while let Some((key, value)) = cursor.row()? {
            let k = K::decode(key).ok_or_else(|| self.corrupt("key", key))?;
            let v = V::decode(value).ok_or_else(|| self.corrupt("value", value))?;
            rows.push((k, v));
            cursor.next();
        }
        Ok(rows)
    }
}
