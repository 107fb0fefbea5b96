//! Ozone's rules for SCM's addresses.

use config::Configuration;
use config::keys::s3g;
use config::keys::scm::{
    OZONE_SCM_BLOCK_CLIENT_ADDRESS, OZONE_SCM_CLIENT_ADDRESS, OZONE_SCM_CLIENT_BIND_HOST,
    OZONE_SCM_DATANODE_ADDRESS,
};

/// Client, block and DataNode address under these definitions.
fn addresses(definitions: &[&str]) -> [String; 3] {
    let builder = definitions.iter().fold(Configuration::builder(), |b, d| b.define(d).unwrap());
    let conf = builder.build().unwrap();
    [&OZONE_SCM_CLIENT_ADDRESS, &OZONE_SCM_BLOCK_CLIENT_ADDRESS, &OZONE_SCM_DATANODE_ADDRESS]
        .map(|key| conf.get(key).to_string())
}

#[test]
fn a_web_port_is_on_its_roles_host_unless_it_has_an_address_of_its_own() {
    let (address, bind_host) =
        (&s3g::OZONE_S3G_WEBADMIN_HTTP_ADDRESS, &s3g::OZONE_S3G_WEBADMIN_HTTP_BIND_HOST);
    let of = |settings: &[(&str, &str)]| {
        let conf = Configuration::builder().build().unwrap();
        let conf = settings.iter().fold(conf, |conf, (key, value)| conf.with(key, value));
        conf.bound(conf.web_address(address, "svc.a", "10.1.1.1"), bind_host).to_string()
    };
    let key = "ozone.s3g.webadmin.http-address";
    assert_eq!(of(&[]), "10.1.1.1:19878");
    assert_eq!(of(&[(key, "")]), "10.1.1.1:19878");
    assert_eq!(of(&[(key, "10.2.2.2:7")]), "10.2.2.2:7");
    let own = "ozone.s3g.webadmin.http-address.svc.a";
    assert_eq!(of(&[(key, "10.2.2.2:7"), (own, "10.3.3.3:8")]), "10.3.3.3:8");
    let bind = ("ozone.s3g.webadmin.http-bind-host", "0.0.0.0");
    assert_eq!(of(&[bind]), "0.0.0.0:19878");
    assert_eq!(of(&[(key, "10.2.2.2:7"), bind]), "0.0.0.0:7");
}

#[test]
fn the_host_comes_from_the_names_or_the_client_address_and_the_port_from_its_key() {
    let cases: [(&[&str], [&str; 3]); 6] = [
        (&[], ["0.0.0.0:9860", "0.0.0.0:9863", "0.0.0.0:9861"]),
        (&["ozone.scm.names=scm1,scm2"], ["scm1:9860", "scm1:9863", "scm1:9861"]),
        (&["ozone.scm.names=scm1:9999"], ["scm1:9860", "scm1:9863", "scm1:9861"]),
        (&["ozone.scm.client.address=c:1"], ["c:1", "c:9863", "c:9861"]),
        (&["ozone.scm.client.address=c", "ozone.scm.client.port=7"], ["c:7", "c:9863", "c:9861"]),
        (
            &[
                "ozone.scm.names=s",
                "ozone.scm.block.client.port=5",
                "ozone.scm.datanode.address=d:6",
            ],
            ["s:9860", "s:5", "d:6"],
        ),
    ];
    for (definitions, expected) in cases {
        assert_eq!(addresses(definitions), expected, "{definitions:?}");
    }
}

#[test]
fn a_derived_address_says_what_it_came_from() {
    let conf = Configuration::builder().define("ozone.scm.names=scm1").unwrap().build().unwrap();
    assert_eq!(
        conf.origin(&OZONE_SCM_CLIENT_ADDRESS).to_string(),
        "derived from ozone.scm.names (command line)"
    );
}

#[test]
fn an_endpoint_is_bound_to_its_bind_host_when_that_is_set() {
    let conf = Configuration::builder()
        .define("ozone.scm.client.address=public:1")
        .unwrap()
        .define("ozone.scm.client.bind.host=127.0.0.1")
        .unwrap()
        .build()
        .unwrap();
    assert_eq!(
        conf.bind_address(&OZONE_SCM_CLIENT_ADDRESS, &OZONE_SCM_CLIENT_BIND_HOST).to_string(),
        "127.0.0.1:1"
    );
    let plain = Configuration::default();
    assert_eq!(
        plain.bind_address(&OZONE_SCM_CLIENT_ADDRESS, &OZONE_SCM_CLIENT_BIND_HOST).to_string(),
        "0.0.0.0:9860"
    );
}
