//! JSON of each type, in Ozone's order of fields.

pub(crate) mod acl;
pub(crate) mod bucket;
pub(crate) mod container;
pub(crate) mod container_history;
pub(crate) mod key;
pub(crate) mod node;
pub(crate) mod pipeline;
pub(crate) mod reconciliation;
pub(crate) mod replication;
pub(crate) mod snapshot;
pub(crate) mod time;
pub(crate) mod volume;

use proto::hdds::KeyValue;
use serde_json::{Map, Value};

/// Metadata or tags.
pub(crate) fn pairs(pairs: &[KeyValue]) -> Value {
    let map: Map<String, Value> = pairs.iter().map(|p| (p.key.clone(), p.value().into())).collect();
    map.into()
}

/// A quota; one that was never set is shown as no limit.
pub(crate) fn quota(quota: i64) -> Value {
    quota.into()
}
