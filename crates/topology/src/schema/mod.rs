//! The layers of the network, as described by `ozone.scm.network.topology.schema.file`: Ozone's
//! files, XML or YAML.
//!
//! The layers are ordered from the root down to the nodes. Their number determines the depth of a
//! node's location, and each layer but the last has the cost of passing it; distances are computed
//! with [`Costs`]. Ozone's files from its class path are built in under their names.

mod fault;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing;
mod xml;
mod yaml;

use std::fs;
use std::path::{Path, PathBuf};

use config::Configuration;
use config::keys::scm as keys;
use types::topology::{Costs, parts};

pub use fault::SchemaFault;

/// Ozone's files, for a configured name that is not an existing file.
const SHIPPED: [(&str, &str); 3] = [
    ("network-topology-default.xml", include_str!("network-topology-default.xml")),
    ("network-topology-nodegroup.xml", include_str!("network-topology-nodegroup.xml")),
    ("network-topology-default.yaml", include_str!("network-topology-default.yaml")),
];

/// An unusable schema file.
#[derive(Debug, thiserror::Error)]
#[error("ozone.scm.network.topology.schema.file: {}: {fault}", file.display())]
pub struct SchemaError {
    /// The configured file.
    pub file: PathBuf,
    /// The error.
    pub fault: SchemaFault,
}

/// A location that does not fit the layers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place} is {depth} deep, and between root and node the schema has {expected} layers")]
pub struct Misplaced {
    /// The location.
    pub place: String,
    /// The number of its parts.
    pub depth: usize,
    /// The expected number of parts.
    pub expected: usize,
}

/// Kind of a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Root,
    Inner,
    Leaf,
}

/// A layer of the network.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Layer {
    kind: Kind,
    cost: u32,
    /// Prefix of names in the layer.
    prefix: Option<String>,
    /// Name to use if it is missing.
    default: Option<String>,
}

/// The layers of the network, the root first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schema {
    layers: Vec<Layer>,
    enforce_prefix: bool,
    /// True if the operator configured it: otherwise locations may have any depth.
    named: bool,
}

impl Default for Schema {
    /// Racks and nodes, one for each step: Ozone's default.
    fn default() -> Self {
        let layer = |kind, cost, default: Option<&str>| {
            let default = default.map(str::to_owned);
            Layer { kind, cost, prefix: None, default }
        };
        let rack = layer(Kind::Inner, 1, Some("/default-rack"));
        let layers = vec![layer(Kind::Root, 1, None), rack, layer(Kind::Leaf, 0, None)];
        Self { layers, enforce_prefix: false, named: false }
    }
}

impl Schema {
    /// The configured schema.
    ///
    /// # Errors
    /// If the file does not exist, or is not a schema.
    pub fn from_configuration(conf: &Configuration) -> Result<Self, SchemaError> {
        if !conf.is_set(&keys::OZONE_SCM_NETWORK_TOPOLOGY_SCHEMA_FILE) {
            return Ok(Self::default());
        }
        Self::read(Path::new(&conf.get(&keys::OZONE_SCM_NETWORK_TOPOLOGY_SCHEMA_FILE)))
    }

    /// Reads a file, or Ozone's built-in file of that name.
    ///
    /// # Errors
    /// If there is neither, or it is not a schema.
    pub fn read(file: &Path) -> Result<Self, SchemaError> {
        let fail = |fault| SchemaError { file: file.to_owned(), fault };
        let shipped = SHIPPED.iter().find(|(name, _)| Path::new(name) == file);
        let text = match (fs::read_to_string(file), shipped) {
            (Ok(text), _) => text,
            (Err(_), Some((_, text))) => (*text).to_owned(),
            (Err(error), None) => return Err(fail(SchemaFault::Unreadable(error))),
        };
        let extension = file.extension().unwrap_or_default().to_ascii_lowercase();
        let parsed = match extension.to_str() {
            Some("yaml" | "yml") => yaml::parse(&text),
            _ => xml::parse(&text),
        };
        let (layers, enforce_prefix) = parsed.map_err(fail)?;
        check(&layers, enforce_prefix).map_err(fail)?;
        Ok(Self { layers, enforce_prefix, named: true })
    }

    /// Costs of the layers.
    pub fn costs(&self) -> Costs {
        Costs::new(self.layers.iter().map(|layer| layer.cost))
    }

    /// The location of a node without one: the default of each layer.
    pub fn default_place(&self) -> String {
        let names = self.inner().map(|layer| layer.default.as_deref().unwrap_or("default"));
        let parts: Vec<&str> = names.flat_map(parts).collect();
        format!("/{}", parts.join("/"))
    }

    /// Checks the location of a node.
    ///
    /// # Errors
    /// If its depth differs from that of a configured schema.
    pub fn check(&self, place: &str) -> Result<(), Misplaced> {
        let (depth, expected) = (parts(place).count(), self.inner().count());
        if self.named && depth != expected {
            return Err(Misplaced { place: place.to_owned(), depth, expected });
        }
        // As in Ozone, a name without the required prefix is accepted with a warning.
        let odd = |(layer, part): (&Layer, &str)| {
            let prefix = layer.prefix.as_deref().unwrap_or_default().to_lowercase();
            !part.to_lowercase().starts_with(&prefix)
        };
        if self.enforce_prefix && self.inner().zip(parts(place)).any(odd) {
            tracing::warn!(place, "location lacks the prefixes of the network topology schema");
        }
        Ok(())
    }

    fn inner(&self) -> impl Iterator<Item = &Layer> {
        self.layers.iter().filter(|layer| layer.kind == Kind::Inner)
    }
}

/// Checks common to both kinds of files.
fn check(layers: &[Layer], enforce_prefix: bool) -> Result<(), SchemaFault> {
    let count = |kind: Kind| layers.iter().filter(|layer| layer.kind == kind).count();
    let wrong = match (layers.first().map(|l| l.kind), layers.last().map(|l| l.kind)) {
        _ if count(Kind::Root) > 1 => SchemaFault::SeveralRoots,
        _ if count(Kind::Leaf) > 1 => SchemaFault::SeveralLeaves,
        _ if count(Kind::Root) == 0 => SchemaFault::NoRoot,
        _ if count(Kind::Leaf) == 0 => SchemaFault::NoLeaf,
        (first, _) if first != Some(Kind::Root) => SchemaFault::RootIsNotFirst,
        (_, last) if last != Some(Kind::Leaf) => SchemaFault::LeafIsNotLast,
        _ if count(Kind::Inner) == 0 => SchemaFault::NoInnerLayer,
        _ if enforce_prefix
            && layers.iter().any(|l| l.kind == Kind::Inner && l.prefix.is_none()) =>
        {
            SchemaFault::NoPrefix
        }
        _ => return Ok(()),
    };
    Err(wrong)
}

/// A cost as written; the default of the kind if absent.
fn cost_of(written: Option<i64>, kind: Kind) -> Result<u32, SchemaFault> {
    let cost = written.unwrap_or(if kind == Kind::Leaf { 0 } else { 1 });
    u32::try_from(cost).map_err(|_| SchemaFault::NegativeCost(cost))
}

/// The text, if it is present and not empty.
fn filled(text: Option<String>) -> Option<String> {
    text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}
