//! Rights that commands share: on a key, in a session, on a path, on the contents of a bucket, on
//! the object of an ACL. Names of links are resolved first.

use proto::ozone::ozone_obj::ObjectType;
use proto::ozone::{KeyArgs, OzoneObj};

use super::authorize::{Guard, Target};
use super::path::Path;
use super::right::Right;
use crate::error::OmError;

impl Guard<'_> {
    /// Requires `right` on the key that `args` names.
    pub fn require_key(&self, args: &KeyArgs, right: Right) -> Result<(), OmError> {
        self.require_in_bucket(&args.volume_name, &args.bucket_name, &args.key_name, right)
    }

    /// Requires `right` on a key.
    pub fn require_in_bucket(
        &self,
        volume: &str,
        bucket: &str,
        key: &str,
        right: Right,
    ) -> Result<(), OmError> {
        let (volume, bucket) = self.resolve(volume, bucket)?;
        self.require(Target::key(&volume, &bucket, key), right)
    }

    /// Requires the right to write in the session `client_id`: a key's writer may continue.
    pub fn require_session(&self, args: &KeyArgs, client_id: u64) -> Result<(), OmError> {
        let session = format!("{}/{}", args.key_name, client_id.cast_signed());
        self.require_in_bucket(&args.volume_name, &args.bucket_name, &session, Right::Write)
    }

    /// Requires the right to see the status of a path, of which the bucket itself is the shortest.
    pub fn require_path(&self, args: &KeyArgs) -> Result<(), OmError> {
        match args.key_name.trim_matches('/').is_empty() {
            true => self.require_content(&args.volume_name, &args.bucket_name, "", &[Right::Read]),
            false => self.require_key(args, Right::Read),
        }
    }

    /// Requires `rights` on the part of a bucket's content whose names begin with `prefix`.
    pub fn require_content(
        &self,
        volume: &str,
        bucket: &str,
        prefix: &str,
        rights: &[Right],
    ) -> Result<(), OmError> {
        let (volume, bucket) = self.resolve(volume, bucket)?;
        let target = Target { key: Some(prefix), ..Target::bucket(&volume, &bucket) };
        rights.iter().try_for_each(|right| self.require(target, *right))
    }

    /// Requires `right` on the object that an ACL is about.
    pub fn require_object(&self, obj: &OzoneObj, right: Right) -> Result<(), OmError> {
        match Path::of(obj)? {
            Path::Volume { volume } => self.require(Target::volume(volume), right),
            // ACLs of a link are changed at its source, and read at the link.
            Path::Bucket { volume, bucket } if right == Right::WriteAcl => {
                let (volume, bucket) = self.resolve(volume, bucket)?;
                self.require(Target::bucket(&volume, &bucket), right)
            }
            Path::Bucket { volume, bucket } => self.require(Target::bucket(volume, bucket), right),
            Path::Key { volume, bucket, key } => {
                let (volume, bucket) = self.resolve(volume, bucket)?;
                let target = match ObjectType::try_from(obj.res_type) {
                    Ok(ObjectType::Prefix) => Target::prefix(&volume, &bucket, key),
                    _ => Target::key(&volume, &bucket, key),
                };
                self.require(target, right)
            }
        }
    }
}
