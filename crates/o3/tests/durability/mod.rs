//! What is acknowledged stays, whatever is killed, filled or flipped.
//!
//! * [`kill_all`]: kill -9 of a whole cluster at random moments, again and again
//! * [`lost_datanode`]: separate processes, one DataNode killed while clients write
//! * [`bad_disks`]: disks that cannot be opened, replicas with flipped bits that are replaced
//! * [`flipped_bits`]: stored bytes change behind our back
//! * [`full_disk`]: no room, and room again
//! * [`cluster`]: separate processes in two racks
//! * [`healing`]: six processes in two racks: dead, wiped, returning nodes and a replaced disk
//! * [`ledger`]: what writers were told, and whether a cluster still holds it

mod bad_disks;
mod cluster;
mod flipped_bits;
mod full_disk;
mod healing;
mod kill_all;
mod ledger;
mod lost_datanode;

use client::{BucketSpec, Client};
use config::Configuration;
use proto::ozone::BucketLayoutProto;

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
    client.create_volume(VOLUME, None, -1, -1).await.unwrap();
    let spec = BucketSpec { layout: Some(BucketLayoutProto::ObjectStore), ..BucketSpec::default() };
    client.create_bucket(VOLUME, BUCKET, spec).await.unwrap();
}
