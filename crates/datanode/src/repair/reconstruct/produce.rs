//! All stripes of a container in order, some of them read and decoded at a time.

use std::sync::Arc;

use tokio::sync::mpsc::Sender;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::task::AbortOnDropHandle;
use types::LocalId;

use super::coordinator::Report;
use super::error::ReconstructError;
use super::listing::Listing;
use super::plan::{Plan, Unplanned, plan};
use super::stripe::{Sources, Stripe};

/// Stripes that may be read and decoded ahead of the sent ones.
pub(super) const AHEAD: usize = 16;

/// KiB of cells that may be in memory for one job, unless a single stripe has more.
const MEMORY: u32 = 96 << 10;

/// Items to be sent, in order.
pub(super) enum Item {
    /// A block begins: its stripes follow.
    Block(Arc<Plan>),
    /// Its next stripe.
    Stripe(Rebuilding),
}

/// A stripe that is being rebuilt. Its memory is given back with it.
pub(super) struct Rebuilding {
    task: AbortOnDropHandle<Result<Stripe, ReconstructError>>,
    _memory: Option<OwnedSemaphorePermit>,
}

impl Rebuilding {
    /// Waits for it. The memory is held until the returned guard is dropped.
    pub async fn cells(self) -> Result<(Stripe, Option<OwnedSemaphorePermit>), ReconstructError> {
        let Self { task, _memory } = self;
        Ok((task.await??, _memory))
    }
}

/// Lists the blocks after `after`, plans them, and has their stripes rebuilt.
///
/// # Errors
/// When too few sources remain, or a block that enough of them list cannot be planned. If the
/// receiver has ended, this returns without an error.
pub(super) async fn produce(
    sources: &Arc<Sources>,
    after: Option<LocalId>,
    report: &mut Report,
    items: Sender<Item>,
) -> Result<(), ReconstructError> {
    let memory = Arc::new(Semaphore::new(MEMORY as usize));
    let scheme = sources.codec.scheme();
    let mut listing = Listing::new(sources.left(), after);
    loop {
        let (listed, failed) = listing.next().await;
        for (place, error) in &failed {
            sources.fail(*place, error)?;
        }
        let Some(listed) = listed else { return Ok(()) };
        let places: Vec<usize> = listed.rows.iter().map(|(place, _)| *place).collect();
        let rows = listed
            .rows
            .into_iter()
            .filter_map(|(place, row)| Some((place, sources.all.get(place)?.index, row)));
        let planned = plan(scheme, listed.local, rows.collect());
        for (index, why) in &planned.odd {
            tracing::warn!(
                container = %sources.container, block = %listed.local, %index, %why,
                "source skipped for a block"
            );
        }
        report.odd = report.odd.saturating_add(planned.odd.len() as u64);
        let plan = match planned.plan {
            Ok(plan) => Arc::new(plan),
            Err(Unplanned::TooFew(count)) => {
                // Missing data may be on a source that did not respond, or was lost by a damaged
                // one.
                if count + sources.doubtful(&places) >= scheme.data() {
                    let reason =
                        format!("{count} sources list it, others do not respond or are damaged");
                    return Err(ReconstructError::Block { local: listed.local, reason });
                }
                report.skip(listed.local, count);
                continue;
            }
            Err(Unplanned::Disagree(reason)) => {
                return Err(ReconstructError::Block { local: listed.local, reason });
            }
        };
        if items.send(Item::Block(Arc::clone(&plan))).await.is_err() {
            return Ok(());
        }
        for stripe in 0..plan.group.stripes() {
            let memory = reserve(&memory, sources, &plan, stripe).await;
            let (sources, plan) = (Arc::clone(sources), Arc::clone(&plan));
            let task = tokio::spawn(async move { sources.rebuild(&plan, stripe).await });
            let task = AbortOnDropHandle::new(task);
            if items.send(Item::Stripe(Rebuilding { task, _memory: memory })).await.is_err() {
                return Ok(());
            }
        }
    }
}

/// Waits until there is memory for the cells of a stripe that are read and rebuilt.
async fn reserve(
    memory: &Arc<Semaphore>,
    sources: &Sources,
    plan: &Plan,
    stripe: u64,
) -> Option<OwnedSemaphorePermit> {
    let lengths = plan.group.stripe(stripe).ok()?;
    let cell = plan.group.scheme().replicas().map(|index| lengths.of(index)).max().unwrap_or(0);
    let cells = plan.group.scheme().data() + 1 + sources.wanted.len();
    let needed = cell.saturating_mul(cells as u64).div_ceil(1 << 10);
    let needed = u32::try_from(needed).unwrap_or(MEMORY).clamp(1, MEMORY);
    // Never closed.
    Arc::clone(memory).acquire_many_owned(needed).await.ok()
}
