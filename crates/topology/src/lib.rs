//! Which rack a host is in, as the operator says with Hadoop's keys: by a table (`TableMapping`) or by a script
//! (`ScriptBasedMapping`).
//!
//! [`Racks::location`] asks for the names of a host, best known name first, and answers with the place of the first
//! one that is known. Without a table or script nobody has a place, which is
//! [`DEFAULT_RACK`](types::topology::DEFAULT_RACK) for DataNodes.

mod script;
mod table;

use config::Configuration;
use config::keys::scm as keys;

use script::Script;
use table::Table;

/// Where hosts are.
#[derive(Debug, Default)]
pub struct Racks {
    source: Source,
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
    pub fn from_configuration(conf: &Configuration) -> Self {
        let table = conf.get(&keys::NET_TOPOLOGY_NODE_SWITCH_MAPPING_IMPL).contains("TableMapping");
        let source = if table {
            conf.get(&keys::NET_TOPOLOGY_TABLE_FILE_NAME)
                .map(|path| Source::Table(Table::new(path)))
        } else {
            conf.get(&keys::NET_TOPOLOGY_SCRIPT_FILE_NAME)
                .map(|path| Source::Script(Script::new(path)))
        };
        Self { source: source.unwrap_or_default() }
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

    /// Where a host is, as far as that is known without asking anybody: what [`Racks::location`] found before, or what
    /// the table says.
    pub fn known_location(&self, name: &str) -> Option<String> {
        match &self.source {
            Source::None => None,
            Source::Table(table) => table.location(&[name]),
            Source::Script(script) => script.known(name),
        }
    }
}
