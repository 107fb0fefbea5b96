//! Messages between hosts that come twice, late, out of order or not at all. (A connection alone keeps their order.)

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use multiraft::{Frame, Target, Transport, TransportError};
use parking_lot::Mutex;
use tokio::runtime::Handle;

use crate::world::random::Random;

/// One frame in so many goes astray.
const ASTRAY: u64 = 12;
/// How late a frame may be, in milliseconds.
const LATE: u64 = 1500;

/// See the module.
pub struct Unruly<T> {
    inner: Arc<T>,
    random: Mutex<Random>,
    runtime: Handle,
}

impl<T> Unruly<T> {
    /// Around a transport.
    pub fn new(inner: Arc<T>, random: Random) -> Arc<Self> {
        Arc::new(Self { inner, random: Mutex::new(random), runtime: Handle::current() })
    }
}

impl<T: Transport> Transport for Unruly<T> {
    fn send(&self, to: &Target, frame: Frame) {
        let mut random = self.random.lock();
        if !random.one_in(ASTRAY) {
            return self.inner.send(to, frame);
        }
        let kind = random.below(3);
        let late = Duration::from_millis(random.below(LATE));
        drop(random);
        match kind {
            0 => return,
            1 => self.inner.send(to, frame.clone()),
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
