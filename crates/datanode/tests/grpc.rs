//! The gRPC endpoint, as Ozone's own clients use it.

use futures::StreamExt;
use proto::datanode as dn;
use proto::datanode::read_chunk_response_proto::ResponseData;
use proto::datanode::xceiver_client_protocol_service_client::XceiverClientProtocolServiceClient;
use proto::datanode::{
    ContainerCommandRequestProto, ContainerCommandResponseProto, Result as ResultCode, Type,
};
use proto::scm_datanode::container_replica_proto::State as ReplicaState;
use tonic::transport::Channel;

use crate::failing_disk;
use crate::support::client::block_data;
use crate::support::{Cluster, block, bytes, chunk_info};

pub struct Grpc {
    client: XceiverClientProtocolServiceClient<Channel>,
}

impl Grpc {
    pub async fn connect(cluster: &Cluster, node: types::DatanodeId) -> Self {
        let node = cluster.nodes.iter().find(|n| n.id == node).unwrap();
        let address = node.handle.as_ref().unwrap().addresses().grpc;
        let client =
            XceiverClientProtocolServiceClient::connect(format!("http://{address}")).await.unwrap();
        Self { client: client.max_decoding_message_size(40 << 20) }
    }

    /// One stream per command, as Ozone's client does it.
    pub async fn send(
        &mut self,
        request: ContainerCommandRequestProto,
    ) -> ContainerCommandResponseProto {
        let answers = self.client.send(futures::stream::iter([request])).await.unwrap();
        let answers: Vec<_> = answers.into_inner().collect().await;
        assert_eq!(answers.len(), 1);
        answers.into_iter().next().unwrap().unwrap()
    }
}

fn request(kind: Type, container: i64) -> ContainerCommandRequestProto {
    ContainerCommandRequestProto {
        cmd_type: kind as i32,
        trace_id: Some(String::new()),
        container_id: container,
        version: Some(3),
        ..Default::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_block_is_written_and_read_over_grpc() {
    let cluster = Cluster::start(3).await;
    let pipe = cluster.pipeline().await;
    let mut leader = Grpc::connect(&cluster, pipe.leader).await;
    let data = bytes(1, 100_000);
    let id = block(1, 1);
    let info = chunk_info(id, 1, 0, &data);
    let mut write = request(Type::WriteChunk, 1);
    write.pipeline_id = Some(pipe.id.to_string());
    write.write_chunk = Some(dn::WriteChunkRequestProto {
        block_id: id.to_datanode(0),
        chunk_data: Some(info.clone()),
        data: Some(data.clone()),
        // The block's record rides along.
        block: Some(dn::PutBlockRequestProto {
            block_data: block_data(id, vec![info.clone()]),
            eof: Some(true),
        }),
    });
    let written = leader.send(write.clone()).await;
    assert_eq!(written.result(), ResultCode::Success, "{written:?}");
    let committed = written.write_chunk.unwrap().committed_block_length.unwrap();
    assert_eq!(committed.block_length, 100_000);
    assert!(committed.block_id.block_commit_sequence_id() > 0);

    let other = cluster.ids().into_iter().find(|id| *id != pipe.leader).unwrap();
    let mut other = Grpc::connect(&cluster, other).await;
    let refused = other.send(write).await;
    assert_ne!(refused.result(), ResultCode::Success);
    assert!(refused.message().contains("does not lead"), "{}", refused.message());

    for (version, expected) in [(0, ResponseData::Data(data.clone()))] {
        let mut read = request(Type::ReadChunk, 1);
        read.read_chunk = Some(dn::ReadChunkRequestProto {
            block_id: committed.block_id,
            chunk_data: info.clone(),
            read_chunk_version: Some(version),
        });
        let got = leader.send(read).await.read_chunk.unwrap().response_data.unwrap();
        assert_eq!(got, expected);
    }
    let mut read = request(Type::ReadChunk, 1);
    read.read_chunk = Some(dn::ReadChunkRequestProto {
        block_id: committed.block_id,
        chunk_data: info,
        read_chunk_version: Some(dn::ReadChunkVersion::V1 as i32),
    });
    let got = leader.send(read).await.read_chunk.unwrap().response_data.unwrap();
    let ResponseData::DataBuffers(buffers) = got else { panic!("V1 wants buffers: {got:?}") };
    assert_eq!(buffers.buffers.concat(), data);
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn damage_that_a_published_client_reads_is_noticed_here() {
    let mut cluster = Cluster::start(3).await;
    let mut pipe = cluster.pipeline().await;
    let data = bytes(1, 100_000);
    let id = pipe.put_large(block(1, 1), &data, 50_000).await.unwrap();
    let damaged = cluster.ids().into_iter().find(|id| *id != pipe.leader).unwrap();
    pipe.eventually(|| pipe.get_large(damaged, id)).await;
    let disk = failing_disk::disk_of(&cluster.node(damaged).dir);
    let path = failing_disk::container_parents(&disk)[0].join("1/chunks/1.block");
    let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, b"x", 70_000).unwrap();
    let mut grpc = Grpc::connect(&cluster, damaged).await;
    let mut read = request(Type::ReadChunk, 1);
    read.read_chunk = Some(dn::ReadChunkRequestProto {
        block_id: id.to_datanode(0),
        chunk_data: chunk_info(id, 2, 50_000, &data.slice(50_000..)),
        read_chunk_version: Some(dn::ReadChunkVersion::V0 as i32),
    });
    // A client cannot tell its DataNode that it got wrong bytes: it gets none.
    assert_ne!(grpc.send(read).await.result(), ResultCode::Success);
    cluster.scm.scm.wait_for_replica(damaged, 1, ReplicaState::Unhealthy).await;
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_without_a_pipeline_is_written_directly() {
    let cluster = Cluster::start(1).await;
    let mut grpc = Grpc::connect(&cluster, cluster.ids()[0]).await;
    let mut create = request(Type::CreateContainer, 8);
    create.create_container = Some(Default::default());
    assert_eq!(grpc.send(create).await.result(), ResultCode::Success);
    let data = bytes(2, 10_000);
    let id = block(8, 1);
    let chunk_info = chunk_info(id, 1, 0, &data);
    let mut put = request(Type::PutSmallFile, 8);
    put.put_small_file = Some(dn::PutSmallFileRequestProto {
        block: dn::PutBlockRequestProto {
            block_data: block_data(id, vec![chunk_info.clone()]),
            eof: Some(true),
        },
        chunk_info,
        data: data.clone(),
    });
    assert_eq!(grpc.send(put).await.result(), ResultCode::Success);
    let mut get = request(Type::GetSmallFile, 8);
    get.get_small_file = Some(dn::GetSmallFileRequestProto {
        block: dn::GetBlockRequestProto { block_id: id.to_datanode(0) },
        read_chunk_version: None,
    });
    let got = grpc.send(get).await;
    let got = got.get_small_file.unwrap().data.response_data.unwrap();
    assert_eq!(got, ResponseData::Data(data));
    let mut close = request(Type::CloseContainer, 8);
    close.close_container = Some(Default::default());
    assert_eq!(grpc.send(close).await.result(), ResultCode::Success);
    let mut delete = request(Type::DeleteContainer, 8);
    delete.delete_container = Some(dn::DeleteContainerRequestProto { force_delete: Some(true) });
    assert_eq!(grpc.send(delete).await.result(), ResultCode::Success);
    let gone = grpc.send(request(Type::ReadContainer, 8)).await;
    assert_eq!(gone.result(), ResultCode::ContainerNotFound);
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nonsense_is_answered_with_a_result() {
    let cluster = Cluster::start(1).await;
    let mut grpc = Grpc::connect(&cluster, cluster.ids()[0]).await;
    for kind in
        [Type::WriteChunk, Type::PutBlock, Type::GetBlock, Type::ReadChunk, Type::PutSmallFile]
    {
        let answer = grpc.send(request(kind, 1)).await;
        assert_eq!(answer.result(), ResultCode::MalformedRequest, "{kind:?}");
    }
    let answer = grpc.send(request(Type::ListChunk, 1)).await;
    assert_eq!(answer.result(), ResultCode::UnsupportedRequest);
    let mut echo = request(Type::Echo, 1);
    echo.echo = Some(dn::EchoRequestProto {
        payload: Some("hello".into()),
        read_only: Some(true),
        ..Default::default()
    });
    assert_eq!(grpc.send(echo.clone()).await.echo.unwrap().payload.unwrap(), "hello");
    echo.echo.as_mut().unwrap().payload_size_resp = Some(3);
    assert_eq!(grpc.send(echo).await.echo.unwrap().payload.unwrap().len(), 3 << 10);
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_block_is_streamed_in_pieces_that_carry_their_checksums() {
    let cluster = Cluster::start(1).await;
    let mut pipe = cluster.pipeline().await;
    let data = bytes(3, 300_000);
    let id = pipe.put_large(block(1, 1), &data, 100_000).await.unwrap();
    let mut grpc = Grpc::connect(&cluster, pipe.leader).await;
    let read = |block_id, offset, length| {
        let mut read = request(Type::ReadBlock, 1);
        read.read_block = Some(dn::ReadBlockRequestProto {
            block_id,
            offset,
            length: Some(length),
            response_data_size: Some(50_000),
        });
        read
    };
    // Two ranges asked for on one stream, answered one after the other.
    let asked =
        [read(id.to_datanode(0), 20_000, 100_000), read(id.to_datanode(0), 250_000, 1 << 20)];
    let answers = grpc.client.send(futures::stream::iter(asked)).await.unwrap().into_inner();
    let answers: Vec<_> = answers.map(|answer| answer.unwrap().read_block.unwrap()).collect().await;
    let starts: Vec<u64> = answers.iter().map(|piece| piece.offset).collect();
    assert_eq!(starts, [16_384, 65_536, 100_000, 249_152, 298_304]);
    for piece in &answers {
        container::checksum::verify(&piece.checksum_data, &piece.data).unwrap();
        let start = piece.offset as usize;
        assert_eq!(piece.data, data[start..start + piece.data.len()]);
        assert!(piece.data.len() <= 50_000);
    }
    // A block of the future is not here: the stream fails, so that the client asks elsewhere.
    let later = types::BlockId { bcsid: id.bcsid + 100, ..id };
    let asked = futures::stream::iter([read(later.to_datanode(0), 0, 1)]);
    let mut answers = grpc.client.send(asked).await.unwrap().into_inner();
    assert!(answers.next().await.unwrap().is_err());
    cluster.stop().await;
}

/// One replica of an EC block group, written by a client that talks to every replica itself.
#[tokio::test(flavor = "multi_thread")]
async fn replicas_of_a_block_group_are_written_one_by_one() {
    let cluster = Cluster::start(1).await;
    let node = cluster.ids()[0];
    let mut grpc = Grpc::connect(&cluster, node).await;
    // Only what is meant for this node is written here.
    let request = |kind, container| ContainerCommandRequestProto {
        datanode_uuid: node.to_string(),
        ..request(kind, container)
    };
    let (id, data) = (block(8, 1), bytes(2, 10_000));
    let cells = [chunk_info(id, 1, 0, &data), chunk_info(id, 2, 10_000, &data)];
    let group = |chunks: &[dn::ChunkInfo], length: u64| {
        let mut block_data = dn::BlockData { size: None, ..block_data(id, chunks.to_vec()) };
        block_data.block_id = id.to_datanode(4);
        let length = Some(length.to_string());
        block_data.metadata.push(dn::KeyValue { key: "blockGroupLen".into(), value: length });
        let mut put = request(Type::PutBlock, 8);
        put.put_block = Some(dn::PutBlockRequestProto { block_data, eof: Some(false) });
        put
    };
    let mut listed = Vec::new();
    for (stripe, cell) in cells.iter().enumerate() {
        let mut write = request(Type::WriteChunk, 8);
        write.write_chunk = Some(dn::WriteChunkRequestProto {
            block_id: id.to_datanode(4),
            chunk_data: Some(cell.clone()),
            data: Some(data.clone()),
            block: None,
        });
        assert_eq!(grpc.send(write).await.result(), ResultCode::Success);
        // Parity replicas keep the checksums of the whole stripe.
        let sums = bytes(stripe as u64 + 1, 60);
        listed.push(dn::ChunkInfo { stripe_checksum: Some(sums), ..cell.clone() });
        let put = grpc.send(group(&listed, 30_000 * (stripe as u64 + 1))).await;
        assert_eq!(put.result(), ResultCode::Success, "{put:?}");
        let committed = put.put_block.unwrap().committed_block_length;
        assert_eq!(committed.block_length, 10_000 * (stripe as i64 + 1));
        assert_eq!(committed.block_id.replica_index(), 4);
    }
    let get = |index| {
        let mut get = request(Type::GetBlock, 8);
        get.get_block = Some(dn::GetBlockRequestProto { block_id: id.to_datanode(index) });
        get
    };
    let got = grpc.send(get(4)).await.get_block.unwrap().block_data;
    assert_eq!(got.chunks, listed);
    let length = got.metadata.iter().find(|entry| entry.key == "blockGroupLen").unwrap();
    assert_eq!(length.value(), "60000");
    // Another replica of the group is another container's replica.
    assert_eq!(grpc.send(get(3)).await.result(), ResultCode::ContainerNotFound);
    let mut stranger = group(&listed, 60_000);
    stranger.put_block.as_mut().unwrap().block_data.block_id = id.to_datanode(3);
    assert_ne!(grpc.send(stranger).await.result(), ResultCode::Success);

    // A replica without data in the group has a block without chunks, and says how long the group
    // is.
    let empty = block(9, 1);
    let mut put = request(Type::PutBlock, 9);
    let mut block_data = block_data(empty, Vec::new());
    block_data.block_id = empty.to_datanode(2);
    put.put_block = Some(dn::PutBlockRequestProto { block_data, eof: Some(true) });
    assert_eq!(grpc.send(put).await.result(), ResultCode::Success);
    let mut list = request(Type::ListBlock, 9);
    list.list_block = Some(dn::ListBlockRequestProto { start_local_id: None, count: 10 });
    assert_eq!(grpc.send(list).await.list_block.unwrap().block_data.len(), 1);
    let mut close = request(Type::CloseContainer, 9);
    close.close_container = Some(Default::default());
    assert_eq!(grpc.send(close).await.result(), ResultCode::Success);
    let container = grpc.send(request(Type::ReadContainer, 9)).await.read_container.unwrap();
    let state = container.container_data.unwrap().state();
    assert_eq!(state, dn::container_data_proto::State::Closed);
    cluster.stop().await;
}
