//! The Raft library, raft-rs 0.7, wrapped by one module.
//!
//! The rest of the crate uses the library's types through this module, and `cargo xtask tidy`
//! refuses `raft::`, `protobuf::` and `slog::` elsewhere (`xtask/src/tidy/behind.rs`). The library
//! has had no release for years, and depends on protobuf 2 and slog. Replacing it, or copying it
//! into the workspace, changes these files:
//!
//! * this file: types of the library that the crate uses unchanged. `Entry`, `HardState` and the
//!   messages are also the formats of the log and of the network, so another library must keep
//!   their bytes (`eraftpb.proto`), or the old formats must stay readable;
//! * `node.rs`: one group's state machine. Only this code reads the library's fields;
//! * `wire.rs`: encoding of messages;
//! * `logger.rs`: the library's log lines.
//!
//! Code outside of this module also depends on the library's behaviour:
//!
//! * `event_loop/verify.rs` and `event_loop/receive.rs`: the messages on which it panics;
//! * `event_loop/ready.rs`: the order in which a ready is processed, and the message fields that
//!   the library leaves to us;
//! * `store/mod.rs`: the data it reads, and the errors on which it retries;
//! * `entry.rs`: the field `sync_log` is unused.

mod logger;
mod node;
mod wire;

pub(crate) use raft::eraftpb::{
    ConfChangeSingle, ConfChangeType, ConfChangeV2, ConfState, Entry, EntryType, HardState,
    Message, MessageType, Snapshot,
};
pub(crate) use raft::{
    Error, GetEntriesContext, INVALID_ID, RaftState, ReadState, Ready, Result, StateRole, Storage,
    StorageError,
};

pub(crate) use self::node::{Node, Sending, Settings};
pub use self::wire::WireError;
pub(crate) use self::wire::{
    decode_change, decode_message, encode_change, encode_message, put_message,
};
