//! Keys the S3 gateway reads.

use crate::declare::keys;
use crate::value::HostPort;

keys! {
    /// Where the S3 gateway listens.
    OZONE_S3G_HTTP_ADDRESS: HostPort = "ozone.s3g.http-address", "0.0.0.0:9878", [S3G];
    /// Serve S3. Without it `o3 server` has no S3 gateway, and `o3 s3g` does not start.
    OZONE_S3G_HTTP_ENABLED: bool = "ozone.s3g.http.enabled", "true", [S3G];
    /// The address the S3 gateway binds to, when not that of ozone.s3g.http-address. Ozone's
    /// default is 0.0.0.0.
    OZONE_S3G_HTTP_BIND_HOST: String = "ozone.s3g.http-bind-host", "", [S3G];
    /// Where the S3 gateway's status page and metrics are served; the host is the one the gateway
    /// listens on for S3 when unset.
    OZONE_S3G_WEBADMIN_HTTP_ADDRESS: HostPort = "ozone.s3g.webadmin.http-address", "0.0.0.0:19878", [S3G];
    /// The address the S3 gateway binds its web port to, when not that of
    /// ozone.s3g.webadmin.http-address. Ozone's default is 0.0.0.0.
    OZONE_S3G_WEBADMIN_HTTP_BIND_HOST: String = "ozone.s3g.webadmin.http-bind-host", "", [S3G];
    /// Serve the S3 gateway's status page and metrics.
    OZONE_S3G_WEBADMIN_HTTP_ENABLED: bool = "ozone.s3g.webadmin.http.enabled", "true", [S3G];
    /// Domain names under which a bucket is the first label of the host name.
    OZONE_S3G_DOMAIN_NAME: Vec<String> = "ozone.s3g.domain.name", "", [S3G];
    /// Region the gateway tells.
    OZONE_S3G_REGION: String = "trioxide.s3g.region", "us-east-1", [S3G];
    /// Layout of the buckets made through S3.
    OZONE_S3G_DEFAULT_BUCKET_LAYOUT: String = "ozone.s3g.default.bucket.layout", "OBJECT_STORE", [S3G], one of ["FILE_SYSTEM_OPTIMIZED", "OBJECT_STORE", "LEGACY"];
    /// In buckets of layout FILE_SYSTEM_OPTIMIZED, an empty object whose name ends with a slash
    /// makes a directory, and a directory is no object unless it is named with its slash.
    OZONE_S3G_FSO_DIRECTORY_CREATION: bool = "ozone.s3g.fso.directory.creation", "true", [S3G];
    /// The most keys one page of a listing holds.
    OZONE_S3G_LIST_MAX_KEYS_LIMIT: u32 = "ozone.s3g.list.max.keys.limit", "1000", [S3G];
}
