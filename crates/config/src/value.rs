//! Types of configuration values and their syntax.

use std::fmt;
use std::net::{ToSocketAddrs, UdpSocket};
use std::path::PathBuf;
use std::time::Duration;

use crate::declare::{KeySpec, Value};
use crate::error::Expected;

macro_rules! number {
    ($($type:ty => $name:literal, $expected:literal;)*) => {$(
        impl Value for $type {
            const TYPE: &'static str = $name;
            fn parse(raw: &str, _: &KeySpec) -> Result<Self, Expected> {
                raw.replace('_', "").parse().map_err(|_| Expected($expected.into()))
            }
        }
    )*};
}
number! {
    i32 => "integer", "a whole number, such as 3";
    i64 => "integer", "a whole number, such as 3";
    u16 => "integer", "a whole number from 0 to 65535";
    u32 => "integer", "a whole number, 0 or more";
    u64 => "integer", "a whole number, 0 or more";
    usize => "integer", "a whole number, 0 or more";
}

impl Value for f64 {
    const TYPE: &'static str = "number";
    /// Also accepts Java's suffix `f` (`0.9f`), which Ozone's own files use.
    fn parse(raw: &str, _: &KeySpec) -> Result<Self, Expected> {
        let number = raw.strip_suffix(['f', 'F']).unwrap_or(raw);
        number
            .parse()
            .ok()
            .filter(|n: &f64| n.is_finite())
            .ok_or(Expected("a number, such as 0.9".into()))
    }
}

impl Value for bool {
    const TYPE: &'static str = "boolean";
    fn parse(raw: &str, _: &KeySpec) -> Result<Self, Expected> {
        match raw.to_ascii_lowercase().as_str() {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(Expected("true or false".into())),
        }
    }
}

impl Value for String {
    const TYPE: &'static str = "text";
    fn parse(raw: &str, spec: &KeySpec) -> Result<Self, Expected> {
        // Return a choice as declared, regardless of its capitalization.
        let choice = spec.choices.iter().find(|c| c.eq_ignore_ascii_case(raw));
        Ok(choice.map_or_else(|| raw.to_string(), |c| c.to_string()))
    }
}

impl Value for PathBuf {
    const TYPE: &'static str = "path";
    fn parse(raw: &str, _: &KeySpec) -> Result<Self, Expected> {
        Ok(path(raw))
    }
}

/// A path, also in the form `file:///path`, as Ozone allows.
fn path(raw: &str) -> PathBuf {
    PathBuf::from(raw.strip_prefix("file://").unwrap_or(raw))
}

impl Value for Vec<String> {
    const TYPE: &'static str = "list";
    fn parse(raw: &str, _: &KeySpec) -> Result<Self, Expected> {
        Ok(items(raw).map(str::to_string).collect())
    }
}

impl Value for Vec<PathBuf> {
    const TYPE: &'static str = "list of paths";
    fn parse(raw: &str, _: &KeySpec) -> Result<Self, Expected> {
        Ok(items(raw).map(path).collect())
    }
}

/// A data directory and its storage type: `[SSD]/path`, in the syntax of HDFS and Ozone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataDir {
    /// The directory.
    pub path: PathBuf,
    /// One of [`DataDir::STORAGE_TYPES`].
    pub storage_type: &'static str,
}

impl DataDir {
    /// All storage types; the first is the default.
    pub const STORAGE_TYPES: [&'static str; 3] = ["DISK", "SSD", "ARCHIVE"];
}

impl Value for Vec<DataDir> {
    const TYPE: &'static str = "list of paths";
    fn parse(raw: &str, _: &KeySpec) -> Result<Self, Expected> {
        items(raw).map(data_dir).collect()
    }
}

fn data_dir(raw: &str) -> Result<DataDir, Expected> {
    let [usual, ..] = DataDir::STORAGE_TYPES;
    let Some(rest) = raw.strip_prefix('[') else {
        return Ok(DataDir { path: path(raw), storage_type: usual });
    };
    let found = rest.split_once(']').and_then(|(named, rest)| {
        Some((storage_type(named.trim())?, Some(rest.trim()).filter(|rest| !rest.is_empty())?))
    });
    let expected = "directories such as /d1, [SSD]/d2 and [ARCHIVE]/d3";
    let (storage_type, rest) = found.ok_or(Expected(expected.into()))?;
    Ok(DataDir { path: path(rest), storage_type })
}

fn storage_type(named: &str) -> Option<&'static str> {
    DataDir::STORAGE_TYPES.into_iter().find(|of| of.eq_ignore_ascii_case(named))
}

/// Storage types, of [`DataDir::STORAGE_TYPES`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StorageTypes(pub Vec<&'static str>);

impl Value for StorageTypes {
    const TYPE: &'static str = "list";
    fn parse(raw: &str, _: &KeySpec) -> Result<Self, Expected> {
        let types = items(raw).map(storage_type).collect::<Option<_>>();
        types.map(Self).ok_or(Expected("a list of DISK, SSD and ARCHIVE".into()))
    }
}

fn items(raw: &str) -> impl Iterator<Item = &str> {
    raw.split(',').map(str::trim).filter(|item| !item.is_empty())
}

/// An empty value is `None`.
impl<T: Value> Value for Option<T> {
    const TYPE: &'static str = T::TYPE;
    fn parse(raw: &str, spec: &KeySpec) -> Result<Self, Expected> {
        if raw.is_empty() { Ok(None) } else { T::parse(raw, spec).map(Some) }
    }
}

impl Value for Duration {
    const TYPE: &'static str = "duration";
    /// `30s`, `100ms`, `5m`, `1.5h`, `7d`; a bare number is milliseconds.
    fn parse(raw: &str, _: &KeySpec) -> Result<Self, Expected> {
        let expected = || Expected("a duration, such as 100ms, 30s, 5m or 1h".into());
        let (number, unit) = split_unit(raw);
        let seconds = match unit.to_ascii_lowercase().as_str() {
            "ns" => 1e-9,
            "us" => 1e-6,
            "" | "ms" => 1e-3,
            "s" => 1.0,
            "m" | "min" => 60.0,
            "h" => 3_600.0,
            "d" => 86_400.0,
            _ => return Err(expected()),
        };
        let number: f64 = number.parse().map_err(|_| expected())?;
        Duration::try_from_secs_f64(number * seconds).map_err(|_| expected())
    }
}

/// A number of bytes, written `5GB`, `16KB`, `1.5 MiB` or a bare number; every unit is a power of
/// 1024, as in Ozone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(transparent)]
pub struct ByteSize(pub u64);

impl ByteSize {
    /// The number of bytes.
    pub const fn bytes(self) -> u64 {
        self.0
    }

    /// The number of bytes as a length in memory.
    pub const fn as_usize(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(1u64 << 40, "TB"), (1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "KB")];
        match units.iter().find(|(size, _)| self.0 >= *size && self.0.is_multiple_of(*size)) {
            Some((size, unit)) => write!(f, "{}{unit}", self.0 / size),
            None => write!(f, "{}B", self.0),
        }
    }
}

impl Value for ByteSize {
    const TYPE: &'static str = "size";
    fn parse(raw: &str, _: &KeySpec) -> Result<Self, Expected> {
        raw.parse()
    }
}

impl std::str::FromStr for ByteSize {
    type Err = Expected;
    /// Returns the expected syntax as the error.
    fn from_str(raw: &str) -> Result<Self, Expected> {
        let expected = || Expected("a size, such as 4MB, 16KB or 5GB".into());
        let (number, unit) = split_unit(raw);
        let shift = match unit.to_ascii_lowercase().trim_end_matches("ib").trim_end_matches('b') {
            "" => 0,
            "k" => 10,
            "m" => 20,
            "g" => 30,
            "t" => 40,
            "p" => 50,
            "e" => 60,
            _ => return Err(expected()),
        };
        if let Ok(whole) = number.parse::<u64>() {
            return whole.checked_mul(1 << shift).map(ByteSize).ok_or_else(expected);
        }
        let number: f64 = number.parse().map_err(|_| expected())?;
        let bytes = number * (1u64 << shift) as f64;
        if !(0.0..9.2e18).contains(&bytes) {
            return Err(expected());
        }
        Ok(ByteSize(bytes as u64))
    }
}

/// Splits `1.5 GB` into `1.5` and `GB`.
fn split_unit(raw: &str) -> (&str, &str) {
    let end = raw.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(raw.len());
    let (number, unit) = raw.split_at(end);
    (number.trim(), unit.trim())
}

/// `host:port`. A missing port is that of the key's default; port 0 is a random free port.
#[derive(Debug, Clone, PartialEq, Eq, Hash, serde::Serialize)]
pub struct HostPort {
    /// Host name or address; IPv6 without brackets.
    pub host: String,
    /// Port; 0 for a random free port.
    pub port: u16,
}

impl HostPort {
    /// Builds an address from its parts.
    pub fn new(host: impl Into<String>, port: u16) -> Self {
        HostPort { host: host.into(), port }
    }

    /// The address to connect to: a wildcard host (`0.0.0.0`, `::`) becomes the loopback address.
    pub fn connect(&self) -> HostPort {
        let host = match self.host.as_str() {
            "0.0.0.0" | "" => "127.0.0.1",
            "::" => "::1",
            host => host,
        };
        HostPort::new(host, self.port)
    }

    /// Returns `true` if this machine has the address, so that a socket can be bound to it. Queries
    /// the resolver.
    pub fn is_local(&self) -> bool {
        let found = (self.host.as_str(), 0).to_socket_addrs();
        found.is_ok_and(|mut all| all.any(|a| UdpSocket::bind(a).is_ok()))
    }

    /// Returns the only one of several servers whose address this machine has; `None` if there is
    /// none or more than one. A single server is always returned.
    pub fn only_local<T>(servers: &[T], address: impl Fn(&T) -> &HostPort) -> Option<&T> {
        if let [only] = servers {
            return Some(only);
        }
        let mut here = servers.iter().filter(|server| address(server).is_local());
        here.next().filter(|_| here.next().is_none())
    }

    /// Parses `host:port`, `[v6]:port` or `host`, the last with `default_port`.
    pub fn parse_with(raw: &str, default_port: Option<u16>) -> Option<HostPort> {
        let raw = raw.trim();
        let raw = raw.split_once("://").map_or(raw, |(_, rest)| rest.trim_end_matches('/'));
        let (host, port) = match raw.strip_prefix('[') {
            Some(v6) => {
                let (host, rest) = v6.split_once(']')?;
                (host, if rest.is_empty() { None } else { Some(rest.strip_prefix(':')?) })
            }
            None if raw.matches(':').count() > 1 => (raw, None),
            None => raw.split_once(':').map_or((raw, None), |(host, port)| (host, Some(port))),
        };
        let valid = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '%');
        if host.is_empty() || !host.chars().all(valid) {
            return None;
        }
        let port = match port {
            Some(port) => port.parse().ok()?,
            None => default_port?,
        };
        Some(HostPort::new(host, port))
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

impl Value for HostPort {
    const TYPE: &'static str = "host:port";
    fn parse(raw: &str, spec: &KeySpec) -> Result<Self, Expected> {
        let default_port = HostPort::parse_with(spec.default, None).map(|d| d.port);
        HostPort::parse_with(raw, default_port)
            .ok_or(Expected("host:port, such as om.example.com:9862".into()))
    }
}
