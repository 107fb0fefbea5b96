//! What Apache Ozone 2.2.0 publishes as its keys, and what becomes of each here.
//!
//! `keys.tsv` has every key of `ozone-default.xml` and of the `@Config` classes, with its default
//! and what it is about; `clients/java/settings.py` compares it with the published jars. A key that
//! is set either works, or stops the start, or has a line in [`WITHOUT_EFFECT`] that says why it
//! needs no effect; tests/published.rs fails for a key with none of these.

mod without_effect;

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::keys;
use crate::refused::REFUSED;

pub use without_effect::{WITHOUT_EFFECT, WithoutEffect};

/// What a key is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Rights: what a user may do or see.
    Access,
    /// How much there may be of something.
    Limit,
    /// Whether what is stored stays, and is what was stored.
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

/// A key that Ozone publishes.
#[derive(Debug, Clone, Copy)]
pub struct Published {
    /// Its name.
    pub name: &'static str,
    /// Its default; empty when it has none.
    pub default: &'static str,
    /// What it is about.
    pub kind: Kind,
}

/// What becomes of a key that is set.
#[derive(Debug, Clone, Copy)]
pub enum Verdict {
    /// It works.
    Works,
    /// With a value that asks for more than there is, nothing starts.
    Refused,
    /// It has no effect, for a reason.
    WithoutEffect(&'static str),
}

/// Every key that Ozone publishes, by name.
pub fn all() -> impl Iterator<Item = Published> {
    include_str!("keys.tsv").lines().filter_map(|line| {
        let mut columns = line.split('\t');
        let (name, default, kind) = (columns.next()?, columns.next()?, columns.next()?);
        Some(Published { name, default, kind: Kind::of(kind)? })
    })
}

/// What becomes of a key; `None` for one that nobody has judged.
pub fn verdict(key: &str) -> Option<Verdict> {
    if REFUSED.iter().any(|refused| refused.key == key) {
        return Some(Verdict::Refused);
    }
    if keys::declaration(key).is_some() {
        return Some(Verdict::Works);
    }
    // The longest pattern knows most.
    let covering = WITHOUT_EFFECT.iter().filter(|entry| entry.covers(key));
    covering.max_by_key(|entry| entry.pattern.len()).map(|e| Verdict::WithoutEffect(e.reason))
}

/// Whether a value is the one that Ozone takes for the key when it is not set.
pub(crate) fn is_default(key: &str, value: &str) -> bool {
    static DEFAULTS: LazyLock<HashMap<&str, &str>> =
        LazyLock::new(|| all().map(|key| (key.name, key.default)).collect());
    DEFAULTS.get(key).is_some_and(|default| *default == value.trim())
}
