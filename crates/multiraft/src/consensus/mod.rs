//! The Raft library, raft-rs 0.7, behind one module.
//!
//! The rest of the crate names the library's types by this module, and `cargo xtask tidy` refuses
//! `raft::`, `protobuf::` and `slog::` elsewhere (`xtask/src/tidy/behind.rs`). The library has had
//! no release for years, and brings protobuf 2 and slog along. To replace it, or to take a copy of
//! it into the workspace, these files are what changes:
//!
//! * this file: types that the library defines and that the crate uses as they are. `Entry`,
//!   `HardState` and the messages are also the formats of the log and of the network, so another
//!   library has to keep their bytes (`eraftpb.proto`), or old ones have to be read, too;
//! * `node.rs`: one group's state machine. It has the only code that reads the library's fields;
//! * `wire.rs`: messages as bytes;
//! * `logger.rs`: the library's log lines.
//!
//! Code outside of this module depends on how the library behaves, too:
//!
//! * `event_loop/verify.rs` and `event_loop/receive.rs`: on which messages it panics;
//! * `event_loop/ready.rs`: in which order a ready is carried out, and which fields of messages the
//!   library leaves to us;
//! * `store/mod.rs`: what it reads, and on which errors it asks again;
//! * `entry.rs`: the field `sync_log` is free.

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
