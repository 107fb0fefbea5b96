//! Authorization of users for objects: Ozone's native authorizer.
//!
//! A user needs the right on the object itself and a lesser one on its parents: READ on the volume
//! (WRITE to create a bucket in it), and on the bucket WRITE to create a key, READ to look, delete
//! or see ACLs. Owners of the volume may do anything within it, owners of a bucket anything within
//! that, administrators anything at all.

use std::sync::Arc;

use proto::ozone::ozone_obj::ObjectType;
use proto::ozone::{OzoneAclInfo, PrefixInfo, VolumeInfo};

use super::right::{Right, granted};
use super::stored;
use crate::error::OmError;
use crate::state::find::bucket;
use crate::state::row::Bucket;
use crate::state::settings::Authorization;
use crate::state::view::{self, View};
use crate::tables::{self, Table, volume_key};

/// The object that a right is asked for. The key is also part of the refusal's text when it is a
/// mere prefix of a list.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Target<'a> {
    pub kind: ObjectType,
    pub volume: &'a str,
    pub bucket: Option<&'a str>,
    pub key: Option<&'a str>,
}

impl<'a> Target<'a> {
    pub fn volume(volume: &'a str) -> Self {
        Self { kind: ObjectType::Volume, volume, bucket: None, key: None }
    }

    pub fn bucket(volume: &'a str, bucket: &'a str) -> Self {
        Self { kind: ObjectType::Bucket, bucket: Some(bucket), ..Self::volume(volume) }
    }

    pub fn key(volume: &'a str, bucket: &'a str, key: &'a str) -> Self {
        Self { kind: ObjectType::Key, key: Some(key), ..Self::bucket(volume, bucket) }
    }

    pub fn prefix(volume: &'a str, bucket: &'a str, prefix: &'a str) -> Self {
        Self { kind: ObjectType::Prefix, ..Self::key(volume, bucket, prefix) }
    }

    fn bucket_name(&self) -> &'a str {
        self.bucket.unwrap_or_default()
    }

    fn key_name(&self) -> &'a str {
        self.key.unwrap_or_default()
    }
}

/// The authorizer of one request.
pub(crate) struct Guard<'a> {
    pub view: &'a dyn View,
    pub policy: &'a Authorization,
    pub user: &'a str,
    pub groups: &'a [String],
    /// Volume of the buckets of S3 clients.
    pub s3_volume: &'a str,
}

impl Guard<'_> {
    /// # Errors
    /// When the user lacks the right, or the object does not exist.
    pub fn require(&self, target: Target<'_>, right: Right) -> Result<(), OmError> {
        if self.judged_by_name(right) == Some(true) {
            return Ok(());
        }
        let creates = right == Right::Create;
        let volume_owner = match (target.kind, creates) {
            (ObjectType::Volume, true) => None,
            _ => Some(self.volume(target.volume)?),
        };
        let volume_owner = volume_owner.as_deref().map(|volume| volume.owner_name.as_str());
        if target.kind == ObjectType::Volume {
            return self.demand(target, right, volume_owner);
        }
        // A bucket that is being created has no owner yet.
        let bucket_owner = match (target.kind, creates) {
            (ObjectType::Bucket, true) => None,
            _ => bucket::find(self.view, target.volume, target.bucket_name())?.owner.clone(),
        };
        if volume_owner == Some(self.user) {
            return self.demand(target, right, volume_owner);
        }
        let around = match target.kind {
            ObjectType::Bucket => right.of_volume_around(),
            _ => Right::Read,
        };
        let volume = Target { kind: ObjectType::Volume, ..target };
        self.demand(volume, around, volume_owner)?;
        self.demand(target, right, bucket_owner.as_deref())
    }

    /// Checks the right to list all volumes.
    pub fn may_list_all_volumes(&self) -> Result<(), OmError> {
        let allowed = self.judged_by_name(Right::List).unwrap_or(self.policy.list_all_volumes);
        if allowed { Ok(()) } else { Err(self.refusal(Target::volume("/"), Right::List)) }
    }

    /// Returns `true` if the user has `right` on a volume, for lists that omit the others.
    pub fn may_list(&self, volume: &VolumeInfo) -> bool {
        self.judged_by_name(Right::List).unwrap_or_else(|| {
            volume.owner_name == self.user || self.grants(&volume.volume_acls, Right::List)
        })
    }

    /// # Errors
    /// When a user who is no administrator requests an operation of administrators.
    pub fn require_admin(&self, deed: &str) -> Result<(), OmError> {
        if self.is_admin() {
            return Ok(());
        }
        Err(OmError::PermissionDenied(format!("Only Ozone admins are allowed to {deed}")))
    }

    pub fn is_admin(&self) -> bool {
        self.policy.admins.include(self.user, self.groups)
    }

    pub fn is_s3_admin(&self) -> bool {
        let policy = self.policy;
        match policy.s3_admins.users.is_empty() && policy.s3_admins.groups.is_empty() {
            true => self.is_admin(),
            false => policy.s3_admins.include(self.user, self.groups),
        }
    }

    /// The names of the source bucket. Access through a link needs READ on the link.
    pub fn resolve(&self, volume: &str, bucket: &str) -> Result<(String, String), OmError> {
        let (mut volume, mut bucket) = (volume.to_owned(), bucket.to_owned());
        let mut found = bucket::find(self.view, &volume, &bucket)?;
        for _ in 0..bucket::MAX_LINKS {
            let (Some(v), Some(b)) = (&found.source_volume, &found.source_bucket) else {
                return Ok((volume, bucket));
            };
            let around = self.volume(&volume)?;
            let owner = Some(around.owner_name.as_str());
            self.demand(Target::bucket(&volume, &bucket), Right::Read, owner)?;
            (volume, bucket) = (v.clone(), b.clone());
            found = bucket::find(self.view, &volume, &bucket)?;
        }
        Err(OmError::LinkLoop { volume, bucket })
    }

    /// Decision by the user's name alone; `None` if owners and ACLs decide.
    fn judged_by_name(&self, right: Right) -> Option<bool> {
        let (policy, user, groups) = (self.policy, self.user, self.groups);
        if policy.blacklist.include(user, groups)
            || (right.is_read() && policy.read_blacklist.include(user, groups))
        {
            return Some(false);
        }
        let may = policy.admins.include(user, groups)
            || (right.is_read() && policy.read_only_admins.include(user, groups));
        may.then_some(true)
    }

    fn demand(&self, target: Target<'_>, right: Right, owner: Option<&str>) -> Result<(), OmError> {
        if self.allows(target, right, owner)? { Ok(()) } else { Err(self.refusal(target, right)) }
    }

    fn allows(
        &self,
        target: Target<'_>,
        right: Right,
        owner: Option<&str>,
    ) -> Result<bool, OmError> {
        if let Some(decided) = self.judged_by_name(right) {
            return Ok(decided);
        }
        let creates = right == Right::Create;
        let owns = owner == Some(self.user);
        Ok(match target.kind {
            // Volumes are made by administrators.
            ObjectType::Volume if creates => false,
            _ if owns => true,
            ObjectType::Volume => self.on_volume(target, right)?,
            ObjectType::Bucket => {
                (creates || self.on_bucket(target, right)?)
                    && self.on_volume(target, right.of_volume_around())?
            }
            ObjectType::Key => {
                let around = right.of_bucket_around();
                (creates || self.on_key(target, right)?)
                    && self.on_prefix(target, around)?
                    && self.on_bucket(target, around)?
                    && self.on_volume(target, Right::Read)?
            }
            ObjectType::Prefix => {
                (creates || self.on_prefix(target, right)?)
                    && self.on_bucket(target, right.of_bucket_around())?
                    && self.on_volume(target, Right::Read)?
            }
        })
    }

    fn on_volume(&self, target: Target<'_>, right: Right) -> Result<bool, OmError> {
        Ok(self.grants(&self.volume(target.volume)?.volume_acls, right))
    }

    /// Rights on a link are those on its source bucket, except for reading the link itself
    /// and removing it.
    fn on_bucket(&self, target: Target<'_>, right: Right) -> Result<bool, OmError> {
        let (volume, bucket) = (target.volume, target.bucket_name());
        let of_link = target.kind == ObjectType::Bucket
            && matches!(right, Right::Delete | Right::ReadAcl | Right::Read);
        let found = bucket::find(self.view, volume, bucket)?;
        if of_link || !found.is_link() {
            return Ok(self.grants(&found.acls, right));
        }
        let source = self.source(volume, bucket)?.unwrap_or(found);
        Ok(self.grants(&source.acls, right))
    }

    /// The source bucket of a link, if it exists.
    fn source(&self, volume: &str, bucket: &str) -> Result<Option<Bucket>, OmError> {
        let (mut volume, mut bucket) = (volume.to_owned(), bucket.to_owned());
        match bucket::resolve(self.view, &mut volume, &mut bucket) {
            Ok(found) => Ok(Some(found)),
            Err(OmError::BucketNotFound { .. }) => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Rights on a key, or on the session in which it is written. A missing key may be searched for
    /// and written.
    fn on_key(&self, target: Target<'_>, right: Right) -> Result<bool, OmError> {
        let (volume, bucket, key) = (target.volume, target.bucket_name(), target.key_name());
        let acls = match right {
            Right::Write => stored::acls_of_session(self.view, volume, bucket, key)?,
            _ => stored::acls_of_key(self.view, volume, bucket, key)?,
        };
        match acls {
            Some(acls) => Ok(self.grants(&acls, right)),
            None if matches!(right, Right::Read | Right::Write) => Ok(true),
            None => Err(OmError::KeyNotFound(format!(
                "Key not found, checkAccess failed. Key:/{volume}/{bucket}/{key}"
            ))),
        }
    }

    /// Rights on the prefix of exactly this name, if it has ACLs.
    fn on_prefix(&self, target: Target<'_>, right: Right) -> Result<bool, OmError> {
        let name = target.key_name().trim_end_matches('/');
        let row = tables::prefix_key(target.volume, target.bucket_name(), name);
        let prefix: Option<PrefixInfo> = view::get(self.view, Table::PrefixTable, &row)?;
        Ok(prefix.is_none_or(|prefix| self.grants(&prefix.acls, right)))
    }

    fn grants(&self, acls: &[OzoneAclInfo], right: Right) -> bool {
        granted(acls, self.user, self.groups, right)
    }

    fn volume(&self, volume: &str) -> Result<Arc<VolumeInfo>, OmError> {
        let found = self.view.volume(&volume_key(volume))?;
        found.ok_or_else(|| OmError::VolumeNotFound(volume.to_owned()))
    }

    /// Ozone's words.
    fn refusal(&self, target: Target<'_>, right: Right) -> OmError {
        let kind = target.kind.as_str_name();
        let bucket = target.bucket.map(|b| format!("Bucket:{b} ")).unwrap_or_default();
        let key = target.key.map(|k| format!("Key:{k}")).unwrap_or_default();
        OmError::PermissionDenied(format!(
            "User {} doesn't have {} permission to access {kind} Volume:{} {bucket}{key}",
            self.user,
            right.name(),
            target.volume
        ))
    }
}
