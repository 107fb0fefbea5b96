//! Work that nothing asked for over the wire: a trace of its own.

use std::future::Future;

use tracing::{Instrument, Level, span};

use crate::TARGET;

/// Does `work` as the root of a trace: one run of a background service, one command of a client.
pub fn root<F: Future>(name: &str, work: F) -> impl Future<Output = F::Output> + use<F> {
    let span = span!(target: TARGET, parent: None, Level::TRACE, "root", otel.name = name);
    work.instrument(span)
}
