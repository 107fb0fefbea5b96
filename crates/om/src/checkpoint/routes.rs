//! The routes of copies and of the list of services.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Weak};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, FromRequest, Multipart, Query, Request, State};
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE, RETRY_AFTER};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Json, Response};
use axum::routing::get;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use super::archive::{self, Form, Pace};
use super::copy::TablesCopy;
use super::request::CheckpointRequest;
use crate::dispatch::Dispatcher;
use crate::error::Error;

/// Copies that are made or sent at once.
const MOST_COPIES: usize = 2;
/// Bytes of a list of files that the reader has.
const MOST_FORM_BYTES: usize = 16 << 20;
/// Pieces of an archive that wait for its reader.
const PIECES: usize = 4;

/// State of the routes.
#[derive(Clone)]
pub(crate) struct CheckpointRoutes {
    pub(crate) dispatcher: Weak<Dispatcher>,
    /// OM's directory.
    pub(crate) dir: PathBuf,
    /// Bytes a second of one copy; 0 for as many as go.
    pub(crate) rate: u64,
    /// Time for which a reader may read nothing.
    pub(crate) stall: std::time::Duration,
}

#[derive(Clone)]
struct Shared {
    setup: CheckpointRoutes,
    permits: Arc<Semaphore>,
}

/// `/dbCheckpoint`, `/v2/dbCheckpoint`, `/serviceList`.
pub(crate) fn routes(setup: CheckpointRoutes) -> Router {
    let shared = Shared { setup, permits: Arc::new(Semaphore::new(MOST_COPIES)) };
    let (first, second) = (send_names, send_ids);
    Router::new()
        .route("/dbCheckpoint", get(first).post(first))
        .route("/v2/dbCheckpoint", get(second).post(second))
        .route("/serviceList", get(show_services))
        .layer(DefaultBodyLimit::max(MOST_FORM_BYTES))
        .with_state(shared)
}

async fn send_names(state: State<Shared>, request: Request) -> Response {
    send(state.0, Form::Names, request).await
}

async fn send_ids(state: State<Shared>, request: Request) -> Response {
    send(state.0, Form::Ids, request).await
}

async fn send(shared: Shared, form: Form, request: Request) -> Response {
    let (wish, user) = match read(request).await {
        Ok(read) => read,
        Err(reason) => return (StatusCode::BAD_REQUEST, reason.to_string()).into_response(),
    };
    let Some(dispatcher) = shared.setup.dispatcher.upgrade() else {
        return (StatusCode::SERVICE_UNAVAILABLE, "OM stops\n").into_response();
    };
    // As far as the word of a client counts without authentication, as in Hadoop's simple mode.
    if !dispatcher.is_admin(user.as_deref().unwrap_or_default()) {
        let refusal = "only administrators may copy the tables: add ?user.name=NAME\n";
        return (StatusCode::FORBIDDEN, refusal).into_response();
    }
    let Ok(permit) = Arc::clone(&shared.permits).try_acquire_owned() else {
        let busy = format!("{MOST_COPIES} copies are on their way: try again\n");
        return (StatusCode::SERVICE_UNAVAILABLE, [(RETRY_AFTER, "5")], busy).into_response();
    };
    match make(dispatcher, &shared.setup).await {
        Ok(copy) => stream(copy, form, wish, &shared.setup, permit),
        // They are replaced by those of a snapshot of the leader.
        Err(e @ Error::Closed) => {
            let why = format!("{e}: try again\n");
            (StatusCode::SERVICE_UNAVAILABLE, [(RETRY_AFTER, "5")], why).into_response()
        }
        Err(e) => {
            tracing::warn!(error = %e, "cannot create a copy of the tables");
            (StatusCode::INTERNAL_SERVER_ERROR, format!("{e}\n")).into_response()
        }
    }
}

/// Reason for which the parameters cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{0}\n")]
struct Unreadable(String);

/// The parameters of the query and of a form, and the user that the request names.
async fn read(request: Request) -> Result<(CheckpointRequest, Option<String>), Unreadable> {
    let mut wish = CheckpointRequest::default();
    let query = Query::<Vec<(String, String)>>::try_from_uri(request.uri());
    let Query(pairs) = query.map_err(|e| Unreadable(e.to_string()))?;
    let mut user = None;
    for (name, value) in &pairs {
        wish.add(name, value);
        if name == "user.name" {
            user = Some(value.clone());
        }
    }
    let kind = request.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let is_form = kind.is_some_and(|kind| kind.starts_with("multipart/form-data"));
    if request.method() == Method::POST && is_form {
        let failed = Unreadable;
        let mut form =
            Multipart::from_request(request, &()).await.map_err(|e| failed(e.to_string()))?;
        while let Some(field) = form.next_field().await.map_err(|e| failed(e.to_string()))? {
            let name = field.name().unwrap_or_default().to_owned();
            let value = field.text().await.map_err(|e| failed(e.to_string()))?;
            wish.add(&name, &value);
        }
    }
    Ok((wish, user))
}

async fn make(dispatcher: Arc<Dispatcher>, setup: &CheckpointRoutes) -> Result<TablesCopy, Error> {
    let dir = setup.dir.clone();
    let make = move || {
        let current = &dispatcher.parts().current;
        // Before the copy, so that nothing falls between it and the updates.
        current.feed().begin();
        let copy = TablesCopy::make(&dir, current)?;
        current.feed().copied(copy.sequence, copy.index);
        Ok(copy)
    };
    tokio::task::spawn_blocking(make).await?
}

fn stream(
    copy: TablesCopy,
    form: Form,
    wish: CheckpointRequest,
    setup: &CheckpointRoutes,
    permit: OwnedSemaphorePermit,
) -> Response {
    let name = match form {
        Form::Names => format!("{}.tar", copy.name()),
        Form::Ids => format!("om.data-{}.tar", crate::ids::now_ms()),
    };
    let pace = Pace { rate: setup.rate, stall: setup.stall };
    let (to, mut from) = mpsc::channel::<io::Result<Bytes>>(PIECES);
    tokio::spawn(async move {
        let failed = to.clone();
        let sent = archive::send(&copy, form, &wish, pace, to).await;
        match sent {
            Ok(bytes) => {
                tracing::info!(copy = copy.name(), bytes, index = copy.index, "tables copied");
            }
            Err(e) => {
                tracing::warn!(copy = copy.name(), error = %e, "sending a copy of the tables failed");
                // Without it the archive would be complete for HTTP.
                let _ = failed.try_send(Err(io::Error::other(e.to_string())));
            }
        }
        // The directory is large at times.
        let _ = tokio::task::spawn_blocking(move || drop((copy, permit))).await;
    });
    let pieces = futures::stream::poll_fn(move |cx| from.poll_recv(cx));
    let disposition = format!("attachment; filename=\"{name}\"");
    let headers =
        [(CONTENT_TYPE, "application/x-tar".to_owned()), (CONTENT_DISPOSITION, disposition)];
    (headers, Body::from_stream(pieces)).into_response()
}

/// The services of the cluster, as Ozone's servlet lists them.
async fn show_services(State(shared): State<Shared>) -> Response {
    match shared.setup.dispatcher.upgrade() {
        Some(dispatcher) => Json(dispatcher.services_json()).into_response(),
        None => (StatusCode::SERVICE_UNAVAILABLE, "OM stops\n").into_response(),
    }
}

#[cfg(test)]
mod tests {
    use futures::executor::block_on;

    use super::*;

    /// The query of a request is before the end of the first line, its form after it.
    fn read_parameters(data: &[u8]) {
        let at = data.iter().position(|byte| *byte == b'\n').unwrap_or(data.len());
        let (query, form) = data.split_at(at);
        let uri = format!("/dbCheckpoint?{}", String::from_utf8_lossy(query));
        let form = form.get(1..).unwrap_or_default().to_vec();
        let request = Request::post(uri)
            .header(CONTENT_TYPE, "multipart/form-data; boundary=b")
            .body(Body::from(form));
        let Ok(request) = request else { return };
        if let Ok((wish, _)) = block_on(read(request)) {
            let bytes: usize = wish.excluded.iter().map(String::len).sum();
            // Each byte that does not decode may become one character of three.
            assert!(bytes <= data.len() * 3, "{} names out of nothing", wish.excluded.len());
        }
    }

    #[test]
    fn any_query_and_form_are_read_or_refused() {
        let part = "--b\r\nContent-Disposition: form-data; name=\"toExcludeSST[]\"\r\n\r\n";
        let form = format!("user.name=ann&toExcludeSST=1.sst,2.sst\n{part}3.sst\r\n--b--\r\n");
        let request = Request::post("/dbCheckpoint?user.name=ann&toExcludeSST=1.sst,2.sst")
            .header(CONTENT_TYPE, "multipart/form-data; boundary=b")
            .body(Body::from(format!("{part}3.sst\r\n--b--\r\n")))
            .unwrap();
        let (wish, user) = block_on(read(request)).unwrap();
        assert_eq!((wish.excluded.len(), user.as_deref()), (3, Some("ann")));
        testkit::fuzz(vec![("om-checkpoint-request", read_parameters, vec![form.into_bytes()])]);
    }
}
