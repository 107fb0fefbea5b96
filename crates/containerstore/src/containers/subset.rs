//! Comparison of two replicas of a container: is one a subset of the other?

use std::cmp::Ordering;

use metastore::IterRange;

use super::Container;
use crate::error::Result;
use crate::tables::{self, BLOCK_DATA, StoredBlock};

impl Container {
    /// Returns the data of another replica of it that this one lacks, according to the rows; `None`
    /// if this one has all of it: the same index, every position, deletion and block, as new or
    /// newer. Blocks.
    ///
    /// # Errors
    /// When a disk fails, or a row does not decode.
    pub(crate) fn lacks_of(&self, other: &Self) -> Result<Option<String>> {
        let (ours, theirs) = (self.info(), other.info());
        if ours.replica_index != theirs.replica_index {
            let (has, asked) = (theirs.replica_index, ours.replica_index);
            return Ok(Some(format!("its replica index is {has}, not {asked}")));
        }
        if theirs.bcsid > ours.bcsid {
            let (has, asked) = (theirs.bcsid, ours.bcsid);
            return Ok(Some(format!("it has writes up to {has}, not {asked}")));
        }
        if theirs.delete_tx > ours.delete_tx {
            let (has, asked) = (theirs.delete_tx, ours.delete_tx);
            return Ok(Some(format!("it has taken deletions up to {has}, not {asked}")));
        }
        let range = || IterRange::prefix(tables::prefix(self.id)).background(1 << 20);
        let mut here = self.disk.db.iter(BLOCK_DATA, range())?;
        let mut there = other.disk.db.iter(BLOCK_DATA, range())?;
        here.first();
        there.first();
        while let Some((key, value)) = there.row()? {
            let found = loop {
                let Some((ours, value)) = here.row()? else { break None };
                match ours.cmp(key) {
                    Ordering::Less => here.next(),
                    Ordering::Equal => break Some(StoredBlock::read(self.id, value)?),
                    Ordering::Greater => break None,
                }
            };
            let theirs = StoredBlock::read(self.id, value)?;
            let covers = |ours: &StoredBlock| {
                ours.chunks == theirs.chunks && ours.size == theirs.size
                    || ours.bcsid() > theirs.bcsid() && ours.length() >= theirs.length()
            };
            if !found.is_some_and(|ours| covers(&ours)) {
                let local = theirs.block_id.local_id;
                return Ok(Some(format!("it has block {local}, which is missing or older here")));
            }
            there.next();
        }
        Ok(None)
    }
}
