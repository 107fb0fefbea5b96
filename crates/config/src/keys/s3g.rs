//! Keys the S3 gateway reads.

use crate::declare::keys;
use crate::value::HostPort;

keys! {
    /// Address of the S3 gateway.
    OZONE_S3G_HTTP_ADDRESS: HostPort = "ozone.s3g.http-address", "0.0.0.0:9878", [S3G];
    /// Serve S3. If false, `o3 server` has no S3 gateway, and `o3 s3g` does not start.
    OZONE_S3G_HTTP_ENABLED: bool = "ozone.s3g.http.enabled", "true", [S3G];
    /// Address that the S3 gateway binds to, if it differs from ozone.s3g.http-address. Ozone's
    /// default is 0.0.0.0.
    OZONE_S3G_HTTP_BIND_HOST: String = "ozone.s3g.http-bind-host", "", [S3G];
    /// Address of the S3 gateway's status page and metrics; the host defaults to that of
    /// ozone.s3g.http-address.
    OZONE_S3G_WEBADMIN_HTTP_ADDRESS: HostPort = "ozone.s3g.webadmin.http-address", "0.0.0.0:19878", [S3G];
    /// Address that the S3 gateway binds its web port to, if it differs from
    /// ozone.s3g.webadmin.http-address. Ozone's default is 0.0.0.0.
    OZONE_S3G_WEBADMIN_HTTP_BIND_HOST: String = "ozone.s3g.webadmin.http-bind-host", "", [S3G];
    /// Serve the S3 gateway's status page and metrics.
    OZONE_S3G_WEBADMIN_HTTP_ENABLED: bool = "ozone.s3g.webadmin.http.enabled", "true", [S3G];
    /// Domain names for virtual-host-style requests, in which the bucket is the first label of the
    /// host name.
    OZONE_S3G_DOMAIN_NAME: Vec<String> = "ozone.s3g.domain.name", "", [S3G];
    /// Region that the gateway reports.
    OZONE_S3G_REGION: String = "trioxide.s3g.region", "us-east-1", [S3G];
    /// Layout of buckets created through S3.
    OZONE_S3G_DEFAULT_BUCKET_LAYOUT: String = "ozone.s3g.default.bucket.layout", "OBJECT_STORE", [S3G], one of ["FILE_SYSTEM_OPTIMIZED", "OBJECT_STORE", "LEGACY"];
    /// In buckets of layout FILE_SYSTEM_OPTIMIZED, create a directory for an empty object whose
    /// name ends with a slash, and return a directory as an object only under its name with the
    /// slash.
    OZONE_S3G_FSO_DIRECTORY_CREATION: bool = "ozone.s3g.fso.directory.creation", "true", [S3G];
    /// Maximum number of keys per page of a listing.
    OZONE_S3G_LIST_MAX_KEYS_LIMIT: u32 = "ozone.s3g.list.max.keys.limit", "1000", [S3G];
}
