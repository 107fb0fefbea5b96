//! The SCMs of a service: `ozone.scm.service.ids`, `ozone.scm.nodes.SERVICE` and the addresses of
//! each node. Every client of SCM needs them, so they are collected here.

use crate::keys::scm as keys;
use crate::{Configuration, HostPort, Key};

/// One SCM of a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScmNode {
    /// Its id within the service.
    pub node_id: String,
    /// Its endpoint for clients and administrators.
    pub client: HostPort,
    /// Its endpoint for OM's block requests.
    pub block: HostPort,
    /// Its endpoint for DataNodes.
    pub datanode: HostPort,
    /// Its endpoint for the other SCMs.
    pub raft: HostPort,
    /// Its status page.
    pub http: HostPort,
}

/// Several SCMs that form one Raft group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScmService {
    /// Its id.
    pub id: String,
    /// Its SCMs, in the order of `ozone.scm.nodes.SERVICE`.
    pub nodes: Vec<ScmNode>,
}

impl Configuration {
    /// Returns the configured SCM service; `None` for a single SCM without a service.
    pub fn scm_service(&self) -> Option<ScmService> {
        let chosen = self.get(&keys::OZONE_SCM_DEFAULT_SERVICE_ID);
        let mut ids = self.get(&keys::OZONE_SCM_SERVICE_IDS).into_iter();
        let id = match chosen.is_empty() {
            true => ids.next()?,
            false => ids.find(|id| *id == chosen)?,
        };
        let nodes = self.get_for(&keys::OZONE_SCM_NODES, &id);
        let nodes: Vec<_> = nodes.into_iter().map(|node| self.scm_node(&id, node)).collect();
        (!nodes.is_empty()).then_some(ScmService { id, nodes })
    }

    fn scm_node(&self, service: &str, node_id: String) -> ScmNode {
        let suffix = format!("{service}.{node_id}");
        let host = self.get_for(&keys::OZONE_SCM_ADDRESS, &suffix);
        // Only the host is used; each endpoint has a port of its own.
        let host = HostPort::parse_with(&host, Some(0)).map_or(host, |address| address.host);
        // The default host of a node is that of its client address.
        let host = match host.is_empty() {
            true => self.get_for(&keys::OZONE_SCM_CLIENT_ADDRESS, &suffix).host,
            false => host,
        };
        let endpoint = |address: &'static Key<HostPort>, port: Option<&'static Key<u16>>| {
            if self.raw(&format!("{}.{suffix}", address.name())).is_some() {
                return self.get_for(address, &suffix);
            }
            let port =
                port.map_or_else(|| self.get(address).port, |key| self.get_for(key, &suffix));
            HostPort::new(host.clone(), port)
        };
        ScmNode {
            client: endpoint(&keys::OZONE_SCM_CLIENT_ADDRESS, Some(&keys::OZONE_SCM_CLIENT_PORT)),
            block: endpoint(
                &keys::OZONE_SCM_BLOCK_CLIENT_ADDRESS,
                Some(&keys::OZONE_SCM_BLOCK_CLIENT_PORT),
            ),
            datanode: endpoint(
                &keys::OZONE_SCM_DATANODE_ADDRESS,
                Some(&keys::OZONE_SCM_DATANODE_PORT),
            ),
            http: endpoint(&keys::OZONE_SCM_HTTP_ADDRESS, None),
            raft: HostPort::new(host.clone(), self.get_for(&keys::OZONE_SCM_RATIS_PORT, &suffix)),
            node_id,
        }
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
    fn without_a_service_there_is_none() {
        assert_eq!(conf(&[("ozone.scm.names", "a,b")]).scm_service(), None);
        assert_eq!(conf(&[("ozone.scm.service.ids", "s")]).scm_service(), None);
    }

    #[test]
    fn a_node_without_a_host_is_where_its_clients_find_it() {
        let conf = conf(&[
            ("ozone.scm.service.ids", "s"),
            ("ozone.scm.nodes.s", "one"),
            ("ozone.scm.client.address.s.one", "host1:99"),
        ]);
        let node = conf.scm_service().unwrap().nodes.remove(0);
        let all = [&node.client, &node.block, &node.datanode, &node.raft].map(|a| a.to_string());
        assert_eq!(all, ["host1:99", "host1:9863", "host1:9861", "host1:9894"]);
    }

    #[test]
    fn endpoints_follow_the_host_unless_they_have_their_own_address() {
        let conf = conf(&[
            ("ozone.scm.service.ids", "s"),
            ("ozone.scm.nodes.s", "one,two"),
            ("ozone.scm.address.s.one", "host1"),
            ("ozone.scm.address.s.two", "host2:7"),
            ("ozone.scm.ratis.port.s.two", "22"),
            ("ozone.scm.client.address.s.two", "other:99"),
            ("ozone.scm.datanode.port.s.two", "61"),
        ]);
        let service = conf.scm_service().unwrap();
        let [one, two] = &service.nodes[..] else { panic!("{service:?}") };
        let all = |n: &ScmNode| [&n.client, &n.block, &n.datanode, &n.raft].map(|a| a.to_string());
        assert_eq!(all(one), ["host1:9860", "host1:9863", "host1:9861", "host1:9894"]);
        assert_eq!(all(two), ["other:99", "host2:9863", "host2:61", "host2:22"]);
        assert_eq!((service.id.as_str(), two.node_id.as_str()), ("s", "two"));
    }
}
