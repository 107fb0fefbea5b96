//! The names in the path of the object that an ACL is about.

use proto::ozone::OzoneObj;
use proto::ozone::ozone_obj::ObjectType;

use crate::error::OmError;

/// The names in the path of an object. A prefix has its slash at the end.
pub(crate) enum Path<'a> {
    Volume { volume: &'a str },
    Bucket { volume: &'a str, bucket: &'a str },
    Key { volume: &'a str, bucket: &'a str, key: &'a str },
}

impl<'a> Path<'a> {
    pub fn of(obj: &'a OzoneObj) -> Result<Self, OmError> {
        let bad = || OmError::InvalidAclPath(format!("not a path of its kind: {}", obj.path));
        let mut parts = obj.path.trim_start_matches('/').splitn(3, '/');
        let mut name = || parts.next().filter(|part| !part.is_empty());
        let (volume, bucket, key) = (name().ok_or_else(bad)?, name(), name());
        match (ObjectType::try_from(obj.res_type), bucket, key) {
            (Ok(ObjectType::Volume), None, None) => Ok(Self::Volume { volume }),
            (Ok(ObjectType::Bucket), Some(bucket), None) => Ok(Self::Bucket { volume, bucket }),
            (Ok(ObjectType::Key), Some(bucket), Some(key)) => Ok(Self::Key { volume, bucket, key }),
            (Ok(ObjectType::Prefix), Some(bucket), Some(key)) => {
                if !key.ends_with('/') {
                    return Err(OmError::InvalidAclPath(format!(
                        "Missing trailing slash '/' in prefix name: {key}"
                    )));
                }
                Ok(Self::Key { volume, bucket, key })
            }
            _ => Err(bad()),
        }
    }
}
