//! Rights, and their evaluation in a list of ACLs.

use proto::ozone::OzoneAclInfo;
use proto::ozone::ozone_acl_info::OzoneAclType;

/// A right of a user on an object. The number is the bit in an ACL's rights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Right {
    Read = 0,
    Write = 1,
    Create = 2,
    List = 3,
    Delete = 4,
    ReadAcl = 5,
    WriteAcl = 6,
}

/// The bit for all rights.
const ALL: usize = 7;
/// The bit that takes every right away.
const NONE: usize = 8;

impl Right {
    /// Ozone's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "READ",
            Self::Write => "WRITE",
            Self::Create => "CREATE",
            Self::List => "LIST",
            Self::Delete => "DELETE",
            Self::ReadAcl => "READ_ACL",
            Self::WriteAcl => "WRITE_ACL",
        }
    }

    /// Returns `true` for rights to read: read-only administrators have them, a read blacklist
    /// denies them.
    pub fn is_read(self) -> bool {
        matches!(self, Self::Read | Self::ReadAcl | Self::List)
    }

    /// The right on the bucket that this right on one of its keys or prefixes needs.
    pub fn of_bucket_around(self) -> Self {
        match self {
            Self::Create => Self::Write,
            Self::ReadAcl | Self::List | Self::WriteAcl | Self::Delete => Self::Read,
            Self::Read | Self::Write => self,
        }
    }

    /// The right on the volume that this right on one of its buckets needs.
    pub fn of_volume_around(self) -> Self {
        if self == Self::Create { Self::Write } else { Self::Read }
    }
}

fn is_set(rights: &[u8], bit: usize) -> bool {
    rights.get(bit / 8).is_some_and(|byte| byte & (1 << (bit % 8)) != 0)
}

/// Returns `true` if `acls` give `right` to a user with these groups. Entries of either scope
/// count, as in Ozone; entries of world and anonymous count for all users.
pub(super) fn granted(acls: &[OzoneAclInfo], user: &str, groups: &[String], right: Right) -> bool {
    acls.iter().any(|acl| {
        let about = match OzoneAclType::try_from(acl.r#type) {
            Ok(OzoneAclType::User) => acl.name == user,
            Ok(OzoneAclType::Group) => groups.contains(&acl.name),
            Ok(_) => true,
            Err(_) => false,
        };
        let rights = &acl.rights;
        about && (is_set(rights, right as usize) || is_set(rights, ALL)) && !is_set(rights, NONE)
    })
}

#[cfg(test)]
mod tests {
    use proto::ozone::ozone_acl_info::OzoneAclScope;

    use super::*;

    fn acl(kind: OzoneAclType, name: &str, rights: &'static [u8]) -> OzoneAclInfo {
        OzoneAclInfo {
            r#type: kind as i32,
            name: name.to_owned(),
            rights: rights.into(),
            acl_scope: OzoneAclScope::Access as i32,
        }
    }

    #[test]
    fn an_entry_counts_for_whom_it_is_about() {
        use OzoneAclType::{Anonymous, ClientIp, Group, User, World};
        let groups = ["staff".to_owned(), "wheel".to_owned()];
        // Entry, the required right, the answer for user ann of the groups above.
        let cases: [(OzoneAclInfo, Right, bool); 12] = [
            (acl(User, "ann", &[0x01]), Right::Read, true),
            (acl(User, "ann", &[0x01]), Right::Write, false),
            (acl(User, "ann", &[0x80]), Right::WriteAcl, true),
            (acl(User, "ann", &[0x80, 0x01]), Right::Read, false),
            (acl(User, "ann", &[]), Right::Read, false),
            (acl(User, "bob", &[0x80]), Right::Read, false),
            (acl(Group, "staff", &[0x09]), Right::List, true),
            (acl(Group, "wheel", &[0x10]), Right::Delete, true),
            (acl(Group, "ann", &[0x80]), Right::Read, false),
            (acl(World, "WORLD", &[0x01]), Right::Read, true),
            (acl(Anonymous, "ANONYMOUS", &[0x02]), Right::Write, true),
            (acl(ClientIp, "10.0.0.1", &[0x20]), Right::ReadAcl, true),
        ];
        for (entry, right, expected) in cases {
            assert_eq!(
                granted(std::slice::from_ref(&entry), "ann", &groups, right),
                expected,
                "{entry:?}"
            );
        }
        let list = [acl(User, "ann", &[0x01]), acl(Group, "staff", &[0x02])];
        assert!(granted(&list, "ann", &groups, Right::Write), "any entry will do");
    }
}
