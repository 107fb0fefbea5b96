//! Election state of a replica.

use std::time::Duration;

use super::members::MemberCore;
use crate::options::HostOptions;

/// Election state of a replica: as a candidate, as the leader, and during a leader transfer.
pub(crate) struct Leadership {
    /// Campaign without waiting for an election timeout, until a leader is known.
    pub(in crate::event_loop) eager: bool,
    /// Remaining ticks without participation in elections.
    pub(in crate::event_loop) lockout: usize,
    /// Last index at the start of this replica's leadership: it serves once that is applied.
    pub(in crate::event_loop) serve_from: Option<u64>,
    pub(in crate::event_loop) ticks: u64,
    pub(in crate::event_loop) election_ticks: u64,
    pub(in crate::event_loop) heartbeat_ticks: u64,
    /// Ticks since leadership was lost with proposals in flight.
    pub(in crate::event_loop) lost: Option<u64>,
    /// Term in which this replica tried to transfer leadership. `TimeoutNow` may arrive late and
    /// overrides the followers' lease, so this replica has no lease in that term any more.
    pub(crate) handed_over: u64,
    /// First tick at which leadership may be transferred to a member of higher priority.
    pub(in crate::event_loop) hand_over_from: u64,
    /// Delay of the next attempt in ticks.
    pub(in crate::event_loop) hand_over_wait: u64,
    pub(crate) election_timeout: Duration,
    pub(crate) lease: Duration,
}

impl Leadership {
    pub(crate) fn new(
        members: &[MemberCore],
        me: u64,
        options: &HostOptions,
        lease_reads: bool,
        known_before: bool,
    ) -> Self {
        let rank = |m: &&MemberCore| (m.priority, std::cmp::Reverse(m.target.node));
        let voters = members.iter().filter(|m| m.role.votes());
        let first = voters.max_by_key(rank).map(|m| m.raft_id);
        let ticks = options.election_ticks();
        let election_timeout = options.tick * ticks as u32;
        let lease = if lease_reads { election_timeout / 3 } else { Duration::ZERO };
        // One tick more than the lease, and the tick in progress.
        let lease_ticks = lease.as_nanos().div_ceil(options.tick.as_nanos().max(1)) as usize + 2;
        let locked = lease_reads && known_before && members.len() > 1;
        Self {
            eager: first == Some(me),
            lockout: if locked { lease_ticks } else { 0 },
            serve_from: None,
            ticks: 0,
            election_ticks: ticks as u64,
            heartbeat_ticks: options.heartbeat_ticks() as u64,
            lost: None,
            handed_over: 0,
            hand_over_from: 0,
            hand_over_wait: ticks as u64,
            election_timeout,
            lease,
        }
    }

    /// Ticks of an election timeout.
    pub(crate) fn election_ticks(&self) -> u64 {
        self.election_ticks
    }

    /// Returns `true` while this replica neither votes nor campaigns.
    pub(crate) fn locked_out(&self) -> bool {
        self.lockout > 0
    }
}
