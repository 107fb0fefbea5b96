//! Declaration of keys: [`Key`] ties a name to a type, [`KeySpec`] is the same without the type,
//! for listings.

use std::marker::PhantomData;

use crate::error::Expected;

/// A server that reads a key, as in Ozone's own tags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "UPPERCASE")]
#[allow(missing_docs)]
pub enum Tag {
    Om,
    Scm,
    Datanode,
    Client,
    S3Gateway,
    Common,
}

/// A type of configuration value.
pub trait Value: Sized {
    /// Display name of the type, such as `duration`.
    const TYPE: &'static str;
    /// Parses a value.
    ///
    /// # Errors
    /// If the value is malformed.
    fn parse(raw: &str, spec: &KeySpec) -> Result<Self, Expected>;
}

/// The declaration of a key, apart from the type of its value.
#[derive(Debug)]
pub struct KeySpec {
    /// Ozone's name, such as `ozone.om.address`.
    pub name: &'static str,
    /// The default in the syntax of a file; empty means unset.
    pub default: &'static str,
    /// The paragraphs of its documentation.
    pub doc: &'static [&'static str],
    /// The roles that read it.
    pub tags: &'static [Tag],
    /// The only allowed values, if it is a choice.
    pub choices: &'static [&'static str],
    /// Name of the value's type, such as `duration`.
    pub type_name: &'static str,
    pub(crate) check: fn(&str, &KeySpec) -> Result<(), Expected>,
}

impl KeySpec {
    /// The documentation as one text.
    pub fn doc_text(&self) -> String {
        self.doc.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ")
    }

    /// The environment variable that sets this key: its name in capitals, `_` for `.` and `-`.
    pub fn env_name(&self) -> String {
        env_name(self.name)
    }

    /// Returns `true` if its value must be hidden.
    pub fn is_secret(&self) -> bool {
        is_secret(self.name)
    }

    pub(crate) fn check(&self, raw: &str) -> Result<(), Expected> {
        if !self.choices.is_empty()
            && !self.choices.iter().any(|c| c.eq_ignore_ascii_case(raw.trim()))
        {
            return Err(Expected(format!("one of {}", self.choices.join(", ")).into()));
        }
        (self.check)(raw, self)
    }
}

/// The environment variable of a key.
pub(crate) fn env_name(name: &str) -> String {
    name.chars().map(|c| if c == '.' || c == '-' { '_' } else { c.to_ascii_uppercase() }).collect()
}

/// Names whose values are hidden in listings.
pub(crate) fn is_secret(name: &str) -> bool {
    ["secret.key", "secret.value", "password", "credential"].iter().any(|s| name.contains(s))
}

/// A key whose value is a `T`.
#[derive(Debug)]
pub struct Key<T> {
    spec: KeySpec,
    value: PhantomData<fn() -> T>,
}

impl<T: Value> Key<T> {
    /// Declares a key; use the `keys!` macro instead.
    pub(crate) const fn new(
        name: &'static str,
        default: &'static str,
        doc: &'static [&'static str],
        tags: &'static [Tag],
        choices: &'static [&'static str],
    ) -> Self {
        let spec =
            KeySpec { name, default, doc, tags, choices, type_name: T::TYPE, check: check::<T> };
        Key { spec, value: PhantomData }
    }

    /// Ozone's name of the key.
    pub const fn name(&self) -> &'static str {
        self.spec.name
    }

    /// The declaration of the key.
    pub const fn spec(&self) -> &KeySpec {
        &self.spec
    }
}

fn check<T: Value>(raw: &str, spec: &KeySpec) -> Result<(), Expected> {
    T::parse(raw.trim(), spec).map(|_| ())
}

/// Declares the keys of one group: a doc comment and `NAME: Type = "key", "default", [TAGS];` each,
/// optionally followed by `one of ["a", "b"]` before the semicolon.
macro_rules! keys {
    ($( $(#[doc = $doc:literal])+ $name:ident : $type:ty = $key:literal, $default:literal, [$($tag:ident),*]
        $(, one of [$($choice:literal),*])? ; )*) => {
        $(
            $(#[doc = $doc])+
            #[doc = ""]
            #[doc = concat!("`", $key, "`, default `", $default, "`")]
            pub static $name: $crate::Key<$type> = $crate::Key::new(
                $key, $default, &[$($doc),+], &[$($crate::declare::tags::$tag),*], &[$($($choice),*)?],
            );
        )*
        /// Every key of this group, in order of declaration.
        pub static ALL: &[&$crate::KeySpec] = &[$($name.spec()),*];
    };
}
pub(crate) use keys;

/// The tags under the short names used in declarations.
pub(crate) mod tags {
    use super::Tag;
    pub const OM: Tag = Tag::Om;
    pub const SCM: Tag = Tag::Scm;
    pub const DATANODE: Tag = Tag::Datanode;
    pub const CLIENT: Tag = Tag::Client;
    pub const S3G: Tag = Tag::S3Gateway;
    pub const COMMON: Tag = Tag::Common;
}
