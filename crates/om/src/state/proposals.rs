//! Proposals of this leader on their way through the log.
//!
//! The leader has a request decoded before it proposes it, and knows the pipelines of the blocks
//! it gave; neither should be decoded from the log again, nor written there. So each entry ends
//! with a tag that no other process ever used, as a field that readers of `OMRequest` skip, and
//! the apply thread finds under that tag the decoded request. On other replicas, and
//! after a restart, it finds nothing and decodes the entry: the effects are the same.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::{BufMut, Bytes};
use parking_lot::Mutex;
use prost::Message;
use proto::ozone::OmRequest;
use rustc_hash::FxHashMap;

use crate::scm::FreshBlock;

/// Fields 20000 (the process) and 20001 (the number), both fixed64, as protobuf writes them.
const PROCESS_FIELD: [u8; 3] = [0x81, 0xe2, 0x9];
const NUMBER_FIELD: [u8; 3] = [0x89, 0xe2, 0x9];
/// Bytes of both with their values.
const TAIL: usize = 22;

/// What a proposal is known by: the process (64 random bits), and a number within it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Tag(u64);

/// What the leader holds of a proposal.
#[derive(Debug)]
pub(crate) struct WriteProposal {
    /// The request as logged.
    pub(crate) request: OmRequest,
    /// The blocks it was given: their pipelines go into the response, not into the log.
    pub(crate) blocks: Vec<FreshBlock>,
}

/// The proposals of this leader that are in flight.
pub(crate) struct InFlightProposals {
    process: u64,
    next: AtomicU64,
    waiting: Mutex<FxHashMap<u64, WriteProposal>>,
}

impl InFlightProposals {
    /// `process` must be random.
    pub(crate) fn new(process: u64) -> Arc<Self> {
        Arc::new(Self { process, next: AtomicU64::new(0), waiting: Mutex::default() })
    }

    /// The log entry for `proposal`, which is kept until the entry is applied or
    /// [`InFlightProposals::forget`] is called.
    pub(crate) fn entry(&self, proposal: WriteProposal) -> (Bytes, Tag) {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let mut entry = Vec::with_capacity(proposal.request.encoded_len() + TAIL);
        // Writing into a vector cannot run out of room.
        proposal.request.encode_raw(&mut entry);
        entry.put_slice(&PROCESS_FIELD);
        entry.put_u64_le(self.process);
        entry.put_slice(&NUMBER_FIELD);
        entry.put_u64_le(number);
        self.waiting.lock().insert(number, proposal);
        (Bytes::from(entry), Tag(number))
    }

    /// What is held of the proposal that this entry was made from.
    pub(crate) fn take(&self, entry: &[u8]) -> Option<WriteProposal> {
        let tail = entry.last_chunk::<TAIL>()?;
        let (field, rest) = tail.split_first_chunk::<3>()?;
        let (process, rest) = rest.split_first_chunk::<8>()?;
        let (number_field, number) = rest.split_first_chunk::<3>()?;
        let number: [u8; 8] = number.try_into().ok()?;
        if *field != PROCESS_FIELD
            || *number_field != NUMBER_FIELD
            || u64::from_le_bytes(*process) != self.process
        {
            return None;
        }
        self.waiting.lock().remove(&u64::from_le_bytes(number))
    }

    /// Gives up a proposal that is not waited for any more.
    pub(crate) fn forget(&self, tag: Tag) {
        self.waiting.lock().remove(&tag.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proposal(client: &str) -> WriteProposal {
        let request = OmRequest { client_id: client.to_owned(), ..OmRequest::default() };
        WriteProposal { request, blocks: Vec::new() }
    }

    #[test]
    fn an_entry_is_the_request_and_leads_back_to_the_decision_once() {
        let proposals = InFlightProposals::new(7);
        let (entry, _) = proposals.entry(proposal("a"));
        let (other, tag) = proposals.entry(proposal("b"));
        assert_eq!(OmRequest::decode(entry.clone()).unwrap().client_id, "a");
        assert_eq!(proposals.take(&entry).unwrap().request.client_id, "a");
        assert!(proposals.take(&entry).is_none(), "it is handed out once");
        proposals.forget(tag);
        assert!(proposals.take(&other).is_none(), "a forgotten proposal is decoded from the log");
    }

    #[test]
    fn entries_of_another_process_lead_nowhere() {
        let (entry, _) = InFlightProposals::new(7).entry(proposal("a"));
        let here = InFlightProposals::new(8);
        here.entry(proposal("b"));
        assert!(here.take(&entry).is_none());
        assert!(here.take(b"short").is_none());
    }
}
