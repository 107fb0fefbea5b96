//! Configuration options of every command.

use std::path::PathBuf;

use clap::Args;
use config::{ConfigError, Configuration};

/// Sources of the configuration.
#[derive(Debug, Args, Clone, Default)]
pub struct Settings {
    /// Configuration file (ozone-site.xml, or TOML with the same names) or its directory; default:
    /// $OZONE_CONF_DIR
    #[arg(long, value_name = "FILE", global = true)]
    pub conf: Option<PathBuf>,
    /// Set a configuration key; overrides file and environment
    #[arg(short = 'D', value_name = "KEY=VALUE", global = true)]
    pub define: Vec<String>,
}

impl Settings {
    /// Reads and checks all sources: defaults, file, environment, definitions.
    pub fn load(&self) -> Result<Configuration, ConfigError> {
        let mut builder = Configuration::builder().env();
        builder = match &self.conf {
            Some(path) => builder.file(path)?,
            None => builder.conf_dir()?,
        };
        for definition in &self.define {
            builder = builder.define(definition)?;
        }
        builder.build()
    }

    /// The same for commands other than `o3 config`: prints warnings to stderr.
    pub fn load_and_warn(&self) -> Result<Configuration, ConfigError> {
        let conf = self.load()?;
        for warning in conf.warnings() {
            eprintln!("warning: {warning}");
        }
        Ok(conf)
    }
}
