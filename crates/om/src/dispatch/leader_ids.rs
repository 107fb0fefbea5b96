//! Ids and secrets of new rows.

use namespace::Fresh;

use crate::ids::{UniqueIds, now_ms};

/// Ids and secrets that a leader gives.
#[derive(Debug, Default)]
pub(crate) struct LeaderIds(UniqueIds);

impl Fresh for LeaderIds {
    fn id(&self) -> u64 {
        self.0.next(now_ms())
    }

    fn uuid(&self) -> [u8; 16] {
        *uuid::Uuid::now_v7().as_bytes()
    }

    fn secret(&self) -> [u8; 32] {
        rand::random()
    }
}
