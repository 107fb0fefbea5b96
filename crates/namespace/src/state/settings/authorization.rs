//! Rules about users that come before any ACL.

use types::Principals;

/// Configuration of the native authorizer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Authorization {
    /// True if requests are authorized: `ozone.acl.enabled`.
    pub enabled: bool,
    /// `ozone.administrators`, and the user that OM runs as: may do everything.
    pub admins: Principals,
    /// `ozone.s3.administrators`: may see and change all users' S3 secrets.
    pub s3_admins: Principals,
    /// `ozone.readonly.administrators`: may see everything.
    pub read_only_admins: Principals,
    /// `ozone.blacklist.users`: may do nothing, administrators included.
    pub blacklist: Principals,
    /// `ozone.read.blacklist.users`: may see nothing, administrators included.
    pub read_blacklist: Principals,
    /// `ozone.om.volume.listall.allowed`: all users may list all volumes.
    pub list_all_volumes: bool,
}
