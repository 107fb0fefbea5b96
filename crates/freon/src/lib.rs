//! Load generators: `o3 freon`, with the generators and flags of Ozone's freon.
//!
//! * keys with content: [`ockg`] creates, [`ocklr`] reads, [`ockv`] and [`ocokr`] compare, [`ockr`]
//!   removes; [`ockrw`] and [`ork`] work on ranges; [`rk`] creates volumes and buckets, too
//! * [`ockc`]: overwrite keys and check concurrent reads, by the rules of [`history`]
//! * OM alone: [`ommg`], [`omkg`], [`ombg`], [`ombr`], [`om-echo`](ome), [`occ`], [`fr`];
//!   [`omkeybench`] is a mix with a limit on live keys, [`obrwk`] and [`obrwf`] list and write at
//!   the same time ([`read_write`])
//! * [`cgom`]: keys written into the tables of a stopped OM
//! * files of a bucket ([`fs`]): [`dfsg`], [`dfsv`], [`ddsg`], [`dtsg`]; [`hg`] syncs one
//! * over [`s3`]: [`s3bg`], [`s3kg`]
//! * SCM alone: [`stb`]
//! * DataNodes alone: [`dcg`] and [`dcv`] write and compare [`chunks`], [`dn-echo`](dne) sends echo
//!   requests
//! * [`runner`]: n tests over t tasks, until all are done or the time is over
//! * [`timer`], [`report`]: measurements, as text and JSON
//! * [`cpu`]: CPU time of server processes per operation, the figure that depends least on other
//!   load
//!
//! A generator runs one test by its number; everything else is shared.

mod args;
mod cgom;
mod chunks;
mod content;
mod cpu;
mod dcg;
mod dcv;
mod ddsg;
mod dfsg;
mod dfsv;
mod digest;
mod dne;
mod dtsg;
mod edition;
mod error;
mod findings;
mod fr;
mod fs;
mod gaps;
mod hg;
mod history;
mod live_keys;
mod names;
mod obrwf;
mod obrwk;
mod occ;
mod ockc;
mod ockg;
mod ocklr;
mod ockr;
mod ockrw;
mod ockv;
mod ocokr;
mod ombg;
mod ombr;
mod ome;
mod omkeybench;
mod omkg;
mod ommg;
mod ork;
mod rates;
mod read_write;
mod report;
mod rk;
mod runner;
mod s3;
mod s3bg;
mod s3kg;
mod stb;
mod target;
mod timer;
mod tree;

use std::process::ExitCode;

use clap::Subcommand;
use config::Configuration;
use futures::future::LocalBoxFuture;

use report::Report;

pub use error::FreonError;

/// A load generator.
#[derive(Debug, Clone, Subcommand)]
pub enum FreonCommand {
    /// Write keys into the tables of a stopped OM.
    Cgom(cgom::Cgom),
    /// Write chunks to DataNodes, without OM.
    #[command(visible_alias = "datanode-chunk-generator")]
    Dcg(dcg::Dcg),
    /// Read chunks that dcg wrote and compare them.
    #[command(visible_alias = "datanode-chunk-validator")]
    Dcv(dcv::Dcv),
    /// Create nested directories.
    #[command(visible_alias = "dfs-directory-generator")]
    Ddsg(ddsg::Ddsg),
    /// Create files.
    #[command(visible_alias = "dfs-file-generator")]
    Dfsg(dfsg::Dfsg),
    /// Read files that dfsg created and compare their content.
    #[command(visible_alias = "dfs-file-validator")]
    Dfsv(dfsv::Dfsv),
    /// Send echo requests to DataNodes.
    #[command(name = "dn-echo", visible_alias = "dne")]
    Dne(dne::Dne),
    /// Create trees of directories with files.
    #[command(visible_alias = "dfs-tree-generator")]
    Dtsg(dtsg::Dtsg),
    /// Read the size of one key from many tasks.
    #[command(visible_alias = "follower-reader")]
    Fr(fr::Fr),
    /// Write to one file and sync it, as to a log.
    #[command(visible_alias = "hsync-generator")]
    Hg(hg::Hg),
    /// List and write files of one directory at the same time.
    #[command(visible_alias = "om-bucket-read-write-file-ops")]
    Obrwf(obrwf::Obrwf),
    /// List and write keys of one bucket at the same time.
    #[command(visible_alias = "om-bucket-read-write-key-ops")]
    Obrwk(obrwk::Obrwk),
    /// Create and close clients.
    #[command(visible_alias = "ozone-client-creator")]
    Occ(occ::Occ),
    /// Overwrite keys while others read them, and check consistency.
    Ockc(ockc::Ockc),
    /// Create keys with content.
    #[command(visible_alias = "ozone-client-key-generator")]
    Ockg(ockg::Ockg),
    /// Read keys that ockg created, or that are listed in a file.
    #[command(visible_alias = "ozone-client-key-list-reader")]
    Ocklr(ocklr::Ocklr),
    /// Remove keys.
    #[command(visible_alias = "ozone-client-key-remover")]
    Ockr(ockr::Ockr),
    /// Read, write and list keys of a range in a mix.
    #[command(visible_alias = "ozone-client-key-read-write-list-ops")]
    Ockrw(ockrw::Ockrw),
    /// Read keys that ockg created and compare their content.
    #[command(visible_alias = "ozone-client-key-validator")]
    Ockv(ockv::Ockv),
    /// Read one key from many tasks and compare its content.
    #[command(visible_alias = "ozone-client-one-key-reader")]
    Ocokr(ocokr::Ocokr),
    /// Create buckets.
    #[command(visible_alias = "om-bucket-generator")]
    Ombg(ombg::Ombg),
    /// Remove buckets.
    #[command(visible_alias = "om-bucket-remover")]
    Ombr(ombr::Ombr),
    /// Send echo requests to OM.
    #[command(name = "om-echo", visible_alias = "ome")]
    Ome(ome::Ome),
    /// Create, delete and list keys in a mix, with a limit on live keys.
    Omkeybench(omkeybench::Omkeybench),
    /// Create keys without data.
    #[command(visible_alias = "om-key-generator")]
    Omkg(omkg::Omkg),
    /// Metadata operations: create, look up, read and list.
    #[command(visible_alias = "om-metadata-generator")]
    Ommg(ommg::Ommg),
    /// Write ranges of keys.
    Ork(ork::Ork),
    /// Create volumes, buckets and keys, and verify their content.
    #[command(visible_alias = "randomkeys")]
    Rk(rk::Rk),
    /// Create buckets over S3.
    #[command(visible_alias = "s3-bucket-generator")]
    S3bg(s3bg::S3bg),
    /// Create keys over S3.
    #[command(visible_alias = "s3-key-generator")]
    S3kg(s3kg::S3kg),
    /// Let SCM allocate blocks or containers.
    #[command(visible_alias = "scm-throughput-benchmark")]
    Stb(stb::Stb),
}

/// Runs a generator; the exit code is 0 if every test succeeded.
pub fn run(command: FreonCommand, conf: Configuration) -> LocalBoxFuture<'static, ExitCode> {
    Box::pin(generate(command, conf))
}

async fn generate(command: FreonCommand, conf: Configuration) -> ExitCode {
    let generator: LocalBoxFuture<'_, Result<Report, FreonError>> = match command {
        FreonCommand::Ockc(args) => {
            return ockc::run(args, &conf).await.unwrap_or_else(|e| {
                eprintln!("{e}");
                ExitCode::FAILURE
            });
        }
        FreonCommand::Cgom(args) => Box::pin(cgom::run(args, &conf)),
        FreonCommand::Dcg(args) => Box::pin(dcg::run(args, &conf)),
        FreonCommand::Dcv(args) => Box::pin(dcv::run(args, &conf)),
        FreonCommand::Ddsg(args) => Box::pin(ddsg::run(args, &conf)),
        FreonCommand::Dfsg(args) => Box::pin(dfsg::run(args, &conf)),
        FreonCommand::Dfsv(args) => Box::pin(dfsv::run(args, &conf)),
        FreonCommand::Dne(args) => Box::pin(dne::run(args, &conf)),
        FreonCommand::Dtsg(args) => Box::pin(dtsg::run(args, &conf)),
        FreonCommand::Fr(args) => Box::pin(fr::run(args, &conf)),
        FreonCommand::Hg(args) => Box::pin(hg::run(args, &conf)),
        FreonCommand::Obrwf(args) => Box::pin(obrwf::run(args, &conf)),
        FreonCommand::Obrwk(args) => Box::pin(obrwk::run(args, &conf)),
        FreonCommand::Occ(args) => Box::pin(occ::run(args, &conf)),
        FreonCommand::Ockg(args) => Box::pin(ockg::run(args, &conf)),
        FreonCommand::Ocklr(args) => Box::pin(ocklr::run(args, &conf)),
        FreonCommand::Ockr(args) => Box::pin(ockr::run(args, &conf)),
        FreonCommand::Ockrw(args) => Box::pin(ockrw::run(args, &conf)),
        FreonCommand::Ockv(args) => Box::pin(ockv::run(args, &conf)),
        FreonCommand::Ocokr(args) => Box::pin(ocokr::run(args, &conf)),
        FreonCommand::Ombg(args) => Box::pin(ombg::run(args, &conf)),
        FreonCommand::Ombr(args) => Box::pin(ombr::run(args, &conf)),
        FreonCommand::Ome(args) => Box::pin(ome::run(args, &conf)),
        FreonCommand::Omkeybench(args) => Box::pin(omkeybench::run(args, &conf)),
        FreonCommand::Omkg(args) => Box::pin(omkg::run(args, &conf)),
        FreonCommand::Ommg(args) => Box::pin(ommg::run(args, &conf)),
        FreonCommand::Ork(args) => Box::pin(ork::run(args, &conf)),
        FreonCommand::Rk(args) => Box::pin(rk::run(args, &conf)),
        FreonCommand::S3bg(args) => Box::pin(s3bg::run(args)),
        FreonCommand::S3kg(args) => Box::pin(s3kg::run(args)),
        FreonCommand::Stb(args) => Box::pin(stb::run(args, &conf)),
    };
    match generator.await {
        Ok(report) if report.failures == 0 => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(e) => {
            eprintln!("{e}");
            ExitCode::FAILURE
        }
    }
}
