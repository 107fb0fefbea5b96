//! Hedged requests to replicas: they are tried in order; if one is late the next is tried in
//! parallel, and the first successful response is used.

use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};
use types::{DatanodeDetails, DatanodeId};

use crate::Error;

/// Result of a request to several replicas.
pub(super) struct Asked<T> {
    /// The first successful response, if any.
    pub(super) answer: Option<T>,
    /// Replicas that failed before it, with their errors.
    pub(super) failed: Vec<(DatanodeId, Error)>,
    /// Replicas that did not respond before a hedge.
    pub(super) late: Vec<DatanodeId>,
}

/// Sends requests to `nodes` in order until one succeeds. After `late` without a response the next
/// one is tried, too.
pub(super) async fn request_hedged<T, F>(
    nodes: &[DatanodeDetails],
    late: Duration,
    request: F,
) -> Asked<T>
where
    F: Fn(DatanodeDetails) -> BoxFuture<'static, Result<T, Error>>,
{
    let mut failed = Vec::new();
    // Replicas without a response, and those of them that are late.
    let (mut silent, mut late_ones) = (Vec::new(), Vec::new());
    let mut next = nodes.iter();
    let mut asked = FuturesUnordered::new();
    let mut waited = false;
    loop {
        // If no replica is in flight, or the last one is late, try the next one.
        if (asked.is_empty() || waited)
            && let Some(node) = next.next()
        {
            let (id, answer) = (node.id, request(node.clone()));
            silent.push(id);
            asked.push(async move { (id, answer.await) });
            waited = false;
        }
        let answer = if next.len() > 0 {
            match tokio::time::timeout(late, asked.next()).await {
                Ok(answer) => answer,
                Err(_) => {
                    waited = true;
                    late_ones.clone_from(&silent);
                    continue;
                }
            }
        } else {
            asked.next().await
        };
        if let Some((id, _)) = &answer {
            silent.retain(|node| node != id);
            late_ones.retain(|node| node != id);
        }
        match answer {
            Some((_, Ok(value))) => {
                return Asked { answer: Some(value), failed, late: late_ones };
            }
            Some((id, Err(error))) => {
                tracing::debug!(datanode = %id, %error, "replica failed");
                failed.push((id, error));
            }
            None if next.len() > 0 => {}
            None => return Asked { answer: None, failed, late: late_ones },
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    fn nodes(count: usize) -> Vec<DatanodeDetails> {
        (0..count)
            .map(|i| DatanodeDetails::new(DatanodeId::random(), "127.0.0.1", format!("n{i}")))
            .collect()
    }

    fn broken() -> Error {
        Error::Usage("broken".to_owned())
    }

    #[tokio::test]
    async fn the_next_replica_is_asked_when_one_fails() {
        let asked = request_hedged(&nodes(3), Duration::from_secs(1), |node| {
            async move { if node.host == "n2" { Ok(node.host) } else { Err(broken()) } }.boxed()
        })
        .await;
        assert_eq!(asked.answer.unwrap(), "n2");
        assert_eq!(asked.failed.len(), 2);
        assert_eq!(asked.late, []);
    }

    #[tokio::test]
    async fn a_late_replica_is_overtaken() {
        let nodes = nodes(3);
        let asked = request_hedged(&nodes, Duration::from_millis(1), |node| {
            async move {
                match node.host.as_str() {
                    "n0" => std::future::pending().await,
                    "n1" => Err(broken()),
                    _ => Ok(node.host),
                }
            }
            .boxed()
        })
        .await;
        assert_eq!(asked.answer.unwrap(), "n2");
        assert_eq!(asked.failed.len(), 1, "a late replica has not failed");
        assert_eq!(asked.late, [nodes[0].id]);
    }

    #[tokio::test]
    async fn a_late_replica_may_still_win() {
        let overtaken = std::sync::Arc::new(tokio::sync::Notify::new());
        let asked = request_hedged(&nodes(2), Duration::from_millis(1), |node| {
            let overtaken = overtaken.clone();
            async move {
                if node.host == "n0" {
                    overtaken.notified().await;
                    return Ok(node.host);
                }
                overtaken.notify_one();
                std::future::pending().await
            }
            .boxed()
        })
        .await;
        assert_eq!(asked.answer.unwrap(), "n0");
        assert_eq!(asked.late, [], "no other was sooner");
    }

    #[tokio::test]
    async fn when_all_fail_each_failure_is_told() {
        for count in [0, 1, 3] {
            let asked = request_hedged(&nodes(count), Duration::from_secs(1), |_| {
                async { Err::<(), _>(broken()) }.boxed()
            })
            .await;
            assert!(asked.answer.is_none());
            assert_eq!(asked.failed.len(), count);
        }
    }
}
