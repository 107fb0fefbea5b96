//! Work on a thread of its own.
//!
//! The threads that serve requests share what is ready between them: whatever one of them does for
//! a millisecond, requests that it has read wait for it, and the other threads have long taken the
//! cores. A thread in the background gives its core away instead ([`on_background_thread`]).

use std::future::Future;

use scheduling::{BackgroundError, on_background_thread};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, Span};

/// Runs a future on a background thread. Tasks that it spawns run where they would run anyway, but
/// it must not spawn blocking work: a thread created for that may serve requests later. If the
/// returned future is dropped, the inner one is dropped, too, at its next point of waiting.
///
/// # Errors
/// There is no such thread, or it panicked.
pub(super) async fn on_thread<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> Result<T, BackgroundError> {
    let (runtime, span, dropped) = (Handle::current(), Span::current(), CancellationToken::new());
    let _guard = dropped.clone().drop_guard();
    let work = dropped.run_until_cancelled_owned(work.instrument(span));
    match on_background_thread(move || runtime.block_on(work)).await? {
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

    #[tokio::test]
    async fn work_is_done_on_another_thread_and_waits_for_what_this_one_does() {
        let (tell, told) = oneshot::channel();
        let here = thread::current().id();
        let work = on_thread(async move { (told.await.unwrap(), thread::current().id()) });
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
        let done: Result<(), _> = on_thread(async { panic!("as planned") }).await;
        assert!(matches!(done, Err(BackgroundError::Panicked)));
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
        let given_up = timeout(Duration::from_millis(50), on_thread(endless)).await;
        assert!(given_up.is_err());
        testkit::ended("the end of the work", told).await.unwrap();
        assert!(ended.load(Ordering::SeqCst));
    }
}
