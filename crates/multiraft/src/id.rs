//! Numbers for Raft and the log engine, derived from our uuids.
//!
//! Both libraries identify things by a `u64`. Folding a uuid keeps 64 of its random bits, so no
//! table needs to be agreed on; collisions (2^-60 for a disk with a thousand groups) are detected
//! when a group starts, since the log stores the whole uuid.

use uuid::Uuid;

/// The number of a group in a log, or of a node in a group. Never 0.
pub(crate) fn fold(id: Uuid) -> u64 {
    let (high, low) = id.as_u64_pair();
    (high.rotate_left(32) ^ low).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nil_is_not_zero_and_versions_differ() {
        assert_eq!(fold(Uuid::nil()), 1);
        assert_ne!(fold(Uuid::new_v4()), fold(Uuid::new_v4()));
        assert_ne!(fold(Uuid::now_v7()), fold(Uuid::now_v7()));
    }
}
