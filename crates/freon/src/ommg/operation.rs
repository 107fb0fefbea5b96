//! The operations of `ommg`, with Ozone's names.

use clap::ValueEnum;

/// A metadata operation; names are Ozone's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "SCREAMING_SNAKE_CASE")]
pub(crate) enum Operation {
    /// Open and commit a file with the data of --size, and make its directories.
    CreateFile,
    /// All about a file, with its block locations.
    LookupFile,
    /// All of a file.
    ReadFile,
    /// A page of a directory with everything OM knows of its entries.
    ListStatus,
    /// A page of a directory with what a listing shows.
    ListStatusLight,
    /// Open and commit a key with the data of --size.
    CreateKey,
    /// All about a key, with its block locations.
    LookupKey,
    /// The same as newer clients ask it.
    GetKeyinfo,
    /// All about a key, without block locations.
    HeadKey,
    /// All of a key.
    ReadKey,
    /// A page of keys with everything OM knows of them.
    ListKeys,
    /// A page of keys with what a listing shows.
    ListKeysLight,
    /// All about the bucket.
    InfoBucket,
    /// All about the volume.
    InfoVolume,
    /// Several, see --ops and --opsnum.
    Mixed,
}

impl Operation {
    /// Whether it is about a key that must be there.
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

    /// Whether it makes a key.
    pub(super) fn creates(self) -> bool {
        matches!(self, Self::CreateKey | Self::CreateFile)
    }

    /// The operation that makes what this one is about.
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

    /// The name of its timer.
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
