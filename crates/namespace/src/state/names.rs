//! Valid names of volumes, buckets and keys.

use std::net::Ipv4Addr;

use proto::ozone::BucketLayoutProto;

use crate::error::OmError;
use crate::state::settings::Settings;

/// Shortest and longest name of a volume or bucket, S3's rule.
const NAME_LENGTH: std::ops::RangeInclusive<usize> = 3..=63;

/// The name under which snapshots of a bucket appear among its keys.
pub(crate) const SNAPSHOT_DIRECTORY: &str = ".snapshot";

/// Characters that are refused in key names when `ozone.om.keyname.character.check.enabled`, in
/// addition to those of [`AVOIDED_RANGE`].
const AVOIDED_IN_KEYS: &[char] =
    &['\\', '{', '}', '^', '<', '>', '%', '~', '#', '`', '[', ']', '|', '"'];
/// Non-ASCII characters in S3's guide; as in Ozone, characters beyond it are accepted.
const AVOIDED_RANGE: std::ops::RangeInclusive<char> = '\u{80}'..='\u{ff}';

/// # Errors
/// [`OmError::InvalidVolumeName`]
pub fn validate_volume_name(name: &str, settings: &Settings) -> Result<(), OmError> {
    let checked = check(name, "volume", settings.strict_s3_names);
    checked.map_err(|fault| OmError::InvalidVolumeName(fault.to_string()))
}

/// # Errors
/// [`OmError::InvalidBucketName`]
pub fn validate_bucket_name(
    name: &str,
    layout: BucketLayoutProto,
    settings: &Settings,
) -> Result<(), OmError> {
    let strict = settings.strict_s3_names || layout == BucketLayoutProto::ObjectStore;
    let checked = check(name, "bucket", strict);
    checked.map_err(|fault| OmError::InvalidBucketName(fault.to_string()))
}

/// Error of the name of a snapshot.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct SnapshotNameFault(String);

/// Checks the name of a snapshot.
pub(crate) fn check_snapshot_name(name: &str, strict: bool) -> Result<(), SnapshotNameFault> {
    // Here Ozone does not repeat the name.
    let fault = check(name, "snapshot", strict).err();
    fault.map_or(Ok(()), |fault| match fault {
        NameFault::Edge { kind, edge, .. } => {
            Err(SnapshotNameFault(format!("{kind} name cannot {edge} a period or dash")))
        }
        other => Err(SnapshotNameFault(other.to_string())),
    })
}

/// # Errors
/// [`OmError::InvalidKeyName`]
pub fn validate_key_name(name: &str, settings: &Settings) -> Result<(), OmError> {
    if name.is_empty() {
        return Err(OmError::InvalidKeyName("Key name is empty".to_owned()));
    }
    let reserved = name.strip_prefix(SNAPSHOT_DIRECTORY);
    if reserved.is_some_and(|rest| rest.is_empty() || rest.starts_with('/')) {
        return Err(OmError::InvalidKeyName(format!(
            "Cannot create key under path reserved for snapshot: {SNAPSHOT_DIRECTORY}/"
        )));
    }
    if settings.check_key_name_characters
        && let Some(bad) =
            name.chars().find(|c| AVOIDED_RANGE.contains(c) || AVOIDED_IN_KEYS.contains(c))
    {
        return Err(OmError::InvalidKeyName(format!("Invalid key name: {name} has {bad:?}")));
    }
    Ok(())
}

/// Error of a name; the words are Ozone's.
#[derive(Debug, thiserror::Error)]
enum NameFault<'a> {
    #[error(
        "{kind} name '{name}' is too {}, valid length is {}-{} characters",
        if name.len() < *NAME_LENGTH.start() { "short" } else { "long" },
        NAME_LENGTH.start(),
        NAME_LENGTH.end()
    )]
    Length { kind: &'static str, name: &'a str },
    #[error("{kind} name '{name}' cannot {edge} a period or dash")]
    Edge { kind: &'static str, name: &'a str, edge: &'static str },
    #[error("{kind} name does not support uppercase characters")]
    Uppercase { kind: &'static str },
    #[error("{kind} name has an unsupported character : {character}")]
    Character { kind: &'static str, character: char },
    #[error("{kind} name '{name}' cannot be an IPv4 address")]
    Address { kind: &'static str, name: &'a str },
}

fn check<'a>(name: &'a str, kind: &'static str, strict: bool) -> Result<(), NameFault<'a>> {
    if !NAME_LENGTH.contains(&name.len()) {
        return Err(NameFault::Length { kind, name });
    }
    let mut last = None;
    for c in name.chars() {
        match c {
            'a'..='z' | '0'..='9' => {}
            '_' if !strict => {}
            '.' | '-' => {
                let edge = match last {
                    None => Some("start with"),
                    Some('.') => Some("have a period before"),
                    Some('-') if c == '.' => Some("have a dash before"),
                    _ => None,
                };
                if let Some(edge) = edge {
                    return Err(NameFault::Edge { kind, name, edge });
                }
            }
            'A'..='Z' => {
                return Err(NameFault::Uppercase { kind });
            }
            character => return Err(NameFault::Character { kind, character }),
        }
        last = Some(c);
    }
    if matches!(last, Some('.' | '-')) {
        return Err(NameFault::Edge { kind, name, edge: "end with" });
    }
    if name.parse::<Ipv4Addr>().is_ok() {
        return Err(NameFault::Address { kind, name });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use BucketLayoutProto::*;

    use super::*;

    #[test]
    fn good_names_pass_and_bad_ones_do_not() {
        let s = Settings::default();
        for good in ["abc", "a-b.c", "vol1", "a--b", "123", "1.2.3", &"x".repeat(63)] {
            assert!(validate_bucket_name(good, ObjectStore, &s).is_ok(), "{good}");
        }
        let long = "x".repeat(64);
        for bad in [
            "",
            "ab",
            &long,
            ".abc",
            "-abc",
            "abc.",
            "abc-",
            "a..b",
            "a.-b",
            "a-.b",
            "Abc",
            "a_b",
            "a b",
            "a/b",
            "192.168.1.1",
            "äöü",
        ] {
            assert!(validate_bucket_name(bad, ObjectStore, &s).is_err(), "{bad}");
            assert!(validate_volume_name(bad, &s).is_err(), "{bad}");
        }
        let loose = Settings { strict_s3_names: false, ..Settings::default() };
        assert!(validate_volume_name("a_b", &loose).is_ok());
        assert!(validate_bucket_name("a_b", Legacy, &loose).is_ok());
        assert!(validate_bucket_name("a_b", FileSystemOptimized, &loose).is_ok());
        assert!(validate_bucket_name("a_b", ObjectStore, &loose).is_err());
    }

    #[test]
    fn keys_may_have_nearly_any_name() {
        let s = Settings::default();
        for good in ["a", "a/b//c/", "ü b", "{x}", "a\\b", ".snapshots", "x/.snapshot"] {
            assert!(validate_key_name(good, &s).is_ok(), "{good}");
        }
        for bad in ["", ".snapshot", ".snapshot/s1/k"] {
            assert!(validate_key_name(bad, &s).is_err(), "{bad}");
        }
        let checked = Settings { check_key_name_characters: true, ..Settings::default() };
        for bad in ["{x}", "a\\b", "a~", "\"a", "ü", "\u{80}", "a/b#c"] {
            assert!(validate_key_name(bad, &checked).is_err(), "{bad}");
        }
        assert!(validate_key_name("\u{101}", &checked).is_ok());
        assert!(validate_key_name("a/b_c-d.e!f", &checked).is_ok());
    }
}
