//! Threads for background work.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use tokio::sync::oneshot;

use crate::in_background_for_good;

/// Errors of background work.
#[derive(Debug, thiserror::Error)]
pub enum BackgroundError {
    /// No thread could be started for it.
    #[error("cannot start a thread for background work: {0}")]
    NoThread(#[from] io::Error),
    /// It panicked.
    #[error("background work panicked (a bug)")]
    Panicked,
}

/// Runs blocking work on a thread with a ninth of the weight of threads that serve requests, and
/// which yields its core to threads that wake up. Once begun it runs to its end, even if its caller
/// stops waiting.
///
/// Each work gets a new thread, since restoring a thread's weight requires a privilege; so the work
/// should take some hundred microseconds or more. The number of threads is unlimited: work that
/// hangs with its disk occupies one each. Threads started by the work inherit the weight
/// permanently: it must not start one that serves requests. It must not hold a lock for long that
/// requests wait for.
///
/// # Errors
/// See [`BackgroundError`].
pub async fn on_background_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, BackgroundError> {
    let (tell, told) = oneshot::channel();
    thread::Builder::new().name("background".to_owned()).spawn(move || {
        in_background_for_good();
        // The caller may have stopped waiting.
        let _ = tell.send(catch_unwind(AssertUnwindSafe(work)));
    })?;
    match told.await {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(_)) | Err(_) => Err(BackgroundError::Panicked),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slice::Attributes;
    use crate::{LONG, NICER};

    fn of_this_thread() -> Attributes {
        Attributes::of_this_thread().expect("a thread has attributes")
    }

    #[tokio::test]
    async fn work_is_done_on_threads_that_weigh_less() {
        let here = of_this_thread();
        let there = on_background_thread(of_this_thread).await.expect("attributes");
        let long = if here.slice() == 0 { 0 } else { LONG };
        assert_eq!((there.nice(), there.slice()), (here.nice() + NICER, long));
        let now = of_this_thread();
        assert_eq!((now.nice(), now.slice()), (here.nice(), here.slice()));
    }

    #[tokio::test]
    async fn work_that_panics_says_so() {
        let done: Result<(), _> = on_background_thread(|| panic!("as planned")).await;
        assert!(matches!(done, Err(BackgroundError::Panicked)));
    }
}
