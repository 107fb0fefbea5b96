//! Block commit sequence ids: a reader names how far the block it wants was committed, and a
//! replica that is behind must say so, so that the reader asks another one.

/// Why a replica cannot serve a block as the reader knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BcsidError {
    /// The whole container has not seen the commit.
    #[error("block is committed at {asked}, the container has seen {container}")]
    Unknown {
        /// What the reader asks for.
        asked: u64,
        /// The container's highest commit.
        container: u64,
    },
    /// The container has, but this block is older.
    #[error("block is committed at {asked}, this replica has it at {block}")]
    Mismatch {
        /// What the reader asks for.
        asked: u64,
        /// The block's commit here.
        block: u64,
    },
}

/// May a container that has seen `container` answer for a block committed at `asked`?
///
/// # Errors
/// When it is behind.
pub fn check_container(asked: u64, container: u64) -> Result<(), BcsidError> {
    if asked > container { Err(BcsidError::Unknown { asked, container }) } else { Ok(()) }
}

/// May a block committed at `block` be served to a reader that knows it at `asked`?
///
/// # Errors
/// When it is older than that.
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
