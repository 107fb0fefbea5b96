//! The values of all keys, with the origin of each.

pub(crate) mod builder;

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::PathBuf;
use std::sync::Arc;

use self::builder::Builder;
use crate::declare::{Key, KeySpec, Value, is_secret};
use crate::error::ConfigError;
use crate::keys;
use crate::origin::Origin;
use crate::permissions::DirPermissions;
use crate::setting::Setting;
use crate::value::HostPort;
use crate::warning::Warning;
use crate::{refused, renamed};

/// One line of a listing.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The key's name.
    pub key: String,
    /// The value in effect, with `${...}` resolved; hidden if it is a secret.
    pub value: String,
    /// Its origin.
    pub origin: Origin,
    /// The name under which it is set, if that is a deprecated one.
    pub given_as: Option<String>,
    /// Its declaration; `None` if the key is set but not declared.
    pub spec: Option<&'static KeySpec>,
}

/// The sources of a configuration, to build it again.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sources {
    pub builder: Builder,
    /// Values that a program set afterwards.
    pub derived: Vec<(String, String)>,
}

#[derive(Debug, Default)]
struct Inner {
    settings: BTreeMap<String, Setting>,
    warnings: Vec<Warning>,
    sources: Sources,
}

/// The configuration of a process: built once, checked as a whole, cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Configuration {
    inner: Arc<Inner>,
}

impl Configuration {
    /// Starts from the defaults; sources are added to it.
    pub fn builder() -> Builder {
        Builder::default()
    }

    pub(crate) fn new(
        settings: BTreeMap<String, Setting>,
        warnings: Vec<Warning>,
        sources: Sources,
    ) -> Self {
        Configuration { inner: Arc::new(Inner { settings, warnings, sources }) }
    }

    /// Builds the configuration from its sources again: files are read again; the environment,
    /// definitions and values set by a program stay.
    ///
    /// # Errors
    /// If a file cannot be read or has an invalid value.
    pub fn reloaded(&self) -> Result<Configuration, ConfigError> {
        let sources = &self.inner.sources;
        let fresh = sources.builder.reread()?.build()?;
        sources.derived.iter().try_fold(fresh, |conf, (key, value)| conf.try_with(key, value))
    }

    /// The value of a key.
    pub fn get<T: Value>(&self, key: &'static Key<T>) -> T {
        self.parse(key.spec(), self.resolved(key.name()).unwrap_or(key.spec().default))
    }

    /// The value of a key under a suffix, such as `ozone.om.address` of `omservice.om1`; the plain
    /// key's otherwise.
    pub fn get_for<T: Value>(&self, key: &'static Key<T>, suffix: &str) -> T {
        match self.resolved(&format!("{}.{suffix}", key.name())) {
            Some(value) => self.parse(key.spec(), value),
            None => self.get(key),
        }
    }

    /// The value of a key of [`keys::ipc`] for the server at `port`; the one for all ports
    /// otherwise.
    pub fn get_at<T: Value>(&self, key: &'static Key<T>, port: u16) -> T {
        match self.resolved(&keys::at_port(key.name(), port)) {
            Some(value) => self.parse(key.spec(), value),
            None => self.get(key),
        }
    }

    fn parse<T: Value>(&self, spec: &KeySpec, value: &str) -> T {
        match T::parse(value.trim(), spec) {
            Ok(value) => value,
            // Every value was checked when it was set, every default by a test.
            Err(expected) => {
                unreachable!("{} = '{value}' was checked, yet: {expected}", spec.name)
            }
        }
    }

    /// The origin of a key's value.
    pub fn origin<T: Value>(&self, key: &'static Key<T>) -> Origin {
        self.inner.settings.get(key.name()).map_or(Origin::Default, |s| s.origin.clone())
    }

    /// Returns `true` if a key is set by anything but its default.
    pub fn is_set<T: Value>(&self, key: &'static Key<T>) -> bool {
        self.inner.settings.contains_key(key.name())
    }

    /// Returns `true` if a key is set to an empty value, for which [`get`](Self::get) returns the
    /// default.
    pub fn is_empty<T: Value>(&self, key: &'static Key<T>) -> bool {
        self.inner.settings.get(key.name()).is_some_and(|setting| setting.resolved.is_empty())
    }

    fn resolved(&self, name: &str) -> Option<&str> {
        // An empty value of a key that has a default means "unset", as `<value/>` does in Ozone's
        // files.
        self.inner.settings.get(name).map(|s| s.resolved.as_str()).filter(|v| !v.is_empty())
    }

    /// The address to bind an endpoint to: that of `address`, its host replaced by the one of
    /// `bind_host` when set.
    pub fn bind_address(
        &self,
        address: &'static Key<HostPort>,
        bind_host: &'static Key<String>,
    ) -> HostPort {
        self.bound(self.get(address), bind_host)
    }

    /// An address with its host replaced by the one of `bind_host` when that is set.
    pub fn bound(&self, address: HostPort, bind_host: &'static Key<String>) -> HostPort {
        match self.get(bind_host) {
            host if host.is_empty() => address,
            host => HostPort::new(host, address.port),
        }
    }

    /// The address of a role's web port: the one of `address`, with or without `suffix`, and if
    /// neither is set, the default port on the host that the role itself listens on.
    pub fn web_address(
        &self,
        address: &'static Key<HostPort>,
        suffix: &str,
        host_of_role: &str,
    ) -> HostPort {
        let set = |name: &str| self.resolved(name).is_some();
        match set(address.name()) || set(&format!("{}.{suffix}", address.name())) {
            true => self.get_for(address, suffix),
            false => HostPort::new(host_of_role, self.get(address).port),
        }
    }

    /// The directory of a key, or `ozone.metadata.dirs` if it is unset.
    ///
    /// # Errors
    /// If neither is set.
    pub fn directory(&self, key: &'static Key<Option<PathBuf>>) -> Result<PathBuf, ConfigError> {
        self.get(key).or_else(|| self.get(&keys::hdds::OZONE_METADATA_DIRS)).ok_or_else(|| {
            ConfigError::NoDirectory {
                key: key.name().into(),
                fallback: keys::hdds::OZONE_METADATA_DIRS.name().into(),
            }
        })
    }

    /// The permissions of a role's directory: those of `key` if the directory is set by the role's
    /// own key `named`, those of `ozone.metadata.dirs` if it is the fallback.
    pub fn directory_permissions(
        &self,
        named: bool,
        key: &'static Key<DirPermissions>,
    ) -> DirPermissions {
        match named {
            true => self.get(key),
            false => self.get(&keys::hdds::OZONE_METADATA_DIRS_PERMISSIONS),
        }
    }

    /// A copy that differs in one key, for a role started by a program.
    ///
    /// # Panics
    /// If the value is invalid for the key; [`Configuration::try_with`] returns the error instead.
    pub fn with(&self, key: &str, value: impl Display) -> Configuration {
        match self.try_with(key, value) {
            Ok(configuration) => configuration,
            Err(error) => panic!("{error}"),
        }
    }

    /// A copy that differs in one key.
    ///
    /// # Errors
    /// If the value is invalid.
    pub fn try_with(&self, key: &str, value: impl Display) -> Result<Configuration, ConfigError> {
        let (key, given) = (renamed::current(key), key);
        let value = value.to_string();
        let origin = Origin::Derived("the program".into());
        if let Some(spec) = keys::declaration(key)
            && !value.is_empty()
        {
            spec.check(&value).map_err(|expected| ConfigError::Malformed {
                key: key.into(),
                value: value.clone(),
                origin: origin.clone(),
                expected,
            })?;
        }
        let mut settings = self.inner.settings.clone();
        let mut sources = self.inner.sources.clone();
        sources.derived.push((key.to_string(), value.clone()));
        let given_as = (given != key).then(|| given.to_owned());
        let setting = Setting { raw: value.clone(), resolved: value, origin, given_as };
        refused::check(key, &setting)?;
        settings.insert(key.to_string(), setting);
        Ok(Configuration::new(settings, self.inner.warnings.clone(), sources))
    }

    /// Warnings for the user, such as unknown keys.
    pub fn warnings(&self) -> &[Warning] {
        &self.inner.warnings
    }

    /// Every declared key and every other key that is set, by name.
    pub fn entries(&self) -> Vec<Entry> {
        let mut entries: BTreeMap<&str, Entry> = keys::all()
            .map(|spec| {
                let entry = Entry {
                    key: spec.name.into(),
                    value: spec.default.into(),
                    origin: Origin::Default,
                    given_as: None,
                    spec: Some(spec),
                };
                (spec.name, entry)
            })
            .collect();
        for (name, setting) in &self.inner.settings {
            let value =
                if is_secret(name) { "<hidden>".to_string() } else { setting.resolved.clone() };
            let spec = keys::declaration(name);
            let (origin, given_as) = (setting.origin.clone(), setting.given_as.clone());
            entries.insert(name, Entry { key: name.clone(), value, origin, given_as, spec });
        }
        entries.into_values().collect()
    }

    /// One line of that listing; deprecated names are accepted.
    pub fn entry(&self, name: &str) -> Option<Entry> {
        let name = renamed::current(name);
        self.entries().into_iter().find(|entry| entry.key == name)
    }

    /// The raw value of any key that is set, declared or not.
    pub fn raw(&self, name: &str) -> Option<&str> {
        self.inner.settings.get(name).map(|s| s.raw.as_str())
    }

    /// The declared key most similar to an undeclared name.
    pub fn suggest(name: &str) -> Option<&'static str> {
        crate::suggest::nearest(name, keys::all().map(|spec| spec.name))
    }
}
