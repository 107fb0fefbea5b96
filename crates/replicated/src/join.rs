//! A node that joins a service that runs already.
//!
//! It asks the members, one after the other, to be let in, until the leader answers. It is a member
//! without a vote then, gets the tables, and later its vote.
//!
//! **It may end at any point of that.** From before it asks until its log has the members on disk a
//! note says that it joins ([`JoinNote`](crate::JoinNote)): its next start asks again, and one
//! that was let in already is told the members once more. Afterwards its log names them.

use std::time::{Duration, Instant};

use multiraft::Membership;

use crate::error::Error;

/// How long a leader is looked for.
const LEADER_SEARCH_TIMEOUT: Duration = Duration::from_secs(120);
/// Delay before all are asked again.
const RETRY_DELAY: Duration = Duration::from_millis(300);

/// What a member answers a node that wants to join.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// It is a member now; these are all of them.
    Joined(Membership),
    /// The leader refuses.
    Refused(String),
    /// This member does not lead.
    NotLeader,
    /// This member does not answer, for this reason.
    Unreachable(String),
}

/// Asks `others` to let `node` in, again and again, until a leader answers. `ask` asks one of them.
///
/// # Errors
/// When the leader refuses, or none is found in time.
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
                // Followers are asked, too, and have nothing to say.
                Answer::NotLeader => {}
                Answer::Unreachable(reason) => last = reason,
            }
        }
        tokio::time::sleep(RETRY_DELAY).await;
    }
    Err(failed(format!("no leader let it in: {last}")))
}
