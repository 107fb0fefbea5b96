//! S3 clients go through gateways while servers fail: of many writes with a condition one is
//! carried out, and an upload has one end.

mod conditional_put_over_leader_change;
mod multipart_over_leader_change;

use anyhow::{Context, ensure};

use super::Script;
use super::Server;
use super::cluster::Cluster;
use super::stage::{Stage, minutes, seconds};
use crate::scenario::s3::http::{Answer, Credentials, Outcome, Request};

/// The scripts of this subject.
pub const SCRIPTS: &[Script] =
    &[conditional_put_over_leader_change::SCRIPT, multipart_over_leader_change::SCRIPT];

/// The user whose key the clients sign with.
const USER: &str = "tester";
/// The volume of S3.
const VOLUME: &str = "s3v";
/// The bucket of all objects.
const BUCKET: &str = "objects";
/// Replicas of a block.
const REPLICAS: u64 = 3;

/// Parameters of S3 clients.
#[derive(Debug, Clone)]
struct S3 {
    /// Machines of gateways.
    gateways: Vec<usize>,
    credentials: Credentials,
}

impl S3 {
    /// Sends a request once, through a gateway by its number, counted round.
    async fn send(&self, gateway: usize, request: &Request) -> Outcome {
        request.send(self.gateways[gateway % self.gateways.len()], &self.credentials).await
    }

    /// Sends a request until it gets a response, through one gateway after the other. Also returns
    /// `true` if an earlier attempt may have been executed.
    async fn until_answered(&self, request: &Request) -> (Answer, bool) {
        let mut is_unsure = false;
        let mut attempt = 0;
        loop {
            match self.send(attempt, request).await {
                Outcome::Answer(answer) => return (answer, is_unsure),
                Outcome::Unknown => is_unsure = true,
                Outcome::NotSent => {}
            }
            attempt += 1;
            tokio::time::sleep(seconds(1)).await;
        }
    }
}

/// The path of an object.
fn path(name: &str) -> String {
    format!("/{BUCKET}/{name}")
}

impl Cluster {
    /// A key pair and a bucket.
    fn s3(&mut self) -> anyhow::Result<S3> {
        let is_gateway = |server: &&Server| matches!(server, Server::Gateway(_));
        let servers = self.machines().servers().iter().filter(is_gateway).copied();
        let servers: Vec<Server> = servers.collect();
        let numbers = servers.into_iter().map(|server| self.machines().number(server));
        let gateways = numbers.collect::<anyhow::Result<Vec<usize>>>()?;
        let secret = self.ask(|it| async move { it.om.s3_secret(USER, true).await })?;
        let secret = secret.context("OM gives no key pair")?;
        let s3 = S3 { gateways, credentials: Credentials { id: USER.to_owned(), secret } };
        let made = self.s3_answer(&s3, Request::new("PUT", format!("/{BUCKET}")))?;
        ensure!(made.status == 200, "the bucket is not made: {} {}", made.status, made.code());
        Ok(s3)
    }

    /// Sends a request until it is answered, and waits for that.
    fn s3_answer(&mut self, s3: &S3, request: Request) -> anyhow::Result<Answer> {
        let s3 = s3.clone();
        Ok(self.ask(move |_| async move { s3.until_answered(&request).await })?.0)
    }

    /// Kills the leading OM after the time `after`, and waits until another one leads.
    fn kill_om_leader(&mut self, after: std::time::Duration) -> anyhow::Result<Server> {
        let leader = self.om_leader()?;
        self.advance(after)?;
        self.kill([leader])?;
        self.expect("another OM leads", seconds(30), |c| {
            let next = c.om_leader()?;
            ensure!(next != leader, "{leader} is killed");
            Ok(())
        })?;
        Ok(leader)
    }

    /// Starts an OM that was killed, and waits until it has all.
    fn start_om(&mut self, om: Server) -> anyhow::Result<()> {
        self.start([om])?;
        self.expect("the former leader has all", minutes(2), |c| c.om_is_even(om))
    }

    /// Checks that the bucket counts this many objects with this many bytes, and no upload is in
    /// progress.
    fn expect_in_bucket(&mut self, s3: &S3, objects: u64, bytes: u64) -> anyhow::Result<()> {
        let uploads = self.s3_answer(s3, Request::new("GET", format!("/{BUCKET}?uploads")))?;
        let uploads = uploads.elements("UploadId");
        ensure!(uploads.is_empty(), "uploads {uploads:?} are left");
        let bucket = self.ask(|it| async move { it.om.bucket_info(VOLUME, BUCKET).await })??;
        let counted = (bucket.used_namespace(), bucket.used_bytes());
        let wanted = (objects, REPLICAS * bytes);
        ensure!(counted == wanted, "the bucket counts {counted:?}, it is to count {wanted:?}");
        Ok(())
    }
}
