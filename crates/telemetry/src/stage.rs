//! A part of a request.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

use tracing::{Instrument, Level, Span, span};

use crate::record::CURRENT;
use crate::{TARGET, context};

/// Does `future` as a stage of the request that this task works on, if any: noted for the case
/// that the request is slow, and a span while spans are exported.
pub async fn stage<F: Future>(name: &'static str, future: F) -> F::Output {
    let under_way = CURRENT.try_with(|record| record.begin(name)).ok();
    let output = pin!(future).instrument(span_of(name)).await;
    if let Some(under_way) = under_way {
        under_way.finish();
    }
    output
}

/// The same for work that does not wait, but may take long.
pub fn stage_sync<T>(name: &'static str, work: impl FnOnce() -> T) -> T {
    let under_way = CURRENT.try_with(|record| record.begin(name)).ok();
    let output = span_of(name).in_scope(work);
    if let Some(under_way) = under_way {
        under_way.finish();
    }
    output
}

/// The same for what seldom waits: one that is done at once is not noted, and costs nothing.
pub async fn wait<F: Future>(name: &'static str, future: F) -> F::Output {
    let mut future = pin!(future);
    match poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx))).await {
        Poll::Ready(output) => output,
        Poll::Pending => stage(name, future).await,
    }
}

/// Does `future` as a stage of a request that another process, or another task, works on: the one
/// whose span `trace_id` names. A span while spans are exported, if it names one.
pub fn stage_under<F: Future>(
    name: &'static str,
    trace_id: Option<&str>,
    future: F,
) -> impl Future<Output = F::Output> + use<F> {
    let parent = match trace_id {
        Some(trace_id) if crate::is_exporting() => context::import(trace_id),
        _ => None,
    };
    let span = match &parent {
        Some(_) => span!(target: TARGET, parent: None, Level::TRACE, "stage", otel.name = name),
        None => Span::none(),
    };
    context::set_parent(&span, parent);
    future.instrument(span)
}

fn span_of(name: &'static str) -> Span {
    span!(target: TARGET, Level::TRACE, "stage", otel.name = name)
}
