//! A service of one: typed responses, contexts, restarts, refused changes.

use std::path::Path;
use std::time::Duration;

use multiraft::{Change, HostOptions, LogOptions, Peer, ProposeError, TrimOptions};
use replicated::{ChangeMembersError, GroupOptions, Options, RaftLog, Service, TransferError};
use uuid::Uuid;

use crate::ledger::Ledger;

const NODE: Uuid = Uuid::from_u128(7);
const GROUP: Uuid = Uuid::from_u128(9);
const TIMEOUT: Duration = Duration::from_secs(30);

async fn open(dir: &Path) -> RaftLog {
    let home = dir.join("home");
    std::fs::create_dir_all(home.join("current")).unwrap();
    let options = Options {
        host: HostOptions::new(NODE),
        shared: false,
        home,
        log_dir: dir.join("log"),
        log: LogOptions::default(),
    };
    RaftLog::open(options).await.unwrap()
}

async fn start(dir: &Path) -> Service<Ledger> {
    let log = open(dir).await;
    let options = GroupOptions {
        id: GROUP,
        peers: vec![Peer { node: NODE, address: String::new(), priority: 0 }],
        joined: None,
        trim: TrimOptions::default(),
    };
    let tables = dir.join("tables");
    let machine = Ledger::open(&tables, None).unwrap();
    let again = move || Ledger::open(&tables, None);
    let service = log.start(options, machine, again).await.unwrap();
    service.handle().lead(TIMEOUT).await.unwrap();
    service
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_is_answered_with_its_context_and_replayed_without() {
    let dir = tempfile::tempdir().unwrap();
    assert!(!open_and_close(dir.path()).await, "an empty log has no group");
    let service = start(dir.path()).await;
    let group = service.handle().group().clone();
    let applied = group.propose(5, "five".to_owned()).await.unwrap();
    assert_eq!(applied.response, (5, Some("five".to_owned())));
    let applied = group.propose(6, "six".to_owned()).await.unwrap();
    assert_eq!(applied.response, (11, Some("six".to_owned())));
    service.close().await;
    assert!(matches!(
        group.propose(1, String::new()).await,
        Err(ProposeError::Shutdown | ProposeError::NotLeader { .. })
    ));

    assert!(open_and_close(dir.path()).await);
    let service = start(dir.path()).await;
    let applied = service.handle().group().propose(1, "one".to_owned()).await.unwrap();
    assert_eq!(applied.response, (12, Some("one".to_owned())), "the log was replayed");
    service.close().await;
}

/// Returns `true` if the log contains the group.
async fn open_and_close(dir: &Path) -> bool {
    let log = open(dir).await;
    let holds = log.holds(GROUP);
    log.close().await;
    holds
}

#[tokio::test(flavor = "multi_thread")]
async fn many_commands_at_a_time_get_their_own_answers() {
    let dir = tempfile::tempdir().unwrap();
    let service = start(dir.path()).await;
    let group = service.handle().group();
    let all = (0..500_u64).map(|n| group.propose(1, n.to_string()));
    let mut sums = Vec::new();
    for (n, applied) in futures::future::join_all(all).await.into_iter().enumerate() {
        let (sum, context) = applied.unwrap().response;
        assert_eq!(context, Some(n.to_string()));
        sums.push(sum);
    }
    sums.sort_unstable();
    assert_eq!(sums, (1..=500).collect::<Vec<_>>());
    service.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_only_member_keeps_its_place() {
    let dir = tempfile::tempdir().unwrap();
    let service = start(dir.path()).await;
    let handle = service.handle();
    assert_eq!(handle.transfer_leadership(Some(NODE), TIMEOUT).await, Ok(()));
    let other = Uuid::from_u128(8);
    let only = Err(TransferError::OnlyMember);
    assert_eq!(handle.transfer_leadership(Some(other), TIMEOUT).await, only);
    assert_eq!(handle.transfer_leadership(None, TIMEOUT).await, only);
    let refused = handle.change_members(Change::Remove(NODE)).await.unwrap_err();
    assert!(matches!(refused, ChangeMembersError::Refused(_)), "{refused}");
    handle.hand_over(TIMEOUT).await;
    assert!(handle.group().is_leader());
    service.close().await;
}
