//! Lists of ACLs: defaults, inheritance, adding and removing rights.
//!
//! Rights are a little-endian bit set: READ 0, WRITE 1, CREATE 2, LIST 3, DELETE 4, READ_ACL 5,
//! WRITE_ACL 6, ALL 7, NONE 8, ASSUME_ROLE 9.

use bytes::Bytes;
use proto::ozone::OzoneAclInfo;
use proto::ozone::ozone_acl_info::{OzoneAclScope, OzoneAclType};

use super::stored;
use crate::error::OmError;
use crate::state::context::PrepareContext;
use crate::state::row::Bucket;

const ALL: &[u8] = &[0x80];
const READ_LIST: &[u8] = &[0x09];

/// Default ACLs of an owner and their primary group.
fn defaults_of(user: &str, group: Option<&str>) -> Vec<OzoneAclInfo> {
    for_both(user, group, READ_LIST)
}

/// All rights for a user and a group.
pub(crate) fn all_for(user: &str, group: Option<&str>) -> Vec<OzoneAclInfo> {
    for_both(user, group, ALL)
}

/// All rights for a user, `rights` for a group.
fn for_both(user: &str, group: Option<&str>, rights: &'static [u8]) -> Vec<OzoneAclInfo> {
    let entry = |kind: OzoneAclType, name: &str, rights| OzoneAclInfo {
        r#type: kind as i32,
        name: name.to_owned(),
        rights: Bytes::from_static(rights),
        acl_scope: OzoneAclScope::Access as i32,
    };
    let mut acls = vec![entry(OzoneAclType::User, user, ALL)];
    acls.extend(group.map(|group| entry(OzoneAclType::Group, group, rights)));
    acls
}

/// Puts the user's defaults before the client's ACLs; rights of one subject add up.
fn add_defaults(acls: &mut Vec<OzoneAclInfo>, ctx: &PrepareContext<'_>) {
    add_defaults_of(acls, ctx.user, ctx);
}

/// Appends them to the client's ACLs, as Ozone does with those of a bucket.
pub(crate) fn append_defaults(acls: &mut Vec<OzoneAclInfo>, ctx: &PrepareContext<'_>) {
    for acl in defaults_of(ctx.user, ctx.groups.first().map(String::as_str)) {
        grant(acls, acl);
    }
}

/// The same with the defaults of `owner`, whose groups are available if it is the request's user.
pub(crate) fn add_defaults_of(acls: &mut Vec<OzoneAclInfo>, owner: &str, ctx: &PrepareContext<'_>) {
    let group = ctx.groups.first().filter(|_| owner == ctx.user).map(String::as_str);
    let given = std::mem::replace(acls, defaults_of(owner, group));
    for acl in given {
        grant(acls, acl);
    }
}

/// Completes the ACLs of a new key: the user's defaults, the client's ACLs, and the default entries
/// of the nearest of prefix, parent directory and bucket that has any.
pub(crate) fn of_new_key(
    acls: &mut Vec<OzoneAclInfo>,
    key: &str,
    parent: Option<&[OzoneAclInfo]>,
    bucket: &Bucket,
    ctx: &PrepareContext<'_>,
) -> Result<(), OmError> {
    add_defaults(acls, ctx);
    let (volume, name) = (&bucket.volume_name, &bucket.bucket_name);
    let prefix = stored::prefix_above(ctx.view, volume, name, key)?;
    let prefix = prefix.as_ref().map(|prefix| prefix.acls.as_slice());
    for source in [prefix, parent, Some(&bucket.acls)].into_iter().flatten() {
        if inherit(acls, source) {
            break;
        }
    }
    Ok(())
}

/// A child gets the default entries of its parent, as entries about itself. False if that adds no
/// rights.
pub(crate) fn inherit(acls: &mut Vec<OzoneAclInfo>, parent: &[OzoneAclInfo]) -> bool {
    let mut inherited = false;
    for default in default_entries(parent) {
        let mut own = default.clone();
        own.acl_scope = OzoneAclScope::Access as i32;
        inherited |= grant(acls, own);
    }
    inherited
}

/// A container's child container gets its default entries as they are.
pub(crate) fn pass_on(acls: &mut Vec<OzoneAclInfo>, parent: &[OzoneAclInfo]) -> bool {
    let mut inherited = false;
    for default in default_entries(parent) {
        inherited |= grant(acls, default.clone());
    }
    inherited
}

fn default_entries(acls: &[OzoneAclInfo]) -> impl Iterator<Item = &OzoneAclInfo> {
    acls.iter().filter(|acl| acl.acl_scope == OzoneAclScope::Default as i32)
}

fn same_subject(a: &OzoneAclInfo, b: &OzoneAclInfo) -> bool {
    a.r#type == b.r#type && a.acl_scope == b.acl_scope && a.name == b.name
}

fn combine(a: &[u8], b: &[u8], op: fn(u8, u8) -> u8) -> Bytes {
    let len = a.len().max(b.len());
    let at = |bits: &[u8], i: usize| bits.get(i).copied().unwrap_or(0);
    let mut bits: Vec<u8> = (0..len).map(|i| op(at(a, i), at(b, i))).collect();
    // One form for one set, as Java's BitSet gives it.
    let used = bits.iter().rposition(|byte| *byte != 0).map_or(0, |last| last.saturating_add(1));
    bits.truncate(used);
    bits.into()
}

fn same_rights(a: &[u8], b: &[u8]) -> bool {
    combine(a, b, |a, b| a ^ b).is_empty()
}

/// Adds rights; false if they were all there.
pub(crate) fn grant(acls: &mut Vec<OzoneAclInfo>, acl: OzoneAclInfo) -> bool {
    match acls.iter_mut().find(|old| same_subject(old, &acl)) {
        Some(old) => {
            let rights = combine(&old.rights, &acl.rights, |a, b| a | b);
            let changed = !same_rights(&rights, &old.rights);
            old.rights = rights;
            changed
        }
        None => {
            acls.push(acl);
            true
        }
    }
}

/// Takes rights away; false if none of them was there. An entry without rights is removed.
pub(crate) fn revoke(acls: &mut Vec<OzoneAclInfo>, acl: &OzoneAclInfo) -> bool {
    let Some(at) = acls.iter().position(|old| same_subject(old, acl)) else { return false };
    let Some(old) = acls.get_mut(at) else { return false };
    let rights = combine(&old.rights, &acl.rights, |a, b| a & !b);
    let changed = !same_rights(&rights, &old.rights);
    if rights.is_empty() {
        acls.remove(at);
    } else {
        old.rights = rights;
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn acl(name: &str, rights: &'static [u8]) -> OzoneAclInfo {
        OzoneAclInfo { name: name.to_owned(), ..defaults_of("", None).remove(0) }.with(rights)
    }

    trait With {
        fn with(self, rights: &'static [u8]) -> Self;
    }

    impl With for OzoneAclInfo {
        fn with(mut self, rights: &'static [u8]) -> Self {
            self.rights = Bytes::from_static(rights);
            self
        }
    }

    #[test]
    fn rights_are_granted_and_revoked_bit_by_bit() {
        let mut acls = Vec::new();
        assert!(grant(&mut acls, acl("ann", &[0x01])));
        assert!(grant(&mut acls, acl("ann", &[0x08])));
        assert!(!grant(&mut acls, acl("ann", &[0x09, 0x00])));
        assert!(grant(&mut acls, acl("bob", &[0x00, 0x02])));
        assert_eq!(acls, [acl("ann", &[0x09]), acl("bob", &[0x00, 0x02])]);

        assert!(!revoke(&mut acls, &acl("ann", &[0x02])));
        assert!(revoke(&mut acls, &acl("ann", &[0x03])));
        assert_eq!(acls[0], acl("ann", &[0x08]));
        assert!(revoke(&mut acls, &acl("ann", &[0xff])));
        assert!(!revoke(&mut acls, &acl("ann", &[0xff])));
        assert_eq!(acls, [acl("bob", &[0x00, 0x02])]);
    }

    #[test]
    fn only_default_entries_are_inherited() {
        let mut default = acl("ann", &[0x01]);
        default.acl_scope = OzoneAclScope::Default as i32;
        let mut own = Vec::new();
        inherit(&mut own, &[default, acl("bob", &[0x80])]);
        assert_eq!(own, [acl("ann", &[0x01])]);
    }
}
