//! Paths: names with slashes between them.

use std::borrow::Cow;

use crate::error::OmError;

/// The names of a path, from the bucket down. Slashes too many do not count.
pub(crate) fn names(path: &str) -> impl DoubleEndedIterator<Item = &str> {
    path.split('/').filter(|name| !name.is_empty())
}

/// The path without slashes too many.
pub(crate) fn normalize(path: &str) -> Cow<'_, str> {
    if path.starts_with('/') || path.ends_with('/') || path.contains("//") {
        return Cow::Owned(names(path).collect::<Vec<_>>().join("/"));
    }
    Cow::Borrowed(path)
}

/// Like [`normalize`], in place.
pub(crate) fn normalize_in_place(path: &mut String) {
    if let Cow::Owned(normal) = normalize(path) {
        *path = normal;
    }
}

/// # Errors
/// When a name of the path means something else in paths, as Hadoop has them.
pub(crate) fn check(path: &str) -> Result<(), OmError> {
    match names(path).any(|name| name == "." || name == ".." || name.contains(':')) {
        true => Err(OmError::InvalidKeyName(format!("Invalid KeyPath {path}"))),
        false => Ok(()),
    }
}

/// Parent and last name; the parent is empty for a path of one name.
pub(crate) fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// `directory/name`, without the slash when the directory is the bucket itself.
pub(crate) fn join(directory: &str, name: &str) -> String {
    if directory.is_empty() {
        return name.to_owned();
    }
    [directory, name].join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slashes_too_many_do_not_count() {
        for (path, normal) in
            [("", ""), ("/", ""), ("a", "a"), ("a/b", "a/b"), ("/a//b/", "a/b"), ("a/", "a")]
        {
            assert_eq!(normalize(path), normal, "{path}");
        }
        assert_eq!(split("a/b/c"), ("a/b", "c"));
        assert_eq!(split("a"), ("", "a"));
        assert_eq!(join("", "a"), "a");
        assert_eq!(join("a", "b"), "a/b");
    }

    #[test]
    fn names_with_another_meaning_are_refused() {
        for good in ["a", "a/.b/c..d", "..."] {
            assert!(check(good).is_ok(), "{good}");
        }
        for bad in [".", "a/../b", "a/./b", "a:b/c"] {
            assert!(check(bad).is_err(), "{bad}");
        }
    }
}
