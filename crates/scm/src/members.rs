//! The SCMs of the service, as the configuration names them: one Raft group.

use std::sync::Arc;

use config::keys::scm as keys;
use config::{Configuration, HostPort, ScmNode};
use multiraft::Membership;
use parking_lot::RwLock;
use proto::hdds::{ScmPlaceProto, ScmPlacesProto};
use replicated::ServiceMembers;
use uuid::Uuid;

use crate::ScmError;

/// One SCM of the service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Its addresses.
    pub node: ScmNode,
    /// Its id in Raft, commands and `scm roles`. The same in every SCM's configuration, so that
    /// none has to be asked.
    pub scm_id: Uuid,
}

/// The service, and which of its SCMs this one is.
#[derive(Debug, Clone)]
pub struct Members {
    /// This one.
    pub me: Member,
    known: Arc<RwLock<Known>>,
    /// True if it creates a new cluster when no member has one.
    pub primordial: bool,
}

/// The configuration as it was read last.
#[derive(Debug)]
struct Known {
    conf: Configuration,
    /// All, this one included.
    all: Arc<Vec<Member>>,
}

/// All SCMs of the service that the configuration names, and its id.
fn all(conf: &Configuration) -> Option<(String, Vec<Member>)> {
    let service = conf.scm_service()?;
    let id = service.id;
    let member = |node: ScmNode| Member { scm_id: scm_id(&id, &node.node_id), node };
    let all = service.nodes.into_iter().map(member).collect();
    Some((id, all))
}

impl Members {
    /// Reads them from the configuration; `None` for an SCM that is alone.
    ///
    /// # Errors
    /// When the configuration does not identify this SCM.
    pub fn read(conf: &Configuration) -> Result<Option<Self>, ScmError> {
        let Some((id, all)) = all(conf) else { return Ok(None) };
        let named = conf.get(&keys::OZONE_SCM_NODE_ID);
        let me = match named.is_empty() {
            true => HostPort::only_local(&all, |m| &m.node.client),
            false => all.iter().find(|m| m.node.node_id == named),
        };
        let me = me.cloned().ok_or(ScmError::WhichNode { service: id, named })?;
        let first = conf.get(&keys::OZONE_SCM_PRIMORDIAL_NODE_ID);
        let first = match first.is_empty() {
            true => all.first().map(|m| m.node.node_id.clone()),
            false => Some(first),
        };
        let primordial = first.as_deref() == Some(&me.node.node_id);
        let known = Known { conf: conf.clone(), all: Arc::new(all) };
        Ok(Some(Self { me, known: Arc::new(RwLock::new(known)), primordial }))
    }

    /// All that the configuration names, this one included.
    pub fn all(&self) -> Arc<Vec<Member>> {
        Arc::clone(&self.known.read().all)
    }

    /// The SCM with an id.
    pub fn by_id(&self, id: Uuid) -> Option<Member> {
        self.all().iter().find(|m| m.scm_id == id).cloned()
    }

    /// The others.
    pub fn others(&self) -> Vec<Member> {
        self.all().iter().filter(|m| m.scm_id != self.me.scm_id).cloned().collect()
    }

    /// Addresses of the SCMs in `membership`; `None` unless the configuration has all of them.
    pub fn places(&self, membership: &Membership) -> Option<ScmPlacesProto> {
        let place = |m: &multiraft::Member| {
            let node = self.by_id(m.peer.node)?.node;
            Some(ScmPlaceProto {
                node_id: node.node_id,
                client_address: node.client.to_string(),
                block_address: node.block.to_string(),
                datanode_address: node.datanode.to_string(),
            })
        };
        let scms = membership.members.iter().map(place).collect::<Option<_>>()?;
        Some(ScmPlacesProto { index: membership.index, scms })
    }

    /// Reads the configuration again: an operator names a new SCM there before it joins. Reads
    /// files.
    pub fn reload(&self) {
        let conf = self.known.read().conf.clone();
        match conf.reloaded() {
            Ok(conf) => {
                if let Some((_, all)) = all(&conf) {
                    *self.known.write() = Known { conf, all: Arc::new(all) };
                }
            }
            Err(error) => tracing::warn!(%error, "cannot reload the configuration"),
        }
    }
}

/// The id of an SCM of a service.
fn scm_id(service: &str, node: &str) -> Uuid {
    Uuid::new_v3(&Uuid::NAMESPACE_OID, format!("scm {service}/{node}").as_bytes())
}

impl ServiceMembers for Members {
    const ROLE: &'static str = "SCM";
    const KEY: &'static str = "ozone.scm.nodes";

    fn knows(&self, node: Uuid) -> bool {
        self.by_id(node).is_some()
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
    fn an_scm_without_a_service_is_alone() {
        assert!(Members::read(&conf(&[])).unwrap().is_none());
    }

    #[test]
    fn each_scm_finds_itself() {
        let conf = conf(&[
            ("ozone.scm.service.ids", "s"),
            ("ozone.scm.nodes.s", "a,b"),
            ("ozone.scm.address.s.a", "192.0.2.1"),
            ("ozone.scm.address.s.b", "127.0.0.1"),
        ]);
        let b = Members::read(&conf).unwrap().unwrap();
        assert_eq!((b.me.node.node_id.as_str(), b.primordial), ("b", false));
        let a = Members::read(&conf.with("ozone.scm.node.id", "a")).unwrap().unwrap();
        assert!(a.primordial);
        assert_eq!(a.by_id(b.me.scm_id), Some(b.me));
        assert!(Members::read(&conf.with("ozone.scm.node.id", "c")).is_err());
        let twice = conf.with("ozone.scm.address.s.a", "127.0.0.1");
        assert!(Members::read(&twice).is_err(), "two of this host must be told apart");
    }
}
