//! Volume and bucket out of the keys of rows.

/// Volume and bucket of a row key `/volume/bucket/...`.
pub(super) fn bucket_of(row: &str) -> Option<(&str, &str)> {
    let mut parts = row.strip_prefix('/')?.splitn(3, '/');
    let (volume, bucket, _rest) = (parts.next()?, parts.next()?, parts.next()?);
    Some((volume, bucket))
}

#[cfg(test)]
mod tests {
    use super::bucket_of;

    #[test]
    fn a_row_key_names_its_volume_and_bucket() {
        assert_eq!(bucket_of("/v/b/dir/key/-9"), Some(("v", "b")));
        assert_eq!(bucket_of("/v/b"), None);
        assert_eq!(bucket_of("v/b/k"), None);
    }
}
