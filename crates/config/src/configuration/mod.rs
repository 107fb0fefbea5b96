//! The values of all keys, with where each came from.

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
    /// The value in effect, with `${...}` resolved; hidden when it is a secret.
    pub value: String,
    /// Where it came from.
    pub origin: Origin,
    /// The name that it is set by, when that is not its name any more.
    pub given_as: Option<String>,
    /// Its declaration; `None` when the key is set but not declared.
    pub spec: Option<&'static KeySpec>,
}

/// What it was made of, to make it again.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sources {
    pub builder: Builder,
    /// What a program set afterwards.
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

    /// What its sources say now: files are read again; the environment, definitions and what a
    /// program set are as they were.
    ///
    /// # Errors
    /// When a file cannot be read or says something impossible by now.
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

    /// Where the value of a key came from.
    pub fn origin<T: Value>(&self, key: &'static Key<T>) -> Origin {
        self.inner.settings.get(key.name()).map_or(Origin::Default, |s| s.origin.clone())
    }

    /// Whether a key is set by anything but its default.
    pub fn is_set<T: Value>(&self, key: &'static Key<T>) -> bool {
        self.inner.settings.contains_key(key.name())
    }

    /// Whether a key is set to nothing, for which [`get`](Self::get) gives the default.
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

    /// The address of a role's web port: the one of `address`, with or without `suffix`, and where
    /// neither is set the default port on the host that the role itself listens on.
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

    /// The directory a key names, or `ozone.metadata.dirs` when it is unset.
    ///
    /// # Errors
    /// When neither is set.
    pub fn directory(&self, key: &'static Key<Option<PathBuf>>) -> Result<PathBuf, ConfigError> {
        self.get(key).or_else(|| self.get(&keys::hdds::OZONE_METADATA_DIRS)).ok_or_else(|| {
            ConfigError::NoDirectory {
                key: key.name().into(),
                fallback: keys::hdds::OZONE_METADATA_DIRS.name().into(),
            }
        })
    }

    /// The permissions of a role's directory: those of `key` when a key of the role's own `named`
    /// the directory, those of `ozone.metadata.dirs` when it fell back to that.
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

    /// A configuration that differs in one key, for a role started by a program.
    ///
    /// # Panics
    /// When a key gets a value it cannot have; [`Configuration::try_with`] returns the error
    /// instead.
    pub fn with(&self, key: &str, value: impl Display) -> Configuration {
        match self.try_with(key, value) {
            Ok(configuration) => configuration,
            Err(error) => panic!("{error}"),
        }
    }

    /// A configuration that differs in one key, or why it cannot.
    ///
    /// # Errors
    /// When the value is refused.
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

    /// What the user should know, such as unknown keys.
    pub fn warnings(&self) -> &[Warning] {
        &self.inner.warnings
    }

    /// Every declared key and every other one that is set, by name.
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

    /// One line of that listing; a key is found by an old name, too.
    pub fn entry(&self, name: &str) -> Option<Entry> {
        let name = renamed::current(name);
        self.entries().into_iter().find(|entry| entry.key == name)
    }

    /// The value of any key that is set, declared or not, as it is written in its source.
    pub fn raw(&self, name: &str) -> Option<&str> {
        self.inner.settings.get(name).map(|s| s.raw.as_str())
    }

    /// The declared key nearest to a name that is not declared.
    pub fn suggest(name: &str) -> Option<&'static str> {
        crate::suggest::nearest(name, keys::all().map(|spec| spec.name))
    }
}
