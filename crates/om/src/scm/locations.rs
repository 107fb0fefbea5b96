//! DataNodes that hold a container: requested from SCM once, then cached.
//!
//! An entry is right until replicas move or a pipeline closes. A client that reaches no replica
//! asks again with `forceUpdateContainerCacheFromSCM`, which replaces the entries it needs.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use moka::sync::Cache;
use proto::hdds;
use topology::Racks;
use types::PortName;
use types::topology::{Costs, Reader};

use super::{ScmClient, ScmError};

/// Most cached containers; an entry takes about half a kilobyte.
const MOST_CONTAINERS: u64 = 100_000;
/// Lifetime of an entry (Ozone's `ozone.om.container.location.cache.ttl`).
const TIME_TO_LIVE: Duration = Duration::from_secs(6 * 3600);
/// Most clients with a cached rack.
const MOST_CLIENTS: u64 = 100_000;
/// Lifetime of a cached client rack; its source table may change.
const CLIENT_TIME_TO_LIVE: Duration = Duration::from_secs(600);

/// The cached locations.
pub(crate) struct Locations {
    scm: ScmClient,
    known: Cache<i64, Arc<hdds::Pipeline>>,
    racks: Arc<Racks>,
    /// Racks of clients, as far as the topology returned them.
    clients: Cache<IpAddr, Option<Arc<str>>>,
}

impl Locations {
    pub(crate) fn new(scm: ScmClient, racks: Racks) -> Arc<Self> {
        let known =
            Cache::builder().max_capacity(MOST_CONTAINERS).time_to_live(TIME_TO_LIVE).build();
        let clients =
            Cache::builder().max_capacity(MOST_CLIENTS).time_to_live(CLIENT_TIME_TO_LIVE).build();
        Arc::new(Self { scm, known, racks: Arc::new(racks), clients })
    }

    /// Positions of `members`, the nearest to the client first; empty when that is the order they
    /// have.
    pub(crate) fn member_orders(
        &self,
        members: &[hdds::DatanodeDetailsProto],
        client: IpAddr,
    ) -> Vec<u32> {
        member_orders(members, client, self.place(client).as_deref(), self.racks.costs())
    }

    /// The rack of a client. Finding it out may take a script: the first reads of a client do
    /// without.
    fn place(&self, client: IpAddr) -> Option<Arc<str>> {
        if !self.racks.are_known() {
            return None;
        }
        if let Some(known) = self.clients.get(&client) {
            return known;
        }
        self.clients.insert(client, None);
        let (racks, clients) = (Arc::clone(&self.racks), self.clients.clone());
        tokio::spawn(async move {
            let place = racks.location(&[&client.to_string()]).await;
            clients.insert(client, place.map(Arc::from));
        });
        None
    }

    /// The pipeline to read `container` from, if cached.
    pub(crate) fn get(&self, container: i64) -> Option<Arc<hdds::Pipeline>> {
        self.known.get(&container)
    }

    /// Number of cached containers, for metrics.
    pub(crate) fn len(&self) -> u64 {
        self.known.entry_count()
    }

    /// Caches the location of a container being written, unless there is an entry for it.
    pub(crate) fn learn(&self, container: i64, pipeline: &Arc<hdds::Pipeline>) {
        match self.known.get(&container) {
            Some(known) if known.id == pipeline.id => {}
            _ => self.known.insert(container, Arc::clone(pipeline)),
        }
    }

    /// Requests `containers` from SCM and caches the response.
    pub(crate) async fn fetch(&self, containers: Vec<i64>) -> Result<(), ScmError> {
        for found in self.scm.containers(containers).await? {
            let id = found.container_info.container_id;
            self.known.insert(id, Arc::new(slim(found.pipeline)));
        }
        Ok(())
    }
}

/// The pipeline with only the ports that clients use: the pipeline sent with every block of every
/// answer should be short, and old clients fail at unknown names.
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

fn member_orders(
    members: &[hdds::DatanodeDetailsProto],
    client: IpAddr,
    location: Option<&str>,
    costs: &Costs,
) -> Vec<u32> {
    let address = client.to_string();
    let reader = Reader { address: &address, location, costs };
    let far = |m: &hdds::DatanodeDetailsProto| {
        reader.distance(&m.ip_address, &m.host_name, m.network_location())
    };
    let distances: Vec<u32> = members.iter().map(far).collect();
    if distances.is_sorted() {
        return Vec::new();
    }
    let mut orders: Vec<u32> = (0..members.len() as u32).collect();
    orders.sort_by_key(|i| distances[*i as usize]);
    orders
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(ip: &str, rack: &str) -> hdds::DatanodeDetailsProto {
        hdds::DatanodeDetailsProto {
            ip_address: ip.to_owned(),
            network_location: Some(rack.to_owned()),
            ..Default::default()
        }
    }

    #[test]
    fn members_near_the_client_come_first() {
        let members = [node("10.0.0.1", "/a"), node("10.0.0.2", "/b"), node("10.0.0.3", "/b")];
        for (client, rack, order) in [
            (3, None, vec![2, 0, 1]),
            (3, Some("/b"), vec![2, 1, 0]),
            (9, Some("/b"), vec![1, 2, 0]),
            (9, Some("/a"), vec![]),
            (1, None, vec![]),
            (9, None, vec![]),
        ] {
            let client_ip = IpAddr::from([10, 0, 0, client]);
            let orders = member_orders(&members, client_ip, rack, &Costs::default());
            assert_eq!(orders, order, "{client} in {rack:?}");
        }
    }

    #[test]
    fn what_a_way_costs_counts() {
        let members = [node("10.0.0.1", "/d2/r1"), node("10.0.0.2", "/d1/r2")];
        let client = IpAddr::from([10, 0, 0, 9]);
        let order = |costs| member_orders(&members, client, Some("/d1/r1"), &costs);
        assert_eq!(order(Costs::default()), [1, 0]);
        // The way between data centres is free: both are as near.
        assert_eq!(order(Costs::new([0, 1, 1])), Vec::<u32>::new());
    }
}
