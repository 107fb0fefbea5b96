//! Threads for work in the background.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use tokio::sync::oneshot;

use crate::in_background_for_good;

/// Why work in the background has no outcome.
#[derive(Debug, thiserror::Error)]
pub enum BackgroundError {
    /// There is no thread for it.
    #[error("no thread for work in the background: {0}")]
    NoThread(#[from] io::Error),
    /// It panicked.
    #[error("work in the background panicked, which is a bug")]
    Panicked,
}

/// Does work that blocks on a thread that weighs a ninth of those that serve requests, and that
/// gives its core away to what wakes up. Once begun it goes on to its end, also when nobody waits
/// for it any more.
///
/// Each work has a new thread, since a thread cannot be given its weight back without a privilege;
/// so it is to be work of some hundred microseconds or more. There is no bound on the threads: work
/// that hangs with its disk holds one each. Threads that the work makes inherit the weight for
/// good: it is to make none that serves. It is no place for work that holds a lock for long for
/// which requests wait.
///
/// # Errors
/// See [`BackgroundError`].
pub async fn on_background_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, BackgroundError> {
    let (tell, told) = oneshot::channel();
    thread::Builder::new().name("background".to_owned()).spawn(move || {
        in_background_for_good();
        // Nobody may wait any more.
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
