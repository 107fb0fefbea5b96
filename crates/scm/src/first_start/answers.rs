//! Responses of the other SCMs about their cluster, requested at the same time.

use std::time::Duration;

use framed::{Client, ClientOptions};
use multiraft::Membership;
use proto::hdds::{ScmMembershipRequestProto, ScmMembershipResponseProto};
use proto::method;

use crate::ScmError;
use crate::members::{Member, Members};

/// Time limit for one SCM's response.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(2);

/// The answers of one round.
#[derive(Debug, Default)]
pub struct Answers {
    /// Those that are of a cluster.
    known: Vec<Known>,
    /// Node ids of those that have no cluster.
    pub without_cluster: Vec<String>,
    /// Node ids of those that gave no answer: they may have a cluster.
    pub unreached: Vec<String>,
}

/// An SCM that is of a cluster.
#[derive(Debug)]
struct Known {
    node: String,
    cluster_id: String,
    membership: Option<Membership>,
}

/// Asks all others at once.
pub async fn ask(members: &Members) -> Answers {
    let others = members.others();
    let said = futures::future::join_all(others.iter().map(ask_one)).await;
    let mut answers = Answers::default();
    for (other, said) in others.into_iter().zip(said) {
        answers.add(other.node.node_id, said);
    }
    answers
}

async fn ask_one(other: &Member) -> Option<ScmMembershipResponseProto> {
    let address = other.node.block.connect().to_string();
    let client = Client::new(address, ClientOptions { connections: 1, ..ClientOptions::default() });
    let request = ScmMembershipRequestProto::default();
    framed::message::call(&client, method::SCM_MEMBERSHIP, &request, REQUEST_TIMEOUT).await.ok()
}

impl Answers {
    fn add(&mut self, node: String, said: Option<ScmMembershipResponseProto>) {
        let Some(said) = said else { return self.unreached.push(node) };
        match (said.cluster_id, said.membership.map(Membership::decode).transpose()) {
            (Some(cluster_id), Ok(membership)) => {
                self.known.push(Known { node, cluster_id, membership });
            }
            (None, Ok(None)) => self.without_cluster.push(node),
            // Its response is invalid.
            _ => self.unreached.push(node),
        }
    }

    /// The cluster, if one of them has it.
    ///
    /// # Errors
    /// When they are of two clusters.
    pub fn cluster(&self) -> Result<Option<&str>, ScmError> {
        let Some(first) = self.known.first() else { return Ok(None) };
        self.check_cluster(&first.node, &first.cluster_id)?;
        Ok(Some(&first.cluster_id))
    }

    /// Checks that those that are of a cluster are of this one, as `node` is.
    ///
    /// # Errors
    /// When one is not.
    pub fn check_cluster(&self, node: &str, cluster_id: &str) -> Result<(), ScmError> {
        match self.known.iter().find(|known| known.cluster_id != cluster_id) {
            None => Ok(()),
            Some(other) => {
                let one = (node.to_owned(), cluster_id.to_owned());
                let another = (other.node.clone(), other.cluster_id.clone());
                Err(ScmError::TwoClusters { nodes: Box::new([one, another]) })
            }
        }
    }

    /// The members as of the latest change that one of them has.
    pub fn newest_membership(&self) -> Option<&Membership> {
        let told = self.known.iter().filter_map(|known| known.membership.as_ref());
        told.max_by_key(|membership| membership.index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(said: &[(&str, Option<(Option<&str>, Option<u64>)>)]) -> Answers {
        let mut answers = Answers::default();
        for (node, said) in said {
            let said = said.map(|(cluster_id, index)| ScmMembershipResponseProto {
                cluster_id: cluster_id.map(str::to_owned),
                membership: index.map(|index| Membership { index, members: Vec::new() }.encode()),
            });
            answers.add((*node).to_owned(), said);
        }
        answers
    }

    #[test]
    fn those_that_do_not_answer_are_not_those_without_a_cluster() {
        let answers = answers(&[("a", None), ("b", Some((None, None)))]);
        assert_eq!(
            (&*answers.unreached, &*answers.without_cluster),
            (&["a".into()][..], &["b".into()][..])
        );
        assert_eq!(answers.cluster().unwrap(), None);
    }

    #[test]
    fn one_that_knows_the_cluster_is_enough_and_the_newest_members_count() {
        let answers = answers(&[
            ("a", None),
            ("b", Some((Some("CID-1"), None))),
            ("c", Some((Some("CID-1"), Some(7)))),
            ("d", Some((Some("CID-1"), Some(3)))),
        ]);
        assert_eq!(answers.cluster().unwrap(), Some("CID-1"));
        assert_eq!(answers.newest_membership().unwrap().index, 7);
    }

    #[test]
    fn scms_of_two_clusters_are_named() {
        let answers =
            answers(&[("a", Some((Some("CID-1"), None))), ("b", Some((Some("CID-2"), None)))]);
        let error = answers.cluster().unwrap_err().to_string();
        assert!(error.contains("SCM a is of cluster CID-1, SCM b of CID-2"), "{error}");
        let error = answers.check_cluster("c", "CID-2").unwrap_err().to_string();
        assert!(error.contains("SCM c is of cluster CID-2, SCM a of CID-1"), "{error}");
    }

    #[test]
    fn an_answer_without_sense_is_none() {
        let mut answers = Answers::default();
        let membership = Some(bytes::Bytes::from_static(b"\xff"));
        answers.add("a".into(), Some(ScmMembershipResponseProto { cluster_id: None, membership }));
        assert_eq!(answers.unreached, ["a"]);
    }
}
