//! Reactions to a failed block: the failure table of Ozone's writer.
//!
//! | failure | excluded | destination of the data |
//! | --- | --- | --- |
//! | not the leader | nothing | the same block, through the leader |
//! | busy | nothing | the same block, a little later |
//! | container closed, or any other code of the container protocol | the container | a new block |
//! | disk full | the pipeline | a new block |
//! | DataNode unreachable | the DataNode and the pipeline | a new block; the same through another member when there is no other pipeline |
//! | pipeline gone or broken, no answer in time | the pipeline | a new block |

use std::time::Duration;

use proto::datanode::Result as ContainerResult;
use tokio::time::Instant;
use types::DatanodeId;

use super::block::BlockWriter;
use crate::Error;
use crate::datanode::Failure;
use crate::exclude::ExcludeList;

/// Time for which a pipeline may be without a leader before its blocks are written elsewhere. An
/// election takes about a second; another pipeline is available at once.
const ELECTION_TIMEOUT: Duration = Duration::from_secs(3);

/// The same if there is no other pipeline: the remaining members elect a leader.
const ONLY_PIPELINE_ELECTION_TIMEOUT: Duration = Duration::from_secs(15);

/// Time, longer than an election, after which a member that still names a leader must have heard
/// from it: then the leader is tried although it was unreachable recently, because it has
/// restarted.
const LEADER_CONFIRMED_AFTER: Duration = Duration::from_secs(2);

/// Time for which a busy pipeline is retried.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(20);

/// Minimum delay before a retry.
pub(super) const MIN_RETRY_DELAY: Duration = Duration::from_millis(20);

/// Maximum delay before a retry.
pub(super) const MAX_RETRY_DELAY: Duration = Duration::from_millis(500);

/// Next action of a writer.
pub(super) enum Remedy {
    /// Send the data that is not durable again, in the same block.
    Resend {
        /// To this member; to the next one if it is unknown.
        leader: Option<DatanodeId>,
        /// To the member that responded.
        same: bool,
        /// After this pause.
        pause: Duration,
    },
    /// Write the data that is not durable to a new block.
    NewBlock(Error),
    /// Fail.
    Fail(Error),
}

/// The retries of one block since the last acknowledgement.
#[derive(Default)]
pub(super) struct BlockRetries {
    since: Option<Instant>,
    resent: u32,
}

impl BlockRetries {
    /// Resets the counts after an acknowledgement.
    pub(super) fn reset(&mut self) {
        *self = Self::default();
    }

    fn pause(&mut self) -> Duration {
        self.resent += 1;
        MIN_RETRY_DELAY.saturating_mul(1 << self.resent.min(5)).min(MAX_RETRY_DELAY)
    }

    fn within(&mut self, limit: Duration) -> bool {
        self.since.get_or_insert_with(Instant::now).elapsed() < limit
    }

    /// Chooses the reaction to `failure`, and records what to avoid because of it.
    pub(super) fn remedy(
        &mut self,
        failure: Failure,
        block: &BlockWriter,
        excluded: &ExcludeList,
    ) -> Remedy {
        let node = block.node().id;
        let pipeline = block.pipeline();
        let member = |id: &DatanodeId| {
            *id != node && pipeline.member(*id).is_some() && !excluded.avoids_datanode(*id)
        };
        let election = match block.is_reluctant() {
            true => ONLY_PIPELINE_ELECTION_TIMEOUT,
            false => ELECTION_TIMEOUT,
        };
        match &failure {
            Failure::NotLeader(hint) if self.within(election) => {
                let waited =
                    self.since.is_some_and(|since| since.elapsed() >= LEADER_CONFIRMED_AFTER);
                if let Some(named) = hint.filter(|id| waited && *id != node) {
                    excluded.remove(named);
                }
                let leader = hint.filter(member);
                // The first hint is followed at once; members that name each other are not tried in
                // a tight loop.
                let pause = match leader {
                    Some(_) if self.resent == 0 => {
                        self.resent += 1;
                        Duration::ZERO
                    }
                    _ => self.pause(),
                };
                return Remedy::Resend { leader, same: false, pause };
            }
            Failure::Busy(_) if self.within(BUSY_TIMEOUT) => {
                return Remedy::Resend { leader: None, same: true, pause: self.pause() };
            }
            Failure::Unreachable(_) if block.is_reluctant() && self.within(election) => {
                excluded.datanode(node);
                return Remedy::Resend { leader: None, same: false, pause: self.pause() };
            }
            Failure::NotLeader(_) | Failure::Busy(_) => excluded.pipeline(pipeline.id),
            Failure::Refused(Error::Container { result, .. }) => match result {
                ContainerResult::DiskOutOfSpace => excluded.pipeline(pipeline.id),
                _ => excluded.container(block.id().container),
            },
            Failure::Refused(_) => excluded.container(block.id().container),
            Failure::Unreachable(_) => {
                excluded.datanode(node);
                excluded.pipeline(pipeline.id);
            }
            Failure::NoPipeline(_) | Failure::TimedOut(_) => excluded.pipeline(pipeline.id),
            Failure::Other(error) => return Remedy::Fail(error.clone()),
        }
        Remedy::NewBlock(failure.into_error(node))
    }
}
