//! A node that joins a running service.
//!
//! It sends a join request to one member after the other, until the leader responds. It is a member
//! without a vote then, receives the tables, and later its vote.
//!
//! **It may be killed at any point.** From before its first request until its log has the members
//! on disk, a note records that it is joining ([`JoinNote`](crate::JoinNote)): its next start sends
//! the request again, and a node that is a member already receives the members once more.
//! Afterwards its log contains them.

use std::time::{Duration, Instant};

use multiraft::Membership;

use crate::error::Error;

/// Timeout of the search for a leader.
const LEADER_SEARCH_TIMEOUT: Duration = Duration::from_secs(120);
/// Delay between two rounds of requests.
const RETRY_DELAY: Duration = Duration::from_millis(300);

/// A member's response to a join request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The node is a member now; these are all members.
    Joined(Membership),
    /// The leader refuses.
    Refused(String),
    /// This member is not the leader.
    NotLeader,
    /// This member does not respond, for this reason.
    Unreachable(String),
}

/// Sends join requests for `node` to `others`, repeatedly, until a leader responds. `ask` sends one
/// of them.
///
/// # Errors
/// If the leader refuses, or none is found in time.
pub async fn join<T>(
    node: &str,
    others: &[T],
    ask: impl AsyncFn(&T) -> Answer,
) -> Result<Membership, Error> {
    let failed = |reason: String| Error::NotJoined { node: node.to_owned(), reason };
    let until = Instant::now() + LEADER_SEARCH_TIMEOUT;
    let mut last = "its configuration names no other member".to_owned();
    while Instant::now() < until {
        for other in others {
            match ask(other).await {
                Answer::Joined(membership) => return Ok(membership),
                Answer::Refused(reason) => {
                    return Err(Error::Refused { node: node.to_owned(), reason });
                }
                // Followers are asked, too, but have no information.
                Answer::NotLeader => {}
                Answer::Unreachable(reason) => last = reason,
            }
        }
        tokio::time::sleep(RETRY_DELAY).await;
    }
    Err(failed(format!("no leader accepted it: {last}")))
}
