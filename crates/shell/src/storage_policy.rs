//! Syntax of storage policies on the command line.

use types::StoragePolicy;

/// The value that removes a bucket's policy.
const UNSET: &str = "NONE";

/// Storage policy options of a bucket.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct BucketPolicyArgs {
    /// Storage policy of its keys: HOT (SSD, else DISK), WARM (DISK) or COLD (ARCHIVE); NONE for
    /// the cluster's default. Existing keys are moved by o3 admin mover.
    #[arg(long = "storagepolicy", visible_alias = "storage-policy", value_parser = policy, value_name = "POLICY")]
    policy: Option<String>,
    /// Write keys to disks of the policy's fallback type if those of the first have no space: true
    /// or false.
    #[arg(
        long = "allowFallBackStoragePolicy",
        visible_alias = "allow-fallback-storage-policy",
        value_name = "true|false"
    )]
    fallback: Option<bool>,
}

impl BucketPolicyArgs {
    /// Returns `true` if no option is given.
    pub(crate) fn is_empty(&self) -> bool {
        self.policy.is_none() && self.fallback.is_none()
    }

    /// The metadata entries of a bucket for these options; an empty value removes one.
    pub(crate) fn metadata(&self) -> Vec<(String, String)> {
        let policy = self.policy.as_deref().map(|policy| {
            let value = if policy == UNSET { "" } else { policy };
            (StoragePolicy::METADATA_KEY.to_owned(), value.to_owned())
        });
        let fallback =
            self.fallback.map(|is| (StoragePolicy::FALLBACK_KEY.to_owned(), is.to_string()));
        policy.into_iter().chain(fallback).collect()
    }
}

/// Storage policy options of a key.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct KeyPolicyArgs {
    /// Storage policy of the key: HOT (SSD, else DISK), WARM (DISK) or COLD (ARCHIVE); by default
    /// the bucket's.
    #[arg(long = "storagepolicy", visible_alias = "storage-policy", value_name = "POLICY")]
    policy: Option<StoragePolicy>,
}

impl KeyPolicyArgs {
    /// Returns `true` if no option is given.
    pub(crate) fn is_empty(&self) -> bool {
        self.policy.is_none()
    }

    /// Sets the metadata entry of a key for these options.
    pub(crate) fn set(&self, metadata: &mut Vec<(String, String)>) {
        let Some(policy) = self.policy else { return };
        metadata.retain(|(name, _)| name != StoragePolicy::METADATA_KEY);
        metadata.push((StoragePolicy::METADATA_KEY.to_owned(), policy.to_string()));
    }
}

fn policy(text: &str) -> Result<String, types::WireError> {
    match text.eq_ignore_ascii_case(UNSET) {
        true => Ok(UNSET.to_owned()),
        false => text.parse::<StoragePolicy>().map(|policy| policy.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_is_an_entry_of_the_metadata() {
        let args = BucketPolicyArgs { policy: policy("cold").ok(), fallback: Some(false) };
        let entry = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let fallback = entry("ozone.storage.policy.fallback", "false");
        assert_eq!(args.metadata(), [entry("ozone.storage.policy", "COLD"), fallback]);
        let none = BucketPolicyArgs { policy: policy("none").ok(), fallback: None };
        assert_eq!(none.metadata(), [entry("ozone.storage.policy", "")]);
        assert!(policy("ALL_SSD").is_err());
        let mut metadata = vec![entry("a", "b"), entry("ozone.storage.policy", "HOT")];
        KeyPolicyArgs::default().set(&mut metadata);
        assert_eq!(metadata.len(), 2);
        KeyPolicyArgs { policy: Some(StoragePolicy::Warm) }.set(&mut metadata);
        assert_eq!(metadata, [entry("a", "b"), entry("ozone.storage.policy", "WARM")]);
    }
}
