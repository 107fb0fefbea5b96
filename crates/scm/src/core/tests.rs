//! A newly elected SCM that has not yet applied the entries committed by its predecessors.

use std::sync::mpsc;

use config::Configuration;
use placement::{Change, Decision, Order, OrderKind, Sequence};
use testkit::{free_addresses, until};
use types::{ContainerId, DatanodeId};

use crate::{Scm, ScmHandle};

async fn three(dir: &std::path::Path) -> Vec<ScmHandle> {
    let at = free_addresses(12);
    let mut conf = Configuration::default()
        .with("ozone.scm.service.ids", "s")
        .with("ozone.scm.nodes.s", "scm1,scm2,scm3")
        .with("ozone.scm.http.enabled", "false");
    for (n, at) in at.chunks(4).enumerate() {
        let node = format!("scm{}", n + 1);
        for (key, value) in [
            ("client.address", at[0].to_string()),
            ("block.client.address", at[1].to_string()),
            ("datanode.address", at[2].to_string()),
            ("ratis.port", at[3].port().to_string()),
            ("db.dirs", dir.join(&node).display().to_string()),
        ] {
            conf = conf.with(&format!("ozone.scm.{key}.s.{node}"), value);
        }
    }
    let of = |node: &str| conf.clone().with("ozone.scm.node.id", node);
    let (a, b, c) = (of("scm1"), of("scm2"), of("scm3"));
    let (a, b, c) = tokio::join!(Scm::start(&a), Scm::start(&b), Scm::start(&c));
    vec![a.unwrap(), b.unwrap(), c.unwrap()]
}

/// Holds up what an SCM applies, from the call until the sender is dropped.
fn hold_up(scm: &ScmHandle) -> mpsc::Sender<()> {
    let (release, released) = mpsc::channel::<()>();
    let (locked, is_locked) = mpsc::channel();
    let core = scm.core().clone();
    std::thread::spawn(move || {
        let _cluster = core.cluster();
        locked.send(()).unwrap();
        let _ = released.recv();
    });
    is_locked.recv().unwrap();
    release
}

/// Tasks of the SCM that is held up keep threads waiting.
#[tokio::test(flavor = "multi_thread", worker_threads = 48)]
async fn an_scm_that_lacks_what_was_committed_before_it_carries_no_decision_out() {
    let dir = tempfile::tempdir().unwrap();
    let scms = three(dir.path()).await;
    until("one leads", async || scms.iter().any(ScmHandle::leads)).await;
    let first = scms.iter().position(ScmHandle::leads).unwrap();
    let next = (first + 1) % 3;
    until("the next one follows", async || scms[next].leader() == Some(scms[first].scm_id())).await;

    let release = hold_up(&scms[next]);
    let (sequence, expected) = (Sequence::DelTxnId, 0);
    let reserve = Change::ReserveIds { sequence, expected, last: 10 };
    scms[first].core().propose_one(reserve).await.unwrap();
    let to = Some(scms[next].scm_id());
    scms[first].core().raft().transfer_leadership(to, testkit::LIMIT).await.unwrap();
    let (core, node) = (scms[next].core().clone(), DatanodeId::random());
    until("it is elected", async || core.group().is_leader()).await;
    assert!(!core.group().leader().ready, "it lacks the last entry");

    let kind = OrderKind::DeleteContainer { id: ContainerId(7), index: 3, force: true };
    let order =
        || Decision { orders: vec![Order { node, kind: kind.clone() }], ..Decision::default() };
    let (decision, deciding) = (order(), core.clone());
    let (done, is_done) = mpsc::channel();
    std::thread::spawn(move || {
        deciding.carry_out(decision);
        let _ = done.send(());
    });
    let dropped =
        tokio::task::spawn_blocking(move || is_done.recv_timeout(testkit::LIMIT)).await.unwrap();
    drop(release);
    assert!(dropped.is_ok(), "it looks into a cluster that it does not know yet");
    until("it has applied what was committed", async || scms[next].leads()).await;
    assert!(core.commands.drain(node).is_empty(), "a container was ordered away");
    assert_eq!(core.cluster().sequences.last(sequence), 10);
    core.carry_out(order());
    assert_eq!(core.commands.drain(node), [kind]);
    for scm in scms {
        scm.shutdown().await;
    }
}
