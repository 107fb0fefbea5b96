//! Builds a [`Configuration`]: sources in order of precedence, substitution, derivation, checks.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::{Configuration, Sources};
use crate::declare::env_name;
use crate::error::{ConfigError, Expected};
use crate::keys;
use crate::origin::Origin;
use crate::published::{self, Verdict};
use crate::refused;
use crate::renamed::{self, RENAMED};
use crate::setting::Setting;
use crate::source;
use crate::substitute;
use crate::suggest;
use crate::value::HostPort;
use crate::warning::Warning;

/// File names searched for in a configuration directory, in this order.
const FILE_NAMES: [&str; 2] = ["ozone-site.xml", "ozone-site.toml"];

/// Hadoop's own files in the same directory, with lower precedence, as in Ozone. Their security
/// settings are checked.
const HADOOP_FILES: [&str; 2] = ["hdfs-site.xml", "core-site.xml"];

/// Prefix by which Ozone's container images set keys of `ozone-site.xml` in the environment.
const CONTAINER_IMAGE_PREFIX: &str = "OZONE-SITE.XML_";

/// The same for [`HADOOP_FILES`], over which all of Ozone's files take precedence.
const HADOOP_IMAGE_PREFIXES: [&str; 2] = ["HDFS-SITE.XML_", "CORE-SITE.XML_"];

/// Prefixes of our own key names. Unknown keys with one of them are reported; other keys belong to
/// other programs.
const OWN_PREFIXES: [&str; 8] =
    ["ozone.", "hdds.", "trioxide.", "net.topology.", "hadoop.", "dfs.", "ssl.", "ipc."];

/// Collects the sources. The order of calls does not matter: file < environment < definitions.
#[derive(Debug, Clone, Default)]
pub struct Builder {
    paths: Vec<PathBuf>,
    file: Vec<(String, String, Origin)>,
    environment: BTreeMap<String, String>,
    definitions: Vec<(String, String)>,
}

/// A raw value.
struct Written {
    raw: String,
    origin: Origin,
    /// The name under which it was set, if that is a deprecated one.
    given_as: Option<String>,
}

/// The values of all sources by current key name; later insertions win.
#[derive(Default)]
struct Given(BTreeMap<String, Written>);

impl Given {
    fn put(&mut self, name: &str, raw: &str, origin: Origin) {
        let current = renamed::current(name);
        let given_as = (current != name).then(|| name.to_owned());
        self.0.insert(current.to_owned(), Written { raw: raw.to_owned(), origin, given_as });
    }
}

impl Builder {
    /// Adds a file (XML, or TOML by its extension), or the `ozone-site.xml` or `ozone-site.toml` of
    /// a directory, with precedence over the `hdfs-site.xml` and `core-site.xml` in it.
    ///
    /// # Errors
    /// If the file cannot be read, or is not valid XML or TOML.
    pub fn file(mut self, path: impl AsRef<Path>) -> Result<Self, ConfigError> {
        let mut path = path.as_ref().to_path_buf();
        self.paths.push(path.clone());
        if path.is_dir() {
            let of_hadoop = HADOOP_FILES.iter().map(|name| path.join(name));
            for file in of_hadoop.filter(|file| file.exists()) {
                self.read(&file)?;
            }
            let named = FILE_NAMES.iter().map(|name| path.join(name)).find(|p| p.exists());
            path = named.unwrap_or_else(|| path.join("ozone-site.xml"));
        }
        self.read(&path)?;
        Ok(self)
    }

    fn read(&mut self, path: &Path) -> Result<(), ConfigError> {
        for raw in source::read(path)? {
            let origin = Origin::File { path: path.to_owned(), line: raw.line };
            self.file.push((raw.name, raw.value, origin));
        }
        Ok(())
    }

    /// Adds the files of the directory in `OZONE_CONF_DIR`, if that is set and contains any.
    ///
    /// # Errors
    /// If a file in that directory cannot be read, or is not valid XML or TOML.
    pub fn conf_dir(self) -> Result<Self, ConfigError> {
        let Some(dir) = std::env::var_os("OZONE_CONF_DIR").map(PathBuf::from) else {
            return Ok(self);
        };
        if FILE_NAMES.iter().any(|name| dir.join(name).exists()) {
            self.file(dir)
        } else {
            Ok(self)
        }
    }

    /// Adds a `key=value`, as given with `-D`.
    ///
    /// # Errors
    /// When there is no `=`.
    pub fn define(mut self, definition: impl AsRef<str>) -> Result<Self, ConfigError> {
        let definition = definition.as_ref();
        let (name, value) = definition
            .split_once('=')
            .map(|(name, value)| (name.trim(), value.trim()))
            .filter(|(name, _)| !name.is_empty())
            .ok_or_else(|| ConfigError::Definition { given: definition.into() })?;
        self.definitions.push((name.into(), value.into()));
        Ok(self)
    }

    /// Adds the process's environment.
    pub fn env(self) -> Self {
        // Variables that are not UTF-8 are not ours.
        let text = std::env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        self.env_from(text)
    }

    /// Adds these variables as if they were the environment.
    pub fn env_from(mut self, variables: impl IntoIterator<Item = (String, String)>) -> Self {
        self.environment.extend(variables);
        self
    }

    /// Resolves, derives and checks all settings.
    ///
    /// # Errors
    /// If a value is invalid, by itself or because of another key.
    pub fn build(self) -> Result<Configuration, ConfigError> {
        let given = self.merged();
        let mut settings = BTreeMap::new();
        for (name, Written { raw, origin, given_as }) in &given.0 {
            let lookup = |wanted: &str| self.lookup(&given, wanted);
            let resolved = substitute::substitute(raw, &lookup)
                .map_err(|_| ConfigError::Circular { key: name.clone(), value: raw.clone() })?;
            settings.insert(
                name.clone(),
                Setting {
                    raw: raw.clone(),
                    resolved,
                    origin: origin.clone(),
                    given_as: given_as.clone(),
                },
            );
        }
        derive_scm_addresses(&mut settings)?;
        check(&settings)?;
        refused::check_all(&settings)?;
        let mut warnings = renamed_keys(&settings);
        warnings.extend(unknown_keys(&settings)?);
        Ok(Configuration::new(settings, warnings, Sources { builder: self, derived: Vec::new() }))
    }

    /// The same sources, with the files read again.
    pub(crate) fn reread(&self) -> Result<Self, ConfigError> {
        let (environment, definitions) = (self.environment.clone(), self.definitions.clone());
        let fresh = Self { environment, definitions, ..Self::default() };
        self.paths.iter().try_fold(fresh, |builder, path| builder.file(path))
    }

    /// Merges all sources.
    fn merged(&self) -> Given {
        let mut given = Given::default();
        for prefix in HADOOP_IMAGE_PREFIXES {
            self.put_variables(&mut given, prefix);
        }
        for (name, value, origin) in &self.file {
            given.put(name, value, origin.clone());
        }
        // Deprecated names first: if both are set, the current one wins.
        let names = RENAMED.iter().map(|(old, _)| *old);
        let names = names.chain(refused::REFUSED.iter().map(|refused| refused.key));
        let names = names.chain(keys::all().map(|spec| spec.name));
        for name in names {
            let variable = env_name(name);
            if let Some(value) = self.environment.get(&variable) {
                given.put(name, value, Origin::Environment(variable));
            }
        }
        self.put_variables(&mut given, CONTAINER_IMAGE_PREFIX);
        for (name, value) in &self.definitions {
            given.put(name, value, Origin::CommandLine);
        }
        given
    }

    /// Adds the keys of variables with this prefix.
    fn put_variables(&self, given: &mut Given, prefix: &str) {
        for (variable, value) in &self.environment {
            if let Some(name) = variable.strip_prefix(prefix) {
                given.put(name, value, Origin::Environment(variable.clone()));
            }
        }
    }

    /// The value of a name inside `${...}`.
    fn lookup(&self, given: &Given, name: &str) -> Option<String> {
        substitute::system(name, &|variable| self.environment.get(variable).cloned())
            .or_else(|| given.0.get(renamed::current(name)).map(|written| written.raw.clone()))
            .or_else(|| keys::find(name).map(|spec| spec.default.to_string()))
    }
}

fn check(settings: &BTreeMap<String, Setting>) -> Result<(), ConfigError> {
    for (name, setting) in settings {
        let Some(spec) = keys::declaration(name) else { continue };
        if setting.resolved.is_empty() {
            continue;
        }
        spec.check(&setting.resolved).map_err(|expected| ConfigError::Malformed {
            key: name.clone(),
            value: setting.resolved.clone(),
            origin: setting.origin.clone(),
            expected,
        })?;
    }
    Ok(())
}

/// Keys that are set under a deprecated name. One without effect under its current name is reported
/// as unknown, too.
fn renamed_keys(settings: &BTreeMap<String, Setting>) -> Vec<Warning> {
    let renamed = |(name, setting): (&String, &Setting)| {
        let (key, current) = (setting.given_as.clone()?, name.clone());
        Some(Warning::Renamed { key, current, origin: setting.origin.clone() })
    };
    settings.iter().filter_map(renamed).collect()
}

/// Returns `true` if a setting is from one of Hadoop's files, which many programs share.
fn of_hadoop(origin: &Origin) -> bool {
    match origin {
        Origin::File { path, .. } => HADOOP_FILES.iter().any(|name| path.ends_with(name)),
        Origin::Environment(variable) => {
            HADOOP_IMAGE_PREFIXES.iter().any(|prefix| variable.starts_with(prefix))
        }
        _ => false,
    }
}

/// Keys that have no effect, and keys that are unknown.
fn unknown_keys(settings: &BTreeMap<String, Setting>) -> Result<Vec<Warning>, ConfigError> {
    let policy = &keys::trioxide::TRIOXIDE_CONFIG_UNKNOWN_KEYS;
    let policy = settings.get(policy.name()).map_or(policy.spec().default, |s| s.resolved.as_str());
    if policy.eq_ignore_ascii_case("ignore") {
        return Ok(Vec::new());
    }
    let stop = policy.eq_ignore_ascii_case("error");
    let mut warnings = Vec::new();
    for (name, setting) in settings {
        let (key, origin) = (name.clone(), setting.origin.clone());
        match published::verdict(name) {
            Some(Verdict::Works | Verdict::Refused) => {}
            Some(Verdict::WithoutEffect(reason)) => {
                // A value that is Ozone's default asks for nothing.
                if published::is_default(name, &setting.resolved) || of_hadoop(&origin) {
                    continue;
                }
                if stop {
                    return Err(ConfigError::WithoutEffect { key, origin, reason });
                }
                warnings.push(Warning::WithoutEffect { key, origin, reason });
            }
            None if of_hadoop(&origin)
                || !OWN_PREFIXES.iter().any(|prefix| name.starts_with(prefix)) => {}
            None => {
                let suggestion =
                    suggest::nearest(name, keys::all().map(|spec| spec.name)).map(str::to_string);
                if stop {
                    return Err(ConfigError::Unknown { key, origin, suggestion });
                }
                warnings.push(Warning::Unknown { key, origin, suggestion });
            }
        }
    }
    Ok(warnings)
}

/// Fills in Ozone's rules for SCM's addresses: the client address takes its host from
/// `ozone.scm.names`, the others take theirs from the client address, and each its port from its
/// `.port` key where it names none.
fn derive_scm_addresses(settings: &mut BTreeMap<String, Setting>) -> Result<(), ConfigError> {
    let client = &keys::scm::OZONE_SCM_CLIENT_ADDRESS;
    let endpoints = [
        (client, &keys::scm::OZONE_SCM_CLIENT_PORT, keys::scm::OZONE_SCM_NAMES.name()),
        (
            &keys::scm::OZONE_SCM_BLOCK_CLIENT_ADDRESS,
            &keys::scm::OZONE_SCM_BLOCK_CLIENT_PORT,
            client.name(),
        ),
        (
            &keys::scm::OZONE_SCM_DATANODE_ADDRESS,
            &keys::scm::OZONE_SCM_DATANODE_PORT,
            client.name(),
        ),
    ];
    for (address, port_key, host_key) in endpoints {
        let set = |name: &str| settings.get(name).filter(|s| !s.resolved.is_empty());
        let port = match set(port_key.name()) {
            None => None,
            Some(setting) => Some((
                setting.resolved.trim().parse::<u16>().map_err(|_| ConfigError::Malformed {
                    key: port_key.name().into(),
                    value: setting.resolved.clone(),
                    origin: setting.origin.clone(),
                    expected: Expected("a port, 0 to 65535".into()),
                })?,
                port_key.name(),
            )),
        };
        let default = HostPort::parse_with(address.spec().default, None).map_or(0, |d| d.port);
        let default_port = port.map_or(default, |(port, _)| port);
        let own = set(address.name()).map(|s| (s.resolved.clone(), s.origin.clone()));
        let derived = match &own {
            // Complete as it stands, or malformed and reported by the check.
            Some((value, _)) if HostPort::parse_with(value, None).is_some() => continue,
            Some((value, origin)) => {
                HostPort::parse_with(value, Some(default_port)).map(|a| (a, origin.clone()))
            }
            None => {
                let host = set(host_key).and_then(|s| {
                    let first = s.resolved.split(',').next().unwrap_or_default();
                    HostPort::parse_with(first, Some(0))
                        .map(|a| (a.host, format!("{host_key} ({})", s.origin)))
                });
                match (host, port) {
                    (Some((host, from)), _) => {
                        Some((HostPort::new(host, default_port), Origin::Derived(from)))
                    }
                    (None, Some((port, from))) => {
                        Some((HostPort::new("0.0.0.0", port), Origin::Derived(from.into())))
                    }
                    (None, None) => None,
                }
            }
        };
        if let Some((value, origin)) = derived {
            let resolved = value.to_string();
            settings.insert(
                address.name().into(),
                Setting { raw: resolved.clone(), resolved, origin, given_as: None },
            );
        }
    }
    Ok(())
}
