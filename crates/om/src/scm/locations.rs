//! Which DataNodes hold a container: asked of SCM once, then remembered.
//!
//! An entry is right until replicas move or a pipeline closes. A client that finds nobody home
//! asks again with `forceUpdateContainerCacheFromSCM`, which replaces the entries it needs.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use moka::sync::Cache;
use proto::hdds;
use types::PortName;

use super::{ScmClient, ScmError};

/// Containers remembered; an entry takes about half a kilobyte.
const MOST_CONTAINERS: u64 = 100_000;
/// How long an entry may be used (Ozone's `ozone.om.container.location.cache.ttl`).
const TIME_TO_LIVE: Duration = Duration::from_secs(6 * 3600);

/// The remembered locations.
pub(crate) struct Locations {
    scm: ScmClient,
    known: Cache<i64, Arc<hdds::Pipeline>>,
}

impl Locations {
    pub(crate) fn new(scm: ScmClient) -> Arc<Self> {
        let known =
            Cache::builder().max_capacity(MOST_CONTAINERS).time_to_live(TIME_TO_LIVE).build();
        Arc::new(Self { scm, known })
    }

    /// The pipeline to read `container` from, when remembered.
    pub(crate) fn get(&self, container: i64) -> Option<Arc<hdds::Pipeline>> {
        self.known.get(&container)
    }

    /// Number of remembered containers, for metrics.
    pub(crate) fn len(&self) -> u64 {
        self.known.entry_count()
    }

    /// Notes where a container being written is, unless something is known of it.
    pub(crate) fn learn(&self, container: i64, pipeline: &Arc<hdds::Pipeline>) {
        match self.known.get(&container) {
            Some(known) if known.id == pipeline.id => {}
            _ => self.known.insert(container, Arc::clone(pipeline)),
        }
    }

    /// Asks SCM for `containers` and remembers the answer.
    pub(crate) async fn fetch(&self, containers: Vec<i64>) -> Result<(), ScmError> {
        for found in self.scm.containers(containers).await? {
            let id = found.container_info.container_id;
            self.known.insert(id, Arc::new(slim(found.pipeline)));
        }
        Ok(())
    }
}

/// The pipeline with only the ports that clients use: what is sent with every block of every
/// answer should be short, and old clients stumble over names they do not know.
pub(crate) fn slim(mut pipeline: hdds::Pipeline) -> hdds::Pipeline {
    for member in &mut pipeline.members {
        member.ports.retain(|port| {
            matches!(
                PortName::from(port.name.as_str()),
                PortName::Standalone
                    | PortName::Ratis
                    | PortName::RatisDatastream
                    | PortName::Native
            )
        });
    }
    pipeline
}

/// Positions of `members` with those on the client's host first; empty when that is the order
/// they have.
pub(crate) fn member_orders(members: &[hdds::DatanodeDetailsProto], client: IpAddr) -> Vec<u32> {
    let near = |m: &hdds::DatanodeDetailsProto| m.ip_address.parse() == Ok(client);
    let nearness: Vec<bool> = members.iter().map(near).collect();
    if nearness.is_sorted_by(|a, b| a >= b) {
        return Vec::new();
    }
    let mut orders: Vec<u32> = (0..members.len() as u32).collect();
    orders.sort_by_key(|i| !nearness[*i as usize]);
    orders
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(ip: &str) -> hdds::DatanodeDetailsProto {
        hdds::DatanodeDetailsProto { ip_address: ip.to_owned(), ..Default::default() }
    }

    #[test]
    fn members_on_the_clients_host_come_first() {
        let members = [node("10.0.0.1"), node("10.0.0.2"), node("10.0.0.3")];
        assert_eq!(member_orders(&members, IpAddr::from([10, 0, 0, 3])), vec![2, 0, 1]);
        assert_eq!(member_orders(&members, IpAddr::from([10, 0, 0, 1])), Vec::<u32>::new());
        assert_eq!(member_orders(&members, IpAddr::from([10, 0, 0, 9])), Vec::<u32>::new());
    }
}
