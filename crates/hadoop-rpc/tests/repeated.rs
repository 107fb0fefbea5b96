//! Retried calls.

use std::sync::atomic::Ordering;

use bytes::Bytes;
use hadoop_rpc::{ClientOptions, Identity, RetryLimits, ServerOptions};
use testkit::until;

use crate::support::{PROTOCOL, Running, TIMEOUT};

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_comes_again_is_answered_and_not_repeated() {
    let server = Running::start(ServerOptions::default()).await;
    let identity = Identity::random();
    let first = server.client_as(identity.clone(), PROTOCOL, ClientOptions::default());
    let second = server.client_as(identity.clone(), PROTOCOL, ClientOptions::default());
    let attempt = identity.attempt();
    for (client, attempt) in [(&first, attempt), (&second, attempt.again()), (&first, attempt)] {
        assert_eq!(client.send(attempt, "count", Bytes::new(), TIMEOUT).await.unwrap(), "1");
    }
    assert_eq!(server.server.stats().repeated.load(Ordering::Relaxed), 2);
    assert_eq!(first.call("count", Bytes::new(), TIMEOUT).await.unwrap(), "2", "another call");
    let stranger = server.client();
    let same_number = stranger.send(attempt, "count", Bytes::new(), TIMEOUT).await.unwrap();
    assert_eq!(same_number, "3", "another client's call of the same number");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_outlives_its_connection_and_answers_the_next_attempt() {
    let server = Running::start(ServerOptions::default()).await;
    let identity = Identity::random();
    let attempt = identity.attempt();
    let client = server.client_as(identity.clone(), PROTOCOL, ClientOptions::default());
    let lost = tokio::spawn({
        let client = client.clone();
        async move { client.send(attempt, "count-held", Bytes::new(), TIMEOUT).await }
    });
    until("one call", async || server.server.in_flight() == 1).await;
    lost.abort();
    drop(client);
    let client = server.client_as(identity, PROTOCOL, ClientOptions::default());
    let again = tokio::spawn(async move {
        client.send(attempt.again(), "count-held", Bytes::new(), TIMEOUT).await
    });
    until("the repeated call", async || {
        server.server.stats().repeated.load(Ordering::Relaxed) == 1
    })
    .await;
    server.service.release();
    assert_eq!(again.await.unwrap().unwrap(), "1");
    assert_eq!(server.service.counted.load(Ordering::Relaxed), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_refused_is_tried_again() {
    let server = Running::start(ServerOptions::default()).await;
    let identity = Identity::random();
    let client = server.client_as(identity.clone(), PROTOCOL, ClientOptions::default());
    let attempt = identity.attempt();
    for tried in 1..=3 {
        let refused = client.send(attempt, "count-fail", Bytes::new(), TIMEOUT).await;
        assert!(refused.unwrap_err().fault().is_some());
        assert_eq!(server.service.counted.load(Ordering::Relaxed), tried);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_answer_to_a_call_that_took_too_long_is_kept() {
    let options = ServerOptions {
        call_timeout: std::time::Duration::from_millis(20),
        ..ServerOptions::default()
    };
    let server = Running::start(options).await;
    let identity = Identity::random();
    let client = server.client_as(identity.clone(), PROTOCOL, ClientOptions::default());
    let attempt = identity.attempt();
    let late = client.send(attempt, "count-held", Bytes::new(), TIMEOUT).await;
    assert!(late.unwrap_err().fault().is_some());
    server.service.release();
    until("no call", async || server.server.in_flight() == 0).await;
    // A busy machine may take too long for that one, too.
    let kept = until("an answer in time", async || {
        client.send(attempt.again(), "count-held", Bytes::new(), TIMEOUT).await
    });
    assert_eq!(kept.await, "1");
    assert_eq!(server.service.counted.load(Ordering::Relaxed), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn kept_answers_are_bounded() {
    let retry = RetryLimits { entries: 10, ..RetryLimits::default() };
    let server = Running::start(ServerOptions { retry, ..ServerOptions::default() }).await;
    let identity = Identity::random();
    let client = server.client_as(identity.clone(), PROTOCOL, ClientOptions::default());
    let attempts: Vec<_> = (0..20).map(|_| identity.attempt()).collect();
    for attempt in &attempts {
        client.send(*attempt, "count", Bytes::new(), TIMEOUT).await.unwrap();
    }
    let newest = client.send(attempts[19], "count", Bytes::new(), TIMEOUT).await.unwrap();
    let oldest = client.send(attempts[0], "count", Bytes::new(), TIMEOUT).await.unwrap();
    assert_eq!((newest, oldest), (Bytes::from("20"), Bytes::from("21")));
}
