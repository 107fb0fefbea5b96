//! Native client of the object store, on which the shell, the load generators and the S3 gateway
//! are built.
//!
//! * [`Client`] talks to OM: volumes, buckets, keys, multipart uploads, S3 secrets. It fails over
//!   between OMs, retries with backoff and fails at a deadline.
//! * [`KeyWriter`] cuts a key into blocks and chunks and writes them through pipelines; data that a
//!   broken pipeline has not acknowledged is written again to a new block elsewhere. An
//!   erasure-coded key is written stripe by stripe to all replicas of a block group.
//! * [`KeyReader`] reads ranges from the replicas, always verifying checksums; a bad or late
//!   replica costs a retry on the next one. It reads one version of a key or fails; [`newest()`]
//!   continues with the next version.
//! * [`KeyStorage`] is the storage types of a key's bytes, which can be moved to others.
//! * [`ReplicatedBlock`] reads each replica of a block by itself, for administrators.
//! * [`ScmClient`] and [`ServerClient`] are for administration, [`DatanodeClient`] and
//!   [`ScmBlockClient`] for load on DataNodes and SCM alone.
//!
//! Every call returns [`Error`]; a program branches on [`Error::kind`].
//!
//! **Invariants.** Bytes are released by the writer only once a PutBlock that covers them is
//! acknowledged. The reader returns bytes only once their checksum is verified. Memory of a writer
//! or reader is bounded by [`ClientOptions`], of an erasure-coded key by a few stripes and their
//! parity, whatever the size of the key.

mod client;
mod container_history;
mod datanode;
mod error;
mod exclude;
mod key_storage;
mod om;
mod options;
mod read;
mod reconcile;
mod requests;
mod scm;
mod scm_block;
mod server;
mod write;

pub use client::Client;
pub use container_history::ContainerHistory;
pub use datanode::DatanodeClient;
pub use error::{Error, ErrorKind};
pub use key_storage::{KeyStorage, MoveOutcome};
pub use om::anywhere::FollowerReads;
pub use om::args::{BucketSpec, CreateKey, FileOptions, KeyPath, ListKeys, PartOf, Precondition};
pub use options::{Checksum, ClientOptions, configured_replication};
pub use read::{BlockReplica, KeyReader, Pieces, ReplicatedBlock, newest};
pub use requests::bucket::BucketChange;
pub use requests::multipart::{CompletedPart, CompletedUpload, CreateUpload, PartPage, UploadPage};
pub use requests::snapshot::SnapshotPair;
pub use requests::volume::{VolumeChange, VolumeScope};
pub use scm::{ListContainers, ScmClient};
pub use scm_block::ScmBlockClient;
pub use server::ServerClient;
pub use write::{FinishOptions, KeyWriter};

/// Result of a client call.
pub type Result<T, E = Error> = std::result::Result<T, E>;
