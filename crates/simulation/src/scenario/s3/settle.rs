//! The final state, after all faults were healed: uploads that no client ended are aborted, as by
//! the rule of a bucket, and none is left; each object is read as a whole; and the buckets count
//! their contents, so that no part of an upload is left.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::bail;

use super::KEYS;
use super::board::{Board, Came, Object};
use super::client::{Client, bucket};
use super::http::{Outcome, Request};
use super::upload::abort;
use crate::history::conditional::{Answer, Op};
use crate::scenario::cluster::client::{Reads, connect};
use crate::scenario::cluster::configuration::Layout;
use crate::scenario::now;
use crate::scenario::process::on_runtime;
use crate::world::random::Random;

/// The volume of S3.
const VOLUME: &str = "s3v";
/// Replicas of a block.
const REPLICAS: u64 = 3;
/// Interval of checks.
const PAUSE: Duration = Duration::from_secs(1);

/// Checks all buckets until each has settled.
pub fn look(layout: &Layout, board: &Arc<Board>, random: Random, buckets: u64, done: &AtomicBool) {
    on_runtime(async {
        let Ok(om) = connect(layout, Reads::Leader) else { return };
        let Some(mut client) = Client::new(random, board.clone()) else { return };
        for number in 0..buckets {
            while let Err(why) = client.end_uploads(number).await {
                *board.lacking.lock() = format!("bucket {number}: {why}");
                tokio::time::sleep(PAUSE).await;
            }
            let (objects, bytes) = loop {
                match client.read_all(number).await {
                    Ok(found) => break found,
                    Err(why) => *board.lacking.lock() = format!("bucket {number}: {why}"),
                }
                tokio::time::sleep(PAUSE).await;
            };
            loop {
                let why = match om.bucket_info(VOLUME, &bucket(number)).await {
                    Ok(info) if (info.used_namespace(), info.used_bytes()) == (objects, bytes) => {
                        break;
                    }
                    Ok(info) => format!(
                        "has {objects} objects of {bytes} bytes with all replicas, and counts {} of {}",
                        info.used_namespace(),
                        info.used_bytes()
                    ),
                    Err(error) => error.to_string(),
                };
                *board.lacking.lock() = format!("bucket {number}: {why}");
                tokio::time::sleep(PAUSE).await;
            }
        }
        done.store(true, Ordering::Release);
    });
}

impl Client {
    /// Aborts the uploads of a bucket, if there are any.
    async fn end_uploads(&mut self, number: u64) -> anyhow::Result<()> {
        let list = Request::new("GET", format!("/{}?uploads", bucket(number)));
        let Outcome::Answer(answer) = self.send(&list).await else {
            bail!("uploads cannot be listed");
        };
        if answer.status != 200 {
            self.unexpected("ListMultipartUploads", &answer);
            bail!("uploads cannot be listed: {}", answer.code());
        }
        let ids = answer.elements("UploadId");
        for (key, id) in answer.elements("Key").iter().zip(&ids) {
            let Some(key) = key.strip_prefix("key-").and_then(|key| key.parse().ok()) else {
                bail!("there is an upload of {key}");
            };
            self.send(&abort((number, key), id)).await;
            self.board.count("uploads left");
        }
        anyhow::ensure!(ids.is_empty(), "there are uploads: {ids:?}");
        Ok(())
    }

    /// Reads all objects of a bucket as a whole. Gives how many there are, and their bytes with all
    /// replicas.
    async fn read_all(&mut self, number: u64) -> anyhow::Result<(u64, u64)> {
        let asked = now();
        let Some(found) = self.objects(number).await else {
            bail!("objects cannot be listed");
        };
        let mut bytes = 0;
        for (name, e_tag) in &found {
            let Some(content) = self.board.content_of(e_tag) else { continue };
            let get = Request::new("GET", format!("/{}/{name}", bucket(number)));
            let Outcome::Answer(answer) = self.send(&get).await else {
                bail!("{name} cannot be read");
            };
            let is_it = answer.status == 200
                && answer.e_tag().as_ref() == Some(e_tag)
                && answer.body == content.bytes();
            if !is_it {
                let (status, length) = (answer.status, answer.body.len());
                let told = format!(
                    "bucket {number} has {name} with ETag {e_tag}, which is read with {status}, {length} bytes and {:?}",
                    answer.e_tag()
                );
                self.board.violation(told);
            }
            bytes += REPLICAS * content.len() as u64;
        }
        for key in 0..KEYS as u8 {
            let object: Object = (number, key);
            let name = format!("key-{key}");
            let e_tag = found.iter().find(|(of, _)| *of == name).map(|(_, e_tag)| e_tag);
            let value = e_tag.and_then(|e_tag| self.board.content_of(e_tag));
            let answer = Answer::Value(value.map(|content| content.number));
            self.board.note(object, Op::Read, asked, Came::Answer(answer));
        }
        for (_, name, e_tag) in self.board.kept.lock().iter().filter(|(of, ..)| *of == number) {
            if !found.iter().any(|(of, tag)| of == name && tag == e_tag) {
                let told = format!("bucket {number} has lost {name} with ETag {e_tag}");
                self.board.violation(told);
            }
        }
        Ok((found.len() as u64, bytes))
    }
}
