//! GetContainerChecksumInfo: the Merkle tree of a replica.

use bytes::Bytes;
use prost::Message;
use proto::datanode as dn;
use proto::datanode::ContainerCommandResponseProto;
use types::ContainerId;

use super::answer::{Answer, Failure, success};
use super::{Command, CommandContext, Done, Read, part};
use containerstore::StorageError;

/// Answers from this replica.
pub(super) async fn read(context: &CommandContext<'_>, command: &Command) -> Read {
    Ok(answer(context, command).await.map(Answer::message))
}

async fn answer(context: &CommandContext<'_>, command: &Command) -> Done {
    let request = &command.request;
    let asked = part(request.get_container_checksum_info.as_ref(), "getContainerChecksumInfo")?;
    let id = ContainerId::from_wire(asked.container_id.unwrap_or(request.container_id));
    let (store, container) = (context.store.clone(), context.store.container(id)?);
    // It reads all rows: not on a thread that serves requests.
    let made = tokio::task::spawn_blocking(move || store.checksum_info(id)).await;
    let info =
        made.map_err(|error| Failure::from(StorageError::disk(container.path(), error)))??;
    Ok(ContainerCommandResponseProto {
        get_container_checksum_info: Some(dn::GetContainerChecksumInfoResponseProto {
            container_id: Some(id.to_wire()),
            container_checksum_info: Some(Bytes::from(info.encode_to_vec())),
        }),
        ..success(request)
    })
}
