//! Object tags: get, put, delete.

use futures::future::BoxFuture;
use proto::ozone as om;

use crate::om::args::{KeyPath, pairs_from_wire, pairs_to_wire};
use crate::om::command;
use crate::{Client, Result};

impl Client {
    /// The tags of a key.
    ///
    /// # Errors
    /// `KEY_NOT_FOUND`, or a failure to reach OM.
    pub fn tags<'a>(&'a self, path: &'a KeyPath) -> BoxFuture<'a, Result<Vec<(String, String)>>> {
        Box::pin(async move {
            let request = om::GetObjectTaggingRequest { key_args: path.args() };
            Ok(pairs_from_wire(self.om::<command::GetObjectTagging>(&request).await?.tags))
        })
    }

    /// Replaces the tags of a key.
    ///
    /// # Errors
    /// `KEY_NOT_FOUND`, or a failure to reach OM.
    pub fn set_tags<'a>(
        &'a self,
        path: &'a KeyPath,
        tags: &'a [(String, String)],
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let key_args = om::KeyArgs { tags: pairs_to_wire(tags), ..path.args() };
            let request = om::PutObjectTaggingRequest { key_args };
            self.om::<command::PutObjectTagging>(&request).await.map(drop)
        })
    }

    /// Removes the tags of a key.
    ///
    /// # Errors
    /// `KEY_NOT_FOUND`, or a failure to reach OM.
    pub fn delete_tags<'a>(&'a self, path: &'a KeyPath) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let request = om::DeleteObjectTaggingRequest { key_args: path.args() };
            self.om::<command::DeleteObjectTagging>(&request).await.map(drop)
        })
    }
}
