//! Restarts a failed group, with growing pauses, and gives up after some attempts.
//!
//! A failure is often transient: a bug that depends on the order of events. Then the log and the
//! store still hold everything, and the group continues from there. A failure that recurs on each
//! attempt is not: the group is given up, and the owner of the process decides what follows. A full
//! disk is neither: the supervisor waits until there is space.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::{Mutex, watch};
use tokio::task::JoinHandle;

use crate::error::GroupError;
use crate::failure::{FailureCause, GroupFailure};
use crate::group::Group;
use crate::host::RaftHost;
use crate::machine::{MachineError, StateMachine};

/// Delay between checks for disk space.
const ROOM_PAUSE: Duration = Duration::from_secs(1);

/// Restart attempts of a failed group.
#[derive(Debug, Clone)]
pub struct RestartPolicy {
    /// Pause before the first attempt.
    pub first_pause: Duration,
    /// Each pause is twice the previous one, up to this.
    pub longest_pause: Duration,
    /// Attempts before the group is given up. Those that failed for lack of disk space do not
    /// count.
    pub tries: u32,
    /// Time without a failure after which a group has all its attempts again.
    pub forgiven_after: Duration,
}

impl Default for RestartPolicy {
    fn default() -> Self {
        Self {
            first_pause: Duration::from_millis(200),
            longest_pause: Duration::from_secs(10),
            tries: 5,
            forgiven_after: Duration::from_secs(600),
        }
    }
}

/// Health of a supervised group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GroupHealth {
    /// Running, as far as known.
    Works,
    /// Failed, and about to be restarted.
    Restarting {
        /// The failure.
        failure: GroupFailure,
        /// Number of the next attempt, from 1.
        attempt: u32,
    },
    /// Failed permanently.
    Failed(GroupFailure),
}

impl GroupHealth {
    /// The reason why it is not running.
    pub fn trouble(&self) -> Option<String> {
        match self {
            Self::Works => None,
            Self::Restarting { failure, attempt } => Some(format!(
                "raft group failed and is being restarted (attempt {attempt}): {failure}"
            )),
            Self::Failed(failure) => Some(format!("raft group failed permanently: {failure}")),
        }
    }
}

/// Supervises one group until dropped.
#[derive(Debug)]
pub struct Supervisor {
    health: watch::Receiver<GroupHealth>,
    restarts: Arc<AtomicU64>,
    /// True once it has ended; locked during a restart of the group.
    ended: Arc<Mutex<bool>>,
    task: parking_lot::Mutex<Option<JoinHandle<()>>>,
}

impl Supervisor {
    /// Ends the supervision: on return no restart is in progress, none follows, and the factory of
    /// machines is dropped. Call it before stopping a group.
    pub async fn end(&self) {
        *self.ended.lock().await = true;
        let task = self.task.lock().take();
        if let Some(task) = task {
            task.abort();
            // The group ends by that, or has ended.
            let _ = task.await;
        }
    }

    /// The group's current health.
    pub fn health(&self) -> GroupHealth {
        self.health.borrow().clone()
    }

    /// Notifies of changes of it.
    pub fn changes(&self) -> watch::Receiver<GroupHealth> {
        self.health.clone()
    }

    /// Number of restarts of the group.
    pub fn restarts(&self) -> u64 {
        self.restarts.load(Ordering::Relaxed)
    }

    /// Returns the failure once the group has failed permanently.
    pub async fn failed(&self) -> GroupFailure {
        let mut changes = self.health.clone();
        let is_final = |health: &GroupHealth| matches!(health, GroupHealth::Failed(_));
        let failure = match changes.wait_for(is_final).await.as_deref() {
            Ok(GroupHealth::Failed(failure)) => Some(failure.clone()),
            _ => None,
        };
        match failure {
            Some(failure) => failure,
            // The host was shut down.
            None => std::future::pending().await,
        }
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        if let Some(task) = self.task.get_mut() {
            task.abort();
        }
    }
}

impl RaftHost {
    /// Supervises a group: after a failure it is restarted with a state machine created by
    /// `machine`. The handles of the group stay valid. Must be called within a tokio runtime.
    pub fn supervise<F>(&self, group: &Group, policy: RestartPolicy, machine: F) -> Supervisor
    where
        F: Fn() -> Result<Box<dyn StateMachine>, MachineError> + Send + Sync + 'static,
    {
        let (sender, health) = watch::channel(GroupHealth::Works);
        let restarts = Arc::<AtomicU64>::default();
        let ended = Arc::<Mutex<bool>>::default();
        let watching = Watching {
            host: self.clone(),
            group: group.clone(),
            policy,
            machine: Arc::new(machine),
            health: sender,
            restarts: restarts.clone(),
            ended: ended.clone(),
        };
        let task = parking_lot::Mutex::new(Some(tokio::spawn(watching.run())));
        Supervisor { health, restarts, ended, task }
    }
}

struct Watching<F> {
    host: RaftHost,
    group: Group,
    policy: RestartPolicy,
    machine: Arc<F>,
    health: watch::Sender<GroupHealth>,
    restarts: Arc<AtomicU64>,
    ended: Arc<Mutex<bool>>,
}

impl<F> Watching<F>
where
    F: Fn() -> Result<Box<dyn StateMachine>, MachineError> + Send + Sync + 'static,
{
    async fn run(self) {
        let mut failures = self.group.failures();
        let (mut attempt, mut longer) = (0, self.policy.first_pause);
        let mut since = tokio::time::Instant::now();
        loop {
            let failure = match failures.wait_for(Option::is_some).await.as_deref() {
                Ok(Some(failure)) => failure.clone(),
                _ => return,
            };
            if since.elapsed() >= self.policy.forgiven_after {
                (attempt, longer) = (0, self.policy.first_pause);
            }
            let waits = failure.cause == FailureCause::Room;
            attempt += u32::from(!waits);
            if failure.cause.is_final() || attempt > self.policy.tries {
                tracing::error!(group = %self.group.id(), %failure, tries = attempt - 1, "raft group failed permanently on this node");
                self.health.send_replace(GroupHealth::Failed(failure));
                return;
            }
            let pause = if waits { ROOM_PAUSE.min(self.policy.longest_pause) } else { longer };
            tracing::warn!(group = %self.group.id(), %failure, attempt, ?pause, "restarting failed raft group");
            let attempt = attempt.max(1);
            self.health.send_replace(GroupHealth::Restarting { failure, attempt });
            tokio::time::sleep(pause).await;
            if !waits {
                longer = (longer * 2).min(self.policy.longest_pause);
            }
            let machine = self.machine.clone();
            let ended = self.ended.lock().await;
            if *ended {
                return;
            }
            let cause = Arc::new(parking_lot::Mutex::new(FailureCause::Machine));
            let make = {
                let cause = cause.clone();
                move || machine().inspect_err(|error| *cause.lock() = FailureCause::of(error))
            };
            if let Err(error) = self.host.restart_group(self.group.id(), make).await {
                if matches!(error, GroupError::Shutdown) {
                    return;
                }
                // It is still failed, with this as the latest reason.
                let cause = match error {
                    GroupError::Log(_) => FailureCause::Log,
                    _ => *cause.lock(),
                };
                let reason = format!("restart failed: {error}");
                self.group.shared.failure.send_replace(Some(GroupFailure { cause, reason }));
                continue;
            }
            self.restarts.fetch_add(1, Ordering::Relaxed);
            since = tokio::time::Instant::now();
            self.health.send_replace(GroupHealth::Works);
        }
    }
}
