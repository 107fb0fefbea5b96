//! A job from the beginning to the end.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use container::ContainerState;
use erasure::{Codec, ReplicaIndex};
use framed::CallError;
use futures::future::join_all;
use tokio::sync::mpsc::{Receiver, channel};
use tokio::time::Instant;
use types::LocalId;

use super::error::{NotOrdered, ReconstructError};
use super::job::{Job, Member};
use super::listing::{Listing, by_key};
use super::plan::Plan;
use super::produce::{AHEAD, Item, produce};
use super::source::Source;
use super::stripe::{Sources, Stripe};
use super::target::Target;
use crate::repair::pace::{Schedule, to_tell};
use crate::repair::push::{ATTEMPTS, PushStream, Pusher, RETRY_DELAY, Reached};
use crate::repair::replica_source::Size;
use containerstore::transfer::Manifest;

/// Skipped blocks that are named one by one.
const NAMED: usize = 20;

/// Counts of rebuilt data.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Report {
    /// Blocks that were sent, those of attempts that were cut off included.
    pub blocks: u64,
    /// Bytes that were sent to all targets.
    pub bytes: u64,
    /// Blocks without anything to compare with: neither checksums of their stripes nor a source
    /// that was not needed.
    pub unverified: u64,
    /// Times that a source was not used for a block.
    pub odd: u64,
    /// Blocks that too few sources have, the first of them by name.
    pub skipped: u64,
    /// The first of them, and how many sources list each.
    pub named: Vec<(LocalId, usize)>,
    /// Indexes that were published.
    pub published: Vec<ReplicaIndex>,
}

impl Report {
    /// A block is not rebuilt: too few sources list it.
    pub fn skip(&mut self, local: LocalId, sources: usize) {
        self.skipped = self.skipped.saturating_add(1);
        if self.named.len() < NAMED {
            self.named.push((local, sources));
        }
    }
}

/// Counts of coordinators since the start.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// Jobs in progress.
    pub running: AtomicU64,
    /// Jobs of which all indexes were published.
    pub done: AtomicU64,
    /// Jobs of which at least one was not.
    pub failed: AtomicU64,
    /// Blocks that were sent.
    pub blocks: AtomicU64,
    /// Bytes that were sent to all targets.
    pub bytes: AtomicU64,
    /// Blocks that too few sources have.
    pub skipped: AtomicU64,
}

/// Returns an error with the reason if the order no longer counts.
pub(crate) type StillOrdered<'a> = &'a (dyn Fn() -> Result<(), NotOrdered> + Send + Sync);

/// Carries jobs out.
pub(crate) struct Coordinator<'a> {
    /// Connections to other nodes, and the limits on copies.
    pub pusher: &'a Pusher,
    /// Blocks up to this size are packed with others.
    pub small: u64,
    /// Counts of results.
    pub counts: &'a Counts,
    /// Time of the order's arrival.
    pub begun: Instant,
    /// Time until the order expired then; `None` is without an end.
    pub left: Option<Duration>,
}

impl Coordinator<'_> {
    /// Rebuilds the indexes of a job. Each is published, and durable, when this returns, but for
    /// those that the error is about.
    pub async fn run(
        &self,
        job: &Job,
        still_ordered: StillOrdered<'_>,
    ) -> (Report, Result<(), ReconstructError>) {
        let mut report = Report::default();
        self.counts.running.fetch_add(1, Ordering::Relaxed);
        let running = Running(self.counts);
        let outcome = self.attempts(job, still_ordered, &mut report).await;
        drop(running);
        let ended = if outcome.is_ok() { &self.counts.done } else { &self.counts.failed };
        ended.fetch_add(1, Ordering::Relaxed);
        self.counts.blocks.fetch_add(report.blocks, Ordering::Relaxed);
        self.counts.bytes.fetch_add(report.bytes, Ordering::Relaxed);
        self.counts.skipped.fetch_add(report.skipped, Ordering::Relaxed);
        (report, outcome)
    }

    async fn attempts(
        &self,
        job: &Job,
        still_ordered: StillOrdered<'_>,
        report: &mut Report,
    ) -> Result<(), ReconstructError> {
        let _slot = self.pusher.slot().await?;
        let mut left: Vec<&Member> = job.targets.iter().collect();
        let mut pause = RETRY_DELAY;
        for attempt in 1.. {
            still_ordered()?;
            let outcome = self.attempt(job, &left, still_ordered, report).await;
            left.retain(|member| !report.published.contains(&member.index));
            let error = match outcome {
                Ok(()) => return Ok(()),
                Err(error) => error,
            };
            if attempt >= ATTEMPTS || !error.may_pass() {
                return Err(error);
            }
            tracing::info!(
                container = %job.container, indexes = job.indexes(), %error, attempt,
                "reconstruction interrupted, resuming"
            );
            tokio::time::sleep(pause).await;
            pause *= 2;
        }
        Ok(())
    }

    /// Passes through all blocks once, for the remaining targets.
    async fn attempt(
        &self,
        job: &Job,
        left: &[&Member],
        still_ordered: StillOrdered<'_>,
        report: &mut Report,
    ) -> Result<(), ReconstructError> {
        let all = job.sources.iter();
        let all = all.map(|of| Ok(Arc::new(Source::new(job.container, of, self.pusher)?)));
        let all = all.collect::<Result<Vec<_>, ReconstructError>>()?;
        let mut sources = Sources::new(job.container, Codec::new(job.scheme), all);
        let sizes = sizes(&sources).await?;
        sources.admit(&sizes)?;
        let (mut targets, mut failures) = (Vec::new(), Vec::new());
        let begun = left.iter().map(|member| self.begin(job, member, &sizes));
        for (member, begun) in left.iter().zip(join_all(begun).await) {
            match begun? {
                Ok((_, reached)) if reached.here => report.published.push(member.index),
                Ok(begun) => {
                    targets.push(Target::new(job.container, member.index, begun, self.small));
                }
                Err(error) => failures.push((member.index, error)),
            }
        }
        if !targets.is_empty() {
            sources.wanted = targets.iter().map(|target| target.index).collect();
            let sources = Arc::new(sources);
            let used = sizes.iter().map(|(_, size)| u64::try_from(size.used).unwrap_or(0)).max();
            let schedule = Schedule::new(self.begun, self.left, used.unwrap_or(0));
            let sent = Sent { targets, blocks: Vec::new(), schedule };
            let sent = self.rebuild(&sources, sent, report).await?;
            let targets = self.leave_out_deleted(&sources, &sizes, sent).await?;
            still_ordered()?;
            for mut target in targets {
                target.finish().await;
                match target.is_well() {
                    true => report.published.push(target.index),
                    false => failures.extend(target.into_failure()),
                }
            }
        }
        match failures.into_iter().next() {
            None => Ok(()),
            Some((index, error)) => Err(ReconstructError::Target { index, error }),
        }
    }

    /// Begins a copy at a target.
    async fn begin(
        &self,
        job: &Job,
        member: &Member,
        sizes: &[(usize, Size)],
    ) -> Result<Result<(PushStream, Reached), CallError>, ReconstructError> {
        let largest = |of: fn(&Size) -> i64| {
            let all = sizes.iter().map(|(_, size)| u64::try_from(of(size)).unwrap_or(0));
            all.max().unwrap_or(0)
        };
        let manifest = Manifest {
            state: ContainerState::Closed,
            pipeline: None,
            // It is created here, and is no copy of another one.
            origin: member.node.id.to_string(),
            replica_index: member.index.get().cast_signed(),
            max_size: largest(|size| size.max_size),
            bcsid: 0,
            // Blocks that no source lists any more are not rebuilt.
            delete_tx: sizes.iter().map(|(_, size)| size.delete_tx).min().unwrap_or(0),
            // The longest replica; and the copy is another one when blocks were deleted.
            used: largest(|size| size.used),
            storage_type: job.storage_type,
        };
        let client = self.pusher.client(&member.node)?;
        Ok(PushStream::begin(client, job.container, &manifest).await)
    }

    /// Rebuilds and sends all blocks.
    async fn rebuild(
        &self,
        sources: &Arc<Sources>,
        sent: Sent,
        report: &mut Report,
    ) -> Result<Sent, ReconstructError> {
        // After the common position of all targets.
        let behind = sent.targets.iter().map(Target::behind);
        let after = behind.reduce(|a, b| Some(a?).zip(b).map(|(a, b)| earlier(a, b))).flatten();
        let (items, received) = channel(AHEAD);
        let mut listed = Report::default();
        let (produced, sent) = tokio::join!(
            produce(sources, after, &mut listed, items),
            self.consume(sources, received, sent, report)
        );
        report.odd = report.odd.saturating_add(listed.odd);
        (report.skipped, report.named) = (listed.skipped, listed.named);
        // The sender's error is the reason why the producer ended early.
        let sent = sent?;
        produced?;
        Ok(sent)
    }

    async fn consume(
        &self,
        sources: &Sources,
        mut items: Receiver<Item>,
        mut sent: Sent,
        report: &mut Report,
    ) -> Result<Sent, ReconstructError> {
        let mut block: Option<Block> = None;
        while let Some(item) = items.recv().await {
            match item {
                Item::Block(plan) => {
                    if let Some(block) = block.take() {
                        sent.end(block, report);
                    }
                    let is_checked =
                        plan.has_stripe_sums() || plan.rows.len() > plan.group.scheme().data();
                    report.unverified = report.unverified.saturating_add(u64::from(!is_checked));
                    block = Some(Block { plan, stripes: 0, is_gone: false });
                }
                Item::Stripe(rebuilding) => {
                    let (stripe, memory) = rebuilding.cells().await?;
                    if let Some(block) = &mut block {
                        sent.stripe(block, stripe);
                    }
                    self.flush(sources, &mut sent, false, report).await;
                    drop(memory);
                }
            }
            if !sent.targets.iter().any(Target::is_well) {
                return Ok(sent);
            }
        }
        if let Some(block) = block.take() {
            sent.end(block, report);
        }
        self.flush(sources, &mut sent, true, report).await;
        tracing::debug!(container = %sources.container, blocks = sent.blocks.len(), "all blocks sent");
        Ok(sent)
    }

    /// Sends what waits for the targets, `all` of it or where it is enough.
    async fn flush(&self, sources: &Sources, sent: &mut Sent, all: bool, report: &mut Report) {
        let passed = sent.targets.iter().filter(|target| target.is_well()).map(Target::passed);
        let (passed, schedule) = (passed.min().unwrap_or(0), sent.schedule);
        let patience = || schedule.patience(passed, Instant::now());
        let told = to_tell(patience()).unwrap_or(u64::MAX);
        sources.patience_ms.store(told, Ordering::Relaxed);
        let due = sent.targets.iter_mut().filter(|target| all || target.is_due());
        let pace = self.pusher.pace();
        let bytes = join_all(due.map(|target| target.flush(pace, &patience))).await;
        report.bytes = bytes.into_iter().fold(report.bytes, u64::saturating_add);
    }

    /// Removes blocks from the targets that were deleted at the sources since the targets began.
    ///
    /// # Errors
    /// When it is unknown which: a target had some of them before.
    async fn leave_out_deleted(
        &self,
        sources: &Sources,
        before: &[(usize, Size)],
        mut sent: Sent,
    ) -> Result<Vec<Target>, ReconstructError> {
        let now = sizes(sources).await?;
        let is_same = now.iter().all(|(place, size)| {
            // One that was found damaged meanwhile still returns its size.
            let is_same = |known: &Size| (known.used, known.blocks) == (size.used, size.blocks);
            before.iter().any(|(other, known)| other == place && is_same(known))
        });
        if is_same {
            return Ok(sent.targets);
        }
        if sent.targets.iter().any(|target| target.behind().is_some()) {
            return Err(ReconstructError::Changed(sources.container));
        }
        let mut listing = Listing::new(sources.left(), None);
        let (mut gone, mut known) = (Vec::new(), std::mem::take(&mut sent.blocks).into_iter());
        let needed = sources.codec.scheme().data();
        loop {
            let (listed, failed) = listing.next().await;
            for (place, error) in &failed {
                sources.fail(*place, error)?;
            }
            let Some(listed) = listed else { break };
            if listed.rows.len() < needed {
                continue;
            }
            // Both are in the order of the keys; blocks that were not sent are passed over.
            for plan in known.by_ref() {
                if plan.0 == listed.local {
                    break;
                }
                gone.push(plan);
            }
        }
        gone.extend(known);
        tracing::info!(
            container = %sources.container, blocks = gone.len(),
            "blocks were deleted while their container was rebuilt"
        );
        for target in &mut sent.targets {
            let of_target: Vec<(LocalId, u64)> = gone
                .iter()
                .map(|(local, group)| (*local, group.replica_length(target.index)))
                .collect();
            target.leave_out(&of_target).await;
        }
        Ok(sent.targets)
    }
}

/// The targets, and the data sent to them.
struct Sent {
    targets: Vec<Target>,
    /// Blocks in the order of their keys.
    blocks: Vec<(LocalId, erasure::BlockGroup)>,
    /// Schedule of the targets.
    schedule: Schedule,
}

/// The block whose stripes come.
struct Block {
    plan: Arc<Plan>,
    stripes: u64,
    is_gone: bool,
}

impl Sent {
    fn stripe(&mut self, block: &mut Block, stripe: Stripe) {
        let number = block.stripes;
        block.stripes = number.saturating_add(1);
        match stripe {
            Stripe::Gone => block.is_gone = true,
            Stripe::Cells(cells) => {
                for (target, cell) in self.targets.iter_mut().zip(cells) {
                    target.cell(&block.plan, number, cell);
                }
            }
        }
    }

    fn end(&mut self, block: Block, report: &mut Report) {
        let Block { plan, is_gone, .. } = block;
        for target in &mut self.targets {
            match is_gone {
                true => target.abandon(&plan),
                false => target.end(&plan),
            }
        }
        if !is_gone {
            self.blocks.push((plan.local, plan.group));
            report.blocks = report.blocks.saturating_add(1);
        }
    }
}

/// Counts a job in progress.
struct Running<'a>(&'a Counts);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::Relaxed);
    }
}

fn earlier(a: LocalId, b: LocalId) -> LocalId {
    if by_key(a, b).is_le() { a } else { b }
}

/// Returns the sizes of the sources' replicas; a source without a response is dropped.
async fn sizes(sources: &Sources) -> Result<Vec<(usize, Size)>, ReconstructError> {
    let left = sources.left();
    let answers = join_all(left.iter().map(|(_, source)| source.size())).await;
    let mut sizes = Vec::with_capacity(left.len());
    for ((place, _), answer) in left.iter().zip(answers) {
        match answer {
            Ok(size) => sizes.push((*place, size)),
            Err(error) => sources.fail(*place, &error)?,
        }
    }
    Ok(sizes)
}
