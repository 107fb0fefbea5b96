//! `diskBalancer.info`: whether the balancer runs, and how, in Ozone's YAML form.
//!
//! The file is a flat mapping in braces, a key on a line; only that shape is read, with and without
//! the braces. Unknown keys are tolerated.

use proto::disk_balancer::DiskBalancerRunningStatus as Status;

use super::parameters::{MovableStates, ParameterError, Parameters};

const TAG: &str =
    "!!org.apache.hadoop.ozone.container.diskbalancer.DiskBalancerYaml$DiskBalancerInfoYaml";

/// The only version of the file there is.
const VERSION: u32 = 1;

/// Contents of the file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Info {
    /// Its status.
    pub status: Status,
    /// Its parameters.
    pub parameters: Parameters,
}

/// Errors of a file's text.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(crate) enum InfoError {
    /// A line is no `key: value`.
    #[error("not a key and a value: {0:?}")]
    Line(String),
    /// An invalid value of a key.
    #[error("{key} is {value:?}")]
    Value {
        /// The key.
        key: String,
        /// The value in the file.
        value: String,
    },
    /// A key that must be there is not.
    #[error("{0} is missing")]
    Missing(&'static str),
    /// An unknown version.
    #[error("unknown version {0}")]
    Version(String),
    /// An invalid parameter.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
}

/// The text of the file. Keys stand in alphabetical order, as Ozone writes them.
pub(crate) fn render(info: &Info) -> String {
    let Parameters { threshold, bandwidth_mb, threads, stop_after_even, states } = &info.parameters;
    format!(
        "{TAG} {{\n  bandwidthInMB: {bandwidth_mb},\n  containerStates: '{states}',\n  \
         operationalState: {},\n  parallelThread: {threads},\n  \
         stopAfterDiskEven: {stop_after_even},\n  threshold: {threshold:?},\n  \
         version: {VERSION}\n}}\n",
        info.status.as_str_name(),
    )
}

/// Parses the text of a file; missing values are those of `otherwise`.
///
/// # Errors
/// When it is invalid.
pub(crate) fn parse(text: &str, otherwise: &Parameters) -> Result<Info, InfoError> {
    let (mut status, mut version) = (None, None);
    let mut parameters = otherwise.clone();
    for line in text.lines().map(str::trim) {
        let begins = line.starts_with("!!") || line.starts_with('#');
        if begins || ["", "---", "{", "}"].contains(&line) {
            continue;
        }
        let (key, value) = line.split_once(':').ok_or_else(|| InfoError::Line(line.to_owned()))?;
        let value = value.trim().trim_end_matches(',').trim_matches(['\'', '"']);
        let bad = || InfoError::Value { key: key.to_owned(), value: value.to_owned() };
        match key {
            "operationalState" => status = Some(Status::from_str_name(value).ok_or_else(bad)?),
            "version" => version = Some(value.to_owned()),
            "threshold" => parameters.threshold = value.parse().map_err(|_| bad())?,
            "bandwidthInMB" => parameters.bandwidth_mb = value.parse().map_err(|_| bad())?,
            "parallelThread" => parameters.threads = value.parse().map_err(|_| bad())?,
            "stopAfterDiskEven" => parameters.stop_after_even = value.parse().map_err(|_| bad())?,
            "containerStates" => parameters.states = MovableStates::parse(value)?,
            _ => {}
        }
    }
    let version = version.ok_or(InfoError::Missing("version"))?;
    if version != VERSION.to_string() {
        return Err(InfoError::Version(version));
    }
    let status = status.ok_or(InfoError::Missing("operationalState"))?;
    Ok(Info { status, parameters: parameters.checked()? })
}

#[cfg(test)]
mod tests {
    use super::super::parameters::defaults;
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        for status in [Status::Running, Status::Stopped, Status::Paused] {
            let parameters = Parameters {
                threshold: 0.001,
                states: MovableStates::parse("QUASI_CLOSED").unwrap(),
                stop_after_even: false,
                ..defaults()
            };
            let info = Info { status, parameters };
            assert_eq!(parse(&render(&info), &defaults()).unwrap(), info);
        }
        let text = render(&Info { status: Status::Running, parameters: defaults() });
        // As Apache Ozone 2.2.0 writes it.
        let written = "!!org.apache.hadoop.ozone.container.diskbalancer.DiskBalancerYaml$DiskBalancerInfoYaml {\n  \
            bandwidthInMB: 10,\n  containerStates: 'CLOSED,QUASI_CLOSED',\n  operationalState: RUNNING,\n  \
            parallelThread: 5,\n  stopAfterDiskEven: true,\n  threshold: 10.0,\n  version: 1\n}\n";
        assert_eq!(text, written);
        // With a key on each line and nothing around them.
        let block = written.replace([',', '{', '}'], "").replace("CLOSEDQUASI", "CLOSED,QUASI");
        assert_eq!(parse(&block, &defaults()).unwrap().parameters, defaults());
    }

    #[test]
    fn a_file_that_makes_no_sense_is_refused() {
        let good = render(&Info { status: Status::Running, parameters: defaults() });
        for (from, to) in [
            ("version: 1", "version: 2"),
            ("version: 1", ""),
            ("operationalState: RUNNING", ""),
            ("RUNNING", "WALKING"),
            ("10.0", "100.0"),
            ("parallelThread: 5", "parallelThread: -5"),
            ("parallelThread: 5,", "parallelThread"),
            ("CLOSED,QUASI_CLOSED", "OPEN"),
            ("version: 1", "version 1"),
        ] {
            let text = good.replacen(from, to, 1);
            assert!(parse(&text, &defaults()).is_err(), "{text}");
        }
    }

    #[test]
    fn any_text_is_information_or_refused() {
        let read = |data: &[u8]| drop(parse(&String::from_utf8_lossy(data), &defaults()));
        let seed = render(&Info { status: Status::Paused, parameters: defaults() });
        testkit::fuzz(vec![("disk-balancer-info", read, vec![seed.into_bytes()])]);
    }
}
