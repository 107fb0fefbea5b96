//! The object that an ACL command is about: `/volume[/bucket[/key]]`.

use proto::ozone::ozone_obj::ObjectType;
use proto::ozone::{
    GetAclRequest, GetAclResponse, KeyInfo, OmResponse, OzoneAclInfo, OzoneObj, Type, VolumeInfo,
};

use crate::apply::ApplyContext;
use crate::bucket;
use crate::error::OmError;
use crate::key::place::Place;
use crate::prepare::PrepareContext;
use crate::read::ReadContext;
use crate::response;
use crate::row::Bucket;
use crate::tables::{self, Table};
use crate::view::View;
use crate::volume;

/// An object with its ACLs at hand.
pub(super) enum Object {
    Volume(Box<VolumeInfo>),
    Bucket(Bucket),
    Key(Place, Box<KeyInfo>),
}

/// Checks the path, and replaces a link's names by those of the bucket proper.
pub(crate) fn prepare(
    obj: &mut OzoneObj,
    modification_time: &mut Option<u64>,
    ctx: &PrepareContext<'_>,
) -> Result<(), OmError> {
    *modification_time = Some(ctx.now_ms);
    if let Path::Key { volume, bucket, key } = Path::of(obj)? {
        let (mut v, mut b) = (volume.to_owned(), bucket.to_owned());
        bucket::find::resolve(ctx.view, &mut v, &mut b)?;
        obj.path = format!("/{v}/{b}/{key}");
    }
    Ok(())
}

enum Path<'a> {
    Volume { volume: &'a str },
    Bucket { volume: &'a str, bucket: &'a str },
    Key { volume: &'a str, bucket: &'a str, key: &'a str },
}

impl<'a> Path<'a> {
    fn of(obj: &'a OzoneObj) -> Result<Self, OmError> {
        let bad = || OmError::InvalidAclPath(format!("not a path of its kind: {}", obj.path));
        let mut parts = obj.path.trim_start_matches('/').splitn(3, '/');
        let mut name = || parts.next().filter(|part| !part.is_empty());
        let (volume, bucket, key) = (name().ok_or_else(bad)?, name(), name());
        match (ObjectType::try_from(obj.res_type), bucket, key) {
            (Ok(ObjectType::Volume), None, None) => Ok(Self::Volume { volume }),
            (Ok(ObjectType::Bucket), Some(bucket), None) => Ok(Self::Bucket { volume, bucket }),
            (Ok(ObjectType::Key), Some(bucket), Some(key)) => Ok(Self::Key { volume, bucket, key }),
            (Ok(ObjectType::Prefix), ..) => {
                Err(OmError::NotSupported("ACLs of prefixes are not supported".to_owned()))
            }
            _ => Err(bad()),
        }
    }
}

impl Object {
    pub fn find(view: &dyn View, obj: &OzoneObj) -> Result<Self, OmError> {
        match Path::of(obj)? {
            Path::Volume { volume } => {
                Ok(Self::Volume(Box::new(volume::find::find(view, volume)?)))
            }
            Path::Bucket { volume, bucket } => {
                Ok(Self::Bucket(bucket::find::find(view, volume, bucket)?))
            }
            Path::Key { volume, bucket, key } => {
                let place = Place::of(view, volume, bucket, key)?;
                let info = place
                    .committed(view)?
                    .ok_or_else(|| OmError::key_not_found(volume, bucket, key))?;
                Ok(Self::Key(place, Box::new(info)))
            }
        }
    }

    pub fn acls(&self) -> &[OzoneAclInfo] {
        match self {
            Self::Volume(info) => &info.volume_acls,
            Self::Bucket(bucket) => &bucket.acls,
            Self::Key(_, info) => &info.acls,
        }
    }

    /// Writes the object with other ACLs.
    pub fn store(self, cx: &mut ApplyContext<'_>, acls: Vec<OzoneAclInfo>, now: Option<u64>) {
        let index = Some(cx.tx.index);
        match self {
            Self::Volume(mut info) => {
                info.volume_acls = acls;
                info.modification_time = now.or(info.modification_time);
                info.update_id = index;
                cx.put(Table::VolumeTable, tables::volume_key(&info.volume), &*info);
            }
            Self::Bucket(bucket) => {
                let mut info = bucket.to_info();
                info.acls = acls;
                info.modification_time = now.or(info.modification_time);
                info.update_id = index;
                let key = tables::bucket_key(&info.volume_name, &info.bucket_name);
                cx.put_bucket(key, Bucket::new(info));
            }
            Self::Key(place, mut info) => {
                info.acls = acls;
                info.modification_time = now.unwrap_or(info.modification_time);
                info.update_id = index;
                cx.put(Place::COMMITTED, place.key, &*info);
            }
        }
    }
}

/// GetAcl.
pub(crate) fn read(request: &GetAclRequest, cx: &ReadContext<'_>) -> Result<OmResponse, OmError> {
    let mut obj = request.obj.clone();
    if let Path::Key { volume, bucket, key } = Path::of(&request.obj)? {
        let (mut v, mut b) = (volume.to_owned(), bucket.to_owned());
        bucket::find::resolve(cx.view, &mut v, &mut b)?;
        obj.path = format!("/{v}/{b}/{key}");
    }
    let acls = Object::find(cx.view, &obj)?.acls().to_vec();
    let mut r = response::ok(Type::GetAcl);
    r.get_acl_response = Some(Box::new(GetAclResponse { acls }));
    Ok(r)
}
