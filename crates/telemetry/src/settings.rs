//! The keys `ozone.tracing.*`. Ozone: `TracingConfig`.

use std::collections::HashMap;

use config::Configuration;
use config::keys::hdds;
use http::Uri;

/// The default collector.
const DEFAULT_ENDPOINT: &str = "http://localhost:4317";
/// Fallback for `ozone.tracing.endpoint`.
const ENDPOINT_VARIABLE: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
/// Fallback for `ozone.tracing.sampler`.
const SAMPLER_VARIABLE: &str = "OTEL_TRACES_SAMPLER_ARG";
/// Fallback for `ozone.tracing.span.sampling`.
const RATES_VARIABLE: &str = "OTEL_SPAN_SAMPLING_ARG";

/// Settings of the export of spans.
#[derive(Debug, Clone, PartialEq)]
pub struct TracingSettings {
    /// The collector's OTLP gRPC receiver, such as `http://collector:4317`.
    pub endpoint: String,
    /// Fraction of traces started here that are exported, 0 to 1.
    pub ratio: f64,
    /// Fraction of the spans of a name that are exported within such a trace, above 0 up to 1.
    pub rates: HashMap<String, f64>,
}

/// An invalid setting.
#[derive(Debug, thiserror::Error, PartialEq)]
#[error("{name} = '{value}' is refused: {reason}")]
pub struct SettingsError {
    /// The key, or the environment variable that replaces it.
    name: &'static str,
    value: String,
    reason: &'static str,
}

impl TracingSettings {
    /// The settings of a configuration; `None` if `ozone.tracing.enabled` is off.
    ///
    /// # Errors
    /// If a value is malformed, or requests an unsupported feature (TLS).
    pub fn of(conf: &Configuration) -> Result<Option<Self>, SettingsError> {
        Self::with_environment(conf, |name| std::env::var(name).ok())
    }

    fn with_environment(
        conf: &Configuration,
        environment: impl Fn(&'static str) -> Option<String>,
    ) -> Result<Option<Self>, SettingsError> {
        if !conf.get(&hdds::OZONE_TRACING_ENABLED) {
            return Ok(None);
        }
        let variable = |name| {
            let set = environment(name).map(|value| value.trim().to_owned());
            set.filter(|value| !value.is_empty()).map(|value| (name, value))
        };
        let text = |key: &'static config::Key<String>, stand_in| {
            let value = conf.get(key).trim().to_owned();
            if value.is_empty() { variable(stand_in) } else { Some((key.name(), value)) }
        };
        let endpoint = match text(&hdds::OZONE_TRACING_ENDPOINT, ENDPOINT_VARIABLE) {
            Some((name, value)) => endpoint(name, value)?,
            None => DEFAULT_ENDPOINT.to_owned(),
        };
        let configured = conf.get(&hdds::OZONE_TRACING_SAMPLER);
        let ratio = if configured < 0.0 {
            // As in Ozone, a negative value counts as unset.
            match variable(SAMPLER_VARIABLE) {
                Some((name, value)) => number(name, &value, 0.0)?,
                None => 1.0,
            }
        } else {
            let name = hdds::OZONE_TRACING_SAMPLER.name();
            number(name, &configured.to_string(), 0.0)?
        };
        let rates = match text(&hdds::OZONE_TRACING_SPAN_SAMPLING, RATES_VARIABLE) {
            Some((name, value)) => rates(name, &value)?,
            None => HashMap::new(),
        };
        Ok(Some(Self { endpoint, ratio, rates }))
    }
}

fn endpoint(name: &'static str, value: String) -> Result<String, SettingsError> {
    let refused = |reason| SettingsError { name, value: value.clone(), reason };
    let uri: Uri = value.parse().map_err(|_| refused("it is not a URL"))?;
    match uri.scheme_str() {
        Some("http") => {}
        Some("https") => return Err(refused("spans are not sent over TLS yet; use http")),
        _ => return Err(refused("it must be http://HOST:PORT")),
    }
    if !matches!(uri.path(), "" | "/") || uri.query().is_some() {
        return Err(refused("OTLP over gRPC has no path; it must be http://HOST:PORT"));
    }
    Ok(value)
}

fn number(name: &'static str, value: &str, least: f64) -> Result<f64, SettingsError> {
    let refused = |reason| SettingsError { name, value: value.to_owned(), reason };
    let number: f64 = value.trim().parse().map_err(|_| refused("it is not a number"))?;
    if (least..=1.0).contains(&number) {
        Ok(number)
    } else {
        Err(refused("it must be between 0 and 1"))
    }
}

fn rates(name: &'static str, value: &str) -> Result<HashMap<String, f64>, SettingsError> {
    let refused = |reason| SettingsError { name, value: value.to_owned(), reason };
    let entries = value.split(',').map(str::trim).filter(|entry| !entry.is_empty());
    let entry = |entry: &str| {
        let (span, rate) =
            entry.rsplit_once(':').ok_or_else(|| refused("an entry is SPAN:RATE"))?;
        if span.trim().is_empty() {
            return Err(refused("an entry is SPAN:RATE"));
        }
        // Ozone does not offer a rate of 0 either.
        let rate = number(name, rate, f64::MIN_POSITIVE).map_err(|e| refused(e.reason))?;
        Ok((span.trim().to_owned(), rate))
    };
    entries.map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(
        settings: &[(&str, &str)],
        environment: &[(&'static str, &str)],
    ) -> Result<Option<TracingSettings>, SettingsError> {
        let mut conf = Configuration::default();
        for (key, value) in settings {
            conf = conf.with(key, value);
        }
        TracingSettings::with_environment(&conf, |name| {
            environment.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned())
        })
    }

    const ENABLED: (&str, &str) = ("ozone.tracing.enabled", "true");

    #[test]
    fn off_is_the_default_and_defaults_are_those_of_ozone() {
        assert_eq!(read(&[], &[]), Ok(None));
        let defaults = TracingSettings {
            endpoint: "http://localhost:4317".to_owned(),
            ratio: 1.0,
            rates: HashMap::new(),
        };
        assert_eq!(read(&[ENABLED], &[]), Ok(Some(defaults)));
    }

    #[test]
    fn the_environment_stands_in_for_keys_that_are_not_set() {
        let environment = [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://other:1"),
            ("OTEL_TRACES_SAMPLER_ARG", " 0.25 "),
            ("OTEL_SPAN_SAMPLING_ARG", "a:0.5, b:1"),
        ];
        let read_there = read(&[ENABLED], &environment).unwrap().unwrap();
        assert_eq!((read_there.endpoint.as_str(), read_there.ratio), ("http://other:1", 0.25));
        assert_eq!(read_there.rates, HashMap::from([("a".to_owned(), 0.5), ("b".to_owned(), 1.0)]));
        let keys = [
            ENABLED,
            ("ozone.tracing.endpoint", "http://mine:2"),
            ("ozone.tracing.sampler", "0.5"),
            ("ozone.tracing.span.sampling", "c:0.1"),
        ];
        let read_here = read(&keys, &environment).unwrap().unwrap();
        assert_eq!((read_here.endpoint.as_str(), read_here.ratio), ("http://mine:2", 0.5));
        assert_eq!(read_here.rates, HashMap::from([("c".to_owned(), 0.1)]));
    }

    #[test]
    fn what_cannot_be_kept_is_refused() {
        for (key, value) in [
            ("ozone.tracing.endpoint", "collector:4317"),
            ("ozone.tracing.endpoint", "https://collector:4317"),
            ("ozone.tracing.endpoint", "http://collector:4317/v1/traces"),
            ("ozone.tracing.endpoint", "not a url"),
            ("ozone.tracing.sampler", "1.5"),
            ("ozone.tracing.sampler", "2"),
            ("ozone.tracing.span.sampling", "CommitKey"),
            ("ozone.tracing.span.sampling", "CommitKey:often"),
            ("ozone.tracing.span.sampling", "CommitKey:0"),
            ("ozone.tracing.span.sampling", ":0.5"),
        ] {
            assert_eq!(read(&[(key, value)], &[]), Ok(None), "not validated while disabled");
            let refused = read(&[ENABLED, (key, value)], &[]).expect_err(value).to_string();
            assert!(refused.contains(key) && refused.contains(value), "{refused}");
        }
        assert!(read(&[ENABLED], &[("OTEL_TRACES_SAMPLER_ARG", "many")]).is_err());
    }
}
