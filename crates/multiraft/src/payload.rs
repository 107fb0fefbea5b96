//! Payloads that belong to an entry but are stored outside of the log.
//!
//! The log contains the header of such an entry; its payload is passed to a [`PayloadStore`] on
//! every replica **before** the entry is appended to that replica's log. A replica that finds a
//! header without payload after a crash fetches it from a peer
//! ([`Group::fetch_payload`](crate::Group::fetch_payload)), which serves it from
//! [`PayloadStore::read`].

use std::io;

use bytes::Bytes;
use futures::future::BoxFuture;

/// Location of a proposal's payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// In the log entry, durable with the log's own fsync. `prepare` is not called.
    InLog,
    /// In the [`PayloadStore`], through `prepare` on every replica; the log contains the header
    /// only. Also for entries without payload that require work before they are appended (make
    /// earlier payloads durable).
    External,
}

/// Payloads of one group.
pub trait PayloadStore: Send + Sync + 'static {
    /// The location of the payload of a proposal with this header. Called on the leader only; the
    /// result travels with the entry.
    fn placement(&self, header: &Bytes, payload_len: usize) -> Placement;

    /// Proposals of equal order enter the log in the order in which `propose` was called, even
    /// though their `prepare`s run concurrently; proposals of different order do not wait for each
    /// other on the leader. (Followers always append in log order.)
    fn order(&self, header: &Bytes) -> u64 {
        let _ = header;
        0
    }

    /// Stores the payload. Called on every replica, in log order (on the leader: in the order of
    /// `propose` calls), before the entry is appended; the next call does not wait for the returned
    /// future, so dependencies on earlier calls must be recorded in the call itself and awaited in
    /// the future. May be called again for a stored entry. An error rejects the proposal on the
    /// leader and delays the entry on a follower, where it is retried.
    fn prepare(
        &self,
        index_hint: u64,
        header: Bytes,
        payload: Bytes,
    ) -> BoxFuture<'static, io::Result<()>>;

    /// Checks that this replica can store an entry with its payload in the log. Called on followers
    /// before such an entry is appended. An error delays the entry, as one of `prepare` does: a
    /// confirmed entry counts as stored here, so applying it must not fail for lack of space.
    ///
    /// # Errors
    /// The reason why it cannot be stored at present.
    fn admits(&self, header: &Bytes) -> io::Result<()> {
        let _ = header;
        Ok(())
    }

    /// Reads a payload back, for a follower that lags or lost it.
    fn read(&self, header: Bytes) -> BoxFuture<'static, io::Result<Bytes>>;
}
