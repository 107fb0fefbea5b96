//! A node's stored state of a group at its start: its members, and whether this replica may lack
//! entries it once confirmed.
//!
//! A replica that lost its log may have given votes and confirmed entries without any record of
//! them. Two records elsewhere reveal it: the log's manifest names the group, or the state machine
//! has applied something. `catch_up.rs` describes the consequences. A completely wiped replica
//! looks like a new one; a new one is treated as if it might have been wiped.
//!
//! The order of writes matters, for power may fail between two: a group that is in the manifest but
//! not in the log counts as lost. So a new group is written to the log before the manifest.

use crate::consensus::HardState;
use crate::error::GroupError;
use crate::group_config::GroupConfig;
use crate::id::fold;
use crate::log::format::PersistedGroup;
use crate::log::task::WriteTask;
use crate::log::{Completeness, LogHandle};
use crate::machine::LogPosition;
use crate::membership::{Membership, Peer};

/// Number of terms that a replica skips when an operator has accepted the loss of its log: more
/// than it can have forgotten, so that no term has two leaders.
const TERM_GAP: u64 = 1 << 20;

/// A node's stored state of a group.
pub(crate) struct Recalled {
    pub(crate) membership: Membership,
    /// The group is new in the log.
    pub(crate) fresh: bool,
    pub(crate) completeness: Completeness,
}

/// Returns the group's members and the completeness of its log. Members come from the log or, for a
/// group that is new there, from the manifest of a lost log or the configuration. All of it is on
/// disk on return.
///
/// # Errors
/// If the configuration contradicts the log, the only replica's log is lost, or the disk fails.
pub(crate) fn recall(config: &GroupConfig, applied: LogPosition) -> Result<Recalled, GroupError> {
    let log = &config.log;
    let known = log.meta(fold(config.id));
    let fresh = known.is_none();
    let recorded = log.recorded_members(config.id);
    let removed = recorded.as_ref().is_some_and(|members| !members.contains(config.me));
    let membership = members(config, known.as_ref(), recorded)?;
    if known.is_none() && !removed && !membership.contains(config.me) {
        let detail = String::from("this node is not a member");
        return Err(GroupError::Invalid { group: config.id, detail });
    }
    let completeness = completeness(config, &membership, fresh, applied)?;
    let meta = PersistedGroup { id: config.id, me: config.me, membership };
    let recalled = |completeness| {
        let membership = meta.membership.clone();
        Ok(Recalled { membership, fresh, completeness })
    };
    let task = WriteTask {
        region: fold(config.id),
        meta: (known.as_ref() != Some(&meta)).then(|| meta.encode()),
        ..Default::default()
    };
    if completeness == Completeness::Accepted {
        tracing::error!(group = %config.id, applied = applied.index, "continuing without the lost log, as accepted by an operator");
        log.record(config.id, completeness, &meta.membership)?;
        let hard_state = Some(later_term(log, fold(config.id), applied)?);
        let completeness = Completeness::Complete;
        log.write_and_wait(WriteTask { hard_state, completeness: Some(completeness), ..task })?;
        log.record(config.id, completeness, &meta.membership)?;
        return recalled(completeness);
    }
    if fresh {
        if log.recorded(config.id).is_some() {
            log.record(config.id, completeness, &meta.membership)?;
        }
        log.adopt()?;
        log.write_and_wait(WriteTask { completeness: Some(completeness), ..task })?;
    } else if task.meta.is_some() {
        log.write([task]);
    }
    match log.record(config.id, completeness, &meta.membership) {
        Err(error) if !fresh => {
            // A full disk, for example. The log has it, too; only a loss of the log would go
            // unnoticed.
            tracing::warn!(group = %config.id, %error, "cannot add raft group to the manifest of its log");
        }
        recorded => recorded?,
    }
    recalled(completeness)
}

fn later_term(log: &LogHandle, region: u64, applied: LogPosition) -> Result<HardState, GroupError> {
    let known = log.hard_state(region)?;
    let term = known.term.max(applied.term).saturating_add(TERM_GAP);
    Ok(HardState { term, vote: 0, commit: known.commit, ..HardState::default() })
}

/// Determines whether the replica may lack entries it once confirmed.
fn completeness(
    config: &GroupConfig,
    membership: &Membership,
    fresh: bool,
    applied: LogPosition,
) -> Result<Completeness, GroupError> {
    let (log, region) = (&config.log, fold(config.id));
    let recorded = log.recorded(config.id);
    let others = membership.members.len() > 1;
    let sole = membership.voters().all(|m| m.peer.node == config.me);
    // A log that contains other groups was not lost before it had a manifest: the state machine
    // belonged to another group then.
    let had = recorded.is_some() || (fresh && applied.index > 0 && log.groups().is_empty());
    if recorded == Some(Completeness::Accepted) || (fresh && had && log.loss_is_accepted()) {
        return Ok(Completeness::Accepted);
    }
    if fresh && had && sole {
        return Err(GroupError::LogLost { group: config.id, accept: log.accept_path() });
    }
    if fresh || !others {
        return Ok(if others {
            Completeness::Unknown { lost: had }
        } else {
            Completeness::Complete
        });
    }
    let last = log.last_index(region).unwrap_or(log.truncated(region).index);
    let known = log.completeness(region).filter(|_| recorded != Some(Completeness::Complete));
    match known.or(recorded) {
        // It received its last entries from others, and no other member is left as a source.
        Some(_) if sole => Ok(Completeness::Complete),
        Some(Completeness::Until(index)) => {
            let committed = log.hard_state(region)?.commit.max(applied.index);
            let has_it = last.max(applied.index) >= index && committed >= index;
            Ok(if has_it { Completeness::Complete } else { Completeness::Until(index) })
        }
        Some(known) => Ok(known),
        // It was started and has received nothing yet.
        None if last == 0 => Ok(Completeness::Unknown { lost: applied.index > 0 }),
        None => Ok(Completeness::Complete),
    }
}

fn members(
    config: &GroupConfig,
    known: Option<&PersistedGroup>,
    recorded: Option<Membership>,
) -> Result<Membership, GroupError> {
    let invalid = |detail: String| GroupError::Invalid { group: config.id, detail };
    let membership = match known {
        Some(known) if known.id != config.id => {
            let detail = format!("its number is taken by group {} in this log", known.id);
            return Err(invalid(detail));
        }
        Some(known) if known.me != config.me => {
            let detail = format!("this node is {} in the log", known.me);
            return Err(invalid(detail));
        }
        Some(known) => with_places(known.membership.clone(), &config.peers),
        None => {
            let configured = config.joined.clone();
            let configured = configured.unwrap_or_else(|| Membership::first(&config.peers));
            match recorded {
                // The log was lost, and with it the changes that the state machine has not applied.
                Some(kept) if kept.index > configured.index => with_places(kept, &config.peers),
                _ => configured,
            }
        }
    };
    if membership.members.windows(2).any(|pair| fold(pair[0].peer.node) == fold(pair[1].peer.node))
    {
        return Err(invalid(String::from("a node is a member twice")));
    }
    Ok(membership)
}

/// Addresses and priorities of members come from this node's configuration.
fn with_places(mut membership: Membership, peers: &[Peer]) -> Membership {
    for member in &mut membership.members {
        if let Some(peer) = peers.iter().find(|peer| peer.node == member.peer.node) {
            member.peer.clone_from(peer);
        }
    }
    membership
}
