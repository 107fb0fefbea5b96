//! Published keys of Apache Ozone 2.2.0, and their state here.
//!
//! `keys.tsv` has every key of `ozone-default.xml` and of the `@Config` classes, with its default
//! and its kind; `clients/java/settings.py` compares it with the published jars. Each key either
//! works, or prevents the start, or has a line in [`WITHOUT_EFFECT`] with the reason it needs no
//! effect; tests/published.rs fails for a key without one of these.

mod without_effect;

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::keys;
use crate::refused::REFUSED;

pub use without_effect::{WITHOUT_EFFECT, WithoutEffect};

/// The subject of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Access control.
    Access,
    /// A limit.
    Limit,
    /// Durability and integrity of data.
    Safety,
    /// Anything else.
    Other,
}

impl Kind {
    fn of(column: &str) -> Option<Self> {
        match column {
            "access" => Some(Self::Access),
            "limit" => Some(Self::Limit),
            "safety" => Some(Self::Safety),
            "-" => Some(Self::Other),
            _ => None,
        }
    }
}

/// A key published by Ozone.
#[derive(Debug, Clone, Copy)]
pub struct Published {
    /// Its name.
    pub name: &'static str,
    /// Its default; empty if it has none.
    pub default: &'static str,
    /// Its subject.
    pub kind: Kind,
}

/// State of a key that is set.
#[derive(Debug, Clone, Copy)]
pub enum Verdict {
    /// It works.
    Works,
    /// Prevents the start if its value asks for an unsupported feature.
    Refused,
    /// It has no effect, for the given reason.
    WithoutEffect(&'static str),
}

/// Every key published by Ozone, in the order of names.
pub fn all() -> impl Iterator<Item = Published> {
    include_str!("keys.tsv").lines().filter_map(|line| {
        let mut columns = line.split('\t');
        let (name, default, kind) = (columns.next()?, columns.next()?, columns.next()?);
        Some(Published { name, default, kind: Kind::of(kind)? })
    })
}

/// Returns the state of a key; `None` for an unclassified one.
pub fn verdict(key: &str) -> Option<Verdict> {
    if REFUSED.iter().any(|refused| refused.key == key) {
        return Some(Verdict::Refused);
    }
    if keys::declaration(key).is_some() {
        return Some(Verdict::Works);
    }
    // The longest pattern is the most specific.
    let covering = WITHOUT_EFFECT.iter().filter(|entry| entry.covers(key));
    covering.max_by_key(|entry| entry.pattern.len()).map(|e| Verdict::WithoutEffect(e.reason))
}

/// Returns `true` if a value is Ozone's default of the key.
pub(crate) fn is_default(key: &str, value: &str) -> bool {
    static DEFAULTS: LazyLock<HashMap<&str, &str>> =
        LazyLock::new(|| all().map(|key| (key.name, key.default)).collect());
    DEFAULTS.get(key).is_some_and(|default| *default == value.trim())
}
