//! The HTTP server of a status page.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{Html, IntoResponse, Json};
use axum::routing::get;
use futures::future::BoxFuture;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::slow::SlowSections;
use super::{Section, StatusPage, html, json};
use crate::metrics::MetricsRegistry;
use crate::shutdown::Shutdown;

/// What Prometheus calls its text format.
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
    /// Binds `address` (`host:port`) and serves the page and the metrics.
    ///
    /// # Errors
    /// When the address cannot be bound.
    pub fn start(
        address: &str,
        registry: MetricsRegistry,
        page: Arc<dyn StatusPage>,
    ) -> BoxFuture<'_, io::Result<StatusServer>> {
        StatusServer::start_with(address, registry, page, Router::new())
    }

    /// The same with more routes, such as a role's own JSON.
    ///
    /// # Errors
    /// When the address cannot be bound.
    pub fn start_with(
        address: &str,
        registry: MetricsRegistry,
        page: Arc<dyn StatusPage>,
        routes: Router,
    ) -> BoxFuture<'_, io::Result<StatusServer>> {
        Box::pin(Self::begin(address, registry, page, routes))
    }

    async fn begin(
        address: &str,
        registry: MetricsRegistry,
        page: Arc<dyn StatusPage>,
        routes: Router,
    ) -> io::Result<StatusServer> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let own = Router::new()
            .route("/", get(show_page))
            .route("/metrics", get(show_metrics))
            .route("/prom", get(show_metrics))
            .route("/status.json", get(show_json))
            .route("/health", get(show_health))
            .with_state(Shown { registry, page, slow: Arc::default() });
        let stop = Shutdown::new();
        let stopped = stop.clone();
        let task = tokio::spawn(async move {
            // Some routes ask where a request is from.
            let routes = own.merge(routes).into_make_service_with_connect_info::<SocketAddr>();
            let serve = axum::serve(listener, routes)
                .with_graceful_shutdown(async move { stopped.cancelled().await });
            if let Err(error) = serve.await {
                tracing::error!(%address, %error, "status page stopped");
            }
        });
        Ok(StatusServer { address, stop, task })
    }

    /// Where it listens.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Stops listening; connections that idle are not waited for.
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
