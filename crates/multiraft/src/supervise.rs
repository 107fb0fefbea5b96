//! A group that fails is started again, with pauses that grow, and given up after some tries.
//!
//! A failure is often one of a moment: a bug that needs a certain order of events. Then the log and
//! the store still hold everything, and the group goes on from there. One that comes back with each
//! try does not: the group is given up, and the owner of the process decides what follows. A disk
//! that is full is neither: it is waited for until somebody makes room.

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

/// Pause before it is seen again whether there is room.
const ROOM_PAUSE: Duration = Duration::from_secs(1);

/// How often, and when, a failed group is started again.
#[derive(Debug, Clone)]
pub struct RestartPolicy {
    /// Pause before the first try.
    pub first_pause: Duration,
    /// Each pause is twice the one before, up to this.
    pub longest_pause: Duration,
    /// Tries before the group is given up. Those for which there was no room do not count.
    pub tries: u32,
    /// A group that worked for this long has all its tries again.
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

/// How a supervised group is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GroupHealth {
    /// It works, as far as is known.
    Works,
    /// It failed and is started again.
    Restarting {
        /// Why it failed.
        failure: GroupFailure,
        /// Which try comes next, from 1.
        attempt: u32,
    },
    /// It failed for good.
    Failed(GroupFailure),
}

impl GroupHealth {
    /// Why it does not work now.
    pub fn trouble(&self) -> Option<String> {
        match self {
            Self::Works => None,
            Self::Restarting { failure, attempt } => Some(format!(
                "raft group failed and is started again (attempt {attempt}): {failure}"
            )),
            Self::Failed(failure) => Some(format!("raft group failed for good: {failure}")),
        }
    }
}

/// Watches over one group, until it is dropped.
#[derive(Debug)]
pub struct Supervisor {
    health: watch::Receiver<GroupHealth>,
    restarts: Arc<AtomicU64>,
    /// Whether it has ended; locked while the group is started again.
    ended: Arc<Mutex<bool>>,
    task: parking_lot::Mutex<Option<JoinHandle<()>>>,
}

impl Supervisor {
    /// Leaves the group alone: when this returns no restart is under way, none follows, and what
    /// the machines are made from is let go of. Before a group is stopped.
    pub async fn end(&self) {
        *self.ended.lock().await = true;
        let task = self.task.lock().take();
        if let Some(task) = task {
            task.abort();
            // It ends by that, or has ended.
            let _ = task.await;
        }
    }

    /// How the group is now.
    pub fn health(&self) -> GroupHealth {
        self.health.borrow().clone()
    }

    /// Notified when that changes.
    pub fn changes(&self) -> watch::Receiver<GroupHealth> {
        self.health.clone()
    }

    /// How often the group was started again.
    pub fn restarts(&self) -> u64 {
        self.restarts.load(Ordering::Relaxed)
    }

    /// Returns once the group has failed for good, with the reason.
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
    /// Watches over a group: when it fails it is started again with a state machine that `machine`
    /// makes. The handles of the group stay valid. Must be called within a tokio runtime.
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
                tracing::error!(group = %self.group.id(), %failure, tries = attempt - 1, "raft group is given up on this node");
                self.health.send_replace(GroupHealth::Failed(failure));
                return;
            }
            let pause = if waits { ROOM_PAUSE.min(self.policy.longest_pause) } else { longer };
            tracing::warn!(group = %self.group.id(), %failure, attempt, ?pause, "raft group is started again");
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
                let reason = format!("it does not start again: {error}");
                self.group.shared.failure.send_replace(Some(GroupFailure { cause, reason }));
                continue;
            }
            self.restarts.fetch_add(1, Ordering::Relaxed);
            since = tokio::time::Instant::now();
            self.health.send_replace(GroupHealth::Works);
        }
    }
}
