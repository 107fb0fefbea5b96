//! Racks of hosts, configured with Hadoop's keys: by a table (`TableMapping`) or by a script
//! (`ScriptBasedMapping`).
//!
//! [`Schema`] defines the layers of the network and their costs.
//!
//! [`Racks::location`] takes the names of a host, the most specific first, and returns the location
//! of the first known one. Without a table or script no host has a location, which means
//! [`DEFAULT_RACK`](types::topology::DEFAULT_RACK) for DataNodes.

#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod schema;
mod script;
mod table;

use config::Configuration;
use config::keys::scm as keys;

pub use schema::{Misplaced, Schema, SchemaError, SchemaFault};
use script::Script;
use table::Table;
use types::topology::Costs;

/// Locations of hosts.
#[derive(Debug)]
pub struct Racks {
    source: Source,
    schema: Schema,
    costs: Costs,
}

#[derive(Debug, Default)]
enum Source {
    #[default]
    None,
    Table(Table),
    Script(Script),
}

impl Racks {
    /// Creates it from the configuration.
    ///
    /// # Errors
    /// If the schema is unusable.
    pub fn from_configuration(conf: &Configuration) -> Result<Self, SchemaError> {
        let table = conf.get(&keys::NET_TOPOLOGY_NODE_SWITCH_MAPPING_IMPL).contains("TableMapping");
        let source = if table {
            conf.get(&keys::NET_TOPOLOGY_TABLE_FILE_NAME)
                .map(|path| Source::Table(Table::new(path)))
        } else {
            conf.get(&keys::NET_TOPOLOGY_SCRIPT_FILE_NAME)
                .map(|path| Source::Script(Script::new(path)))
        };
        let schema = Schema::from_configuration(conf)?;
        Ok(Self { source: source.unwrap_or_default(), costs: schema.costs(), schema })
    }

    /// The layers of the network.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Costs of the layers.
    pub fn costs(&self) -> &Costs {
        &self.costs
    }

    /// Returns `true` if there is a table or a script.
    pub fn are_known(&self) -> bool {
        !matches!(self.source, Source::None)
    }

    /// The location of a host with these names; `None` if none of them is known.
    pub async fn location(&self, names: &[&str]) -> Option<String> {
        match &self.source {
            Source::None => None,
            Source::Table(table) => table.location(names),
            Source::Script(script) => script.location(names).await,
        }
    }

    /// The location of a host as far as known without running the script: an earlier result of
    /// [`Racks::location`], or the entry in the table.
    pub fn known_location(&self, name: &str) -> Option<String> {
        match &self.source {
            Source::None => None,
            Source::Table(table) => table.location(&[name]),
            Source::Script(script) => script.known(name),
        }
    }
}
