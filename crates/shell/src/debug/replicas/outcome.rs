//! Checks of a replica, and their results.

use client::{Error, ErrorKind};

/// A check of a replica.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Check {
    /// All its bytes match their checksums.
    Checksum,
    /// Its DataNode has a record of the block.
    BlockExistence,
    /// The replica and its container are in states in which they can be read.
    ContainerState,
}

impl Check {
    /// Ozone's name of it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Checksum => "checksum",
            Self::BlockExistence => "blockExistence",
            Self::ContainerState => "containerState",
        }
    }
}

/// Result of a check of one replica.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Outcome {
    /// The replica answered, so that the result is about its data.
    pub(super) completed: bool,
    /// The defects; none if it passed.
    pub(super) failures: Vec<String>,
}

impl Outcome {
    pub(super) fn passed() -> Self {
        Self { completed: true, failures: Vec::new() }
    }

    /// The replica has a defect.
    pub(super) fn failed(message: impl Into<String>) -> Self {
        Self { completed: true, failures: vec![message.into()] }
    }

    /// The check could not be completed.
    pub(super) fn incomplete(message: impl Into<String>) -> Self {
        Self { completed: false, failures: vec![message.into()] }
    }

    pub(super) fn is_pass(&self) -> bool {
        self.completed && self.failures.is_empty()
    }

    /// Result of failed reads.
    pub(super) fn of_failures(failures: &[Error]) -> Self {
        let is_seen = |e: &Error| matches!(e.kind(), ErrorKind::Corrupt | ErrorKind::NotFound);
        Self {
            completed: failures.iter().all(is_seen),
            failures: failures.iter().map(Error::to_string).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proto::datanode::Result as ResultCode;
    use types::{BlockId, ContainerId, DatanodeId, LocalId};

    use super::*;

    #[test]
    fn what_a_replica_has_is_told_from_what_could_not_be_seen() {
        let block = BlockId { container: ContainerId(1), local: LocalId(2), bcsid: 0 };
        let datanode = DatanodeId::random();
        let corrupt = Error::Corrupt { block, datanode, message: "wrong".to_owned() };
        let away = Error::Unavailable { service: "dn".to_owned(), message: "away".to_owned() };
        let result = ResultCode::ContainerNotFound;
        let missing = Error::Container { datanode, result, message: "none".to_owned() };
        for (failures, completed, passes) in [
            (vec![], true, true),
            (vec![corrupt.clone()], true, false),
            (vec![missing], true, false),
            (vec![away.clone()], false, false),
            (vec![corrupt, away], false, false),
        ] {
            let outcome = Outcome::of_failures(&failures);
            let told = (outcome.completed, outcome.is_pass(), outcome.failures.len());
            assert_eq!(told, (completed, passes, failures.len()), "{failures:?}");
        }
    }
}
