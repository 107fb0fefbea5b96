//! Pages of a gateway's web port.

use config::{Configuration, HostPort};
use s3gateway::{GatewayOptions, S3Gateway};

use crate::request::get;
use crate::support::Cluster;

#[tokio::test]
async fn the_configuration_and_the_level_of_log_lines_are_shown() {
    let cluster = Cluster::start(1).await;
    let conf = Configuration::builder().build().unwrap().with("ozone.s3g.region", "eu-north-9");
    let options = GatewayOptions {
        address: HostPort::new("127.0.0.1", 0),
        status_address: Some(HostPort::new("127.0.0.1", 0)),
        ..GatewayOptions::from_configuration(&conf).unwrap()
    };
    let gateway = S3Gateway::start_with(cluster.client.clone(), options).await.unwrap();
    let web = gateway.status_address().unwrap();
    let shown = get(web, "/conf?name=ozone.s3g.region").await;
    assert_eq!(shown.status, 200);
    let text = String::from_utf8(shown.rest().await).unwrap();
    assert!(text.contains("<value>eu-north-9</value>"), "{text}");
    assert_eq!(get(web, "/logLevel?log=s3gateway").await.status, 200);
    gateway.shutdown().await;
}
