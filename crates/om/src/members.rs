//! The OMs of a service, as the configuration names them: one Raft group.

use std::sync::Arc;

use config::keys::om as keys;
use config::{Configuration, HostPort};
use multiraft::Peer;
use parking_lot::RwLock;
use replicated::ServiceMembers;
use uuid::Uuid;

use crate::error::Error;
use crate::ids::name_uuid;

/// The default service id of an OM, Ozone's.
const DEFAULT_SERVICE_ID: &str = "omServiceIdDefault";

/// One OM of the service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Member {
    /// Its id within the service.
    pub(crate) node_id: String,
    /// Id in the Raft group.
    pub(crate) raft_id: Uuid,
    /// Address for clients.
    pub(crate) rpc: HostPort,
    /// Raft address for the other OMs.
    pub(crate) raft: HostPort,
    /// Address of the status page.
    pub(crate) http: HostPort,
    /// True for a listener: a follower that never votes.
    pub(crate) listener: bool,
    /// True if the configuration lists it as decommissioned.
    pub(crate) decommissioned: bool,
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
            http: conf.web_address(&keys::OZONE_OM_HTTP_ADDRESS, &suffix, &rpc.host),
            rpc,
            listener: conf
                .get_for(&keys::OZONE_OM_LISTENER_NODES, service)
                .iter()
                .any(|n| n == node),
            decommissioned: decommissioned(conf, service).iter().any(|n| n == node),
        }
    }

    /// Description for Raft.
    pub(crate) fn peer(&self) -> Peer {
        Peer { node: self.raft_id, address: self.raft.connect().to_string(), priority: 0 }
    }
}

fn decommissioned(conf: &Configuration, service: &str) -> Vec<String> {
    conf.get_for(&keys::OZONE_OM_DECOMMISSIONED_NODES, service)
}

/// All OMs that the configuration names, those that are not to run any more at the end.
fn all(conf: &Configuration, service: &str) -> Vec<Member> {
    let mut nodes = conf.get_for(&keys::OZONE_OM_NODES, service);
    for gone in decommissioned(conf, service) {
        nodes.retain(|node| *node != gone);
        nodes.push(gone);
    }
    nodes.iter().map(|node| Member::read(conf, service, node)).collect()
}

/// The service, and which of its OMs this one is.
#[derive(Debug, Clone)]
pub(crate) struct Members {
    pub(crate) service_id: String,
    /// True if OMs have connections to each other; false for an OM without a service.
    pub(crate) shared: bool,
    pub(crate) me: Member,
    /// Contents of the configuration when it was read last.
    known: Arc<RwLock<Known>>,
}

#[derive(Debug)]
struct Known {
    conf: Configuration,
    /// All, this one included.
    all: Arc<Vec<Member>>,
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
                    reason: format!("set the service of this OM, one of {}", services.join(", ")),
                });
            }
        };
        let all = if services.is_empty() { Vec::new() } else { all(conf, &service_id) };
        let node_id = conf.get(&keys::OZONE_OM_NODE_ID);
        if all.is_empty() {
            let me = Member::read(conf, &service_id, &node_id);
            let known = Known { conf: conf.clone(), all: Arc::new(vec![me.clone()]) };
            let known = Arc::new(RwLock::new(known));
            return Ok(Self { service_id, shared: false, me, known });
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
        let me = me.clone();
        let known = Known { conf: conf.clone(), all: Arc::new(all) };
        Ok(Self { service_id, shared: true, me, known: Arc::new(RwLock::new(known)) })
    }

    /// All that the configuration names, this one included.
    pub(crate) fn all(&self) -> Arc<Vec<Member>> {
        Arc::clone(&self.known.read().all)
    }

    /// The member with a Raft id.
    pub(crate) fn by_raft_id(&self, id: Uuid) -> Option<Member> {
        self.all().iter().find(|m| m.raft_id == id).cloned()
    }

    /// The others that are to run.
    pub(crate) fn others(&self) -> Vec<Member> {
        let other = |m: &&Member| m.raft_id != self.me.raft_id && !m.decommissioned;
        self.all().iter().filter(other).cloned().collect()
    }

    /// The members that a new service begins with. Others join it when it runs.
    pub(crate) fn first(&self) -> Vec<Peer> {
        let votes = |m: &&Member| !m.listener && !m.decommissioned;
        self.all().iter().filter(votes).map(Member::peer).collect()
    }

    /// Reads the configuration again: an operator names a new OM there before it joins. Reads
    /// files.
    pub(crate) fn reload(&self) {
        if !self.shared {
            return;
        }
        let conf = self.known.read().conf.clone();
        match conf.reloaded() {
            Ok(conf) => {
                let all = Arc::new(all(&conf, &self.service_id));
                if all.is_empty() {
                    // Half written, or not this service's any more: nothing to go by.
                    tracing::warn!(service = %self.service_id, "ignoring a configuration without OMs");
                    return;
                }
                *self.known.write() = Known { conf, all };
            }
            Err(error) => tracing::warn!(%error, "cannot reload the configuration"),
        }
    }
}

impl ServiceMembers for Members {
    const ROLE: &'static str = "OM";
    const KEY: &'static str = "ozone.om.nodes";

    fn knows(&self, node: Uuid) -> bool {
        self.by_raft_id(node).is_some()
    }

    fn reload(&self) {
        Self::reload(self);
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
        assert_eq!(members.all().len(), 1);
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
        let b = &members.all()[1];
        assert_eq!(
            (b.rpc.to_string(), b.raft.to_string()),
            ("192.0.2.1:2".into(), "192.0.2.1:22".into())
        );
        assert_eq!(members.by_raft_id(name_uuid("b")).as_ref(), Some(b));
        let b = Members::read(&conf.with("ozone.om.node.id", "b")).unwrap();
        assert_eq!(b.me.node_id, "b");
        assert!(Members::read(&conf.with("ozone.om.node.id", "c")).is_err());
    }

    #[test]
    fn what_is_added_to_the_file_is_seen_without_a_restart() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("ozone-site.xml");
        let property = |key: &str, value: &str| {
            format!("<property><name>{key}</name><value>{value}</value></property>")
        };
        let write = |nodes: &str, more: &str| {
            let nodes = property("ozone.om.nodes.svc", nodes);
            let xml = format!("<configuration>{nodes}{more}</configuration>");
            std::fs::write(&file, xml).unwrap();
        };
        write("a,b", "");
        let conf = Configuration::builder().file(&file).unwrap().build().unwrap();
        let conf = conf.with("ozone.om.service.ids", "svc").with("ozone.om.node.id", "a");
        let members = Members::read(&conf).unwrap();
        assert_eq!((members.all().len(), members.first().len()), (2, 2));
        let gone = property("ozone.om.decommissioned.nodes.svc", "b");
        let listener = property("ozone.om.listener.nodes.svc", "d");
        let address = property("ozone.om.address.svc.c", "192.0.2.1:7");
        write("a,c,d", &format!("{gone}{listener}{address}"));
        members.reload();
        let all = members.all();
        let names: Vec<_> =
            all.iter().map(|m| (m.node_id.as_str(), m.listener, m.decommissioned)).collect();
        let expected =
            [("a", false, false), ("c", false, false), ("d", true, false), ("b", false, true)];
        assert_eq!(names, expected);
        assert_eq!(all[1].rpc.to_string(), "192.0.2.1:7");
        assert_eq!(members.others().len(), 2);
        assert_eq!(members.first().len(), 2, "a and c");
        std::fs::write(&file, "<configuration>").unwrap();
        members.reload();
        assert_eq!(members.all().len(), 4, "as before: the file is no valid configuration");
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
