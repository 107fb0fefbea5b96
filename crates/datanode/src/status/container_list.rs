//! `/containers.json`: the replicas of a DataNode, with when they were scanned.

use std::sync::{Arc, Weak};
use std::time::SystemTime;

use axum::Router;
use axum::extract::{RawQuery, State};
use axum::response::Json;
use axum::routing::get;
use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Value, json};
use types::ContainerId;

use crate::daemon::Daemon;
use containerstore::Container;

/// Replicas in a response if the request has no count.
const COUNT: usize = 1_000;

/// The most replicas in an answer.
const MAX_COUNT: usize = 10_000;

/// Returns the additional routes of the status page.
pub(crate) fn routes(daemon: &Arc<Daemon>) -> Router {
    Router::new().route("/containers.json", get(list)).with_state(Arc::downgrade(daemon))
}

/// A time as pages show it.
pub(crate) fn time(at: SystemTime) -> String {
    DateTime::<Utc>::from(at).to_rfc3339_opts(SecondsFormat::Secs, true)
}

async fn list(State(daemon): State<Weak<Daemon>>, RawQuery(query): RawQuery) -> Json<Value> {
    let query = query.unwrap_or_default();
    let start = ContainerId(parameter(&query, "start").unwrap_or(0));
    let count = parameter(&query, "count").and_then(|count| usize::try_from(count).ok());
    let count = count.unwrap_or(COUNT).min(MAX_COUNT);
    let node = daemon.upgrade().and_then(|daemon| daemon.node().cloned());
    let Some(node) = node else { return Json(json!([])) };
    let ids = node.store.containers().into_iter().filter(|id| *id >= start).take(count);
    // A replica that is removed meanwhile is skipped.
    Json(ids.filter_map(|id| node.store.container(id).ok()).map(|c| row(&c)).collect())
}

fn row(container: &Container) -> Value {
    let info = container.info();
    json!({
        "container": info.id.0,
        "state": info.state.name(),
        "replicaIndex": info.replica_index,
        "disk": container.disk().path().display().to_string(),
        "blocks": info.blocks,
        "usedBytes": info.used,
        "scanned": container.scan_times().data().map(time),
        "metadataScanned": container.scan_times().metadata().map(time),
    })
}

/// A number of a query such as `start=7&count=100`.
fn parameter(query: &str, name: &str) -> Option<u64> {
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.filter(|(key, _)| *key == name).find_map(|(_, value)| value.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_from_a_query_and_others_left() {
        let read = |query| (parameter(query, "start"), parameter(query, "count"));
        assert_eq!(read("start=7&count=100"), (Some(7), Some(100)));
        assert_eq!(read("count=x&start=-1&other=3"), (None, None));
        assert_eq!(read(""), (None, None));
    }

    #[test]
    fn times_are_shown_in_utc() {
        assert_eq!(time(SystemTime::UNIX_EPOCH), "1970-01-01T00:00:00Z");
    }
}
