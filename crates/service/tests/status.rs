//! Status pages.

use std::net::SocketAddr;
use std::sync::Arc;

use config::Configuration;
use service::{MetricsRegistry, Role, Section, StatusPage, StatusServer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

struct Page;

/// A role that cannot do its work.
struct Broken;

impl StatusPage for Broken {
    fn title(&self) -> String {
        "Ozone Manager om1".into()
    }
    fn sections(&self) -> Vec<Section> {
        Vec::new()
    }
    fn trouble(&self) -> Option<String> {
        Some("the log is gone".into())
    }
}

impl StatusPage for Page {
    fn title(&self) -> String {
        "Ozone Manager <om1>".into()
    }
    fn sections(&self) -> Vec<Section> {
        vec![
            Section::facts("About", [("leader", "om1 & co".to_string())]),
            Section::table("Nodes", &["id", "state"], vec![vec!["a".into(), "HEALTHY".into()]]),
        ]
    }
}

async fn get(address: SocketAddr, path: &str) -> String {
    get_of(address, "x", path).await
}

/// The same with another `Host` header.
async fn get_of(address: SocketAddr, host: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream
        .write_all(
            format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").as_bytes(),
        )
        .await
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn a_role_shows_itself_to_people_prometheus_and_scripts() {
    let registry = MetricsRegistry::new(Role::new("om", "om1"));
    registry.counter("keys", "Keys").inc();
    let server =
        StatusServer::start("127.0.0.1:0", registry, Arc::new(Page), &Configuration::default())
            .await
            .unwrap();

    let html = get(server.local_addr(), "/").await;
    assert!(
        html.contains("<h1>Ozone Manager &lt;om1&gt;</h1>")
            && html.contains("<td>om1 &amp; co</td>"),
        "{html}"
    );
    for path in ["/metrics", "/prom"] {
        let metrics = get(server.local_addr(), path).await;
        assert!(
            metrics.contains("om_keys_total 1\n") && metrics.trim_end().ends_with("# EOF"),
            "{metrics}"
        );
    }
    let json = get(server.local_addr(), "/status.json").await;
    let body: serde_json::Value =
        serde_json::from_str(json.split_once("\r\n\r\n").unwrap().1).unwrap();
    assert_eq!(body["About"]["leader"], "om1 & co");
    assert_eq!(body["Nodes"][0]["state"], "HEALTHY");
    assert!(get(server.local_addr(), "/nothing").await.starts_with("HTTP/1.1 404"));
}

#[tokio::test]
async fn a_log_level_is_read_by_all_and_changed_by_nobody_without_proof() {
    let registry = || MetricsRegistry::new(Role::new("om", "om1"));
    for (acls, set) in [(true, "HTTP/1.1 403"), (false, "HTTP/1.1 200")] {
        let conf = Configuration::builder().build().unwrap().with("ozone.acl.enabled", acls);
        let started = StatusServer::start("127.0.0.1:0", registry(), Arc::new(Page), &conf);
        let server = started.await.unwrap();
        let address = server.local_addr();
        let read = get(address, "/logLevel?log=om::dispatch").await;
        assert!(read.starts_with("HTTP/1.1 200") && read.contains("Effective Level"), "{read}");
        let changed = get(address, "/logLevel?log=om::dispatch&level=TRACE").await;
        // The test's Host is a name.
        assert!(changed.starts_with("HTTP/1.1 403"), "{changed}");
        assert!(changed.contains("trioxide.log.filter"), "{changed}");
        let changed = get_of(address, "127.0.0.1", "/logLevel?log=om::dispatch&level=TRACE").await;
        assert!(changed.starts_with(set), "{changed}");
        assert_eq!(changed.contains("ozone.acl.enabled"), acls, "{changed}");
    }
}

#[tokio::test]
async fn health_is_ok_or_says_what_is_wrong() {
    let registry = || MetricsRegistry::new(Role::new("om", "om1"));
    let server =
        StatusServer::start("127.0.0.1:0", registry(), Arc::new(Page), &Configuration::default())
            .await
            .unwrap();
    let health = get(server.local_addr(), "/health").await;
    assert!(health.starts_with("HTTP/1.1 200") && health.ends_with("ok\n"), "{health}");
    let server =
        StatusServer::start("127.0.0.1:0", registry(), Arc::new(Broken), &Configuration::default())
            .await
            .unwrap();
    let health = get(server.local_addr(), "/health").await;
    assert!(
        health.starts_with("HTTP/1.1 503") && health.ends_with("the log is gone\n"),
        "{health}"
    );
}

#[tokio::test]
async fn a_stopped_server_gives_its_port_back() {
    let registry = || MetricsRegistry::new(Role::new("om", ""));
    let server =
        StatusServer::start("127.0.0.1:0", registry(), Arc::new(Page), &Configuration::default())
            .await
            .unwrap();
    let address = server.local_addr().to_string();
    assert!(
        StatusServer::start(&address, registry(), Arc::new(Page), &Configuration::default())
            .await
            .is_err()
    );
    drop(server);
    testkit::until("the address to be free", async || {
        let conf = Configuration::default();
        StatusServer::start(&address, registry(), Arc::new(Page), &conf).await
    })
    .await;
}

#[tokio::test]
async fn answers_say_who_may_frame_them_and_metrics_can_be_turned_off() {
    let get_with = async |settings: &[(&str, &str)], path: &str| {
        let conf = Configuration::default();
        let conf = settings.iter().fold(conf, |conf, (key, value)| conf.with(key, value));
        let registry = MetricsRegistry::new(Role::new("om", "om1"));
        let server =
            StatusServer::start("127.0.0.1:0", registry, Arc::new(Page), &conf).await.unwrap();
        get(server.local_addr(), path).await.to_ascii_lowercase()
    };
    for path in ["/", "/conf", "/prom", "/nothing"] {
        let answer = get_with(&[], path).await;
        assert!(answer.contains("\r\nx-frame-options: sameorigin\r\n"), "{path}: {answer}");
    }
    let denied = get_with(&[("hdds.xframe.value", "deny")], "/").await;
    assert!(denied.contains("\r\nx-frame-options: deny\r\n"), "{denied}");
    let open = get_with(&[("hdds.xframe.enabled", "false")], "/").await;
    assert!(!open.contains("x-frame-options"), "{open}");
    for path in ["/prom", "/metrics"] {
        let off = get_with(&[("hdds.prometheus.endpoint.enabled", "false")], path).await;
        assert!(off.starts_with("http/1.1 404"), "{path}: {off}");
    }
}
