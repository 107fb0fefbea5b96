//! Which rack a host is in, as the operator says with Hadoop's keys: by a table (`TableMapping`) or
//! by a script (`ScriptBasedMapping`).
//!
//! [`Schema`] says which layers there are and what it costs to pass them.
//!
//! [`Racks::location`] asks for the names of a host, best known name first, and answers with the
//! place of the first one that is known. Without a table or script no host has a place, which is
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

/// Where hosts are.
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
    /// As the configuration says.
    ///
    /// # Errors
    /// When the schema cannot be used.
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

    /// What it costs to pass the layers.
    pub fn costs(&self) -> &Costs {
        &self.costs
    }

    /// Whether there is a table or a script at all.
    pub fn are_known(&self) -> bool {
        !matches!(self.source, Source::None)
    }

    /// Where a host of these names is; `None` when none of them is known.
    pub async fn location(&self, names: &[&str]) -> Option<String> {
        match &self.source {
            Source::None => None,
            Source::Table(table) => table.location(names),
            Source::Script(script) => script.location(names).await,
        }
    }

    /// Where a host is, as far as that is known without the script: what [`Racks::location`]
    /// found before, or what the table says.
    pub fn known_location(&self, name: &str) -> Option<String> {
        match &self.source {
            Source::None => None,
            Source::Table(table) => table.location(&[name]),
            Source::Script(script) => script.known(name),
        }
    }
}
