//! A cluster of OMs, SCMs and DataNodes.

use std::future::Future;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context;
use client::ClientOptions;

use super::layout::{Layout, Place};
use super::operator::{Clients, Operator};
use super::stage::{Machines, Stage};
use super::{Server, keys};
use crate::scenario::process::{ended, on_runtime};
use crate::scenario::servers;
use crate::world::node;
use crate::world::random::Random;
use crate::world::world;

/// Time limit from a cluster's start to its first key.
const START_TIMEOUT: Duration = Duration::from_secs(300);

/// Parameters of a cluster.
pub struct Setup {
    counts: [usize; 3],
    gateways: usize,
    racks: usize,
    /// Bytes of the disk of each DataNode; 0 for no bound.
    capacity: u64,
    settings: Vec<(String, String)>,
    own: Vec<(Server, String, String)>,
}

/// This many SCMs, OMs and DataNodes, on machines of their own.
pub fn cluster(scms: usize, oms: usize, datanodes: usize) -> Setup {
    let counts = [scms, oms, datanodes];
    Setup { counts, gateways: 0, racks: 1, capacity: 0, settings: Vec::new(), own: Vec::new() }
}

impl Setup {
    /// With another value of a setting than the default.
    pub fn with(mut self, key: &str, value: &str) -> Self {
        self.settings.push((key.to_owned(), value.to_owned()));
        self
    }

    /// With this many S3 gateways, on machines of their own.
    pub fn gateways(mut self, gateways: usize) -> Self {
        self.gateways = gateways;
        self
    }

    /// With another value of a setting on one server.
    pub fn with_of(mut self, server: Server, key: &str, value: &str) -> Self {
        self.own.push((server, key.to_owned(), value.to_owned()));
        self
    }

    /// With the DataNodes in this many racks in turn.
    pub fn racks(mut self, racks: usize) -> Self {
        self.racks = racks;
        self
    }

    /// With this many bytes on the disk of each DataNode.
    pub fn disks(mut self, capacity: u64) -> Self {
        self.capacity = capacity;
        self
    }

    /// Starts it, and waits until it takes keys.
    ///
    /// # Errors
    /// When it does not.
    pub fn start(self) -> anyhow::Result<Cluster> {
        self.start_without(&[])
    }

    /// Starts it without these servers, which may be started later, and waits until it takes keys.
    ///
    /// # Errors
    /// When it does not.
    pub fn start_without(self, later: &[Server]) -> anyhow::Result<Cluster> {
        let mut cluster = self.place()?;
        let mut servers = cluster.machines.servers().to_vec();
        servers.retain(|server| !later.contains(server));
        cluster.start(servers)?;
        cluster.expect("the cluster takes a first key", START_TIMEOUT, keys::prepare)?;
        Ok(cluster)
    }

    /// All machines, and no server runs yet.
    ///
    /// # Errors
    /// When a setting is refused or a file cannot be written.
    pub fn place(self) -> anyhow::Result<Cluster> {
        let [scms, oms, datanodes] = self.counts;
        let scms = (0..scms).map(Server::Scm);
        let servers =
            scms.chain((0..oms).map(Server::Om)).chain((0..datanodes).map(Server::Datanode));
        let servers = servers.chain((0..self.gateways).map(Server::Gateway));
        // The next machines are those of the servers, in this order.
        let first = world().machines.len();
        let of_number = |(number, server)| Place::new(server, node::address(first + number), false);
        let places: Vec<Place> = servers.enumerate().map(of_number).collect();
        let layout = Layout::new(&places, self.racks, &self.settings)?.with_own(self.own);
        let mut random = world().random.split();
        let mut machines = Machines::default();
        for place in &places {
            machines.add(place.server, &mut random, process(&layout, place));
            if matches!(place.server, Server::Datanode(_)) {
                world().machines[machines.number(place.server)?].disk.capacity = self.capacity;
            }
        }
        let operator = Operator::new(|| Clients::connect(&layout.current()))?;
        Ok(Cluster { machines, layout, places, operator, random })
    }
}

/// Work of a server's process.
fn process(layout: &Layout, place: &Place) -> Arc<dyn Fn(&Path) + Send + Sync> {
    let (layout, place) = (layout.clone(), place.clone());
    Arc::new(move |dir: &Path| {
        let conf = layout.of(place.server, &place.address, dir);
        let joins = place.joins.load(Ordering::Acquire);
        let never = std::future::pending;
        let why = match place.server {
            Server::Scm(_) => on_runtime(servers::scm(&conf, joins, never())),
            Server::Om(_) => on_runtime(servers::om(&conf, joins, never())),
            Server::Datanode(_) | Server::Host(_) => on_runtime(servers::datanode(&conf)),
            Server::Gateway(_) => on_runtime(servers::gateway(&conf)),
        };
        ended(&place.server.to_string(), 0, why.unwrap_or_default());
    })
}

/// A running cluster.
pub struct Cluster {
    machines: Machines,
    layout: Layout,
    places: Vec<Place>,
    operator: Operator<Clients>,
    random: Random,
}

impl Stage for Cluster {
    fn machines(&self) -> &Machines {
        &self.machines
    }

    fn machines_mut(&mut self) -> &mut Machines {
        &mut self.machines
    }

    fn state(&mut self) -> String {
        self.describe()
    }
}

impl Cluster {
    /// Adds a server on a machine of its own, with `--bootstrap` if it is of a service; it is named
    /// in the file of all, and started.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn join(&mut self, server: Server) -> anyhow::Result<()> {
        let joins = matches!(server, Server::Scm(_) | Server::Om(_));
        let place = Place::new(server, node::address(world().machines.len()), joins);
        self.machines.add(server, &mut self.random, process(&self.layout, &place));
        self.places.push(place);
        self.layout.write(&self.places)?;
        self.operator.reconnect(|| Clients::connect(&self.layout.current()))?;
        self.start([server])
    }

    /// Takes a server's name out of the file of all, or puts it back: one that is put back is
    /// started with `--bootstrap`.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn name(&mut self, server: Server, is_named: bool) -> anyhow::Result<()> {
        let place = self.places.iter_mut().find(|place| place.server == server);
        let place = place.with_context(|| format!("there is no {server}"))?;
        place.is_named = is_named;
        place.joins.store(is_named, Ordering::Release);
        self.layout.write(&self.places)?;
        self.operator.reconnect(|| Clients::connect(&self.layout.current()))
    }

    /// Sets if a server's next start is with `--bootstrap`.
    ///
    /// # Errors
    /// When there is no such server.
    pub fn bootstrap(&mut self, server: Server, joins: bool) -> anyhow::Result<()> {
        let place = self.places.iter().find(|place| place.server == server);
        place
            .with_context(|| format!("there is no {server}"))?
            .joins
            .store(joins, Ordering::Release);
        Ok(())
    }

    /// Options of a client of this cluster, by the file that all read.
    pub fn client_options(&self) -> ClientOptions {
        ClientOptions::from_configuration(&self.layout.current())
    }

    /// Has the operator execute `work`, and waits for it.
    ///
    /// # Errors
    /// When it exceeds the time limit.
    pub fn ask<T, F>(&mut self, work: impl FnOnce(Clients) -> F) -> anyhow::Result<T>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        let Self { machines, operator, .. } = self;
        operator.ask(work, || machines.tick())
    }

    /// Has the operator do something meanwhile.
    pub fn begin<F>(&self, work: impl FnOnce(Clients) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.operator.begin(work);
    }
}

impl Place {
    fn new(server: Server, address: String, joins: bool) -> Self {
        let joins = Arc::new(AtomicBool::new(joins));
        Self { server, address, is_named: true, joins }
    }
}
