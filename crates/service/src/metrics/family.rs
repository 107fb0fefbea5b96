//! Metrics with one label.

use prometheus_client::metrics::family::Family;

use super::{Counter, Gauge, Histogram};

type Labels = Vec<(&'static str, String)>;

macro_rules! family {
    ($(#[$doc:meta])* $name:ident of $metric:ty) => {
        $(#[$doc])*
        #[derive(Debug, Clone)]
        pub struct $name {
            pub(super) label: &'static str,
            pub(super) family: Family<Labels, $metric>,
        }

        impl $name {
            pub(super) fn new(label: &'static str) -> Self {
                $name { label, family: Family::default() }
            }

            /// The metric for this label value. This is a lookup: keep the result for frequent use.
            pub fn with(&self, value: impl Into<String>) -> $metric {
                self.family.get_or_create_owned(&vec![(self.label, value.into())])
            }

            /// Removes the metric for this label value.
            pub fn remove(&self, value: impl Into<String>) {
                self.family.remove(&vec![(self.label, value.into())]);
            }
        }
    };
}

family! {
    /// Counters with one label.
    CounterFamily of Counter
}
family! {
    /// Gauges with one label.
    GaugeFamily of Gauge
}
family! {
    /// Histograms with one label.
    HistogramFamily of Histogram
}
