//! A collector that receives OTLP over gRPC on loopback and keeps the spans.

use std::sync::Arc;

use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{
    TraceService, TraceServiceServer,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value::Value};
use parking_lot::Mutex;
use tokio::runtime::Runtime;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status};

/// A received span.
#[derive(Debug, Clone)]
pub struct Span {
    pub service: String,
    pub name: String,
    pub role: String,
    pub trace: String,
    pub id: String,
    /// Empty for a root.
    pub parent: String,
    pub nanos: u64,
}

#[derive(Default)]
struct Kept {
    spans: Arc<Mutex<Vec<Span>>>,
}

pub struct Collector {
    spans: Arc<Mutex<Vec<Span>>>,
    address: String,
    _runtime: Runtime,
}

impl Collector {
    pub fn start() -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let kept = Kept::default();
        let spans = Arc::clone(&kept.spans);
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let service = TraceServiceServer::new(kept);
        let server = Server::builder().add_service(service);
        runtime.spawn(server.serve_with_incoming(TcpIncoming::from(listener)));
        Self { spans, address, _runtime: runtime }
    }

    /// Settings by which a process sends its spans here.
    pub fn settings(&self) -> [String; 4] {
        let endpoint = format!("ozone.tracing.endpoint=http://{}", self.address);
        ["-D".into(), "ozone.tracing.enabled=true".into(), "-D".into(), endpoint]
    }

    /// Waits until the received spans contain a match.
    pub fn wait<T>(&self, what: &str, find: impl Fn(&[Span]) -> Option<T>) -> T {
        testkit::until_blocking(what, || {
            let spans = self.spans.lock();
            find(&spans).ok_or_else(|| spans.clone())
        })
    }
}

#[tonic::async_trait]
impl TraceService for Kept {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        let mut kept = self.spans.lock();
        for of_process in request.into_inner().resource_spans {
            let resource = of_process.resource.unwrap_or_default();
            let service = text(&resource.attributes, "service.name");
            for span in of_process.scope_spans.into_iter().flat_map(|scope| scope.spans) {
                kept.push(Span {
                    service: service.clone(),
                    role: text(&span.attributes, "role"),
                    name: span.name,
                    trace: hex(&span.trace_id),
                    id: hex(&span.span_id),
                    parent: hex(&span.parent_span_id),
                    nanos: span.end_time_unix_nano - span.start_time_unix_nano,
                });
            }
        }
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

fn text(attributes: &[KeyValue], key: &str) -> String {
    let found = attributes.iter().find(|attribute| attribute.key == key);
    match found.and_then(|attribute| attribute.value.as_ref()?.value.as_ref()) {
        Some(Value::StringValue(text)) => text.clone(),
        _ => String::new(),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
