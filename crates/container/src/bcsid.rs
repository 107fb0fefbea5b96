//! Block commit sequence ids: a reader sends the commit id of the requested block, and a replica
//! that lags must report it, so that the reader uses another one.

/// Reasons why a replica cannot serve a block at the reader's commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BcsidError {
    /// The whole container lacks the commit.
    #[error("block is committed at {asked}, the container is at {container}")]
    Unknown {
        /// The reader's commit.
        asked: u64,
        /// The container's highest commit.
        container: u64,
    },
    /// The container has it, but this block is older.
    #[error("block is committed at {asked}, on this replica at {block}")]
    Mismatch {
        /// The reader's commit.
        asked: u64,
        /// The block's commit on this replica.
        block: u64,
    },
}

/// Checks that a container at commit `container` may serve a block committed at `asked`.
///
/// # Errors
/// If it lags.
pub fn check_container(asked: u64, container: u64) -> Result<(), BcsidError> {
    if asked > container { Err(BcsidError::Unknown { asked, container }) } else { Ok(()) }
}

/// Checks that a block committed at `block` may be served to a reader with commit `asked`.
///
/// # Errors
/// If it is older.
pub fn check_block(asked: u64, block: u64) -> Result<(), BcsidError> {
    if asked > block { Err(BcsidError::Mismatch { asked, block }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replica_that_is_behind_says_which_way() {
        assert_eq!(check_container(5, 4), Err(BcsidError::Unknown { asked: 5, container: 4 }));
        assert_eq!(check_block(5, 4), Err(BcsidError::Mismatch { asked: 5, block: 4 }));
    }

    #[test]
    fn a_reader_that_knows_less_is_served() {
        assert_eq!(check_container(0, 0), Ok(()));
        assert_eq!(check_container(4, 5), Ok(()));
        assert_eq!(check_block(4, 4), Ok(()));
    }
}
