//! SCM's response to `o3 admin deletion status`.

use proto::deletion_status::{DeletionStatusRequest, DeletionStatusResponse};
use proto::hdds::BlockId;
use proto::method;
use testkit::until;

use crate::harness::Harness;

async fn status(h: &Harness) -> DeletionStatusResponse {
    let request = DeletionStatusRequest { user: "ann".to_owned() };
    let method = method::DELETION_STATUS;
    framed::message::call(&h.client, method, &request, testkit::LIMIT).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_node_that_holds_a_deletion_up_is_named_and_how_it_is() {
    let h = Harness::start().await;
    let mut nodes = h.datanodes(3).await;
    let silent = nodes.remove(0);
    silent.disk.lock().acknowledges = false;
    let container_block_id = h.allocate(1).await.remove(0).container_block_id.unwrap();
    h.delete("key", vec![BlockId { container_block_id, ..BlockId::default() }]).await;
    until("one node is left", async || {
        let status = status(&h).await;
        status.nodes.len() == 1 && status.stages[0].rows == 1
    })
    .await;
    let told = status(&h).await;
    assert!(told.active);
    let node = &told.nodes[0];
    assert_eq!(
        (node.uuid.as_str(), node.transactions, node.blocks),
        (&*silent.id.to_string(), 1, 1)
    );
    let stage = &told.stages[0];
    assert_eq!((stage.blocks, stage.bytes, stage.more), (1, 300, false));
    assert!(stage.oldest().starts_with("transaction "), "{stage:?}");
    let waits_for = format!("confirmation by datanode {} (localhost), HEALTHY", silent.id);
    assert!(stage.waits_for().starts_with(&waits_for), "{stage:?}");

    let id = silent.id;
    h.dies(silent).await;
    let dead = format!("confirmation by datanode {id} (localhost), DEAD");
    until("it is dead", async || {
        let told = status(&h).await;
        if told.stages[0].waits_for().starts_with(&dead) { Ok(()) } else { Err(told) }
    })
    .await;
    h.scm.shutdown().await;
}
