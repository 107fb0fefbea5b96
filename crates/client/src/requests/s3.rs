//! S3 secrets.

use futures::future::BoxFuture;
use proto::ozone as om;

use crate::om::command;
use crate::{Client, Result};

impl Client {
    /// The secret of an access id; created if it does not exist and `create` is set.
    ///
    /// # Errors
    /// `S3_SECRET_NOT_FOUND` (or `ACCESS_ID_NOT_FOUND`), or a failure to reach OM.
    pub fn s3_secret<'a>(
        &'a self,
        access_id: &'a str,
        create: bool,
    ) -> BoxFuture<'a, Result<String>> {
        Box::pin(async move {
            let request = om::GetS3SecretRequest {
                kerberos_id: access_id.to_owned(),
                create_if_not_exist: Some(create),
            };
            Ok(self.om::<command::GetS3Secret>(&request).await?.s3_secret.aws_secret)
        })
    }

    /// Sets the secret of an access id.
    ///
    /// # Errors
    /// `ACCESS_ID_NOT_FOUND`, or a failure to reach OM.
    pub fn set_s3_secret<'a>(
        &'a self,
        access_id: &'a str,
        secret: &'a str,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let request = om::SetS3SecretRequest {
                access_id: Some(access_id.to_owned()),
                secret_key: Some(secret.to_owned()),
            };
            self.om::<command::SetS3Secret>(&request).await.map(drop)
        })
    }

    /// Removes the secret of an access id.
    ///
    /// # Errors
    /// `S3_SECRET_NOT_FOUND`, or a failure to reach OM.
    pub fn revoke_s3_secret<'a>(&'a self, access_id: &'a str) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let request = om::RevokeS3SecretRequest { kerberos_id: access_id.to_owned() };
            self.om::<command::RevokeS3Secret>(&request).await.map(drop)
        })
    }

    /// The user of an S3 access id, and the volume of its buckets.
    ///
    /// # Errors
    /// A failure to reach OM.
    pub fn s3_volume_context(&self) -> BoxFuture<'_, Result<(Option<om::VolumeInfo>, String)>> {
        Box::pin(async move {
            let reply =
                self.om::<command::GetS3VolumeContext>(&om::GetS3VolumeContextRequest {}).await?;
            Ok((reply.volume_info, reply.user_principal.unwrap_or_default()))
        })
    }
}
