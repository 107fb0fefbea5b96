//! Acknowledged writes survive killed processes, full disks and flipped bits.
//!
//! * [`kill_all`]: kill -9 of a whole cluster at random moments, repeatedly
//! * [`balancing`]: containers move to a new node, under load
//! * [`bad_disks`]: disks that cannot be opened, replicas with flipped bits that are replaced
//! * [`flipped_bits`]: corruption of stored bytes
//! * [`full_disk`]: a full disk, and free space again
//! * [`sick_disk`]: a disk that others fill up, one that is read-only
//! * [`erasure_coded`]: seven processes, any two killed while keys of rs-3-2 are written and read
//! * [`erasure_damage`]: the same; disks lose and change data, nodes fail during the reconstruction
//!   of others
//! * [`cluster`]: separate processes in two racks
//! * [`healing`]: six processes in two racks: a dead node and a replaced disk
//! * [`point_to_point`]: a node is decommissioned to one other
//! * [`om_maintenance`]: three OMs that compact, delete and send their tables, killed in turn
//! * [`ledger`]: a ledger of acknowledged writes, compared with the cluster's data

mod bad_disks;
mod balancing;
mod cluster;
mod erasure_coded;
mod erasure_damage;
mod flipped_bits;
mod full_disk;
mod healing;
mod kill_all;
mod ledger;
mod om_maintenance;
mod point_to_point;
mod sick_disk;
mod why;
mod wrong_disks;

use client::{BucketSpec, Client};
use config::Configuration;
use proto::ozone::BucketLayoutProto;
use types::ReplicationConfig;

use crate::process::Daemon;

/// Volume of the tests.
const VOLUME: &str = "durable";
const BUCKET: &str = "bucket1";

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

fn client_of(om: &str, scm: &str) -> Client {
    let conf = Configuration::builder()
        .define(format!("ozone.om.address={om}"))
        .and_then(|b| b.define(format!("ozone.scm.client.address={scm}")))
        .and_then(|b| b.build())
        .unwrap();
    Client::connect(&conf).unwrap()
}

/// A client of an `o3 server`.
fn client(server: &Daemon) -> Client {
    client_of(&server.text("om"), &server.text("scm"))
}

async fn make_bucket(client: &Client) {
    make_bucket_of(client, None).await;
}

/// Creates a bucket with this default replication.
async fn make_bucket_of(client: &Client, replication: Option<ReplicationConfig>) {
    client.create_volume(VOLUME, None, -1, -1).await.unwrap();
    let layout = Some(BucketLayoutProto::ObjectStore);
    let spec = BucketSpec { layout, replication, ..BucketSpec::default() };
    client.create_bucket(VOLUME, BUCKET, spec).await.unwrap();
}
