//! What a gateway is told.

use std::time::Duration;

use config::{Configuration, HostPort, keys};
use limits::ConnectionOptions;
use proto::ozone::BucketLayoutProto;
use types::{ReplicationConfig, WireError};

/// What a gateway is told.
#[derive(Debug, Clone)]
pub struct GatewayOptions {
    /// Whether S3 is served at all.
    pub enabled: bool,
    /// Where S3 is served.
    pub address: HostPort,
    /// Where status page and metrics are served, if at all.
    pub status_address: Option<HostPort>,
    /// The configuration itself, which `/conf` shows.
    pub configuration: Configuration,
    /// Domains under which a bucket is the first label of the host name.
    pub domains: Vec<String>,
    /// Region the gateway tells.
    pub region: String,
    /// The volume that buckets live in.
    pub volume: String,
    /// Layout of the buckets that are made through it.
    pub bucket_layout: BucketLayoutProto,
    /// Replication of objects that nobody says one for; the bucket's when absent.
    pub replication: Option<ReplicationConfig>,
    /// Whether directories of FILE_SYSTEM_OPTIMIZED buckets are told from objects.
    pub directories: bool,
    /// Most keys on a page of a listing.
    pub max_list_keys: u32,
    /// An access id and its secret that are valid whatever OM says.
    pub credentials: Option<(String, String)>,
    /// How many connections there may be, and how long they may be silent.
    pub connections: ConnectionOptions,
    /// Bytes a second at which a body comes at least; zero for any.
    pub minimum_upload_rate: u64,
    /// A request that takes as long is logged; zero for none.
    pub slow_request: Duration,
    /// How long a shutdown waits for requests under way.
    pub shutdown_timeout: Duration,
}

impl GatewayOptions {
    /// The options that a configuration describes. The credentials are those of the environment
    /// (`O3_ACCESS_KEY`, `O3_SECRET_KEY`), when both are there.
    ///
    /// # Errors
    /// When the replication makes no sense.
    pub fn from_configuration(conf: &Configuration) -> Result<Self, WireError> {
        use keys::{om, s3g, trioxide};
        let status = conf.get(&s3g::OZONE_S3G_WEBADMIN_HTTP_ENABLED);
        let address =
            conf.bind_address(&s3g::OZONE_S3G_HTTP_ADDRESS, &s3g::OZONE_S3G_HTTP_BIND_HOST);
        let status_address = status.then(|| {
            let web = conf.web_address(&s3g::OZONE_S3G_WEBADMIN_HTTP_ADDRESS, "", &address.host);
            conf.bound(web, &s3g::OZONE_S3G_WEBADMIN_HTTP_BIND_HOST)
        });
        Ok(Self {
            enabled: conf.get(&s3g::OZONE_S3G_HTTP_ENABLED),
            address,
            status_address,
            configuration: conf.clone(),
            domains: conf.get(&s3g::OZONE_S3G_DOMAIN_NAME),
            region: conf.get(&s3g::OZONE_S3G_REGION),
            volume: conf.get(&om::OZONE_S3G_VOLUME),
            // The declaration allows no other names than the layouts'.
            bucket_layout: BucketLayoutProto::from_str_name(
                &conf.get(&s3g::OZONE_S3G_DEFAULT_BUCKET_LAYOUT).to_ascii_uppercase(),
            )
            .unwrap_or(BucketLayoutProto::ObjectStore),
            replication: client::configured_replication(conf)?,
            directories: conf.get(&s3g::OZONE_S3G_FSO_DIRECTORY_CREATION),
            max_list_keys: conf.get(&s3g::OZONE_S3G_LIST_MAX_KEYS_LIMIT).max(1),
            credentials: environment_credentials(),
            connections: ConnectionOptions::from_configuration(conf),
            minimum_upload_rate: conf.get(&trioxide::TRIOXIDE_S3G_MINIMUM_UPLOAD_RATE).bytes(),
            slow_request: conf.get(&trioxide::TRIOXIDE_S3G_SLOW_REQUEST_THRESHOLD),
            shutdown_timeout: conf.get(&trioxide::TRIOXIDE_SHUTDOWN_TIMEOUT),
        })
    }
}

fn environment_credentials() -> Option<(String, String)> {
    let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    Some((variable("O3_ACCESS_KEY")?, variable("O3_SECRET_KEY")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(settings: &[(&str, &str)]) -> GatewayOptions {
        let conf = Configuration::builder().build().unwrap();
        let conf = settings.iter().fold(conf, |conf, (key, value)| conf.with(key, value));
        GatewayOptions::from_configuration(&conf).unwrap()
    }

    #[test]
    fn a_replication_that_makes_no_sense_keeps_a_gateway_from_starting() {
        let coded =
            options(&[("ozone.replication.type", "EC"), ("ozone.replication", "rs-6-3-1024k")]);
        assert_eq!(coded.replication.unwrap().to_string(), "EC/rs-6-3-1024k");
        assert_eq!(options(&[]).replication, None);
        let conf = Configuration::builder().build().unwrap();
        let conf = conf.with("ozone.replication", "rs-6-3-1024k");
        assert!(GatewayOptions::from_configuration(&conf).is_err(), "no factor of RATIS");
    }

    #[test]
    fn a_gateway_on_loopback_has_its_web_port_there_too() {
        let on_loopback = options(&[("ozone.s3g.http-address", "127.0.0.1:9878")]);
        assert_eq!(on_loopback.status_address.unwrap().to_string(), "127.0.0.1:19878");
        let everywhere = options(&[]);
        assert_eq!(everywhere.status_address.unwrap().to_string(), "0.0.0.0:19878");
    }

    #[test]
    fn bind_hosts_replace_the_hosts_of_addresses() {
        let both = options(&[
            ("ozone.s3g.http-address", "gateway1:9878"),
            ("ozone.s3g.http-bind-host", "0.0.0.0"),
            ("ozone.s3g.webadmin.http-address", "gateway1:7"),
            ("ozone.s3g.webadmin.http-bind-host", "127.0.0.1"),
        ]);
        assert_eq!(both.address.to_string(), "0.0.0.0:9878");
        assert_eq!(both.status_address.unwrap().to_string(), "127.0.0.1:7");
    }

    #[tokio::test]
    async fn a_gateway_that_is_not_to_serve_s3_does_not_start() {
        let conf = Configuration::default().with("ozone.s3g.http.enabled", false);
        let options = GatewayOptions::from_configuration(&conf).unwrap();
        let started = crate::S3Gateway::start(&conf, options).await;
        assert!(matches!(started, Err(crate::S3GatewayError::Disabled)));
    }
}
