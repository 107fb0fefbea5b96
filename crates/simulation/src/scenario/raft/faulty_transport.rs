//! Messages between hosts that are duplicated, late, reordered or lost. (A connection alone keeps
//! their order.)

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use multiraft::{Frame, Target, Transport, TransportError};
use parking_lot::Mutex;
use tokio::runtime::Handle;

use crate::world::random::Random;

/// Rate of lost frames: one in this many.
const FAULT_RATE: u64 = 12;
/// Maximum delay of a frame, in milliseconds.
const MAX_DELAY: u64 = 1500;
/// Maximum delay of a repeated frame, long after its call is over.
const MAX_REPLAY_DELAY: u64 = 40_000;

/// A transport that loses, repeats, delays and reorders the messages of another one.
pub struct FaultyTransport<T> {
    inner: Arc<T>,
    random: Mutex<Random>,
    runtime: Handle,
    /// True if frames are repeated much later, and truncated.
    replays: bool,
}

impl<T> FaultyTransport<T> {
    /// Around a transport.
    pub fn new(inner: Arc<T>, random: Random, replays: bool) -> Arc<Self> {
        let (random, runtime) = (Mutex::new(random), Handle::current());
        Arc::new(Self { inner, random, runtime, replays })
    }
}

impl<T: Transport> Transport for FaultyTransport<T> {
    fn send(&self, to: &Target, frame: Frame) {
        let mut random = self.random.lock();
        if !random.one_in(FAULT_RATE) {
            return self.inner.send(to, frame);
        }
        let kind = random.below(if self.replays { 6 } else { 3 });
        let late = random.below(if kind == 3 { MAX_REPLAY_DELAY } else { MAX_DELAY });
        let late = Duration::from_millis(late);
        let cut = random.below(frame.header.len().max(1) as u64) as usize;
        drop(random);
        match kind {
            0 => return,
            1 | 3 => self.inner.send(to, frame.clone()),
            4 | 5 => {
                // A frame that lacks its end: refused as a whole.
                let header = frame.header.slice(..cut);
                self.inner.send(to, Frame { header, payload: frame.payload.clone() });
                return self.inner.send(to, frame);
            }
            _ => {}
        }
        let (inner, to) = (self.inner.clone(), to.clone());
        self.runtime.spawn(async move {
            tokio::time::sleep(late).await;
            inner.send(&to, frame);
        });
    }

    fn send_snapshot(
        &self,
        to: &Target,
        frame: Frame,
    ) -> BoxFuture<'static, Result<u64, TransportError>> {
        self.inner.send_snapshot(to, frame)
    }

    fn fetch_payload(
        &self,
        to: &Target,
        request: Bytes,
    ) -> BoxFuture<'static, Result<Bytes, TransportError>> {
        self.inner.fetch_payload(to, request)
    }
}
