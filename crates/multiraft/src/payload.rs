//! Bytes that belong to an entry but live outside of the log.
//!
//! The log keeps the header of such an entry; its payload goes through a [`PayloadStore`] on
//! every replica **before** the entry is appended to that replica's log. A replica that finds
//! a header without payload after a crash fetches it from a peer
//! ([`Group::fetch_payload`](crate::Group::fetch_payload)), which answers from
//! [`PayloadStore::read`].

use std::io;

use bytes::Bytes;
use futures::future::BoxFuture;

/// Where the payload of a proposal goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// Into the log entry, durable with the log's own fsync. `prepare` is not called.
    InLog,
    /// Through [`PayloadStore::prepare`] on every replica; the log keeps the header only. Also
    /// for entries without payload that must have something done before they are appended
    /// (make earlier payloads durable).
    External,
}

/// Payloads of one group.
pub trait PayloadStore: Send + Sync + 'static {
    /// Where the payload of a proposal with this header goes. Asked on the leader only; the
    /// answer travels with the entry.
    fn placement(&self, header: &Bytes, payload_len: usize) -> Placement;

    /// Proposals of equal order enter the log in the order in which `propose` was called,
    /// even though their `prepare`s run at the same time; proposals of different order do not
    /// wait for each other on the leader. (Followers always append in log order.)
    fn order(&self, header: &Bytes) -> u64 {
        let _ = header;
        0
    }

    /// Takes the payload. Called on every replica, in log order (on the leader: in the order
    /// of `propose` calls), before the entry is appended; the next call does not wait for the
    /// returned future, so whatever depends on earlier calls must note that in the call
    /// itself and wait in the future. May be called again for an entry already taken. An
    /// error refuses the proposal on the leader and delays the entry on a follower, where it
    /// is tried again.
    fn prepare(
        &self,
        index_hint: u64,
        header: Bytes,
        payload: Bytes,
    ) -> BoxFuture<'static, io::Result<()>>;

    /// Whether this replica can keep what an entry carries whose payload rides in the log. Called
    /// on followers before such an entry is appended. An error delays the entry, as one of
    /// `prepare` does: a confirmed entry counts as stored here, and applying it must not find out
    /// otherwise.
    ///
    /// # Errors
    /// Why it cannot be kept here now.
    fn admits(&self, header: &Bytes) -> io::Result<()> {
        let _ = header;
        Ok(())
    }

    /// Reads a payload back, for a follower that lags or lost it.
    fn read(&self, header: Bytes) -> BoxFuture<'static, io::Result<Bytes>>;
}
