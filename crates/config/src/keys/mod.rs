//! Every configuration key, grouped by the server that reads it. The crate's documentation tells
//! how to add one.

pub use crate::declare::KeySpec;

pub mod client;
pub mod datanode;
pub mod hdds;
pub mod om;
pub mod s3g;
pub mod scm;
pub mod trioxide;

/// Every declared key, group by group.
pub fn all() -> impl Iterator<Item = &'static KeySpec> {
    [hdds::ALL, om::ALL, scm::ALL, datanode::ALL, client::ALL, s3g::ALL, trioxide::ALL]
        .into_iter()
        .flatten()
        .copied()
}

/// The declaration of a key by its name.
pub fn find(name: &str) -> Option<&'static KeySpec> {
    all().find(|spec| spec.name == name)
}
