//! Replicas that a command creates: a node that fails to create them reports only the command.

use std::collections::VecDeque;

use parking_lot::Mutex;
use placement::OrderKind;
use proto::scm_datanode::ScmCommandProto;
use types::{ContainerId, DatanodeId};

/// Maximum of remembered commands. Outcomes of older ones are ignored; their copies count as
/// pending until they time out.
const REMEMBERED: usize = 20_000;

/// A command that creates replicas.
#[derive(Debug)]
struct Sent {
    command: i64,
    container: ContainerId,
    targets: Vec<DatanodeId>,
}

/// Commands to copy containers, or to reconstruct replicas of them, by their ids.
#[derive(Debug, Default)]
pub struct Copies {
    sent: Mutex<VecDeque<Sent>>,
}

impl Copies {
    /// An order is sent as this command.
    pub fn note(&self, order: &OrderKind, command: &ScmCommandProto) {
        let copy = command.replicate_container_command_proto.as_ref().map(|copy| copy.cmd_id);
        let reconstruction = command.reconstruct_ec_containers_command_proto.as_ref();
        let Some(id) = copy.or_else(|| reconstruction.map(|r| r.cmd_id)) else { return };
        let (container, targets) = match order {
            OrderKind::ReplicateContainer { id, target } => (*id, vec![*target]),
            OrderKind::ReconstructEcContainer { id, targets, .. } => {
                (*id, targets.iter().map(|(node, _)| *node).collect())
            }
            _ => return,
        };
        let mut sent = self.sent.lock();
        if sent.len() >= REMEMBERED {
            sent.pop_front();
        }
        sent.push_back(Sent { command: id, container, targets });
    }

    /// Container and targets of the command with that id.
    pub fn remove(&self, command: i64) -> Option<(ContainerId, Vec<DatanodeId>)> {
        let mut sent = self.sent.lock();
        let at = sent.iter().position(|sent| sent.command == command)?;
        sent.remove(at).map(|sent| (sent.container, sent.targets))
    }
}
