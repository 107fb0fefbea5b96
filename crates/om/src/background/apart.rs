//! Work on a thread of its own.
//!
//! The threads that serve requests share what is ready between them: whatever one of them does for
//! a millisecond, requests that it has read wait for it, and the other threads have long taken the
//! cores. A thread apart gives its core away instead ([`in_background`]).

use std::future::Future;

use scheduling::in_background;
use tokio::runtime::Handle;
use tokio::task::{JoinError, spawn_blocking};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, Span};

/// Has a future make its way on such a thread; what it spawns goes where it would go anyway. When
/// this one is dropped, it is dropped too, the next time it waits for something.
///
/// # Errors
/// It panicked.
pub(super) async fn apart<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> Result<T, JoinError> {
    let (runtime, span, dropped) = (Handle::current(), Span::current(), CancellationToken::new());
    let _guard = dropped.clone().drop_guard();
    let work = dropped.run_until_cancelled_owned(work.instrument(span));
    let run = move || in_background(|| runtime.block_on(work));
    match spawn_blocking(run).await? {
        Some(done) => Ok(done),
        // The guard is dropped with this future alone.
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;
    use std::time::Duration;

    use tokio::sync::oneshot;
    use tokio::time::timeout;

    use super::*;

    const LONG: Duration = Duration::from_secs(20);

    #[tokio::test]
    async fn work_is_done_on_another_thread_and_waits_for_what_this_one_does() {
        let (tell, told) = oneshot::channel();
        let here = thread::current().id();
        let work = apart(async move { (told.await.unwrap(), thread::current().id()) });
        let tell = async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            tell.send(7).unwrap();
        };
        let (done, ()) = tokio::join!(work, tell);
        let (number, there) = done.unwrap();
        assert_eq!(number, 7);
        assert_ne!(there, here);
    }

    #[tokio::test]
    async fn work_that_panics_says_so() {
        let done: Result<(), _> = apart(async { panic!("as planned") }).await;
        assert!(done.unwrap_err().is_panic());
    }

    #[tokio::test]
    async fn work_that_nobody_waits_for_ends() {
        struct Ends(Arc<AtomicBool>, Option<oneshot::Sender<()>>);
        impl Drop for Ends {
            fn drop(&mut self) {
                self.0.store(true, Ordering::SeqCst);
                let _ = self.1.take().unwrap().send(());
            }
        }
        let (ended, (tell, told)) = (Arc::new(AtomicBool::new(false)), oneshot::channel());
        let ends = Ends(Arc::clone(&ended), Some(tell));
        let endless = async move {
            let _ends = ends;
            std::future::pending::<()>().await;
        };
        let given_up = timeout(Duration::from_millis(50), apart(endless)).await;
        assert!(given_up.is_err());
        timeout(LONG, told).await.unwrap().unwrap();
        assert!(ended.load(Ordering::SeqCst));
    }
}
