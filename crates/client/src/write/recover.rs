//! What to do about a failed block: the failure table of Ozone's writer.
//!
//! | failure | what is avoided from now on | where the data goes |
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

use super::ExcludeList;
use super::block::BlockWriter;
use crate::Error;
use crate::datanode::Failure;

/// How long a pipeline may be without a leader before its blocks are written elsewhere. An election
/// takes a second or so; another pipeline is there at once.
const ELECTION_TIMEOUT: Duration = Duration::from_secs(3);

/// The same when there is no other pipeline: the members that are left elect a leader.
const ONLY_PIPELINE_ELECTION_TIMEOUT: Duration = Duration::from_secs(15);

/// A member that still names a leader after this time, longer than an election takes, has heard
/// from it: then the leader is tried although it could not be reached lately. It was started again.
const LEADER_CONFIRMED_AFTER: Duration = Duration::from_secs(2);

/// How long a busy pipeline is waited for.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(20);

/// First delay before a retry.
pub(super) const MIN_RETRY_DELAY: Duration = Duration::from_millis(20);

/// Longest delay before a retry.
pub(super) const MAX_RETRY_DELAY: Duration = Duration::from_millis(500);

/// What a writer does next.
pub(super) enum Remedy {
    /// Send what is not durable again, in the same block.
    Resend {
        /// To this member; to the next one when it is unknown.
        leader: Option<DatanodeId>,
        /// To the member that answered.
        same: bool,
        /// After this pause.
        pause: Duration,
    },
    /// Write what is not durable to a new block.
    NewBlock(Error),
    /// Give up.
    Fail(Error),
}

/// The retries of one block since something was acknowledged.
#[derive(Default)]
pub(super) struct BlockRetries {
    since: Option<Instant>,
    resent: u32,
}

impl BlockRetries {
    /// Something was acknowledged.
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

    /// What to do about `failure`, and what to avoid because of it.
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
                // The first hint is followed at once; members that name each other are not asked in
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
