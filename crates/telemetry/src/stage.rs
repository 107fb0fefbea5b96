//! A part of a request.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use tracing::{Instrument, Level, Span, span};

use crate::record::{CURRENT, UnderWay};
use crate::{TARGET, context};

pin_project_lite::pin_project! {
    /// The future returned by [`stage`] and [`wait`]. It has the size of the inner future, which an
    /// `async fn` would store twice.
    pub struct Stage<F> {
        name: &'static str,
        // Recorded only once it had to wait.
        if_it_waits: bool,
        begun: Option<Begun>,
        #[pin]
        future: F,
    }
}

/// A recorded stage.
struct Begun {
    span: Span,
    under_way: Option<UnderWay>,
}

impl Begun {
    fn new(name: &'static str) -> Self {
        let under_way = CURRENT.try_with(|record| record.begin(name)).ok();
        Self { span: span_of(name), under_way }
    }
}

impl<F: Future> Future for Stage<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        if this.begun.is_none() && *this.if_it_waits {
            let polled = this.future.poll(cx);
            if polled.is_pending() {
                *this.begun = Some(Begun::new(this.name));
            }
            return polled;
        }
        let begun = this.begun.get_or_insert_with(|| Begun::new(this.name));
        let polled = begun.span.in_scope(|| this.future.poll(cx));
        if polled.is_ready()
            && let Some(under_way) = this.begun.take().and_then(|begun| begun.under_way)
        {
            under_way.finish();
        }
        polled
    }
}

/// Runs `future` as a stage of the current task's request, if any: recorded for the case that the
/// request is slow, and a span while spans are exported.
pub fn stage<F: Future>(name: &'static str, future: F) -> Stage<F> {
    Stage { name, if_it_waits: false, begun: None, future }
}

/// The same for futures that rarely wait: one that is ready at once is not recorded, and costs
/// nothing.
pub fn wait<F: Future>(name: &'static str, future: F) -> Stage<F> {
    Stage { name, if_it_waits: true, begun: None, future }
}

/// The same for synchronous work that may take long.
pub fn stage_sync<T>(name: &'static str, work: impl FnOnce() -> T) -> T {
    let under_way = CURRENT.try_with(|record| record.begin(name)).ok();
    let output = span_of(name).in_scope(work);
    if let Some(under_way) = under_way {
        under_way.finish();
    }
    output
}

/// Runs `future` as a stage of a request in another process or task, whose span is in `trace_id`. A
/// span while spans are exported, if `trace_id` is valid.
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
