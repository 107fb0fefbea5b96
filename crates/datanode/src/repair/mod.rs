//! Replicas that are copied, rebuilt or compared with those of other DataNodes, on SCM's word.

pub(crate) mod pace;
pub(crate) mod push;
pub(crate) mod reconcile;
pub(crate) mod reconstruct;
pub(crate) mod replica_source;
