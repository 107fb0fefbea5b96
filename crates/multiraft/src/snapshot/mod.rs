//! Snapshots in transfer from one replica to another.
//!
//! The sender streams the files of a snapshot in pieces (`event_loop/send_snapshot.rs`), each
//! acknowledged before the next one is sent; the receiver collects them in a directory of its log
//! (`receive.rs`). The last piece carries the Raft message, which is stepped only when everything
//! has arrived.

pub(crate) mod piece;
pub(crate) mod receive;

use std::path::PathBuf;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use uuid::Uuid;

use crate::consensus::{Message, Snapshot};
use crate::error::FrameError;
use crate::machine::{LogPosition, SnapshotSource};
use crate::membership::Membership;

/// Bytes of a snapshot's id, which precedes the members in Raft's snapshot message.
const ID: usize = 16;

/// A directory that is removed when its last user is done.
#[derive(Debug)]
pub(crate) struct Scratch(pub(crate) PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        match std::fs::remove_dir_all(&self.0) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                tracing::warn!(dir = %self.0.display(), %error, "cannot remove snapshot directory");
            }
            _ => {}
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) enum Content {
    Bytes(Bytes),
    Dir(Arc<Scratch>),
}

/// A snapshot that can be sent.
#[derive(Debug, Clone)]
pub(crate) struct Outgoing {
    pub(crate) id: Uuid,
    pub(crate) at: LogPosition,
    pub(crate) content: Content,
}

impl Outgoing {
    pub(crate) fn new(at: LogPosition, source: SnapshotSource) -> Self {
        let content = match source {
            SnapshotSource::Bytes(bytes) => Content::Bytes(bytes),
            SnapshotSource::Dir(dir) => Content::Dir(Arc::new(Scratch(dir))),
        };
        Self { id: Uuid::new_v4(), at, content }
    }

    /// The content's placeholder in Raft's snapshot message.
    pub(crate) fn describe(&self) -> Bytes {
        Bytes::copy_from_slice(self.id.as_bytes())
    }
}

/// Writes the members into Raft's snapshot. They may be those of a later entry than the snapshot's
/// last: a replica that restores it skips the changes up to there.
pub(crate) fn describe_members(snapshot: &mut Snapshot, membership: &Membership) {
    let mut data = BytesMut::from(snapshot.data.get(..ID).unwrap_or_default());
    membership.put(&mut data);
    snapshot.data = data.freeze();
    snapshot.mut_metadata().set_conf_state(membership.conf_state());
}

/// The members in Raft's snapshot.
pub(crate) fn members_in(snapshot: &Snapshot) -> Result<Membership, FrameError> {
    let data = snapshot.data.get(ID..).ok_or_else(|| FrameError(String::from("no members")))?;
    Membership::decode(Bytes::copy_from_slice(data))
}

/// The snapshot id in a Raft message.
pub(crate) fn id_in(message: &Message) -> Option<Uuid> {
    Uuid::from_slice(message.get_snapshot().data.get(..ID)?).ok()
}

/// A completely received snapshot.
#[derive(Debug)]
pub(crate) enum Incoming {
    Bytes(Bytes),
    Dir(Scratch),
}

impl Incoming {
    /// The state machine's source. It may move files, or the whole directory, out of it; the rest
    /// is removed with `self`.
    pub(crate) fn source(&self) -> SnapshotSource {
        match self {
            Self::Bytes(bytes) => SnapshotSource::Bytes(bytes.clone()),
            Self::Dir(scratch) => SnapshotSource::Dir(scratch.0.clone()),
        }
    }
}
