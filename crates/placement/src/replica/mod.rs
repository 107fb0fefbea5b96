//! Replicas of containers: what is reported, what they count for, and how they are repaired.

pub mod backoff;
pub mod count;
pub mod ec_count;
mod ec_delete;
mod ec_renew;
mod ec_repair;
mod ec_spread;
pub mod health;
mod in_the_way;
pub mod moving;
mod pair;
pub mod progress;
mod reconcile;
pub mod repair;
mod report;
pub mod storage_type;
pub mod urgency;

pub use crate::state::pending;
