//! A bucket as a file system: paths in the syntax of Hadoop's file systems, directories and files.

use clap::Args;
use client::{CreateKey, FileOptions, KeyPath};
use config::Configuration;
use proto::ozone::{BucketLayoutProto, KeyArgs, ListStatusRequest, OmRequest, Type};

use crate::FreonError;
use crate::content::Content;
use crate::target::Target;

/// Number of entries per listing request.
const LIST_PAGE: u64 = 1000;

/// The directory of the files.
#[derive(Debug, Clone, Args)]
pub struct RootArgs {
    /// Directory to work in: o3fs://BUCKET.VOLUME/DIRECTORY or ofs://OM/VOLUME/BUCKET/DIRECTORY.
    #[arg(
        short = 'r',
        long = "rpath",
        visible_alias = "path",
        default_value = "o3fs://bucket1.vol1",
        value_name = "PATH"
    )]
    pub root: FsPath,
}

/// A path of a file system: a bucket, and a path in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FsPath {
    volume: String,
    bucket: String,
    /// The path without leading and trailing slashes; empty for the bucket itself.
    below: String,
}

/// A path without a bucket.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("a path is o3fs://BUCKET.VOLUME/DIRECTORY or ofs://OM/VOLUME/BUCKET/DIRECTORY")]
pub struct FsPathError;

impl std::str::FromStr for FsPath {
    type Err = FsPathError;

    fn from_str(text: &str) -> Result<Self, FsPathError> {
        let (volume, bucket, below) = if let Some(rest) = text.strip_prefix("o3fs://") {
            let (authority, below) = rest.split_once('/').unwrap_or((rest, ""));
            // After bucket and volume there may be the OM, which the configuration has.
            let mut parts = authority.split('.');
            (
                parts.nth(1).unwrap_or_default(),
                authority.split('.').next().unwrap_or_default(),
                below,
            )
        } else if let Some(rest) = text.strip_prefix("ofs://") {
            let mut parts = rest.splitn(4, '/').skip(1);
            let mut next = || parts.next().unwrap_or_default();
            (next(), next(), next())
        } else {
            return Err(FsPathError);
        };
        if volume.is_empty() || bucket.is_empty() {
            return Err(FsPathError);
        }
        let below = below.split('/').filter(|name| !name.is_empty()).collect::<Vec<_>>().join("/");
        Ok(Self { volume: volume.to_owned(), bucket: bucket.to_owned(), below })
    }
}

impl std::fmt::Display for FsPath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "o3fs://{}.{}/{}", self.bucket, self.volume, self.below)
    }
}

/// A directory in which a generator works.
pub(crate) struct FileSystem {
    pub(crate) target: Target,
    below: String,
}

impl FileSystem {
    /// Opens a directory; its bucket must exist and support files.
    pub(crate) async fn open(
        clients: usize,
        root: &FsPath,
        conf: &Configuration,
    ) -> Result<Self, FreonError> {
        let target = Target::named(clients, &root.volume, &root.bucket, None, conf)?;
        let bucket = target.client(0).bucket_info(&root.volume, &root.bucket).await?;
        if bucket.bucket_layout() == BucketLayoutProto::ObjectStore {
            let reason = "a bucket of the layout OBJECT_STORE has no files".to_owned();
            return Err(FreonError::Path { path: root.to_string(), reason });
        }
        Ok(Self { target, below: root.below.clone() })
    }

    /// A path below the directory.
    pub(crate) fn path(&self, name: &str) -> KeyPath {
        match self.below.as_str() {
            "" => self.target.path(name),
            below => self.target.path(format!("{below}/{name}")),
        }
    }

    /// Creates a directory and its parents.
    pub(crate) async fn make(&self, test: u64, name: &str) -> Result<(), FreonError> {
        Ok(self.target.client(test).create_directory(&self.path(name)).await?)
    }

    /// The request that opens a file for writing: an existing one is overwritten, directories are
    /// created.
    pub(crate) fn file(&self, name: &str) -> CreateKey {
        let options = FileOptions { recursive: true, overwrite: true };
        CreateKey::new(self.path(name)).as_file(options)
    }

    /// Writes a file.
    pub(crate) async fn write(
        &self,
        test: u64,
        name: &str,
        content: &Content,
    ) -> Result<(), FreonError> {
        self.target.write(test, self.file(name), content).await
    }

    /// Counts the entries of a directory, page by page.
    pub(crate) async fn count(&self, test: u64, name: &str) -> Result<u64, FreonError> {
        let path = self.path(name);
        let (mut start, mut entries) = (String::new(), 0);
        loop {
            let request = ListStatusRequest {
                key_args: KeyArgs {
                    volume_name: path.volume.clone(),
                    bucket_name: path.bucket.clone(),
                    key_name: path.key.clone(),
                    ..Default::default()
                },
                recursive: false,
                start_key: start.clone(),
                num_entries: LIST_PAGE,
                allow_partial_prefix: None,
            };
            let request = OmRequest {
                cmd_type: Type::ListStatus as i32,
                list_status_request: Some(Box::new(request)),
                ..Default::default()
            };
            let page = self.target.submit(test, request).await?.list_status_response;
            let page = page.map(|page| page.statuses).unwrap_or_default();
            // The first entry of a page is the last entry of the previous one.
            entries += page.len() as u64 - u64::from(!start.is_empty() && !page.is_empty());
            let last = page.last().and_then(|status| status.key_info.as_ref());
            match last {
                Some(last) if page.len() as u64 == LIST_PAGE => start = last.key_name.clone(),
                _ => return Ok(entries),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_of_paths_name_bucket_and_directory() {
        for (text, volume, bucket, below) in [
            ("o3fs://bucket1.vol1", "vol1", "bucket1", ""),
            ("o3fs://bucket1.vol1/", "vol1", "bucket1", ""),
            ("o3fs://b.v.om-host:9862/d//e/", "v", "b", "d/e"),
            ("ofs://om/vol1/bucket1", "vol1", "bucket1", ""),
            ("ofs://om:9862/vol1/bucket1/d/e", "vol1", "bucket1", "d/e"),
        ] {
            let path: FsPath = text.parse().unwrap();
            assert_eq!((&*path.volume, &*path.bucket, &*path.below), (volume, bucket, below));
        }
        for wrong in ["", "bucket1", "o3fs://", "o3fs://bucket1", "ofs://om/vol1", "hdfs://a/b/c"] {
            assert_eq!(wrong.parse::<FsPath>(), Err(FsPathError), "{wrong}");
        }
    }
}
