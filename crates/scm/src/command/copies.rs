//! Which copy a command was about: a node that could not make it names the command only.

use std::collections::VecDeque;

use parking_lot::Mutex;
use placement::OrderKind;
use proto::scm_datanode::ScmCommandProto;
use types::{ContainerId, DatanodeId};

/// Commands remembered. Of older ones the outcome is not heard; their copies count as under way
/// until their time is over.
const REMEMBERED: usize = 20_000;

/// Commands to copy containers, by their ids.
#[derive(Debug, Default)]
pub struct Copies {
    sent: Mutex<VecDeque<(i64, ContainerId, DatanodeId)>>,
}

impl Copies {
    /// An order is sent as this command.
    pub fn note(&self, order: &OrderKind, command: &ScmCommandProto) {
        let OrderKind::ReplicateContainer { id, target } = order else { return };
        let Some(copy) = &command.replicate_container_command_proto else { return };
        let mut sent = self.sent.lock();
        if sent.len() >= REMEMBERED {
            sent.pop_front();
        }
        sent.push_back((copy.cmd_id, *id, *target));
    }

    /// What the command of that id was to copy, and where to.
    pub fn take(&self, command: i64) -> Option<(ContainerId, DatanodeId)> {
        let mut sent = self.sent.lock();
        let at = sent.iter().position(|(id, ..)| *id == command)?;
        sent.remove(at).map(|(_, container, target)| (container, target))
    }
}
