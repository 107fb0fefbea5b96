//! Groups that fail and are restarted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use bytes::Bytes;
use multiraft::{
    Committed, FailureCause, GroupHealth, LogPosition, MachineError, NoRoom, Proposal,
    RestartPolicy, SnapshotSource, StateMachine, Supervisor,
};

use crate::support::{Cluster, Recorder, until};

/// Faults of a machine.
#[derive(Default)]
struct Trouble {
    /// Number of remaining panics.
    panics: AtomicU32,
    /// Returns errors while set.
    refuses: AtomicBool,
    /// Has no disk space while set.
    full: AtomicBool,
}

impl Trouble {
    fn room(&self) -> Result<(), MachineError> {
        match self.full.load(Ordering::SeqCst) {
            true => Err(NoRoom("the disk is full".to_owned()).into()),
            false => Ok(()),
        }
    }
}

/// A recorder with injected faults.
struct Shaky {
    recorder: Recorder,
    trouble: Arc<Trouble>,
}

impl StateMachine for Shaky {
    fn applied(&self) -> LogPosition {
        self.recorder.applied()
    }

    fn apply(&mut self, entries: &mut [Committed]) -> Result<Vec<Bytes>, MachineError> {
        let left = self.trouble.panics.load(Ordering::SeqCst);
        if left > 0 {
            self.trouble.panics.store(left - 1, Ordering::SeqCst);
            panic!("a bug of a moment");
        }
        if self.trouble.refuses.load(Ordering::SeqCst) {
            return Err("a bug that stays".into());
        }
        self.trouble.room()?;
        self.recorder.apply(entries)
    }

    fn flush(&mut self) -> Result<LogPosition, MachineError> {
        self.recorder.flush()
    }

    fn snapshot(&mut self) -> Result<SnapshotSource, MachineError> {
        self.recorder.snapshot()
    }

    fn restore(&mut self, source: SnapshotSource, at: LogPosition) -> Result<(), MachineError> {
        self.recorder.restore(source, at)
    }
}

fn policy() -> RestartPolicy {
    RestartPolicy {
        first_pause: Duration::from_millis(10),
        longest_pause: Duration::from_millis(40),
        tries: 4,
        ..RestartPolicy::default()
    }
}

/// Injects `trouble` into `n`'s machine, and restarts the group after a failure.
async fn shaky(cluster: &Cluster, n: usize) -> (Arc<Trouble>, Supervisor) {
    let trouble = Arc::<Trouble>::default();
    let (store, of) = (cluster.nodes[n].store.clone(), trouble.clone());
    let make = move || {
        of.room()?;
        let recorder = Recorder { store: store.clone(), dir: None };
        let machine: Box<dyn StateMachine> = Box::new(Shaky { recorder, trouble: Arc::clone(&of) });
        Ok(machine)
    };
    let host = cluster.nodes[n].host.clone().unwrap();
    host.restart_group(cluster.id, make.clone()).await.unwrap();
    let supervisor = host.supervise(&cluster.group(n), policy(), make);
    (trouble, supervisor)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_whose_machine_panics_comes_back_and_has_everything() {
    for size in [1, 3] {
        let cluster = Cluster::started(size);
        let all: Vec<usize> = (0..size).collect();
        cluster.put(&all, "before").await;
        let leader = cluster.leader().await;
        let (trouble, supervisor) = shaky(&cluster, leader).await;
        // It may lead or follow by now; the panic occurs with the next entry either way.
        cluster.leader().await;
        trouble.panics.store(2, Ordering::SeqCst);
        let group = cluster.group(leader);
        let mut proposed = 0;
        while supervisor.restarts() < 2 {
            let by = cluster.leader_of(&all).await;
            // Some of them are answered by a failing group; they are in the log regardless.
            let taken =
                cluster.group(by).propose(Proposal::new(format!("during {proposed}"))).await;
            proposed += u32::from(taken.is_ok());
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        until("it works", async || supervisor.health() == GroupHealth::Works).await;
        assert_eq!(group.failure(), None);
        let last = cluster.put(&all, "after").await;
        // The earlier handle is still valid.
        group.wait_applied(last.index).await.unwrap();
        let held = cluster.entries(leader);
        assert!(held.len() >= 2 + proposed as usize, "{} of {proposed}", held.len());
        until("all replicas agree", async || all.iter().all(|n| cluster.entries(*n) == held)).await;
        cluster.shutdown().await;
    }
}

/// However long that takes, and however often it happens.
#[tokio::test(flavor = "multi_thread")]
async fn a_group_without_room_waits_for_it_and_is_not_given_up() {
    let cluster = Cluster::started(3);
    let all = [0, 1, 2];
    cluster.put(&all, "before").await;
    let victim = cluster.leader().await;
    let (trouble, supervisor) = shaky(&cluster, victim).await;
    cluster.leader().await;
    let others: Vec<usize> = all.into_iter().filter(|n| *n != victim).collect();
    for round in 0..3 {
        trouble.full.store(true, Ordering::SeqCst);
        let mut changes = supervisor.changes();
        while supervisor.health() == GroupHealth::Works {
            let by = cluster.leader_of(&all).await;
            // A leader that fails with it does not respond.
            let _ = cluster.group(by).propose(Proposal::new(format!("full {round}"))).await;
        }
        let mut tries = 0;
        // More than it would have if they counted.
        while tries < 2 * policy().tries {
            changes.changed().await.unwrap();
            let health = changes.borrow_and_update().clone();
            assert!(!matches!(health, GroupHealth::Failed(_)), "{health:?}");
            tries += u32::from(matches!(
                health,
                GroupHealth::Restarting { failure, .. } if failure.cause == FailureCause::Room
            ));
        }
        cluster.put(&others, "meanwhile").await;
        trouble.full.store(false, Ordering::SeqCst);
        until("it works", async || supervisor.health() == GroupHealth::Works).await;
        let last = cluster.put(&all, "after").await;
        cluster.group(victim).wait_applied(last.index).await.unwrap();
    }
    let held = cluster.entries(victim);
    until("all replicas agree", async || all.iter().all(|n| cluster.entries(*n) == held)).await;
    cluster.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_that_fails_every_time_is_given_up_and_the_others_go_on() {
    let cluster = Cluster::started(3);
    let all = [0, 1, 2];
    cluster.put(&all, "before").await;
    let victim = (cluster.leader().await + 1) % 3;
    let (trouble, supervisor) = shaky(&cluster, victim).await;
    trouble.refuses.store(true, Ordering::SeqCst);
    let others: Vec<usize> = all.into_iter().filter(|n| *n != victim).collect();
    let mut put = 0;
    let failed = supervisor.failed();
    tokio::pin!(failed);
    let failure = loop {
        tokio::select! {
            failure = &mut failed => break failure,
            _ = cluster.put(&others, "during") => put += 1,
        }
    };
    assert_eq!(failure.cause, FailureCause::Machine);
    assert!(failure.reason.contains("a bug that stays"), "{failure}");
    assert_eq!(supervisor.restarts(), 4, "that is all its tries");
    assert!(supervisor.health().trouble().unwrap().contains("permanently"));
    cluster.put(&others, "after").await;
    assert!(put > 0);
    cluster.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_at_a_group_that_fails_is_answered() {
    let cluster = Cluster::started(1);
    cluster.put(&[0], "before").await;
    let (trouble, supervisor) = shaky(&cluster, 0).await;
    cluster.leader().await;
    trouble.refuses.store(true, Ordering::SeqCst);
    let group = cluster.group(0);
    let waiting = group.wait_applied(1000);
    let proposed = group.propose(Proposal::new("never answered?"));
    let (waited, answered) = tokio::join!(waiting, proposed);
    assert!(waited.is_err() && answered.is_err());
    trouble.refuses.store(false, Ordering::SeqCst);
    // It is in the log, and is applied after the restart.
    until("it works", async || {
        supervisor.health() == GroupHealth::Works && cluster.entries(0).len() == 2
    })
    .await;
    cluster.put(&[0], "after").await;
    cluster.shutdown().await;
}
