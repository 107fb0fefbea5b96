//! What is acknowledged stays, whatever is killed, filled or flipped.
//!
//! * [`kill_all`]: kill -9 of a whole cluster at random moments, again and again
//! * [`balancing`]: containers move to a node that came later, under load
//! * [`bad_disks`]: disks that cannot be opened, replicas with flipped bits that are replaced
//! * [`flipped_bits`]: stored bytes change behind our back
//! * [`full_disk`]: no room, and room again
//! * [`sick_disk`]: a disk that others fill up, one that is read-only
//! * [`erasure_coded`]: seven processes, any two killed while keys of rs-3-2 are written and read
//! * [`erasure_damage`]: the same; disks lose and change what they have, nodes go while others are
//!   rebuilt
//! * [`cluster`]: separate processes in two racks
//! * [`healing`]: six processes in two racks: a dead node and a replaced disk
//! * [`point_to_point`]: a node is emptied to one other
//! * [`om_maintenance`]: three OMs that compact, delete and copy their tables, killed in turn
//! * [`ledger`]: what writers were told, and whether a cluster still holds it

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

/// Where the tests write.
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

/// A bucket whose keys are replicated so when nobody says.
async fn make_bucket_of(client: &Client, replication: Option<ReplicationConfig>) {
    client.create_volume(VOLUME, None, -1, -1).await.unwrap();
    let layout = Some(BucketLayoutProto::ObjectStore);
    let spec = BucketSpec { layout, replication, ..BucketSpec::default() };
    client.create_bucket(VOLUME, BUCKET, spec).await.unwrap();
}
