//! Scan of a bucket's keys: keys that contain the delimiter roll up to their common prefix, and the
//! scan jumps over a known prefix.

use client::{Client, ListKeys};
use futures::future::BoxFuture;
use proto::ozone::BasicKeyInfo;

/// Size of the first page if prefixes roll up: the rest of a page after a prefix may be useless.
const FIRST_PAGE: u32 = 100;

/// Maximum number of keys per page.
const LARGEST_PAGE: u32 = 1000;

/// A listing request.
#[derive(Debug, Clone)]
pub(crate) struct ListQuery {
    pub(crate) prefix: String,
    pub(crate) delimiter: Option<String>,
    /// Only entries after this key or common prefix.
    pub(crate) after: String,
    pub(crate) limit: usize,
}

/// An entry of a listing.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Entry {
    /// An object.
    Key(BasicKeyInfo),
    /// The common prefix of several keys, including the delimiter.
    Prefix(String),
}

impl Entry {
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Key(key) => key.key_name(),
            Self::Prefix(prefix) => prefix,
        }
    }
}

/// A page of a listing.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Listed {
    pub(crate) entries: Vec<Entry>,
    /// More entries follow the last one.
    pub(crate) truncated: bool,
}

/// A source of keys: returns a page of at most `limit` keys with a prefix, after a key, and a flag
/// for more.
pub(crate) trait Keys: Sync {
    fn page<'a>(
        &'a self,
        prefix: &'a str,
        after: &'a str,
        count: u32,
    ) -> BoxFuture<'a, client::Result<(Vec<BasicKeyInfo>, bool)>>;
}

/// The keys of a bucket.
pub(crate) struct BucketKeys<'a> {
    pub(crate) client: &'a Client,
    pub(crate) volume: &'a str,
    pub(crate) bucket: &'a str,
}

impl Keys for BucketKeys<'_> {
    fn page<'a>(
        &'a self,
        prefix: &'a str,
        after: &'a str,
        count: u32,
    ) -> BoxFuture<'a, client::Result<(Vec<BasicKeyInfo>, bool)>> {
        let list = ListKeys::new(self.volume, self.bucket).prefix(prefix).start_after(after);
        Box::pin(async move { self.client.list_keys_page(&list, count).await })
    }
}

impl ListQuery {
    pub(crate) async fn run(&self, keys: &impl Keys) -> client::Result<Listed> {
        let mut listed = Listed::default();
        if self.limit == 0 {
            return Ok(listed);
        }
        let mut after = self.after.clone();
        // A page that ended with a common prefix resumes after all of its keys.
        let mut rolled: Option<String> = self.delimiter.as_ref().and_then(|delimiter| {
            let rest = after.strip_prefix(&self.prefix)?;
            let at = rest.find(delimiter.as_str())?;
            (at + delimiter.len() == rest.len()).then(|| after.clone())
        });
        if let Some(prefix) = &rolled {
            after = behind(prefix);
        }
        let mut count = if self.delimiter.is_some() { FIRST_PAGE } else { LARGEST_PAGE };
        loop {
            let left = self.limit - listed.entries.len();
            let want = u32::try_from(left + 1).unwrap_or(LARGEST_PAGE).min(count);
            let (page, more) = keys.page(&self.prefix, &after, want).await?;
            let Some(last) = page.last() else { return Ok(listed) };
            after = last.key_name().to_owned();
            let mut useful = 0;
            for key in page {
                if let Some(prefix) = &rolled
                    && key.key_name().starts_with(prefix.as_str())
                {
                    continue;
                }
                rolled = None;
                useful += 1;
                if listed.entries.len() == self.limit {
                    listed.truncated = true;
                    return Ok(listed);
                }
                match self.common_prefix(key.key_name()) {
                    Some(prefix) => {
                        rolled = Some(prefix.clone());
                        listed.entries.push(Entry::Prefix(prefix));
                    }
                    None => listed.entries.push(Entry::Key(key)),
                }
            }
            if !more {
                return Ok(listed);
            }
            // Many keys have one prefix: jump over them. A key after the jump may still have the
            // prefix (its next character is the largest one); it is skipped like the others.
            match &rolled {
                Some(prefix) if after.as_str() < behind(prefix).as_str() => after = behind(prefix),
                _ => {}
            }
            count = match useful {
                0 | 1 => count,
                _ => (count * 2).min(LARGEST_PAGE),
            };
        }
    }

    fn common_prefix(&self, key: &str) -> Option<String> {
        let delimiter = self.delimiter.as_deref()?;
        let rest = key.get(self.prefix.len()..)?;
        let end = self.prefix.len() + rest.find(delimiter)? + delimiter.len();
        key.get(..end).map(str::to_owned)
    }
}

/// A name that sorts after (nearly) all names with this `prefix`.
fn behind(prefix: &str) -> String {
    format!("{prefix}{}", char::MAX)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures::executor::block_on;

    use super::*;

    struct Set {
        names: BTreeSet<String>,
        given: AtomicUsize,
    }

    impl Set {
        fn new(names: &[&str]) -> Self {
            let names = names.iter().map(|name| (*name).to_owned()).collect();
            Self { names, given: AtomicUsize::new(0) }
        }
    }

    impl Keys for Set {
        fn page<'a>(
            &'a self,
            prefix: &'a str,
            after: &'a str,
            count: u32,
        ) -> BoxFuture<'a, client::Result<(Vec<BasicKeyInfo>, bool)>> {
            let mut found = self
                .names
                .iter()
                .filter(move |name| name.starts_with(prefix) && name.as_str() > after);
            let page: Vec<_> = found
                .by_ref()
                .take(count as usize)
                .map(|name| BasicKeyInfo { key_name: Some(name.clone()), ..Default::default() })
                .collect();
            self.given.fetch_add(page.len(), Ordering::Relaxed);
            let more = found.next().is_some();
            Box::pin(async move { Ok((page, more)) })
        }
    }

    fn names(listed: &Listed) -> Vec<&str> {
        listed.entries.iter().map(Entry::name).collect()
    }

    /// A listing by definition: roll up, sort, truncate.
    fn expected(set: &Set, prefix: &str, delimiter: Option<&str>) -> Vec<String> {
        let mut all = BTreeSet::new();
        for name in set.names.iter().filter(|name| name.starts_with(prefix)) {
            let rest = &name[prefix.len()..];
            match delimiter.and_then(|d| rest.find(d).map(|at| prefix.len() + at + d.len())) {
                Some(end) => all.insert(name[..end].to_owned()),
                None => all.insert(name.clone()),
            };
        }
        all.into_iter().collect()
    }

    #[test]
    fn pages_of_any_size_add_up_to_the_whole_listing() {
        let set = Set::new(&[
            "a",
            "a/",
            "a/1",
            "a/2/x",
            "a/2/y",
            "a0",
            "b/1",
            "b/2",
            "b/\u{10ffff}z",
            "c",
            "d//e",
            "d/e",
            "é/1",
            "z",
            "zz/long/er/1",
            "zz/long/er/2",
        ]);
        let cases =
            [("", None), ("", Some("/")), ("a/", Some("/")), ("zz/", Some("er/")), ("a", None)];
        for (prefix, delimiter) in cases {
            let whole = expected(&set, prefix, delimiter);
            for limit in 1..=whole.len() + 1 {
                let (mut after, mut got) = (String::new(), Vec::new());
                loop {
                    let query = ListQuery {
                        prefix: prefix.to_owned(),
                        delimiter: delimiter.map(str::to_owned),
                        after: after.clone(),
                        limit,
                    };
                    let listed = block_on(query.run(&set)).unwrap();
                    assert!(listed.entries.len() <= limit);
                    got.extend(names(&listed).into_iter().map(str::to_owned));
                    if !listed.truncated {
                        break;
                    }
                    after = got.last().unwrap().clone();
                }
                assert_eq!(got, whole, "{prefix:?} {delimiter:?} by {limit}");
            }
        }
    }

    #[test]
    fn a_common_prefix_with_many_keys_is_jumped_over() {
        let many: Vec<String> = (0..50_000).map(|i| format!("logs/{i:05}")).collect();
        let mut all: Vec<&str> = many.iter().map(String::as_str).collect();
        all.push("readme");
        let set = Set::new(&all);
        let query = ListQuery {
            prefix: String::new(),
            delimiter: Some("/".into()),
            after: String::new(),
            limit: 1000,
        };
        let listed = block_on(query.run(&set)).unwrap();
        assert_eq!(names(&listed), ["logs/", "readme"]);
        assert!(set.given.load(Ordering::Relaxed) < 300);
    }

    #[test]
    fn a_listing_of_nothing_is_empty_and_ends() {
        let set = Set::new(&["a"]);
        let query = |limit, after: &str| ListQuery {
            prefix: String::new(),
            delimiter: None,
            after: after.to_owned(),
            limit,
        };
        assert_eq!(block_on(query(0, "").run(&set)).unwrap(), Listed::default());
        assert_eq!(block_on(query(5, "a").run(&set)).unwrap(), Listed::default());
        assert!(!block_on(query(1, "").run(&set)).unwrap().truncated);
    }
}
