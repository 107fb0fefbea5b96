//! Options of a gateway.

use std::time::Duration;

use config::{Configuration, HostPort, keys};
use limits::ConnectionOptions;
use proto::ozone::BucketLayoutProto;
use types::{ReplicationConfig, WireError};

/// Options of a gateway.
#[derive(Debug, Clone)]
pub struct GatewayOptions {
    /// Enables the S3 server.
    pub enabled: bool,
    /// Address of the S3 server.
    pub address: HostPort,
    /// Address of the status page and metrics, if any.
    pub status_address: Option<HostPort>,
    /// The configuration, shown by `/conf`.
    pub configuration: Configuration,
    /// Domains under which a bucket is the first label of the host name.
    pub domains: Vec<String>,
    /// Region of the gateway.
    pub region: String,
    /// The volume of the buckets.
    pub volume: String,
    /// Layout of buckets created through the gateway.
    pub bucket_layout: BucketLayoutProto,
    /// Default replication of objects; `None` for the bucket's.
    pub replication: Option<ReplicationConfig>,
    /// Distinguishes directories of FILE_SYSTEM_OPTIMIZED buckets from objects.
    pub directories: bool,
    /// Maximum number of keys on a page of a listing.
    pub max_list_keys: u32,
    /// An access id and its secret that are valid independently of OM.
    pub credentials: Option<(String, String)>,
    /// Limits on connections and their idle time.
    pub connections: ConnectionOptions,
    /// Minimum transfer rate of a body in bytes per second; zero for no limit.
    pub minimum_upload_rate: u64,
    /// Requests of at least this duration are logged; zero disables it.
    pub slow_request: Duration,
    /// Time for requests in flight to finish on shutdown.
    pub shutdown_timeout: Duration,
}

impl GatewayOptions {
    /// Options from a configuration. The credentials come from the environment (`O3_ACCESS_KEY`,
    /// `O3_SECRET_KEY`) if both are set.
    ///
    /// # Errors
    /// If the replication is invalid.
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
            // The key's declaration allows only names of layouts.
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
        assert!(GatewayOptions::from_configuration(&conf).is_err(), "not a factor of RATIS");
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
