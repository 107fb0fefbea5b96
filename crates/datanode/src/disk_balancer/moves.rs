//! Planning moves and carrying them out.

use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use proto::disk_balancer::DiskBalancerRunningStatus as Status;
use types::ContainerId;

use super::balancer::{DiskBalancer, Ending};
use super::rule::{Candidate, Volume, is_even, next_move};
use super::volumes::{DiskUsage, by_type, measure};
use containerstore::{ContainerStore, Disk, Passage};

/// A move that is to be carried out.
pub(crate) struct Planned {
    id: ContainerId,
    from: Arc<Disk>,
    to: Arc<Disk>,
    bytes: u64,
}

/// Returns the next moves, and `true` if the disks are even without them. Disks of different
/// storage types are independent. Calls the file systems.
pub(crate) fn plan(balancer: &DiskBalancer, store: &ContainerStore) -> (Vec<Planned>, bool) {
    let usage = measure(store, |disk| balancer.moves_of(disk));
    let (mut moves, mut all_even) = (Vec::new(), true);
    for of_type in by_type(usage) {
        let (planned, even) = plan_among(balancer, store, &of_type, moves.len());
        moves.extend(planned);
        all_even &= even;
    }
    (moves, all_even)
}

/// The same among disks of one type, when `planned` moves are planned already.
fn plan_among(
    balancer: &DiskBalancer,
    store: &ContainerStore,
    usage: &[DiskUsage],
    planned: usize,
) -> (Vec<Planned>, bool) {
    let parameters = balancer.parameters();
    let most = (parameters.threads as usize).saturating_sub(planned);
    let mut volumes: Vec<Volume> = usage.iter().map(|usage| usage.volume).collect();
    let even = is_even(&volumes, parameters.threshold);
    let mut candidates = if even { Vec::new() } else { candidates(balancer, store, usage) };
    let mut moves = Vec::new();
    while moves.len() < most {
        let Some(next) = next_move(&volumes, parameters.threshold, &candidates) else { break };
        let (Some(from), Some(to)) = (usage.get(next.from), usage.get(next.to)) else { break };
        candidates.retain(|one| one.id != next.id);
        if let Some(volume) = volumes.get_mut(next.from) {
            volume.leaving = volume.leaving.saturating_add(next.bytes);
        }
        if let Some(volume) = volumes.get_mut(next.to) {
            volume.coming = volume.coming.saturating_add(next.bytes);
        }
        moves.push(Planned {
            id: next.id,
            from: Arc::clone(&from.disk),
            to: Arc::clone(&to.disk),
            bytes: next.bytes,
        });
    }
    (moves, even)
}

/// Replicas that may be moved now.
fn candidates(
    balancer: &DiskBalancer,
    store: &ContainerStore,
    usage: &[DiskUsage],
) -> Vec<Candidate<ContainerId>> {
    let states = balancer.parameters().states;
    let mut found = Vec::new();
    for container in store.all() {
        let info = container.info();
        let here = |usage: &DiskUsage| usage.disk.id() == container.disk().id();
        let Some(volume) = usage.iter().position(here) else { continue };
        if states.include(info.state)
            && store.is_relocatable(info.id)
            && !balancer.failed_lately(info.id)
        {
            found.push(Candidate { id: info.id, volume, bytes: info.used });
        }
    }
    found
}

/// Moves a replica; returns `true` if it was moved.
pub(crate) async fn carry_out(
    balancer: &DiskBalancer,
    store: &ContainerStore,
    planned: Planned,
) -> bool {
    let began = Instant::now();
    let Planned { id, from, to, bytes } = planned;
    balancer.begun(id, &from, &to, bytes);
    let passage = Paced { balancer, id };
    let outcome = store.relocate(id, &to, &passage).await;
    let took = began.elapsed();
    if took > balancer.settings.timeout {
        tracing::warn!(container = %id, ?took, bytes, "slow move of a container to another disk");
    }
    match outcome {
        Ok(moved) => {
            balancer.ended(id, Ending::Moved(moved.bytes));
            true
        }
        Err(error) => {
            let stopped = balancer.status() != Status::Running;
            tracing::warn!(
                container = %id, from = from.id(), to = to.id(), %error, stopped,
                "cannot move a container to another disk"
            );
            balancer.ended(id, if stopped { Ending::Stopped } else { Ending::Failed });
            false
        }
    }
}

/// Throttles the bytes of a move to the balancer's rate, while it runs.
struct Paced<'a> {
    balancer: &'a DiskBalancer,
    id: ContainerId,
}

#[async_trait]
impl Passage for Paced<'_> {
    async fn pass(&self, bytes: u64) -> bool {
        let rate = self.balancer.parameters().bytes_per_second();
        let at = self.balancer.throttle.next(bytes, rate, tokio::time::Instant::now());
        tokio::select! {
            () = self.balancer.stopped() => return false,
            () = tokio::time::sleep_until(at) => {}
        }
        self.balancer.copied(self.id, bytes);
        self.balancer.status() == Status::Running
    }
}
