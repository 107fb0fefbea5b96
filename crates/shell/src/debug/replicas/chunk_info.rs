//! `o3 debug replicas chunk-info`.

use clap::Args;
use client::{BlockReplica, ReplicatedBlock};
use config::Configuration;
use futures::future::{join_all, try_join};
use proto::datanode::{BlockData, ChecksumType, ContainerDataProto};
use serde_json::{Map, Value, json};
use types::ReplicationConfig;

use crate::address::Address;
use crate::{ShellError, output};

/// Show the chunks of each replica of a key, as recorded by its DataNode: offsets, lengths,
/// checksums, and the file. A replica that does not answer is reported on standard error. A small
/// block that its DataNode has packed is in a segment file of the same container.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  o3 debug replicas chunk-info /vol1/bucket1/key1")]
pub struct ChunkInfo {
    /// The key: /vol1/bucket1/key1
    address: String,
}

/// Runs the command.
pub(crate) async fn run(args: ChunkInfo, conf: &Configuration) -> Result<(), ShellError> {
    let address = Address::parse(&args.address)?;
    let path = address.key()?;
    let (_, blocks) = address.client(conf)?.key_replicas(&path).await?;
    if blocks.is_empty() {
        eprintln!("No key locations found.");
        return Ok(());
    }
    let mut locations = Vec::with_capacity(blocks.len());
    for block in &blocks {
        locations.push(Value::from(of_block(block).await));
    }
    output::value(&json!({
        "volumeName": path.volume,
        "bucketName": path.bucket,
        "name": path.key,
        "keyLocations": locations,
    }))
}

async fn of_block(block: &ReplicatedBlock) -> Vec<Value> {
    let asked = block.replicas.iter().map(|replica| async move {
        (replica, try_join(replica.block_data(), replica.container()).await)
    });
    let mut shown = Vec::new();
    for (replica, answer) in join_all(asked).await {
        match answer {
            Ok((data, container)) => shown.push(render(block.config, replica, &data, &container)),
            Err(error) => {
                let host = &replica.node.host;
                eprintln!("Error getting block from datanode {host}: {error}");
            }
        }
    }
    shown
}

fn render(
    config: ReplicationConfig,
    replica: &BlockReplica,
    data: &BlockData,
    container: &ContainerDataProto,
) -> Value {
    // Ozone returns a file only if it contains a chunk.
    let file = match data.chunks.is_empty() {
        true => String::new(),
        false => format!("{}/chunks/{}.block", container.container_path(), data.block_id.local_id),
    };
    let mut shown = json!({
        "datanode": {
            "hostname": replica.node.host,
            "ip": replica.node.ip,
            "uuid": replica.node.id.to_string(),
        },
        "file": file,
        "blockData": {
            "blockID": {
                "containerID": data.block_id.container_id,
                "localID": data.block_id.local_id,
                "blockCommitSequenceId": data.block_id.block_commit_sequence_id(),
            },
            "size": data.size(),
            "chunks": data.chunks.iter().map(chunk).collect::<Vec<_>>(),
        },
    });
    if let ReplicationConfig::Ec(ec) = config {
        let kind = if replica.index > ec.data { "PARITY" } else { "DATA" };
        if let Some(fields) = shown.as_object_mut() {
            fields.insert("chunkType".to_owned(), kind.into());
            fields.insert("replicaIndex".to_owned(), replica.index.into());
        }
    }
    shown
}

fn chunk(chunk: &proto::datanode::ChunkInfo) -> Value {
    let sums = &chunk.checksum_data;
    let kind = ChecksumType::try_from(sums.r#type).map_or("UNKNOWN", |kind| kind.as_str_name());
    let mut shown = Map::new();
    shown.insert("offset".to_owned(), chunk.offset.into());
    shown.insert("len".to_owned(), chunk.len.into());
    let checksums: Vec<String> = sums.checksums.iter().map(|sum| hex(sum)).collect();
    shown.insert("checksums".to_owned(), checksums.into());
    shown.insert("checksumType".to_owned(), kind.into());
    shown.insert("bytesPerChecksum".to_owned(), sums.bytes_per_checksum.into());
    let width = sums.checksums.first().map(|sum| sum.len()).filter(|width| *width > 0);
    if let (Some(of_stripe), Some(width)) = (&chunk.stripe_checksum, width) {
        let of_stripe: Vec<String> = of_stripe.chunks_exact(width).map(hex).collect();
        shown.insert("stripeChecksum".to_owned(), of_stripe.into());
    }
    shown.into()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use proto::datanode::ChecksumData;

    use super::*;

    #[test]
    fn a_chunk_looks_like_ozones() {
        let mut info = proto::datanode::ChunkInfo {
            chunk_name: "7_chunk_1".to_owned(),
            offset: 0,
            len: 1000,
            metadata: Vec::new(),
            checksum_data: ChecksumData {
                r#type: ChecksumType::Crc32 as i32,
                bytes_per_checksum: 16384,
                checksums: vec![Bytes::from_static(&[0x91, 0xb3, 0x4d, 0x09])],
            },
            stripe_checksum: Some(Bytes::from_static(&[0x91, 0xb3, 0x4d, 0x09, 1, 2, 3, 4])),
        };
        let expected = json!({
            "offset": 0,
            "len": 1000,
            "checksums": ["91b34d09"],
            "checksumType": "CRC32",
            "bytesPerChecksum": 16384,
            "stripeChecksum": ["91b34d09", "01020304"],
        });
        assert_eq!(chunk(&info).to_string(), expected.to_string());
        info.stripe_checksum = None;
        assert!(chunk(&info).get("stripeChecksum").is_none());
    }
}
