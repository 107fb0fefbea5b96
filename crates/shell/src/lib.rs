//! The command line of users and administrators, with Ozone's verbs, flags and JSON shapes.
//!
//! * [`ShCommand`], [`run_sh`]: `o3 sh volume|bucket|key|snapshot`
//! * [`AdminCommand`], [`run_admin`]: `o3 admin datanode|pipeline|container|safemode|scm`
//! * [`DebugCommand`], [`run_debug`]: `o3 debug replicas|ldb`
//! * [`RepairCommand`], [`run_repair`]: `o3 repair ldb|om|scm|datanode`
//! * [`WhyCommand`], [`run_why`]: `o3 why container|datanode|safemode`
//! * `volume/`, `bucket/`, `key/`, `acl/`, `admin/`, `debug/`: a folder is a noun, a file is a verb
//! * `render/`: JSON of each type, in Ozone's order of fields
//! * `json`: JSON as Jackson's default pretty printer writes it, which scripts parse
//! * `address`: `o3://host:port/volume/bucket/key` and its shorter forms
//!
//! Results go to standard output, everything else to standard error. A command that fails prints
//! `STATUS_NAME message` and exits with 255, as Ozone's shell does; one with invalid arguments
//! exits with 2.

mod acl;
mod address;
mod admin;
mod bucket;
mod debug;
mod error;
mod json;
mod key;
mod noun;
mod output;
mod quota;
mod render;
mod repair;
mod replication;
mod snapshot;
mod storage_policy;
mod volume;
mod why;

use std::process::ExitCode;

use clap::Subcommand;
use config::Configuration;
use futures::future::LocalBoxFuture;

pub use admin::AdminCommand;
pub use debug::DebugCommand;
pub use error::ShellError;
pub use noun::Noun;
pub use repair::RepairCommand;
pub use why::WhyCommand;

/// The exit status of a failed command: Ozone's shell exits with -1.
const FAILED: u8 = 255;

/// Commands for users.
#[derive(Debug, Clone, Subcommand)]
pub enum ShCommand {
    /// Volumes: create, info, list, update, delete, quotas.
    #[command(visible_alias = "vol")]
    Volume(Noun<volume::VolumeCommand>),
    /// Buckets: create, info, list, update, delete, quotas, replication.
    Bucket(Noun<bucket::BucketCommand>),
    /// Keys: put, get, cat, info, list, delete, rename, copy.
    Key(Noun<key::KeyCommand>),
    /// Snapshots of buckets: create, info, list, diff, rename, delete.
    Snapshot(Noun<snapshot::SnapshotCommand>),
}

/// Runs a user's command.
pub fn run_sh(command: ShCommand, conf: Configuration) -> LocalBoxFuture<'static, ExitCode> {
    Box::pin(async move {
        match command {
            ShCommand::Volume(noun) => finish(volume::run(noun.command, &conf).await, noun.verbose),
            ShCommand::Bucket(noun) => finish(bucket::run(noun.command, &conf).await, noun.verbose),
            ShCommand::Key(noun) => finish(key::run(noun.command, &conf).await, noun.verbose),
            ShCommand::Snapshot(noun) => {
                finish(snapshot::run(noun.command, &conf).await, noun.verbose)
            }
        }
    })
}

/// Runs an administrator's command.
pub fn run_admin(command: AdminCommand, conf: Configuration) -> LocalBoxFuture<'static, ExitCode> {
    Box::pin(async move {
        let verbose = command.is_verbose();
        finish(admin::run(command, &conf).await, verbose)
    })
}

/// Explains a state.
pub fn run_why(command: WhyCommand, conf: Configuration) -> LocalBoxFuture<'static, ExitCode> {
    Box::pin(async move { finish(why::run(command, &conf).await, false) })
}

/// Runs a command that inspects stored data.
pub fn run_debug(command: DebugCommand, conf: Configuration) -> LocalBoxFuture<'static, ExitCode> {
    Box::pin(async move {
        let verbose = command.is_verbose();
        finish(debug::run(command, &conf).await, verbose)
    })
}

/// Runs a command that changes stored data.
pub fn run_repair(command: RepairCommand) -> LocalBoxFuture<'static, ExitCode> {
    Box::pin(async move {
        let verbose = command.is_verbose();
        finish(repair::run(command), verbose)
    })
}

fn finish(result: Result<(), ShellError>, verbose: bool) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) if e.is_broken_pipe() => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("{}", if verbose { e.with_causes() } else { e.to_string() });
            ExitCode::from(FAILED)
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::*;

    #[derive(Debug, Parser)]
    struct Sh {
        #[command(subcommand)]
        _command: ShCommand,
    }

    #[derive(Debug, Parser)]
    struct Admin {
        #[command(subcommand)]
        command: AdminCommand,
    }

    #[test]
    fn what_ozones_shell_understands_is_understood() {
        Sh::command().debug_assert();
        for line in [
            "volume create /vol1 -u ann --space-quota 10GB --namespace-quota 100",
            "volume create --quota 1TB o3://om:9862/vol1",
            "volume create vol5 --space-quota -1 --namespace-quota -1",
            "volume list",
            "volume ls --user=root -l 5 -p v -s vol1 /",
            "volume list --all-users --all --verbose",
            "volume --verbose info vol1",
            "volume update --user=root /vol1",
            "volume setquota --space-quota 10GB --namespace-quota 100 /vol1",
            "volume clrquota --space-quota --namespace-quota /vol1",
            "volume delete -r -y /vol1",
            "bucket create /vol1/bucket1 --layout OBJECT_STORE -t RATIS -r THREE -u ann",
            "bucket create -l fso --replication-type=EC --replication=rs-3-2-1024k /vol1/bucket1",
            "bucket setquota --space-quota 5GB /vol1/bucket1",
            "bucket set-replication-config -t RATIS -r ONE /vol1/bucket1",
            "bucket link /vol1/bucket1 /s3v/bucket1",
            "bucket update -u ann /vol1/bucket1",
            "key put /vol1/bucket1/dir/key2 /etc/hostname -t RATIS -r THREE --stream",
            "key put --expectedGeneration=5 /vol1/bucket1/key1 -",
            "key list --prefix dir --length 1 --start dir/a /vol1/bucket1",
            "key get -f /vol1/bucket1/key1 /tmp/out",
            "key cat /vol1/bucket1/key1",
            "key cp /vol1/bucket1 key1 key3",
            "key mv /vol1/bucket1 key3 key4",
            "volume addacl --acls user:ann:rw,group:staff:l /vol1",
            "bucket setacl -a user:ann:a[DEFAULT] -a world::r /vol1/bucket1",
            "bucket removeacl --acl user:ann:a /vol1/bucket1",
            "key getacl /vol1/bucket1/key1",
            "key rename /vol1/bucket1 key3 key4",
            "key rewrite -t RATIS -r ONE /vol1/bucket1/key1",
            "key delete /vol1/bucket1/key4",
            "snapshot create /vol1/bucket1",
            "snapshot create /vol1/bucket1 snap1",
            "snapshot info /vol1/bucket1 snap1",
            "snapshot list -l 5 -p s -s snap1 /vol1/bucket1",
            "snapshot diff -p 2 -t 100000000000000000004 --json -r /vol1/bucket1 snap1 snap2",
            "snapshot diff --cancel /vol1/bucket1 snap1 snap2",
            "snapshot listDiff --all-status --all /vol1/bucket1",
            "snapshot lsDiff --job-status done -s job -l 3 /vol1/bucket1",
            "snapshot rename /vol1/bucket1 snap1 snap2",
            "snapshot delete /vol1/bucket1 snap1",
        ] {
            let words = std::iter::once("sh").chain(line.split(' '));
            assert!(Sh::try_parse_from(words).is_ok(), "{line}");
        }
        for line in ["volume info", "key put -t CHAINED -r ONE /v/b/k f", "key list -a -l 1 /v/b"] {
            let words = std::iter::once("sh").chain(line.split(' '));
            assert_eq!(Sh::try_parse_from(words).unwrap_err().exit_code(), 2, "{line}");
        }
    }

    #[test]
    fn what_ozones_admin_understands_is_understood() {
        Admin::command().debug_assert();
        for (line, verbose) in [
            ("datanode list --json", false),
            ("datanode list --operational-state IN_SERVICE --node-state HEALTHY --ip ::1", false),
            ("datanode usageinfo -m --json", false),
            ("pipeline list --state OPEN -t RATIS -r THREE --json", false),
            ("pipeline list --filterByState=OPEN --filterByFactor=ONE", false),
            ("container list --state CLOSED -t RATIS --factor ONE -s 5 -c 3", false),
            ("container list -a -c 100 --scm scm:9860", false),
            ("container info 1 2 --json --verbose", true),
            ("container create", false),
            ("container reconcile --status 1 2", false),
            ("container reconcile - --scm scm:9860 --verbose", true),
            ("container create -o me --type EC -r rs-6-3-1024k --service-id scms", false),
            ("safemode status --verbose", true),
            ("safemode --verbose status --json", true),
            ("safemode wait -t 5", false),
            ("scm roles --json", false),
        ] {
            let words = std::iter::once("admin").chain(line.split(' '));
            let admin = Admin::try_parse_from(words).unwrap_or_else(|e| panic!("{line}: {e}"));
            assert_eq!(admin.command.is_verbose(), verbose, "{line}");
        }
    }

    #[test]
    fn what_ozones_debug_understands_is_understood() {
        #[derive(Debug, Parser)]
        struct Debug {
            #[command(subcommand)]
            command: DebugCommand,
        }
        let parse =
            |line: &str| Debug::try_parse_from(["debug"].into_iter().chain(line.split(' ')));
        Debug::command().debug_assert();
        for (line, verbose) in [
            ("replicas chunk-info /vol1/bucket1/key1 --verbose", true),
            ("replicas verify --checksums /vol1/bucket1", false),
            ("replicas --verbose verify --block-existence --container-state o3://om/vol1", true),
            ("replicas verify --container-state --container-cache-size=7 --scm=scm:9860 /", false),
            ("replicas verify --checksums --all-results -t EC -r rs-3-2-1024k /", false),
        ] {
            let debug = parse(line).unwrap_or_else(|e| panic!("{line}: {e}"));
            assert_eq!(debug.command.is_verbose(), verbose, "{line}");
        }
        for line in ["replicas verify /vol1", "replicas verify --checksums", "replicas chunk-info"]
        {
            assert_eq!(parse(line).unwrap_err().exit_code(), 2, "{line}");
        }
    }

    #[test]
    fn causes_are_told_when_asked_for() {
        #[derive(Debug, thiserror::Error)]
        #[error("disk on fire")]
        struct Fire(#[source] std::io::Error);

        let fire = std::io::Error::other(Fire(std::io::Error::other("too hot")));
        let e = ShellError::local("key1")(fire);
        assert_eq!(e.to_string(), "key1: disk on fire");
        assert_eq!(e.with_causes(), "key1: disk on fire\n  caused by: too hot");
    }
}
