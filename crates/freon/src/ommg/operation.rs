//! The operations of `ommg`, with Ozone's names.

use clap::ValueEnum;

/// A metadata operation; names are Ozone's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "SCREAMING_SNAKE_CASE")]
pub(crate) enum Operation {
    /// Open and commit a file with the data of --size, and create its directories.
    CreateFile,
    /// Look up a file with its block locations.
    LookupFile,
    /// Read a file.
    ReadFile,
    /// List a page of a directory with all metadata of its entries.
    ListStatus,
    /// List a page of a directory with basic metadata.
    ListStatusLight,
    /// Open and commit a key with the data of --size.
    CreateKey,
    /// Look up a key with its block locations.
    LookupKey,
    /// The same with the request of newer clients.
    GetKeyinfo,
    /// Look up a key without block locations.
    HeadKey,
    /// Read a key.
    ReadKey,
    /// List a page of keys with all their metadata.
    ListKeys,
    /// List a page of keys with basic metadata.
    ListKeysLight,
    /// Read the metadata of the bucket.
    InfoBucket,
    /// Read the metadata of the volume.
    InfoVolume,
    /// Several operations, see --ops and --opsnum.
    Mixed,
}

impl Operation {
    /// Returns `true` if it needs an existing key.
    pub(super) fn reads_key(self) -> bool {
        matches!(
            self,
            Self::LookupKey
                | Self::GetKeyinfo
                | Self::HeadKey
                | Self::ReadKey
                | Self::LookupFile
                | Self::ReadFile
        )
    }

    /// Returns `true` if it creates a key.
    pub(super) fn creates(self) -> bool {
        matches!(self, Self::CreateKey | Self::CreateFile)
    }

    /// The operation that creates its keys or files.
    pub(super) fn creator(self) -> &'static str {
        match self {
            Self::CreateFile
            | Self::LookupFile
            | Self::ReadFile
            | Self::ListStatus
            | Self::ListStatusLight => "CREATE_FILE",
            _ => "CREATE_KEY",
        }
    }

    /// Name of its timer.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::CreateFile => "CREATE_FILE",
            Self::LookupFile => "LOOKUP_FILE",
            Self::ReadFile => "READ_FILE",
            Self::ListStatus => "LIST_STATUS",
            Self::ListStatusLight => "LIST_STATUS_LIGHT",
            Self::CreateKey => "CREATE_KEY",
            Self::LookupKey => "LOOKUP_KEY",
            Self::GetKeyinfo => "GET_KEYINFO",
            Self::HeadKey => "HEAD_KEY",
            Self::ReadKey => "READ_KEY",
            Self::ListKeys => "LIST_KEYS",
            Self::ListKeysLight => "LIST_KEYS_LIGHT",
            Self::InfoBucket => "INFO_BUCKET",
            Self::InfoVolume => "INFO_VOLUME",
            Self::Mixed => "MIXED",
        }
    }
}
