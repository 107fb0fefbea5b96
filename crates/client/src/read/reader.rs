//! The caller's handle for reading a key.

use std::ops::Range;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures::future::BoxFuture;
use futures::stream::{self, BoxStream, Stream, StreamExt, TryStreamExt};
use limits::{FairSemaphore, MemoryBudget, MemoryClass, MemoryPermit};
use proto::datanode::ChunkInfo;
use proto::ozone::KeyInfo;
use tokio::time::Instant;

use super::block::{BlockReader, BlockRef};
use super::group::GroupRef;
use super::part::{Located, Part};
use super::plan::{self, Piece};
use super::retry::{REFRESH_DELAY, retry_timeout};
use super::stripe::StripeRead;
use super::synced::grow;
use crate::om::args::KeyPath;
use crate::{Client, Error, ErrorKind, Result};

/// Pieces of a key in order, each verified.
pub type Pieces = BoxStream<'static, Result<Bytes>>;

/// Reads one version of a key, the one at its lookup. If the key is overwritten concurrently and
/// its data deleted, reads fail with [`ErrorKind::Overwritten`]; callers that prefer the new
/// version use [`newest`](super::newest()). Cheap to clone; reads are independent of each other.
#[derive(Clone)]
pub struct KeyReader {
    inner: Arc<Inner>,
}

struct Inner {
    client: Client,
    path: KeyPath,
    info: KeyInfo,
    blocks: Vec<Part>,
    reader: BlockReader,
}

/// A step of a read.
enum Step {
    /// The whole block in one request.
    Small(Arc<BlockRef>),
    /// A part of a chunk.
    Piece(Arc<BlockRef>, Arc<[ChunkInfo]>, Piece),
    /// A part of a stripe, as offsets of its block group.
    Stripe(Arc<GroupRef>, Range<u64>),
}

impl Step {
    /// Maximum bytes in memory.
    fn len(&self) -> u64 {
        match self {
            Self::Small(block) => block.length,
            Self::Piece(_, _, piece) => piece.read.end - piece.read.start,
            // If replicas are lost, d others are read, and the lost ones decoded.
            Self::Stripe(group, range) => {
                let scheme = group.codec.scheme();
                let cell = u64::from(scheme.chunk_size()).min(range.end - range.start);
                cell.saturating_mul(scheme.total() as u64)
            }
        }
    }
}

/// The source of memory for pieces.
#[derive(Clone)]
struct Memory {
    class: Arc<FairSemaphore<u64>>,
    key: u64,
}

impl Memory {
    async fn reserve(&self, bytes: u64) -> MemoryPermit {
        self.class.acquire(&self.key, bytes).await
    }
}

/// A piece with its memory permit, which it shares with the other pieces of its step.
struct Counted {
    bytes: Bytes,
    _permit: Arc<MemoryPermit>,
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl KeyReader {
    /// Opens the version in `info`, extended by data that its writer has synced since.
    pub(crate) async fn open(client: Client, path: KeyPath, mut info: KeyInfo) -> Result<Self> {
        grow(&client, &path, &mut info).await?;
        let version = info.key_location_list.pop().unwrap_or_default();
        let (blocks, offset) = Part::all(&info, &version.key_locations)?;
        if offset < info.data_size {
            return Err(Error::om_reply(format!(
                "{path} has {} bytes but blocks for {offset}",
                info.data_size
            )));
        }
        info.key_location_list.push(version);
        let reader = BlockReader::new(client.datanodes().clone(), client.options());
        Ok(Self { inner: Arc::new(Inner { client, path, info, blocks, reader }) })
    }

    /// All information about the key.
    pub fn info(&self) -> &KeyInfo {
        &self.inner.info
    }

    /// Its size.
    pub fn len(&self) -> u64 {
        self.inner.info.data_size
    }

    /// Returns `true` if it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes of `range` in order, with parallel readahead; a range beyond the end is truncated.
    /// Every piece has verified checksums.
    pub fn stream(&self, range: Range<u64>) -> Pieces {
        self.stream_within(range, None)
    }

    /// Pieces that are requested when there is memory for them. They hold it until they are
    /// dropped.
    fn stream_within(&self, range: Range<u64>, memory: Option<Memory>) -> Pieces {
        let range = range.start..range.end.min(self.len());
        if range.start >= range.end {
            return stream::empty().boxed();
        }
        let parallel = self.inner.parallel();
        let inner = self.inner.clone();
        self.steps(range)
            .map(move |step| {
                let (inner, memory) = (inner.clone(), memory.clone());
                async move {
                    let step = step?;
                    let permit = match memory {
                        Some(memory) => Some(memory.reserve(step.0.len()).await),
                        None => None,
                    };
                    let pieces = match step {
                        (Step::Small(block), wanted) => vec![inner.small(block, wanted).await?],
                        (Step::Piece(block, chunks, piece), _) => {
                            vec![inner.piece(&block, &chunks, &piece).await?]
                        }
                        (Step::Stripe(group, wanted), _) => inner.stripe(&group, wanted).await?,
                    };
                    let permit = permit.map(Arc::new);
                    let counted = move |bytes| match &permit {
                        Some(permit) => {
                            Bytes::from_owner(Counted { bytes, _permit: permit.clone() })
                        }
                        None => bytes,
                    };
                    Ok(stream::iter(pieces.into_iter().map(move |bytes| Ok(counted(bytes)))))
                }
            })
            .buffered(parallel)
            .try_flatten()
            .boxed()
    }

    /// As [`KeyReader::stream`], after the first bytes have arrived: a failure until then is
    /// returned here, before any data is returned, so that a key that was overwritten concurrently
    /// can be reopened. The pieces count towards [`crate::ClientOptions::memory`] until they are
    /// dropped, for callers that forward them one by one.
    ///
    /// # Errors
    /// As the stream's items.
    pub fn begin(&self, range: Range<u64>) -> BoxFuture<'_, Result<Pieces>> {
        Box::pin(async move {
            let options = self.inner.client.options();
            let memory = options.memory.as_ref().map(|budget| Memory {
                class: budget.class(MemoryClass::Download).clone(),
                key: MemoryBudget::key(&self.inner.client.user()),
            });
            let mut pieces = self.stream_within(range, memory);
            Ok(match pieces.try_next().await? {
                Some(first) => stream::once(async { Ok(first) }).chain(pieces).boxed(),
                None => pieces,
            })
        })
    }

    /// All bytes of `range` in memory.
    ///
    /// # Errors
    /// As the stream's items.
    pub fn read(&self, range: Range<u64>) -> BoxFuture<'_, Result<Bytes>> {
        Box::pin(async move {
            let length = range.end.min(self.len()).saturating_sub(range.start);
            let mut stream = self.stream(range);
            let Some(first) = stream.try_next().await? else { return Ok(Bytes::new()) };
            if first.len() as u64 == length {
                return Ok(first);
            }
            let mut all = BytesMut::with_capacity(usize::try_from(length).unwrap_or(0));
            all.extend_from_slice(&first);
            while let Some(piece) = stream.try_next().await? {
                all.extend_from_slice(&piece);
            }
            Ok(all.freeze())
        })
    }

    /// The whole key in memory.
    ///
    /// # Errors
    /// As [`KeyReader::read`].
    pub fn read_all(&self) -> BoxFuture<'_, Result<Bytes>> {
        Box::pin(async move { self.read(0..self.len()).await })
    }

    /// The steps for `range`; the chunks of a block are requested when the read reaches it.
    fn steps(
        &self,
        range: Range<u64>,
    ) -> impl Stream<Item = Result<(Step, Range<u64>)>> + Send + use<> {
        let inner = self.inner.clone();
        let first = inner.blocks.partition_point(|b| b.offset() + b.length() <= range.start);
        let end = inner.blocks.partition_point(|b| b.offset() < range.end);
        let blocks = inner.blocks.get(first..end).unwrap_or_default().to_vec();
        stream::iter(blocks)
            .then(move |block| {
                let inner = inner.clone();
                let start = range.start.saturating_sub(block.offset());
                let stop = (range.end - block.offset()).min(block.length());
                async move {
                    match block {
                        Part::Block(block) => inner.block_steps(block, start..stop).await,
                        Part::Group(group) => Ok(stripe_steps(&group, start..stop)),
                    }
                }
            })
            .map(|steps| match steps {
                Ok(steps) => stream::iter(steps.into_iter().map(Ok).collect::<Vec<_>>()),
                Err(error) => stream::iter(vec![Err(error)]),
            })
            .flatten()
    }
}

/// The steps for a range of a block group, stripe by stripe.
fn stripe_steps(group: &Arc<GroupRef>, range: Range<u64>) -> Vec<(Step, Range<u64>)> {
    let stripe = group.codec.scheme().stripe_size().max(1);
    let first = range.start / stripe;
    (first..range.end.div_ceil(stripe))
        .map(|number| {
            let start = range.start.max(number * stripe);
            let end = range.end.min((number + 1) * stripe);
            (Step::Stripe(group.clone(), start..end), 0..0)
        })
        .collect()
}

impl Inner {
    /// Number of steps in flight.
    fn parallel(&self) -> usize {
        let options = self.client.options();
        match self.blocks.first() {
            // The next stripe is read while one is returned, regardless of their size.
            Some(Part::Group(group)) => {
                let stripe = group.codec.scheme().stripe_size().max(1);
                (options.read_ahead as u64 / stripe).clamp(2, 16) as usize
            }
            _ => (options.read_ahead / options.read_size.max(1)).max(1),
        }
    }

    /// Reads a part of a stripe, in pieces. Received bytes are kept while locations are looked up
    /// again.
    async fn stripe(&self, group: &GroupRef, range: Range<u64>) -> Result<Vec<Bytes>> {
        let stripe = tokio::sync::Mutex::new(StripeRead::new(group, range)?);
        self.retry(group, || async { stripe.lock().await.read(&self.reader).await }).await
    }

    async fn block_steps(
        &self,
        block: Arc<BlockRef>,
        range: Range<u64>,
    ) -> Result<Vec<(Step, Range<u64>)>> {
        let options = self.client.options();
        if block.length <= options.small_size as u64 {
            return Ok(vec![(Step::Small(block), range)]);
        }
        let chunks = self.retry(&*block, || self.reader.chunks(&block)).await?;
        let most = options.read_size as u64;
        Ok(plan::plan(&chunks, range, most)
            .into_iter()
            .map(|piece| (Step::Piece(block.clone(), chunks.clone(), piece), 0..0))
            .collect())
    }

    async fn small(&self, block: Arc<BlockRef>, wanted: Range<u64>) -> Result<Bytes> {
        if let Some(data) = self.retry(&*block, || self.reader.small(&block)).await? {
            return Ok(data.slice(wanted.start as usize..wanted.end as usize));
        }
        let chunks = self.retry(&*block, || self.reader.chunks(&block)).await?;
        let mut all = BytesMut::new();
        for piece in plan::plan(&chunks, wanted, self.client.options().read_size as u64) {
            all.extend_from_slice(&self.piece(&block, &chunks, &piece).await?);
        }
        Ok(all.freeze())
    }

    async fn piece(&self, block: &BlockRef, chunks: &[ChunkInfo], piece: &Piece) -> Result<Bytes> {
        let chunk = chunks
            .get(piece.chunk)
            .ok_or_else(|| Error::Usage("a plan for other chunks".to_owned()))?;
        self.retry(block, || self.reader.piece(block, chunk, piece)).await
    }

    /// Looks up the block's location again after all replicas failed.
    async fn retry<T, F>(&self, block: &impl Located, read: impl Fn() -> F) -> Result<T>
    where
        F: Future<Output = Result<T>>,
    {
        let started = Instant::now();
        let mut attempt = 0;
        loop {
            let error = match read().await {
                Ok(value) => return Ok(value),
                Err(error) => error,
            };
            tracing::debug!(key = %self.path, block = %block.id(), %error, attempt, "read failed");
            let options = self.client.options();
            let again = attempt < options.read_retries
                || started.elapsed() < retry_timeout(error.kind(), options);
            if again && attempt > 0 {
                let pause = REFRESH_DELAY * (1 << attempt.min(5));
                tokio::time::sleep(pause.min(options.read_retry_interval)).await;
            }
            attempt += 1;
            self.locate_again(block, &error).await?;
            if !again {
                return Err(error);
            }
        }
    }

    /// Looks up the current location of a block whose replicas failed with `error`.
    async fn locate_again(&self, block: &impl Located, error: &Error) -> Result<()> {
        let found = match self.client.locate_key(&self.path, true).await {
            Ok(info) => {
                let ours = block.id().to_wire().container_block_id;
                let mut locations =
                    info.key_location_list.into_iter().flat_map(|version| version.key_locations);
                locations.find(|location| location.block_id.container_block_id == ours)
            }
            Err(lookup) if lookup.kind() == ErrorKind::NotFound => None,
            Err(lookup) => {
                tracing::debug!(key = %self.path, %lookup, "cannot look up location");
                return Ok(());
            }
        };
        match found {
            Some(location) => block.refresh(&location),
            // The data of this reader may be deleted at any time.
            None => Err(Error::Overwritten {
                key: self.path.to_string(),
                block: block.id(),
                last: Box::new(error.clone()),
            }),
        }
    }
}
