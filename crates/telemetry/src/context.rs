//! Trace ids on the wire, in Ozone's form.
//!
//! Ozone: `TracingUtil.exportCurrentSpan`. The W3C trace context, as `name=value;` pairs:
//! `traceparent=00-<trace id>-<span id>-<flags>;`. It is in `traceID` of requests to OM, SCM and
//! DataNodes, and in the gRPC header `tracing`. Java's SDK sets flag 2 (the trace id is random, W3C
//! level 2), which the propagator of the Rust SDK rejects, so it is parsed here.

use opentelemetry::trace::{SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TraceState};
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt;

/// Maximum length of a trace id in bytes. Ozone's have 70, or some hundred with vendors' state.
pub const MAX_TRACE_ID: usize = 1024;

/// The only parsed pair. Vendors' state (`tracestate`) is not propagated.
const TRACEPARENT: &str = "traceparent";

/// The span in a request's `traceID`; `None` if it is empty or malformed.
pub fn import(trace_id: &str) -> Option<SpanContext> {
    if trace_id.is_empty() || trace_id.len() > MAX_TRACE_ID {
        return None;
    }
    let pairs = trace_id.split(';').filter_map(|pair| pair.split_once('='));
    let mut named = pairs.filter(|(name, _)| name.trim() == TRACEPARENT);
    import_header(named.next()?.1.trim())
}

/// The span in a W3C `traceparent`, the HTTP header of that name.
pub fn import_header(traceparent: &str) -> Option<SpanContext> {
    let mut parts = traceparent.splitn(5, '-');
    let version = hex(parts.next()?, 2)?;
    let (trace, span) = (hex(parts.next()?, 32)?, hex(parts.next()?, 16)?);
    let flags = u8::from_str_radix(hex(parts.next()?, 2)?, 16).ok()?;
    // Version ff is invalid; later versions may have further parts, version 00 has none.
    if version == "ff" || (version == "00" && parts.next().is_some()) {
        return None;
    }
    let (trace, span) = (TraceId::from_hex(trace).ok()?, SpanId::from_hex(span).ok()?);
    let context =
        SpanContext::new(trace, span, TraceFlags::new(flags), true, TraceState::default());
    context.is_valid().then_some(context)
}

/// The current span as a `traceID`; `None` while spans are not exported, or outside of a span.
pub fn current_trace_id() -> Option<String> {
    if !crate::is_exporting() {
        return None;
    }
    let context = Span::current().context();
    let span = context.span();
    export(span.span_context())
}

fn export(context: &SpanContext) -> Option<String> {
    let (trace, span) = (context.trace_id(), context.span_id());
    let flags = context.trace_flags().to_u8();
    context.is_valid().then(|| format!("{TRACEPARENT}=00-{trace}-{span}-{flags:02x};"))
}

/// Makes `span` a child of a request's span.
pub(crate) fn set_parent(span: &Span, parent: Option<SpanContext>) {
    if let Some(parent) = parent {
        let context = opentelemetry::Context::new().with_remote_span_context(parent);
        // Fails only if the span is not exported.
        let _ = span.set_parent(context);
    }
}

/// `text`, if it consists of that many lower-case hexadecimal digits.
fn hex(text: &str, digits: usize) -> Option<&str> {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    (text.len() == digits && text.bytes().all(is_digit)).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The output of `TracingUtil.exportCurrentSpan` of Ozone 2.2.0.
    const JAVA: &str = "traceparent=00-c64867b4abcf4da5beb40cd88a8cce09-62217fd04abe0263-03;";

    #[test]
    fn a_trace_id_of_the_java_client_is_read_and_written() {
        let context = import(JAVA).expect("it names a span");
        assert_eq!(context.trace_id().to_string(), "c64867b4abcf4da5beb40cd88a8cce09");
        assert_eq!(context.span_id().to_string(), "62217fd04abe0263");
        assert!(context.is_sampled() && context.is_remote());
        assert_eq!(export(&context).as_deref(), Some(JAVA));
    }

    #[test]
    fn the_state_of_vendors_and_flags_do_not_hide_the_span() {
        let trace = "11111111111111111111111111111111";
        for (text, sampled) in [
            (format!("tracestate=a=b,c=d; traceparent = 00-{trace}-2222222222222222-01;"), true),
            (format!("traceparent=00-{trace}-2222222222222222-00;tracestate=a=b;"), false),
            (format!("traceparent=cc-{trace}-2222222222222222-01-later;"), true),
        ] {
            let context = import(&text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(
                (context.trace_id().to_string().as_str(), context.is_sampled()),
                (trace, sampled)
            );
        }
    }

    #[test]
    fn any_text_names_a_span_or_none() {
        let read = |data: &[u8]| {
            if let Some(span) = import(&String::from_utf8_lossy(data)) {
                assert_eq!(export(&span).and_then(|text| import(&text)), Some(span));
            }
        };
        let seeds = [JAVA.to_owned(), format!("tracestate=a=b,c=d; {JAVA}")];
        testkit::fuzz(vec![("trace-id", read, seeds.map(String::into_bytes).to_vec())]);
    }

    #[test]
    fn what_is_no_trace_id_names_no_span() {
        let zeros = "traceparent=00-00000000000000000000000000000000-2222222222222222-01;";
        let capitals = "traceparent=00-C64867B4ABCF4DA5BEB40CD88A8CCE09-62217fd04abe0263-01;";
        let long = format!("{JAVA}{}", "x".repeat(1 << 20));
        let many = "=".repeat(1 << 20);
        let extra = "traceparent=00-c64867b4abcf4da5beb40cd88a8cce09-62217fd04abe0263-01-x;";
        let signed = "traceparent=00-c64867b4abcf4da5beb40cd88a8cce09-62217fd04abe0263-+1;";
        for junk in [
            "",
            ";",
            "=",
            "garbage",
            "traceparent",
            "traceparent=",
            "traceparent=00",
            "é=ü;;==;",
            "1234:5678:0:1",
            zeros,
            capitals,
            extra,
            signed,
            &long,
            &many,
            "traceparent=ff-c64867b4abcf4da5beb40cd88a8cce09-62217fd04abe0263-01;",
            "traceparent=00-ç64867b4abcf4da5beb40cd88a8cce0-62217fd04abe0263-01;",
        ] {
            assert_eq!(import(junk), None, "{}", junk.get(..40).unwrap_or(junk));
        }
    }
}
