//! The one table of the container protocol's commands: a line for each [`Type`] with its class, and
//! the file that carries it out. A [`Type`] without a line does not compile, nor does one with two.

#![deny(unreachable_patterns)]

use bytes::Bytes;
use proto::datanode::{ContainerCommandRequestProto, Result as ResultCode, Type};

use super::check::Check;
use super::{
    Command, CommandContext, Done, Failure, Read, close_container, create_container,
    delete_container, echo, finalize_block, get_block, get_committed_block_length,
    get_container_checksum_info, get_small_file, list_block, list_container, put_block,
    put_small_file, read_chunk, read_container, write_chunk,
};
use containerstore::{ApplyBatch, Position};

/// Class of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// It changes what a pipeline replicates.
    Replicated,
    /// It changes this replica alone.
    Local,
    /// It changes nothing.
    Read,
    /// It is not carried out here.
    Unsupported,
}

macro_rules! commands {
    (
        replicated { $($replicated:ident => $replicated_in:ident,)* }
        local { $($local:ident => $local_in:ident,)* }
        reads { $($read:ident => $read_in:ident,)* }
        unsupported { $($unsupported:ident,)* }
    ) => {
        /// Returns the class of a command.
        pub(crate) fn class(kind: Type) -> Class {
            match kind {
                $(Type::$replicated)|* => Class::Replicated,
                $(Type::$local)|* => Class::Local,
                $(Type::$read)|* => Class::Read,
                $(Type::$unsupported)|* => Class::Unsupported,
            }
        }

        /// Checks a change before it is proposed or carried out.
        pub(super) fn check(
            kind: Option<Type>,
            check: &Check<'_>,
            command: &Command,
        ) -> Result<(), Failure> {
            match kind {
                $(Some(Type::$replicated) => $replicated_in::check(check, command),)*
                $(Some(Type::$local) => $local_in::check(check, command),)*
                _ => Err(unsupported(kind)),
            }
        }

        /// Applies an entry of a pipeline's log.
        ///
        /// # Errors
        /// If the command fails: that is its response. A failure of this disk is not.
        pub(crate) fn apply(
            kind: Option<Type>,
            batch: &mut ApplyBatch<'_>,
            at: Position,
            request: &ContainerCommandRequestProto,
            payload: &Bytes,
        ) -> Done {
            match kind {
                $(Some(Type::$replicated) => $replicated_in::apply(batch, at, request, payload),)*
                _ => Err(Failure::new(
                    ResultCode::UnsupportedRequest,
                    format!("{} is not replicated", super::name(kind)),
                )),
            }
        }

        /// Carries a change out on this replica alone; durable when it returns.
        ///
        /// # Errors
        /// When the command fails.
        pub(crate) async fn direct(context: &CommandContext<'_>, command: &Command) -> Done {
            match command.kind() {
                $(Some(Type::$replicated) => $replicated_in::direct(context, command).await,)*
                $(Some(Type::$local) => $local_in::direct(context, command).await,)*
                kind => Err(unsupported(kind)),
            }
        }

        /// Carries out a command that changes nothing.
        ///
        /// # Errors
        /// When this DataNode has no memory for the bytes to read.
        pub(crate) async fn read(context: &CommandContext<'_>, command: &Command) -> Read {
            match command.kind() {
                $(Some(Type::$read) => $read_in::read(context, command).await,)*
                kind => Ok(Err(unsupported(kind))),
            }
        }
    };
}

commands! {
    replicated {
        CreateContainer => create_container,
        WriteChunk => write_chunk,
        PutBlock => put_block,
        PutSmallFile => put_small_file,
        FinalizeBlock => finalize_block,
        CloseContainer => close_container,
    }
    local {
        DeleteContainer => delete_container,
    }
    reads {
        ReadChunk => read_chunk,
        GetSmallFile => get_small_file,
        GetBlock => get_block,
        GetCommittedBlockLength => get_committed_block_length,
        GetContainerChecksumInfo => get_container_checksum_info,
        ListBlock => list_block,
        ReadContainer => read_container,
        ListContainer => list_container,
        Echo => echo,
    }
    unsupported {
        UpdateContainer,
        DeleteBlock,
        DeleteChunk,
        ListChunk,
        CompactChunk,
        StreamInit,
        StreamWrite,
        // Its answers are a stream: `rpc/stream.rs`.
        ReadBlock,
    }
}

fn unsupported(kind: Option<Type>) -> Failure {
    let message = format!("{} is not supported", super::name(kind));
    Failure::new(ResultCode::UnsupportedRequest, message)
}
