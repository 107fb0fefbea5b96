//! Taking a container from another node.

use std::sync::Arc;
use std::time::{Duration, Instant};

use container::ContainerState;
use framed::{Call, Code, Reply, Status};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use tokio::task::JoinHandle;
use types::{ContainerId, LocalId};

use super::admit;
use super::counts::Counts;
use super::wire::{self, PushRequest, PushResponse};
use crate::pending_reports::PendingReports;
use crate::repair::pace::RepairPace;
use containerstore::transfer::{Arrival, Manifest};
use containerstore::{ContainerStore, StorageError};

/// Retention of an interrupted copy, for its sender to resume.
const PARTIAL_COPY_RETENTION: Duration = Duration::from_secs(600);

/// Containers arriving at once, at most.
const MOST: usize = 64;

/// The containers that are arriving.
#[derive(Default)]
pub(crate) struct Arrivals {
    slots: Mutex<FxHashMap<ContainerId, Arc<tokio::sync::Mutex<Slot>>>>,
    counts: Counts,
}

struct Slot {
    arrival: Option<Arrival>,
    attempt: u64,
    touched: Instant,
}

/// Receiver of copies.
#[derive(Clone, Copy)]
pub(crate) struct Receiver<'a> {
    /// The disks.
    pub store: &'a ContainerStore,
    /// Copies in progress.
    pub arrivals: &'a Arrivals,
    /// Receives the whole ones for SCM.
    pub pending_reports: &'a PendingReports,
    /// Throttles arriving bytes.
    pub pace: &'a RepairPace,
}

/// Receives a step of a copy.
pub(crate) async fn receive(receiver: Receiver<'_>, call: Call) -> Result<Reply, Status> {
    let request: PushRequest = framed::message::decode(call.header)?;
    let id = admit::container(request.container)?;
    let response = if let Some(begin) = &request.begin {
        let manifest =
            begin.manifest().ok_or_else(|| Status::invalid("message does not begin a copy"))?;
        admit::manifest(receiver.store, &manifest)?;
        begin_arrival(receiver, id, request.attempt, manifest).await?
    } else {
        let step = if let Some(finish) = &request.finish {
            Step::Finish { blocks: finish.blocks, bytes: finish.bytes }
        } else if !request.dropped.is_empty() {
            Step::LeaveOut(request.dropped.into_iter().map(LocalId).collect())
        } else {
            let bytes = call.payload.len();
            let parts = wire::parts(request.parts, call.payload);
            receiver.pace.receive(bytes as u64, request.patience_ms).await;
            receiver.arrivals.counts.note_bytes(bytes);
            Step::Parts(parts.ok_or_else(|| Status::invalid("bytes of some parts are missing"))?)
        };
        go_on(receiver, id, request.attempt, step).await?
    };
    Ok(framed::message::reply(&response))
}

enum Step {
    Parts(Vec<containerstore::transfer::Part>),
    LeaveOut(Vec<LocalId>),
    Finish { blocks: u64, bytes: u64 },
}

async fn begin_arrival(
    receiver: Receiver<'_>,
    id: ContainerId,
    attempt: u64,
    manifest: Manifest,
) -> Result<PushResponse, Status> {
    drop(receiver.arrivals.forget_old());
    if let Ok(container) = receiver.store.container(id) {
        let info = container.info();
        let is_same = info.replica_index == manifest.replica_index;
        // A damaged container, or one written or filled by another sender, is not the expected
        // copy.
        let is_whole = info.state == ContainerState::Closed || info.state == manifest.state;
        if is_same && is_whole && info.bcsid >= manifest.bcsid {
            return Ok(PushResponse { here: true, ..PushResponse::default() });
        }
        let text = format!(
            "container {id} exists here, {} at {}, replica index {}",
            info.state, info.bcsid, info.replica_index
        );
        return Err(Status::new(Code::Internal, text));
    }
    let slot = receiver.arrivals.slot(id)?;
    let mut slot = slot.lock_owned().await;
    let store = receiver.store.clone();
    let begun = blocking(move || {
        let kept = slot.arrival.take();
        let arrival = match kept {
            Some(kept) if *kept.manifest() == manifest && !kept.has_ended() => kept,
            other => {
                if let Some(other) = other {
                    other.discard();
                }
                Arrival::begin(&store, id, manifest)?
            }
        };
        let reached = reached(&arrival);
        (slot.attempt, slot.touched) = (attempt, Instant::now());
        slot.arrival = Some(arrival);
        Ok(reached)
    });
    let begun = begun.await;
    if begun.is_err() {
        receiver.arrivals.leave_empty(id);
    }
    begun
}

async fn go_on(
    receiver: Receiver<'_>,
    id: ContainerId,
    attempt: u64,
    step: Step,
) -> Result<PushResponse, Status> {
    let gone =
        || Status::new(Code::Unavailable, format!("no copy of container {id} is in progress"));
    let slot = receiver.arrivals.slots.lock().get(&id).cloned().ok_or_else(gone)?;
    let mut slot = slot.lock_owned().await;
    if slot.attempt != attempt || slot.arrival.is_none() {
        return Err(gone());
    }
    slot.touched = Instant::now();
    let store = receiver.store.clone();
    let finishes = matches!(step, Step::Finish { .. });
    let done = blocking(move || {
        let Some(mut arrival) = slot.arrival.take() else { return Ok(PushResponse::default()) };
        let taken = match step {
            Step::Parts(parts) => parts.iter().try_for_each(|part| arrival.add(part)),
            Step::LeaveOut(blocks) => blocks.iter().try_for_each(|local| arrival.leave_out(*local)),
            Step::Finish { blocks, bytes } => return finish(arrival, &store, blocks, bytes),
        };
        match taken {
            Ok(()) => {
                let reached = reached(&arrival);
                slot.arrival = Some(arrival);
                Ok(reached)
            }
            Err(error) => {
                // Nothing of it can be trusted.
                arrival.discard();
                Err(error)
            }
        }
    });
    let done = done.await;
    if finishes || done.is_err() {
        receiver.arrivals.counts.note_end(done.is_ok());
        receiver.arrivals.leave_empty(id);
    }
    if finishes && done.is_ok() {
        receiver.pending_reports.container_changed(id);
    }
    done
}

/// Returns the progress of a copy.
fn reached(arrival: &Arrival) -> PushResponse {
    let (blocks, bytes) = arrival.totals();
    let partial = arrival.partial();
    PushResponse {
        here: false,
        last: arrival.last().map(|l| l.0),
        blocks,
        bytes,
        partial: partial.map(|(local, _)| local.0),
        partial_chunks: partial.map_or(0, |(_, chunks)| chunks as u64),
    }
}

fn finish(
    arrival: Arrival,
    store: &ContainerStore,
    blocks: u64,
    bytes: u64,
) -> Result<PushResponse, StorageError> {
    arrival.publish(store, blocks, bytes)?;
    Ok(PushResponse { here: true, blocks, bytes, ..PushResponse::default() })
}

/// Runs what blocks on the disk.
async fn blocking<F>(work: F) -> Result<PushResponse, Status>
where
    F: FnOnce() -> Result<PushResponse, StorageError> + Send + 'static,
{
    match tokio::task::spawn_blocking(work).await {
        Ok(Ok(response)) => Ok(response),
        Ok(Err(error)) => {
            tracing::warn!(%error, "receiving a copy failed");
            Err(Status::new(Code::Internal, error.to_string()))
        }
        Err(error) => Err(Status::new(Code::Internal, error.to_string())),
    }
}

impl Arrivals {
    fn slot(&self, id: ContainerId) -> Result<Arc<tokio::sync::Mutex<Slot>>, Status> {
        let mut slots = self.slots.lock();
        if slots.len() >= MOST && !slots.contains_key(&id) {
            return Err(Status::new(Code::Busy, format!("{MOST} containers are arriving")));
        }
        let new = || Slot { arrival: None, attempt: 0, touched: Instant::now() };
        Ok(slots.entry(id).or_insert_with(|| Arc::new(tokio::sync::Mutex::new(new()))).clone())
    }

    /// Removes the slot of a copy that did not begin or has ended, unless another sender has it.
    fn leave_empty(&self, id: ContainerId) {
        let mut slots = self.slots.lock();
        let is_empty = |slot: &Arc<tokio::sync::Mutex<Slot>>| {
            Arc::strong_count(slot) == 1 && slot.try_lock().is_ok_and(|slot| slot.arrival.is_none())
        };
        if slots.get(&id).is_some_and(is_empty) {
            slots.remove(&id);
        }
    }

    /// Removes copies whose senders never returned, and those whose containers their pipelines
    /// created. The task that it starts ends when the removal has ended.
    pub fn forget_old(&self) -> Option<JoinHandle<()>> {
        let mut old = Vec::new();
        self.slots.lock().retain(|_, slot| {
            let Ok(mut inner) = slot.try_lock() else { return true };
            let has_ended = inner.arrival.as_ref().is_some_and(Arrival::has_ended);
            if inner.touched.elapsed() < PARTIAL_COPY_RETENTION && !has_ended {
                return true;
            }
            old.extend(inner.arrival.take());
            false
        });
        let discards = !old.is_empty();
        let discard = move || old.into_iter().for_each(Arrival::discard);
        discards.then(|| tokio::task::spawn_blocking(discard))
    }

    /// Returns the counts of copies to this node.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Number of containers that are arriving.
    pub fn len(&self) -> usize {
        self.slots.lock().len()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use bytes::Bytes;
    use containerstore::NewContainer;
    use containerstore::transfer::Part;
    use types::PipelineId;

    use super::*;
    use crate::store_on_disk::StoreOnDisk;

    /// More than may arrive at once.
    const MORE: u64 = 2 * MOST as u64;

    fn manifest() -> Manifest {
        Manifest {
            state: ContainerState::Closed,
            pipeline: None,
            origin: uuid::Uuid::nil().to_string(),
            replica_index: 0,
            max_size: 5 << 30,
            bcsid: 1,
            delete_tx: 0,
            used: 100,
            storage_type: None,
        }
    }

    /// Receiver of copies, and the node that it belongs to.
    struct Target {
        node: StoreOnDisk,
        arrivals: Arrivals,
        pending_reports: PendingReports,
        pace: RepairPace,
    }

    impl Target {
        async fn new() -> Self {
            let node = tokio::task::spawn_blocking(StoreOnDisk::new).await.unwrap();
            let (arrivals, pending_reports) = (Arrivals::default(), PendingReports::default());
            Self { node, arrivals, pending_reports, pace: RepairPace::default() }
        }

        fn receiver(&self) -> Receiver<'_> {
            let Self { node, arrivals, pending_reports, pace } = self;
            Receiver { store: &node.store, arrivals, pending_reports, pace }
        }

        async fn begin(&self, id: u64) -> Result<PushResponse, Status> {
            begin_arrival(self.receiver(), ContainerId(id), 1, manifest()).await
        }
    }

    #[tokio::test]
    async fn copies_that_cannot_begin_take_no_place_of_others() {
        let target = Target::new().await;
        let store = &target.node.store;
        // Nothing can be made where copies arrive.
        let arrivals = store.disks()[0].arrivals_dir();
        std::fs::remove_dir_all(&arrivals).unwrap();
        std::fs::write(&arrivals, b"no directory").unwrap();
        for id in 2..=MORE {
            let refused = target.begin(id).await.unwrap_err();
            assert_eq!((refused.code, target.arrivals.len()), (Code::Internal, 0), "{refused:?}");
        }
    }

    #[tokio::test]
    async fn copies_that_came_damaged_take_no_place_of_others() {
        let target = Target::new().await;
        for id in 2..=MORE {
            target.begin(id).await.unwrap();
            assert_eq!(target.arrivals.len(), 1);
            let data = Bytes::from_static(b"not what the row says");
            let (local, row) = (LocalId(7), Some(Bytes::from_static(b"no row")));
            let part = Part { local, packed: true, chunk: None, row, data };
            let step = Step::Parts(vec![part]);
            let refused = go_on(target.receiver(), ContainerId(id), 1, step).await.unwrap_err();
            assert_eq!((refused.code, target.arrivals.len()), (Code::Internal, 0), "{refused:?}");
        }
    }

    #[tokio::test]
    async fn a_copy_is_forgotten_at_once_when_its_container_was_made_meanwhile() {
        let (node, id) = (StoreOnDisk::new(), ContainerId(2));
        let arrival = Arrival::begin(&node.store, id, manifest()).unwrap();
        let arrivals = Arrivals::default();
        let slot = Slot { arrival: Some(arrival), attempt: 1, touched: Instant::now() };
        arrivals.slots.lock().insert(id, Arc::new(tokio::sync::Mutex::new(slot)));
        assert!(arrivals.forget_old().is_none(), "its sender may go on");
        assert_eq!(arrivals.len(), 1);
        let pipeline = Some(PipelineId::random());
        node.store.create_container(NewContainer { id, pipeline, ..Default::default() }).unwrap();
        arrivals.forget_old().unwrap().await.unwrap();
        assert_eq!(arrivals.len(), 0);
        assert!(node.store.container(id).is_ok(), "the one that was made stays");
    }
}
