//! How replicas come, change and go.
//!
//! * [`served`]: which replicas are here: some are made, come from other nodes or disks, or go;
//! * [`state`]: changes of their states;
//! * [`delete`]: deleting the one that is served;
//! * [`duplicate_replicas`]: second replicas, which are not served;
//! * [`retired`]: replicas that were left for a copy on another disk.

mod delete;
mod duplicate_replicas;
mod retired;
mod served;
mod state;
