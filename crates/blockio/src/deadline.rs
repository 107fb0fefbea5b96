//! Deadlines for work on a disk that may hang: it runs on a thread of its own, and its caller waits
//! at most until a deadline.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Instant;

/// Reasons for a missing result.
#[derive(Debug, thiserror::Error)]
pub enum Late {
    /// The deadline has passed. The work may still be running.
    #[error("timed out")]
    Hangs,
    /// The work panicked.
    #[error("the work panicked")]
    Panicked,
    /// No thread could be started for it.
    #[error("cannot start a thread: {0}")]
    NoThread(io::Error),
}

/// Work in progress.
pub struct Begun<T> {
    done: io::Result<Receiver<T>>,
}

/// Starts work on a thread of its own. If its receiver was dropped, that thread drops the
/// result.
pub fn begin<T: Send + 'static>(name: &str, work: impl FnOnce() -> T + Send + 'static) -> Begun<T> {
    let (sender, receiver) = sync_channel(0);
    let run = move || {
        // Fails if the caller has stopped waiting; the result is dropped.
        let _ = sender.send(work());
    };
    let thread = std::thread::Builder::new().name(name.to_owned()).spawn(run);
    Begun { done: thread.map(|_| receiver) }
}

impl<T> Begun<T> {
    /// Waits for the result; `None` waits forever. Blocks.
    ///
    /// # Errors
    /// If there is none by then.
    pub fn wait_until(self, deadline: Option<Instant>) -> Result<T, Late> {
        let done = self.done.map_err(Late::NoThread)?;
        let Some(deadline) = deadline else { return done.recv().map_err(|_| Late::Panicked) };
        let left = deadline.saturating_duration_since(Instant::now());
        done.recv_timeout(left).map_err(|error| match error {
            RecvTimeoutError::Timeout => Late::Hangs,
            RecvTimeoutError::Disconnected => Late::Panicked,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_hangs_is_waited_for_only_so_long_and_its_late_result_is_dropped() {
        struct Dropped(std::sync::mpsc::Sender<()>);
        impl Drop for Dropped {
            fn drop(&mut self) {
                let _ = self.0.send(());
            }
        }
        let (go_on, wait) = channel::<()>();
        let (sender, dropped) = channel();
        let hangs = begin("hangs", move || {
            let _ = wait.recv();
            Dropped(sender)
        });
        let soon = Instant::now() + Duration::from_millis(20);
        assert!(matches!(hangs.wait_until(Some(soon)), Err(Late::Hangs)));
        go_on.send(()).unwrap();
        dropped.recv().unwrap();
    }

    #[test]
    fn what_is_done_in_time_is_handed_over() {
        let later = Instant::now() + testkit::LIMIT;
        assert_eq!(begin("works", || 7).wait_until(Some(later)).unwrap(), 7);
        assert_eq!(begin("works", || 8).wait_until(None).unwrap(), 8);
        let panics = begin("panics", || -> u8 { panic!("a test") });
        assert!(matches!(panics.wait_until(None), Err(Late::Panicked)));
    }
}
