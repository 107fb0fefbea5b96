//! What a gateway is told.

use std::time::Duration;

use config::{Configuration, HostPort, keys};
use proto::ozone::BucketLayoutProto;

/// What a gateway is told.
#[derive(Debug, Clone)]
pub struct GatewayOptions {
    /// Where S3 is served.
    pub address: HostPort,
    /// Where status page and metrics are served, if at all.
    pub status_address: Option<HostPort>,
    /// Domains under which a bucket is the first label of the host name.
    pub domains: Vec<String>,
    /// Region the gateway tells.
    pub region: String,
    /// The volume that buckets live in.
    pub volume: String,
    /// Layout of the buckets that are made through it.
    pub bucket_layout: BucketLayoutProto,
    /// Whether directories of FILE_SYSTEM_OPTIMIZED buckets are told from objects.
    pub directories: bool,
    /// Most keys on a page of a listing.
    pub max_list_keys: u32,
    /// An access id and its secret that are valid whatever OM says.
    pub credentials: Option<(String, String)>,
    /// How long a shutdown waits for requests under way.
    pub shutdown_timeout: Duration,
}

impl GatewayOptions {
    /// The options that a configuration describes. The credentials are those of the environment
    /// (`O3_ACCESS_KEY`, `O3_SECRET_KEY`), when both are there.
    pub fn from_configuration(conf: &Configuration) -> Self {
        use keys::{om, s3g, trioxide};
        let status = conf.get(&s3g::OZONE_S3G_WEBADMIN_HTTP_ENABLED);
        Self {
            address: conf.get(&s3g::OZONE_S3G_HTTP_ADDRESS),
            status_address: status.then(|| conf.get(&s3g::OZONE_S3G_WEBADMIN_HTTP_ADDRESS)),
            domains: conf.get(&s3g::OZONE_S3G_DOMAIN_NAME),
            region: conf.get(&s3g::OZONE_S3G_REGION),
            volume: conf.get(&om::OZONE_S3G_VOLUME),
            // The declaration allows no other names than the layouts'.
            bucket_layout: BucketLayoutProto::from_str_name(
                &conf.get(&s3g::OZONE_S3G_DEFAULT_BUCKET_LAYOUT).to_ascii_uppercase(),
            )
            .unwrap_or(BucketLayoutProto::ObjectStore),
            directories: conf.get(&s3g::OZONE_S3G_FSO_DIRECTORY_CREATION),
            max_list_keys: conf.get(&s3g::OZONE_S3G_LIST_MAX_KEYS_LIMIT).max(1),
            credentials: environment_credentials(),
            shutdown_timeout: conf.get(&trioxide::TRIOXIDE_SHUTDOWN_TIMEOUT),
        }
    }
}

fn environment_credentials() -> Option<(String, String)> {
    let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    Some((variable("O3_ACCESS_KEY")?, variable("O3_SECRET_KEY")?))
}
