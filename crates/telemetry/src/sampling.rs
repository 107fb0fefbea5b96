//! Sampling of exported spans. Ozone: `SpanSampler`.

use std::collections::HashMap;

use opentelemetry::trace::{Link, SpanKind, TraceContextExt, TraceId, TraceState};
use opentelemetry::{Context, KeyValue};
use opentelemetry_sdk::trace::{Sampler, SamplingDecision, SamplingResult, ShouldSample};

/// A root is sampled at random. A child is exported if its parent is, so that traces are complete;
/// names with a rate of their own are also sampled at that rate.
#[derive(Debug, Clone)]
pub(crate) struct Sampling {
    root: Sampler,
    rates: HashMap<String, f64>,
}

impl Sampling {
    pub(crate) fn new(root: f64, rates: HashMap<String, f64>) -> Self {
        Self { root: Sampler::TraceIdRatioBased(root), rates }
    }
}

impl ShouldSample for Sampling {
    fn should_sample(
        &self,
        parent_context: Option<&Context>,
        trace_id: TraceId,
        name: &str,
        span_kind: &SpanKind,
        attributes: &[KeyValue],
        links: &[Link],
    ) -> SamplingResult {
        let parent = parent_context.map(|context| context.span().span_context().clone());
        let Some(parent) = parent.filter(|parent| parent.is_valid()) else {
            return self.root.should_sample(None, trace_id, name, span_kind, attributes, links);
        };
        let rate = self.rates.get(name);
        let sampled = parent.is_sampled() && rate.is_none_or(|r| rand::random::<f64>() < *r);
        SamplingResult {
            decision: match sampled {
                true => SamplingDecision::RecordAndSample,
                false => SamplingDecision::Drop,
            },
            attributes: Vec::new(),
            trace_state: TraceState::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use opentelemetry::trace::{SpanContext, SpanId, TraceFlags};

    use super::*;

    fn decide(sampling: &Sampling, parent: Option<u8>, name: &str) -> bool {
        let context = parent.map(|flags| {
            let (trace, span) = (TraceId::from(1u128), SpanId::from(2u64));
            let flags = TraceFlags::new(flags);
            let parent = SpanContext::new(trace, span, flags, true, TraceState::default());
            Context::new().with_remote_span_context(parent)
        });
        let trace = TraceId::from(u128::MAX);
        let kind = SpanKind::Server;
        let result = sampling.should_sample(context.as_ref(), trace, name, &kind, &[], &[]);
        result.decision == SamplingDecision::RecordAndSample
    }

    #[test]
    fn a_child_is_sampled_as_its_parent_and_a_root_by_the_ratio() {
        let never = Sampling::new(0.0, HashMap::new());
        let always = Sampling::new(1.0, HashMap::new());
        assert!(decide(&never, Some(3), "CommitKey"), "the parent is sampled");
        assert!(!decide(&always, Some(2), "CommitKey"), "the parent is not sampled");
        assert!(decide(&always, None, "CommitKey"));
        assert!(!decide(&never, None, "CommitKey"));
    }

    #[test]
    fn a_name_may_have_a_rate_of_its_own_below_a_sampled_parent() {
        let sampling = Sampling::new(1.0, HashMap::from([("rare".to_owned(), f64::MIN_POSITIVE)]));
        assert!(!decide(&sampling, Some(1), "rare"));
        assert!(decide(&sampling, Some(1), "other"));
    }
}
