//! Several OMs or SCMs of one server: their service and addresses.
//!
//! The first uses Ozone's ports, each further one those plus another hundred: OMs on 9862, 9962,
//! 10062.

use std::io;

use config::keys::{om, scm};
use config::{Configuration, HostPort, Key};

use crate::ports::Ports;

pub(crate) const OM_SERVICE: &str = "omservice";
const SCM_SERVICE: &str = "scmservice";

type Settings = Vec<(String, String)>;

/// Node id of an OM; numbers start at 1.
pub(crate) fn om_id(number: usize) -> String {
    format!("om{number}")
}

/// Node id of an SCM; numbers start at 1.
pub(crate) fn scm_id(number: usize) -> String {
    format!("scm{number}")
}

/// The settings of a service of several OMs.
pub(crate) fn oms(conf: &Configuration, count: usize, ports: &mut Ports) -> io::Result<Settings> {
    let ids: Vec<_> = (1..=count).map(om_id).collect();
    let mut all = vec![
        (om::OZONE_OM_SERVICE_IDS.name().to_owned(), OM_SERVICE.to_owned()),
        (format!("{}.{OM_SERVICE}", om::OZONE_OM_NODES.name()), ids.join(",")),
    ];
    for (id, number) in ids.iter().zip(1..) {
        let member = Member { suffix: format!("{OM_SERVICE}.{id}"), number };
        member.address(&mut all, conf, ports, &om::OZONE_OM_ADDRESS)?;
        member.address(&mut all, conf, ports, &om::OZONE_OM_HTTP_ADDRESS)?;
        member.port(&mut all, conf, ports, &om::OZONE_OM_GRPC_PORT)?;
        member.port(&mut all, conf, ports, &om::OZONE_OM_RATIS_PORT)?;
    }
    Ok(all)
}

/// The settings of a service of several SCMs.
pub(crate) fn scms(conf: &Configuration, count: usize, ports: &mut Ports) -> io::Result<Settings> {
    let ids: Vec<_> = (1..=count).map(scm_id).collect();
    let mut all = vec![
        (scm::OZONE_SCM_SERVICE_IDS.name().to_owned(), SCM_SERVICE.to_owned()),
        (format!("{}.{SCM_SERVICE}", scm::OZONE_SCM_NODES.name()), ids.join(",")),
    ];
    for (id, number) in ids.iter().zip(1..) {
        let member = Member { suffix: format!("{SCM_SERVICE}.{id}"), number };
        let host = conf.get(&scm::OZONE_SCM_CLIENT_ADDRESS).host;
        all.push((format!("{}.{}", scm::OZONE_SCM_ADDRESS.name(), member.suffix), host));
        member.address(&mut all, conf, ports, &scm::OZONE_SCM_CLIENT_ADDRESS)?;
        member.address(&mut all, conf, ports, &scm::OZONE_SCM_BLOCK_CLIENT_ADDRESS)?;
        member.address(&mut all, conf, ports, &scm::OZONE_SCM_DATANODE_ADDRESS)?;
        member.address(&mut all, conf, ports, &scm::OZONE_SCM_HTTP_ADDRESS)?;
        member.port(&mut all, conf, ports, &scm::OZONE_SCM_RATIS_PORT)?;
    }
    Ok(all)
}

/// A member of a service.
struct Member {
    /// The suffix of its keys.
    suffix: String,
    number: usize,
}

impl Member {
    fn address(
        &self,
        all: &mut Settings,
        conf: &Configuration,
        ports: &mut Ports,
        key: &'static Key<HostPort>,
    ) -> io::Result<()> {
        let first = conf.get(key);
        let port = ports.of(first.port, self.number)?;
        let address = HostPort::new(first.host, port).to_string();
        all.push((format!("{}.{}", key.name(), self.suffix), address));
        Ok(())
    }

    fn port(
        &self,
        all: &mut Settings,
        conf: &Configuration,
        ports: &mut Ports,
        key: &'static Key<u16>,
    ) -> io::Result<()> {
        let port = ports.of(conf.get(key), self.number)?;
        all.push((format!("{}.{}", key.name(), self.suffix), port.to_string()));
        Ok(())
    }
}
