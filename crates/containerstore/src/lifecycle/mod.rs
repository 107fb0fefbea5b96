//! Creation, changes and removal of replicas.
//!
//! * [`served`]: the replicas on this node: created, copied from other nodes or disks, deleted;
//! * [`state`]: changes of their states;
//! * [`delete`]: deleting the one that is served;
//! * [`duplicate_replicas`]: second replicas, which are not served;
//! * [`retired`]: replicas that were replaced by a copy on another disk.

mod delete;
mod duplicate_replicas;
mod retired;
mod served;
mod state;
