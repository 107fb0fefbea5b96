//! The same metric under several values of one label.

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

            /// The one for this value of the label. Looks it up: keep what it returns where it is
            /// used often.
            pub fn with(&self, value: impl Into<String>) -> $metric {
                self.family.get_or_create_owned(&vec![(self.label, value.into())])
            }

            /// Forgets the one for this value of the label.
            pub fn remove(&self, value: impl Into<String>) {
                self.family.remove(&vec![(self.label, value.into())]);
            }
        }
    };
}

family! {
    /// Counters told apart by one label.
    CounterFamily of Counter
}
family! {
    /// Gauges told apart by one label.
    GaugeFamily of Gauge
}
family! {
    /// Histograms told apart by one label.
    HistogramFamily of Histogram
}
