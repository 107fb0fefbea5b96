//! Every configuration key, grouped by the server that reads it. The crate's documentation
//! describes how to add one.

pub use crate::declare::KeySpec;

pub mod client;
pub mod datanode;
pub mod hdds;
pub mod ipc;
pub mod om;
pub mod s3g;
pub mod scm;
pub mod trioxide;

/// Every declared key, group by group.
pub fn all() -> impl Iterator<Item = &'static KeySpec> {
    [hdds::ALL, om::ALL, ipc::ALL, scm::ALL, datanode::ALL, client::ALL, s3g::ALL, trioxide::ALL]
        .into_iter()
        .flatten()
        .copied()
}

/// The declaration of a key, by its name.
pub fn find(name: &str) -> Option<&'static KeySpec> {
    all().find(|spec| spec.name == name)
}

/// The declaration of a name, also of one with a service and node suffix
/// (`ozone.om.address.service.om1`) or a server's port (`ipc.9862.backoff.enable`).
pub(crate) fn declaration(name: &str) -> Option<&'static KeySpec> {
    find(name).or_else(|| of_a_port(name)).or_else(|| {
        SUFFIXED
            .iter()
            .find(|base| name.strip_prefix(**base).is_some_and(|rest| rest.starts_with('.')))
            .and_then(|base| find(base))
    })
}

/// Prefix of the keys of [`ipc`].
const IPC: &str = "ipc.";

/// Name of a key of [`ipc`] for one port.
pub(crate) fn at_port(name: &str, port: u16) -> String {
    name.replacen(IPC, &format!("{IPC}{port}."), 1)
}

fn of_a_port(name: &str) -> Option<&'static KeySpec> {
    let (port, rest) = name.strip_prefix(IPC)?.split_once('.')?;
    port.parse::<u16>().ok()?;
    let declared = |spec: &&&KeySpec| spec.name.strip_prefix(IPC) == Some(rest);
    ipc::ALL.iter().find(declared).copied()
}

/// Keys that may carry a service id and a node id.
const SUFFIXED: [&str; 21] = [
    "ozone.om.address",
    "ozone.om.http-address",
    "ozone.om.grpc.port",
    "ozone.om.nodes",
    "ozone.om.decommissioned.nodes",
    "ozone.om.listener.nodes",
    "ozone.om.ratis.port",
    "ozone.om.db.dirs",
    "ozone.om.ratis.storage.dir",
    "ozone.scm.client.address",
    "ozone.scm.block.client.address",
    "ozone.scm.datanode.address",
    "ozone.scm.http-address",
    "ozone.scm.db.dirs",
    "ozone.scm.client.port",
    "ozone.scm.datanode.port",
    "ozone.scm.block.client.port",
    "ozone.scm.nodes",
    "ozone.scm.address",
    "ozone.scm.ratis.port",
    "ozone.scm.ha.ratis.storage.dir",
];
