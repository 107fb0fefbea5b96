//! Storage classes as in Ozone's gateway: each stands for a replication (Ozone's `S3StorageType`),
//! and for a storage policy as in Ozone's design (HDDS-11233).
//!
//! | class | replication | policy |
//! | --- | --- | --- |
//! | `STANDARD` | `RATIS/THREE` | HOT |
//! | `REDUCED_REDUNDANCY` | `RATIS/ONE` | the bucket's |
//! | `STANDARD_IA` | `EC/rs-3-2-1024k`, or `x-amz-meta-storage-config` | WARM |
//! | `GLACIER`, `GLACIER_IR`, `DEEP_ARCHIVE` | as if none were named | COLD |
//!
//! A request without a class gets the replication of `ozone.replication`, or else the bucket's, and
//! the bucket's policy. The class of an object whose own policy is COLD is `GLACIER_IR`, the one
//! archive class of S3 that is read without a restore. For other objects the replication decides;
//! an erasure-coded one is `STANDARD_IA`, whatever its scheme.

use proto::hdds::EcReplicationConfig;
use s3s::S3Result;
use s3s::dto::{Metadata, StorageClass};
use types::replication::{EcCodec, EcConfig};
use types::{ReplicationConfig, StoragePolicy};

/// User metadata with the EC scheme of a `STANDARD_IA` object. It is not stored.
pub(crate) const STORAGE_CONFIG: &str = "storage-config";

/// Full copies.
pub(crate) const STANDARD: &str = "STANDARD";
/// One copy.
const REDUCED_REDUNDANCY: &str = "REDUCED_REDUNDANCY";
/// Erasure coded.
const STANDARD_IA: &str = "STANDARD_IA";

/// Archive classes that a request may name.
const ARCHIVES: [&str; 3] = ["GLACIER", COLD, "DEEP_ARCHIVE"];
/// Class of an object on archive disks.
const COLD: &str = "GLACIER_IR";

/// The default EC scheme of `STANDARD_IA`.
const USUAL_CODING: EcConfig =
    EcConfig { data: 3, parity: 2, codec: EcCodec::Rs, chunk_size: 1 << 20 };

/// The replication that a request asks for; `None` if it names no class.
///
/// # Errors
/// If the class or its EC scheme is invalid.
pub(crate) fn replication(
    class: Option<&StorageClass>,
    metadata: Option<&Metadata>,
) -> S3Result<Option<ReplicationConfig>> {
    let invalid = |class: &str| {
        Err(s3s::S3Error::with_message(
            s3s::S3ErrorCode::InvalidStorageClass,
            format!("The storage class you specified is not valid: {class}"),
        ))
    };
    let said = metadata.and_then(|metadata| metadata.get(STORAGE_CONFIG));
    let said = said.map(String::as_str).filter(|said| !said.is_empty());
    match class.map(StorageClass::as_str) {
        None | Some("") => Ok(None),
        Some(STANDARD) => Ok(Some(ReplicationConfig::RATIS_THREE)),
        Some(REDUCED_REDUNDANCY) => Ok(Some(ReplicationConfig::RATIS_ONE)),
        Some(STANDARD_IA) => match said.map_or(Ok(USUAL_CODING), str::parse) {
            Ok(coding) => Ok(Some(ReplicationConfig::Ec(coding))),
            Err(_) => invalid(STANDARD_IA),
        },
        Some(class) if ARCHIVES.contains(&class) => Ok(None),
        Some(class) => invalid(class),
    }
}

/// The storage policy of a class, if it stands for one.
pub(crate) fn policy(class: Option<&StorageClass>) -> Option<String> {
    let policy = match class?.as_str() {
        STANDARD => StoragePolicy::Hot,
        STANDARD_IA => StoragePolicy::Warm,
        class if ARCHIVES.contains(&class) => StoragePolicy::Cold,
        _ => return None,
    };
    Some(policy.to_string())
}

/// The class of an object with this replication and policy in protobuf form.
pub(crate) fn of_wire(
    kind: Option<i32>,
    factor: Option<i32>,
    coding: Option<&EcReplicationConfig>,
    policy: Option<&str>,
) -> &'static str {
    let replication = kind.and_then(|kind| ReplicationConfig::from_wire(kind, factor, coding).ok());
    of(replication, policy.and_then(|policy| policy.parse().ok()))
}

/// The class of an object with this replication and policy.
pub(crate) fn of(
    replication: Option<ReplicationConfig>,
    policy: Option<StoragePolicy>,
) -> &'static str {
    match replication {
        _ if policy == Some(StoragePolicy::Cold) => COLD,
        Some(ReplicationConfig::Ec(_)) => STANDARD_IA,
        Some(of) if of.required_nodes() == 1 => REDUCED_REDUNDANCY,
        _ => STANDARD,
    }
}

#[cfg(test)]
mod tests {
    use proto::hdds::{ReplicationFactor, ReplicationType};

    use super::*;

    fn wanted(class: &'static str, said: Option<&str>) -> Result<String, String> {
        let class = StorageClass::from_static(class);
        let metadata = said.map(|said| {
            let pair = (STORAGE_CONFIG.to_owned(), said.to_owned());
            [pair].into_iter().collect::<Metadata>()
        });
        match replication(Some(&class), metadata.as_ref()) {
            Ok(replication) => Ok(replication.map(|r| r.to_string()).unwrap_or_default()),
            Err(error) => Err(error.code().as_str().to_owned()),
        }
    }

    #[test]
    fn each_class_stands_for_the_replication_that_it_has_in_ozone() {
        let invalid = || Err("InvalidStorageClass".to_owned());
        let is = |text: &str| Ok(text.to_owned());
        for (class, said, expected) in [
            ("STANDARD", None, is("RATIS/THREE")),
            ("STANDARD", Some("rs-6-3-1024k"), is("RATIS/THREE")),
            ("REDUCED_REDUNDANCY", None, is("RATIS/ONE")),
            ("STANDARD_IA", None, is("EC/rs-3-2-1024k")),
            ("STANDARD_IA", Some(""), is("EC/rs-3-2-1024k")),
            ("STANDARD_IA", Some("rs-6-3-2048k"), is("EC/rs-6-3-2048k")),
            ("STANDARD_IA", Some("six and three"), invalid()),
            ("GLACIER", None, is("")),
            ("GLACIER_IR", Some("rs-6-3-1024k"), is("")),
            ("OUTPOSTS", None, invalid()),
            ("", None, is("")),
        ] {
            assert_eq!(wanted(class, said), expected, "{class} {said:?}");
        }
        assert!(matches!(replication(None, None), Ok(None)), "the bucket's");
    }

    #[test]
    fn each_class_stands_for_the_policy_that_it_has_in_ozones_design() {
        let policy_of = |class| policy(Some(&StorageClass::from_static(class)));
        for (class, expected) in [
            ("STANDARD", Some("HOT")),
            ("REDUCED_REDUNDANCY", None),
            ("STANDARD_IA", Some("WARM")),
            ("GLACIER", Some("COLD")),
            ("GLACIER_IR", Some("COLD")),
            ("DEEP_ARCHIVE", Some("COLD")),
            ("", None),
        ] {
            assert_eq!(policy_of(class).as_deref(), expected, "{class}");
        }
        assert_eq!(policy(None), None);
    }

    #[test]
    fn an_object_has_the_class_of_its_replication() {
        let (one, three) = (ReplicationFactor::One as i32, ReplicationFactor::Three as i32);
        let (ratis, ec) = (ReplicationType::Ratis as i32, ReplicationType::Ec as i32);
        assert_eq!(of_wire(Some(ratis), Some(three), None, Some("HOT")), "STANDARD");
        assert_eq!(of_wire(Some(ratis), Some(one), None, None), "REDUCED_REDUNDANCY");
        let coding = USUAL_CODING.to_wire();
        // Ozone's messages contain a factor in addition to the EC scheme.
        assert_eq!(of_wire(Some(ec), Some(one), Some(&coding), None), "STANDARD_IA");
        assert_eq!(of_wire(Some(ec), Some(one), Some(&coding), Some("COLD")), "GLACIER_IR");
        assert_eq!(of_wire(None, None, None, None), "STANDARD");
    }
}
