//! The HTTP server of a status page.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::extract::State;
use axum::http::header::{CONTENT_TYPE, X_FRAME_OPTIONS};
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::map_response;
use axum::response::{Html, IntoResponse, Json, Response};
use axum::routing::get;
use config::Configuration;
use config::keys::hdds;
use futures::future::BoxFuture;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::slow::SlowSections;
use super::{Section, StatusPage, configuration, html, json};
use crate::metrics::MetricsRegistry;
use crate::shutdown::Shutdown;

/// Content type of Prometheus' text format.
const METRICS_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// A running status server; stops when it is dropped.
#[derive(Debug)]
pub struct StatusServer {
    address: SocketAddr,
    stop: Shutdown,
    task: JoinHandle<()>,
}

#[derive(Clone)]
struct Shown {
    registry: MetricsRegistry,
    page: Arc<dyn StatusPage>,
    slow: Arc<SlowSections>,
}

impl Shown {
    async fn sections(&self) -> Vec<Section> {
        let mut sections = self.page.sections();
        sections.extend(self.slow.of(&self.page, Instant::now()).await);
        sections
    }
}

impl StatusServer {
    /// Binds `address` (`host:port`) and serves the page, the metrics and the role's configuration
    /// `conf`.
    ///
    /// # Errors
    /// If the address cannot be bound.
    pub fn start<'a>(
        address: &'a str,
        registry: MetricsRegistry,
        page: Arc<dyn StatusPage>,
        conf: &'a Configuration,
    ) -> BoxFuture<'a, io::Result<StatusServer>> {
        StatusServer::start_with(address, registry, page, conf, Router::new())
    }

    /// As [`start`](Self::start), with more routes, such as a role's own JSON.
    ///
    /// # Errors
    /// If the address cannot be bound.
    pub fn start_with<'a>(
        address: &'a str,
        registry: MetricsRegistry,
        page: Arc<dyn StatusPage>,
        conf: &'a Configuration,
        routes: Router,
    ) -> BoxFuture<'a, io::Result<StatusServer>> {
        Box::pin(Self::begin(address, registry, page, conf, routes))
    }

    async fn begin(
        address: &str,
        registry: MetricsRegistry,
        page: Arc<dyn StatusPage>,
        conf: &Configuration,
        routes: Router,
    ) -> io::Result<StatusServer> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let mut own = Router::new().route("/", get(show_page));
        if conf.get(&hdds::HDDS_PROMETHEUS_ENDPOINT_ENABLED) {
            own = own.route("/metrics", get(show_metrics)).route("/prom", get(show_metrics));
        }
        let own = own
            .route("/status.json", get(show_json))
            .route("/health", get(show_health))
            .with_state(Shown { registry, page, slow: Arc::default() });
        let routes = frames(own.merge(configuration(conf)).merge(routes), conf);
        let stop = Shutdown::new();
        let stopped = stop.clone();
        let task = tokio::spawn(async move {
            // Some routes need the client's address.
            let routes = routes.into_make_service_with_connect_info::<SocketAddr>();
            let serve = axum::serve(listener, routes)
                .with_graceful_shutdown(async move { stopped.cancelled().await });
            if let Err(error) = serve.await {
                tracing::error!(%address, %error, "status page stopped");
            }
        });
        Ok(StatusServer { address, stop, task })
    }

    /// The bound address.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Stops listening without waiting for idle connections.
    pub fn stop(&self) {
        self.stop.trigger();
        self.task.abort();
    }
}

impl Drop for StatusServer {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Adds the header that restricts framing by other pages to all responses.
fn frames(routes: Router, conf: &Configuration) -> Router {
    let value = HeaderValue::from_str(&conf.get(&hdds::HDDS_XFRAME_VALUE)).ok();
    match value.filter(|_| conf.get(&hdds::HDDS_XFRAME_ENABLED)) {
        None => routes,
        Some(value) => routes.layer(map_response(move |mut answer: Response| {
            answer.headers_mut().insert(X_FRAME_OPTIONS, value.clone());
            std::future::ready(answer)
        })),
    }
}

async fn show_page(State(shown): State<Shown>) -> impl IntoResponse {
    Html(html::page(&shown.page.title(), shown.sections().await))
}

async fn show_json(State(shown): State<Shown>) -> impl IntoResponse {
    Json(json(shown.page.title(), shown.sections().await))
}

async fn show_health(State(shown): State<Shown>) -> impl IntoResponse {
    match shown.page.trouble() {
        None => (StatusCode::OK, String::from("ok\n")),
        Some(reason) => (StatusCode::SERVICE_UNAVAILABLE, format!("{reason}\n")),
    }
}

async fn show_metrics(State(shown): State<Shown>) -> impl IntoResponse {
    ([(CONTENT_TYPE, METRICS_TYPE)], shown.registry.encode())
}
