//! The OMs of a service, as the configuration names them: one Raft group.

use config::keys::om as keys;
use config::{Configuration, HostPort};
use uuid::Uuid;

use crate::error::Error;
use crate::identity::name_uuid;

/// The service id of an OM that is given none, Ozone's.
const DEFAULT_SERVICE_ID: &str = "omServiceIdDefault";

/// One OM of the service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Member {
    /// Its id within the service.
    pub(crate) node_id: String,
    /// What Raft knows it by.
    pub(crate) raft_id: Uuid,
    /// Where clients reach it.
    pub(crate) rpc: HostPort,
    /// Where the other OMs reach it.
    pub(crate) raft: HostPort,
    /// Where its status page is.
    pub(crate) http: HostPort,
}

impl Member {
    fn read(conf: &Configuration, service: &str, node: &str) -> Self {
        let suffix = format!("{service}.{node}");
        let rpc = conf.get_for(&keys::OZONE_OM_ADDRESS, &suffix);
        let port = conf.get_for(&keys::OZONE_OM_RATIS_PORT, &suffix);
        Self {
            node_id: node.to_owned(),
            raft_id: name_uuid(node),
            raft: HostPort::new(rpc.host.clone(), port),
            http: conf.get_for(&keys::OZONE_OM_HTTP_ADDRESS, &suffix),
            rpc,
        }
    }
}

/// The service, and which of its OMs this one is.
#[derive(Debug, Clone)]
pub(crate) struct Members {
    pub(crate) service_id: String,
    /// Whether OMs talk to each other: not so for an OM without a service.
    pub(crate) shared: bool,
    pub(crate) me: Member,
    /// All, this one included.
    pub(crate) all: Vec<Member>,
}

impl Members {
    /// Reads them from the configuration.
    pub(crate) fn read(conf: &Configuration) -> Result<Self, Error> {
        let services = conf.get(&keys::OZONE_OM_SERVICE_IDS);
        let internal = conf.get(&keys::OZONE_OM_INTERNAL_SERVICE_ID);
        let service_id = match services.as_slice() {
            _ if !internal.is_empty() => internal,
            [] => DEFAULT_SERVICE_ID.to_owned(),
            [only] => only.clone(),
            [..] => {
                return Err(Error::Setting {
                    key: keys::OZONE_OM_INTERNAL_SERVICE_ID.name(),
                    reason: format!("say which of {} this OM is of", services.join(", ")),
                });
            }
        };
        let nodes = conf.get_for(&keys::OZONE_OM_NODES, &service_id);
        let nodes = if services.is_empty() { Vec::new() } else { nodes };
        let all: Vec<Member> =
            nodes.iter().map(|node| Member::read(conf, &service_id, node)).collect();
        let node_id = conf.get(&keys::OZONE_OM_NODE_ID);
        if all.is_empty() {
            let me = Member::read(conf, &service_id, &node_id);
            return Ok(Self { service_id, shared: false, all: vec![me.clone()], me });
        }
        let me = match conf.is_set(&keys::OZONE_OM_NODE_ID) {
            true => all.iter().find(|m| m.node_id == node_id).ok_or_else(|| Error::Setting {
                key: keys::OZONE_OM_NODE_ID.name(),
                reason: format!("{node_id} is not in ozone.om.nodes.{service_id}"),
            })?,
            false => HostPort::only_local(&all, |m| &m.rpc).ok_or_else(|| Error::Setting {
                key: keys::OZONE_OM_NODE_ID.name(),
                reason: format!("set it: not one OM of ozone.om.nodes.{service_id} has an address of this host, or several have"),
            })?,
        };
        Ok(Self { service_id, shared: true, me: me.clone(), all })
    }

    /// The member that Raft knows by an id.
    pub(crate) fn by_raft_id(&self, id: Uuid) -> Option<&Member> {
        self.all.iter().find(|m| m.raft_id == id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conf(settings: &[(&str, &str)]) -> Configuration {
        let conf = Configuration::builder().build().unwrap();
        settings.iter().fold(conf, |conf, (key, value)| conf.with(key, value))
    }

    #[test]
    fn an_om_without_a_service_is_alone() {
        let members = Members::read(&conf(&[])).unwrap();
        assert_eq!((members.service_id.as_str(), members.shared), (DEFAULT_SERVICE_ID, false));
        assert_eq!(members.all.len(), 1);
    }

    #[test]
    fn the_members_of_a_service_have_their_own_addresses() {
        let conf = conf(&[
            ("ozone.om.service.ids", "svc"),
            ("ozone.om.nodes.svc", "a,b"),
            ("ozone.om.address.svc.a", "127.0.0.1:1"),
            ("ozone.om.address.svc.b", "192.0.2.1:2"),
            ("ozone.om.ratis.port.svc.b", "22"),
        ]);
        let members = Members::read(&conf).unwrap();
        assert_eq!(members.me.node_id, "a", "the one with an address of this host");
        let b = &members.all[1];
        assert_eq!(
            (b.rpc.to_string(), b.raft.to_string()),
            ("192.0.2.1:2".into(), "192.0.2.1:22".into())
        );
        assert_eq!(members.by_raft_id(name_uuid("b")), Some(b));
        let b = Members::read(&conf.with("ozone.om.node.id", "b")).unwrap();
        assert_eq!(b.me.node_id, "b");
        assert!(Members::read(&conf.with("ozone.om.node.id", "c")).is_err());
    }

    #[test]
    fn two_members_on_one_host_must_be_told_apart() {
        let conf = conf(&[
            ("ozone.om.service.ids", "svc"),
            ("ozone.om.nodes.svc", "a,b"),
            ("ozone.om.address.svc.a", "127.0.0.1:1"),
            ("ozone.om.address.svc.b", "127.0.0.1:2"),
        ]);
        assert!(Members::read(&conf).is_err());
    }
}
