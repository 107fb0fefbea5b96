//! Access control entries.

use proto::ozone::OzoneAclInfo;
use proto::ozone::ozone_acl_info::{OzoneAclScope, OzoneAclType};
use serde_json::{Value, json};

/// Rights in the order of their bits.
const RIGHTS: [&str; 10] = [
    "READ",
    "WRITE",
    "CREATE",
    "LIST",
    "DELETE",
    "READ_ACL",
    "WRITE_ACL",
    "ALL",
    "NONE",
    "ASSUME_ROLE",
];

fn rights(bits: &[u8]) -> Vec<&'static str> {
    RIGHTS
        .iter()
        .enumerate()
        .filter(|(bit, _)| bits.get(bit / 8).is_some_and(|b| b & (1 << (bit % 8)) != 0))
        .map(|(_, name)| *name)
        .collect()
}

/// One entry.
pub(crate) fn acl(acl: &OzoneAclInfo) -> Value {
    let rights = rights(&acl.rights);
    let kind = OzoneAclType::try_from(acl.r#type).map_or("UNKNOWN", |t| t.as_str_name());
    let scope = OzoneAclScope::try_from(acl.acl_scope).map_or("UNKNOWN", |s| s.as_str_name());
    json!({
        "type": kind,
        "name": acl.name,
        "aclScope": scope,
        "aclList": rights,
        "aclSet": rights,
    })
}

#[cfg(test)]
mod tests {
    use super::rights;

    #[test]
    fn bits_are_little_endian() {
        assert_eq!(rights(&[0x80]), ["ALL"]);
        assert_eq!(rights(&[0x09]), ["READ", "LIST"]);
        assert_eq!(rights(&[0x00, 0x02]), ["ASSUME_ROLE"]);
        assert!(rights(&[]).is_empty());
    }
}
