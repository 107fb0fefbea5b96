//! Syntax of ACL entries: `user:ann:rw[ACCESS]`.

use bytes::Bytes;
use proto::ozone::OzoneAclInfo;
use proto::ozone::ozone_acl_info::{OzoneAclScope, OzoneAclType};

/// A letter for each right, in the order of their bits.
const LETTERS: [char; 9] = ['r', 'w', 'c', 'l', 'd', 'x', 'y', 'a', 'n'];

/// A malformed entry.
#[derive(Debug, thiserror::Error)]
pub(super) enum AclError {
    #[error("{0} is not an ACL such as user:ann:rw or group:staff:a[DEFAULT]")]
    Form(String),
    #[error("{0} is not an ACL type: user, group, world, anonymous, client_ip")]
    Type(String),
    #[error("{0} is not a scope: ACCESS, DEFAULT")]
    Scope(String),
    #[error("an ACL needs at least one right")]
    NoRight,
    #[error("{right} is not a right: {}", String::from_iter(LETTERS))]
    Right { right: char },
}

/// Parses `type:name:rights[scope]`; the scope is ACCESS by default.
pub(super) fn parse(text: &str) -> Result<OzoneAclInfo, AclError> {
    let form = || AclError::Form(text.to_owned());
    let (kind, rest) = text.trim().split_once(':').ok_or_else(form)?;
    let (name, rest) = rest.rsplit_once(':').ok_or_else(form)?;
    let (letters, scope) = match rest.split_once('[') {
        None => (rest, "ACCESS"),
        Some((letters, scope)) => (letters, scope.strip_suffix(']').ok_or_else(form)?),
    };
    let kind = OzoneAclType::from_str_name(&kind.to_ascii_uppercase())
        .ok_or_else(|| AclError::Type(kind.to_owned()))?;
    let scope = OzoneAclScope::from_str_name(&scope.to_ascii_uppercase())
        .ok_or_else(|| AclError::Scope(scope.to_owned()))?;
    let name = match kind {
        // These types have no name.
        OzoneAclType::World | OzoneAclType::Anonymous => kind.as_str_name(),
        _ if name.is_empty() => return Err(form()),
        _ => name,
    };
    Ok(OzoneAclInfo {
        r#type: kind as i32,
        name: name.to_owned(),
        rights: rights(letters)?,
        acl_scope: scope as i32,
    })
}

/// Letters as a little-endian bit set, without trailing zero bytes.
fn rights(letters: &str) -> Result<Bytes, AclError> {
    if letters.is_empty() {
        return Err(AclError::NoRight);
    }
    let mut bits = 0_u16;
    for letter in letters.chars() {
        let bit = LETTERS
            .iter()
            .position(|known| *known == letter.to_ascii_lowercase())
            .ok_or(AclError::Right { right: letter })?;
        bits |= 1 << bit;
    }
    let [low, high] = bits.to_le_bytes();
    Ok(if high == 0 {
        Bytes::copy_from_slice(&[low])
    } else {
        Bytes::copy_from_slice(&[low, high])
    })
}

/// Formats an entry as Ozone prints it.
pub(super) fn show(acl: &OzoneAclInfo) -> String {
    let kind = OzoneAclType::try_from(acl.r#type).map_or("UNKNOWN", |t| t.as_str_name());
    let scope = OzoneAclScope::try_from(acl.acl_scope).map_or("UNKNOWN", |s| s.as_str_name());
    let set = |bit: usize| acl.rights.get(bit / 8).is_some_and(|b| b & (1 << (bit % 8)) != 0);
    let letters: String = LETTERS
        .iter()
        .enumerate()
        .filter(|(bit, _)| set(*bit))
        .map(|(_, letter)| *letter)
        .collect();
    format!("{}:{}:{letters}[{scope}]", kind.to_ascii_lowercase(), acl.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_read_and_shown() {
        for (text, rights, shown) in [
            ("user:ann:rw", &[0x03_u8][..], "user:ann:rw[ACCESS]"),
            ("group:staff:a[DEFAULT]", &[0x80], "group:staff:a[DEFAULT]"),
            ("USER:host:8080:yx", &[0x60], "user:host:8080:xy[ACCESS]"),
            ("world::dl[ACCESS]", &[0x18], "world:WORLD:ld[ACCESS]"),
            ("user:ann:n", &[0x00, 0x01], "user:ann:n[ACCESS]"),
        ] {
            let acl = parse(text).unwrap();
            assert_eq!(&acl.rights[..], rights, "{text}");
            assert_eq!(show(&acl), shown);
        }
        for bad in
            ["ann", "user:ann", "user::r", "user:ann:", "user:ann:q", "robot:a:r", "user:a:r[X]"]
        {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
