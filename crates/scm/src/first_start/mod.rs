//! The first start of one of several SCMs: which cluster is it of, and which members has the
//! service?
//!
//! An SCM that already has a cluster's directory reports it to the others. If none has, the
//! primordial SCM creates a cluster, and the others wait for it. An SCM that lost its disk learns
//! its cluster like a new one. An SCM that is no member of a running service joins it with
//! `--bootstrap`: the leader adds it to the Raft group.
//!
//! **No second cluster is created while one SCM has the first.** One that does not answer may have
//! it, so the primordial SCM creates one only when *all* others report at the same time that they
//! have none ([`answers`]); the Raft group would not start without them anyway. Therefore SCMs that
//! wait answer each other ([`endpoint`]).
//!
//! **It may stop at any point**: until its log has the group's members on disk it requests them
//! from the others again, and a note ([`JoinNote`]) records that it was joining.

mod answers;
mod endpoint;
mod join;

use std::time::Duration;

use multiraft::Membership;
use replicated::JoinNote;
use uuid::Uuid;

use self::answers::{Answers, ask};
use self::endpoint::Endpoint;
use crate::ScmError;
use crate::members::Members;
use crate::settings::ScmOptions;

/// Delay before the others are asked again.
const RETRY_DELAY: Duration = Duration::from_millis(300);

/// A first start of one of several SCMs. It answers the others until it is closed.
pub struct FirstStart<'a> {
    members: &'a Members,
    bootstrap: bool,
    endpoint: Endpoint,
}

impl<'a> FirstStart<'a> {
    /// Begins it.
    ///
    /// # Errors
    /// When the port for the others' requests cannot be bound.
    pub async fn begin(members: &'a Members, options: &ScmOptions) -> Result<Self, ScmError> {
        let endpoint = Endpoint::open(&members.me.node.node_id, options).await?;
        Ok(Self { members, bootstrap: options.bootstrap, endpoint })
    }

    /// Requests the cluster from the others. Waits, without a limit, for an SCM that has it, or
    /// until all report none if this one may create it. Returns the members of the Raft group, too,
    /// if one has them and they include this SCM.
    ///
    /// # Errors
    /// When the service runs without this SCM and `--bootstrap` is not set, or the others are not
    /// of one cluster.
    pub async fn cluster(&self) -> Result<(String, Option<Membership>), ScmError> {
        let primordial = self.members.primordial && !self.bootstrap;
        let mut told = Told::default();
        loop {
            let answers = ask(self.members).await;
            if let Some(cluster_id) = answers.cluster()? {
                tracing::info!(cluster = cluster_id, "joining the cluster of the other SCMs");
                let known = answers.newest_membership();
                let membership = known.filter(|m| m.contains(self.members.me.scm_id)).cloned();
                if known.is_some() && membership.is_none() && !self.bootstrap {
                    return Err(runs_without(self.members));
                }
                // Before its directory is on disk: the SCM that sent it may lose its own.
                self.has_cluster(cluster_id);
                return Ok((cluster_id.to_owned(), membership));
            }
            if primordial && answers.unreached.is_empty() {
                return Ok((format!("CID-{}", Uuid::new_v4()), None));
            }
            if told.anew(&answers) {
                let (unreached, none_yet) = (&answers.unreached, &answers.without_cluster);
                match primordial {
                    true => tracing::info!(
                        ?unreached,
                        ?none_yet,
                        "first start: creating a cluster after all other SCMs report that they have none"
                    ),
                    false => tracing::info!(
                        ?unreached,
                        ?none_yet,
                        "first start: waiting for the cluster id from another SCM"
                    ),
                }
            }
            tokio::time::sleep(RETRY_DELAY).await;
        }
    }

    /// Reports this cluster to the others from now on. An SCM that creates a cluster calls this
    /// after its own directory is on disk.
    pub fn has_cluster(&self, cluster_id: &str) {
        self.endpoint.has_cluster(cluster_id);
    }

    /// The members of the Raft group, when the log of this SCM does not have them: it joins, or
    /// ended before they were on disk. Nothing when this SCM begins the group.
    ///
    /// # Errors
    /// When the service runs without this SCM and `--bootstrap` is not set, refuses to add it, or
    /// is not of one cluster.
    pub async fn membership(
        &self,
        cluster_id: &str,
        note: &JoinNote,
    ) -> Result<Option<Membership>, ScmError> {
        let members = self.members;
        let noted = note.read()?;
        let joins = self.bootstrap || noted.is_some();
        if noted.is_some() {
            tracing::info!(scm = %members.me.scm_id, "continuing to join the service");
        }
        let mut told = Told::default();
        loop {
            let answers = ask(members).await;
            answers.check_cluster(&members.me.node.node_id, cluster_id)?;
            if let Some(known) = answers.newest_membership() {
                return match known.contains(members.me.scm_id) {
                    true => Ok(Some(known.clone())),
                    false if joins => {
                        // It may become a member without receiving the response: its next start
                        // continues.
                        note.write(false)?;
                        join::join(members, cluster_id).await.map(Some)
                    }
                    false => Err(runs_without(members)),
                };
            }
            // The primordial SCM begins the group; the others wait for it, as long as it takes.
            if members.primordial && !joins && answers.unreached.is_empty() {
                return Ok(None);
            }
            if told.anew(&answers) {
                tracing::info!(
                    unreached = ?answers.unreached,
                    "waiting for an SCM that has the members of the service"
                );
            }
            tokio::time::sleep(RETRY_DELAY).await;
        }
    }

    /// Stops answering the others and releases the port.
    pub async fn close(self) {
        self.endpoint.close().await;
    }
}

/// Unreachable SCMs as of the last log line.
#[derive(Default)]
struct Told(Option<Vec<String>>);

impl Told {
    /// Returns `true` if the unreachable SCMs differ from those of the last log line.
    fn anew(&mut self, answers: &Answers) -> bool {
        let anew = self.0.as_ref() != Some(&answers.unreached);
        if anew {
            self.0 = Some(answers.unreached.clone());
        }
        anew
    }
}

fn runs_without(members: &Members) -> ScmError {
    let reason = String::from("it runs without this SCM; start it with --bootstrap");
    replicated::Error::NotJoined { node: name(members), reason }.into()
}

fn name(members: &Members) -> String {
    format!("SCM {}", members.me.node.node_id)
}

#[cfg(test)]
mod tests {
    use config::Configuration;

    use super::*;

    #[tokio::test]
    async fn an_scm_that_was_told_its_cluster_tells_it_before_it_is_on_disk() {
        let dir = tempfile::tempdir().unwrap();
        let ports = testkit::free_ports(2);
        let mut conf = Configuration::default()
            .with("ozone.scm.service.ids", "s")
            .with("ozone.scm.nodes.s", "scm1,scm2")
            .with("ozone.scm.db.dirs", dir.path().display());
        for (node, port) in ["scm1", "scm2"].iter().zip(&ports) {
            conf = conf
                .with(&format!("ozone.scm.address.s.{node}"), "127.0.0.1")
                .with(&format!("ozone.scm.block.client.port.s.{node}"), port);
        }
        let options = |node| {
            let conf = conf.clone().with("ozone.scm.node.id", node);
            ScmOptions::from_configuration(&conf).unwrap()
        };
        let (of_first, of_second) = (options("scm1"), options("scm2"));
        let first = Endpoint::open("scm1", &of_first).await.unwrap();
        first.has_cluster("CID-1");
        let members = of_second.members.as_ref().unwrap();
        let second = FirstStart::begin(members, &of_second).await.unwrap();
        assert_eq!(second.cluster().await.unwrap(), ("CID-1".to_owned(), None));
        let answers = ask(of_first.members.as_ref().unwrap()).await;
        assert_eq!(answers.cluster().unwrap(), Some("CID-1"));
        second.close().await;
        first.close().await;
    }
}
