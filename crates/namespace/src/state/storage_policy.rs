//! Kinds of disks for a key's blocks: those of the key's policy, else its bucket's, else the
//! server's.
//!
//! A policy is an entry of the metadata of a bucket or key ([`StoragePolicy::METADATA_KEY`]), so
//! that clients of Ozone set, keep and see it by existing calls. A key without one of its own
//! follows its bucket: when that changes, the mover moves the key.

use proto::hdds::KeyValue;
use types::{StoragePolicy, StorageType};

use crate::error::OmError;
use crate::state::metadata;
use crate::state::row::Bucket;
use crate::state::settings::Settings;

const POLICY: &str = StoragePolicy::METADATA_KEY;
const FALLBACK: &str = StoragePolicy::FALLBACK_KEY;

/// The storage types that blocks of a key in `bucket` may be on, the best first; `metadata` is the
/// key's.
pub(crate) fn storage_types(
    metadata: &[KeyValue],
    bucket: &Bucket,
    settings: &Settings,
) -> &'static [StorageType] {
    let own = StoragePolicy::of_metadata(metadata);
    let policy = own
        .or_else(|| StoragePolicy::of_metadata(&bucket.metadata))
        .or(settings.default_storage_policy);
    let fallback = metadata::get(&bucket.metadata, FALLBACK) != Some("false");
    policy.map_or(&StorageType::ANY, |policy| policy.storage_types(fallback))
}

/// Checks an entry for the metadata of a new key or bucket, and converts it to its stored form.
///
/// # Errors
/// When there is no such policy.
pub(crate) fn check(list: &mut Vec<KeyValue>) -> Result<(), OmError> {
    normalize(list)?;
    // Without a value it stands for no policy.
    list.retain(|entry| !is_unset(entry));
    Ok(())
}

/// The same of changes to a bucket's metadata, in which an empty value takes the policy away.
///
/// # Errors
/// When there is no such policy.
pub(crate) fn normalize(list: &mut [KeyValue]) -> Result<(), OmError> {
    for entry in list.iter_mut().filter(|entry| !is_unset(entry)) {
        let value = entry.value.as_deref().unwrap_or_default();
        match entry.key.as_str() {
            POLICY => {
                let invalid = |_| OmError::InvalidRequest(no_such(value));
                let policy = value.parse::<StoragePolicy>().map_err(invalid)?;
                entry.value = Some(policy.to_string());
            }
            FALLBACK => match value.to_ascii_lowercase() {
                lower if lower == "true" || lower == "false" => entry.value = Some(lower),
                _ => {
                    let why = format!("{FALLBACK} is true or false, not {value}");
                    return Err(OmError::InvalidRequest(why));
                }
            },
            _ => {}
        }
    }
    Ok(())
}

/// Returns `true` if an entry removes the setting of its name.
pub(crate) fn is_unset(entry: &KeyValue) -> bool {
    matches!(entry.key.as_str(), POLICY | FALLBACK)
        && entry.value.as_deref().unwrap_or("").is_empty()
}

fn no_such(value: &str) -> String {
    let names: Vec<&str> = StoragePolicy::ALL.iter().map(|policy| policy.name()).collect();
    format!("there is no storage policy {value}: it is one of {}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use proto::ozone::BucketInfo;

    use super::*;

    fn list(entries: &[(&str, &str)]) -> Vec<KeyValue> {
        let one = |(key, value): &(&str, &str)| KeyValue {
            key: (*key).to_owned(),
            value: Some((*value).to_owned()),
        };
        entries.iter().map(one).collect()
    }

    fn types(key: &str, bucket: &[(&str, &str)], default: Option<StoragePolicy>) -> String {
        let info = BucketInfo { metadata: list(bucket), ..BucketInfo::default() };
        let settings = Settings { default_storage_policy: default, ..Settings::default() };
        let key = if key.is_empty() { Vec::new() } else { list(&[(POLICY, key)]) };
        let types = storage_types(&key, &Bucket::new(info), &settings);
        types.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_keys_policy_counts_before_its_buckets_and_that_before_the_servers() {
        let cold = [(POLICY, "COLD")];
        let strict = [(POLICY, "HOT"), (FALLBACK, "false")];
        assert_eq!(types("", &[], None), "DISK SSD ARCHIVE");
        assert_eq!(types("", &[], Some(StoragePolicy::Warm)), "DISK");
        assert_eq!(types("", &cold, Some(StoragePolicy::Warm)), "ARCHIVE");
        assert_eq!(types("HOT", &cold, Some(StoragePolicy::Warm)), "SSD DISK");
        assert_eq!(types("", &strict, None), "SSD");
        assert_eq!(types("HOT", &strict, None), "SSD", "a bucket's word on fall-back is its keys'");
    }

    #[test]
    fn what_is_no_policy_is_refused_and_an_empty_one_is_none() {
        let mut cold = list(&[("a", ""), (POLICY, "cold"), (FALLBACK, "FALSE")]);
        check(&mut cold).unwrap();
        assert_eq!(cold, list(&[("a", ""), (POLICY, "COLD"), (FALLBACK, "false")]));
        let mut none = list(&[(POLICY, ""), (FALLBACK, "")]);
        check(&mut none).unwrap();
        assert_eq!(none, []);
        for wrong in [(POLICY, "ALL_SSD"), (FALLBACK, "perhaps")] {
            assert!(check(&mut list(&[wrong])).is_err());
        }
    }
}
