//! The tree of commands.

use clap::builder::styling::{AnsiColor, Styles};
use clap::{Parser, Subcommand};

use crate::client_command::{AdminArgs, DebugArgs, FreonArgs, RepairArgs, ShArgs, WhyArgs};
use crate::config_command::ConfigCommand;
use crate::roles::RoleCommand;
use crate::server_command::ServerArgs;
use crate::version::VersionArgs;

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

/// Trioxide: a distributed object store and Hadoop-compatible file system that speaks Apache Ozone.
#[derive(Debug, Parser)]
#[command(
    name = "o3",
    version,
    styles = STYLES,
    max_term_width = 110,
    after_help = "Start here:\n  \
        o3 server --dir ./data           a whole cluster in one process, with S3\n  \
        o3 sh key list /s3v/bucket1      commands for users: volumes, buckets, keys\n  \
        o3 admin datanode list           commands for administrators\n  \
        o3 config list --set             configured keys and their origins\n  \
        o3 COMMAND --help                help of a command, with examples"
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Server(ServerArgs),
    #[command(flatten)]
    Role(RoleCommand),
    Sh(ShArgs),
    Admin(AdminArgs),
    Why(WhyArgs),
    Debug(DebugArgs),
    Repair(RepairArgs),
    Freon(FreonArgs),
    /// Show configuration keys, their values and origins
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Show the version
    Version(VersionArgs),
}
