//! Traces of work without a request.

use std::future::Future;

use tracing::{Instrument, Level, span};

use crate::TARGET;

/// Runs `work` as the root of a trace: one run of a background service, one command of a client.
pub fn root<F: Future>(name: &str, work: F) -> impl Future<Output = F::Output> + use<F> {
    let span = span!(target: TARGET, parent: None, Level::TRACE, "root", otel.name = name);
    work.instrument(span)
}
