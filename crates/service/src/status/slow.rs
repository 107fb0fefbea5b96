//! Parts of a page that require reads of tables: cached, and created by one request at a time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Mutex;
use tokio_util::task::AbortOnDropHandle;

use super::{Section, StatusPage};

/// Cache lifetime.
const SHOWN_FOR: Duration = Duration::from_secs(5);
/// Timeout, so that the page is served even if a disk hangs.
const PATIENCE: Duration = Duration::from_secs(5);

/// The cached parts.
pub(super) struct SlowSections {
    state: Mutex<State>,
    patience: Duration,
}

#[derive(Default)]
struct State {
    last: Option<(Instant, Vec<Section>)>,
    /// The running computation: one that hangs with its disk, and occupies a thread, is not joined
    /// by another one for each request.
    look: Option<AbortOnDropHandle<Vec<Section>>>,
}

impl Default for SlowSections {
    fn default() -> Self {
        Self { state: Mutex::default(), patience: PATIENCE }
    }
}

impl SlowSections {
    /// The slow parts of `page`, at most a few seconds old.
    pub(super) async fn of(&self, page: &Arc<dyn StatusPage>, now: Instant) -> Vec<Section> {
        let State { last, look } = &mut *self.state.lock().await;
        if let Some((at, sections)) = last
            && now.saturating_duration_since(*at) < SHOWN_FOR
        {
            return sections.clone();
        }
        let begun = look.get_or_insert_with(|| {
            let page = Arc::clone(page);
            AbortOnDropHandle::new(tokio::spawn(async move { page.slow_sections().await }))
        });
        let made = tokio::time::timeout(self.patience, begun).await;
        if made.is_ok() {
            *look = None;
        }
        let sections = match made {
            Ok(Ok(sections)) => sections,
            Ok(Err(error)) => not_made(error.to_string()),
            Err(_) => not_made(format!("not made in {} s", self.patience.as_secs())),
        };
        *last = Some((now, sections.clone()));
        sections
    }
}

fn not_made(why: String) -> Vec<Section> {
    vec![Section::facts("More", [("state", why)])]
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures::future::BoxFuture;
    use tokio::sync::Semaphore;

    use super::*;

    #[derive(Default)]
    struct Page {
        begun: AtomicUsize,
        made: AtomicUsize,
        goes_on: Option<Semaphore>,
    }

    impl StatusPage for Page {
        fn title(&self) -> String {
            String::new()
        }
        fn sections(&self) -> Vec<Section> {
            Vec::new()
        }
        fn slow_sections(&self) -> BoxFuture<'_, Vec<Section>> {
            Box::pin(async {
                self.begun.fetch_add(1, Ordering::Relaxed);
                if let Some(goes_on) = &self.goes_on {
                    goes_on.acquire().await.unwrap().forget();
                }
                tokio::task::yield_now().await;
                let made = self.made.fetch_add(1, Ordering::Relaxed) + 1;
                made_as(made)
            })
        }
    }

    fn made_as(n: usize) -> Vec<Section> {
        vec![Section::facts("Slow", [("made", n.to_string())])]
    }

    #[tokio::test]
    async fn they_are_made_once_for_all_that_ask_and_anew_after_a_while() {
        let (slow, now) = (SlowSections::default(), Instant::now());
        let page: Arc<dyn StatusPage> = Arc::new(Page::default());
        let both = tokio::join!(slow.of(&page, now), slow.of(&page, now));
        assert_eq!(both, (made_as(1), made_as(1)));
        assert_eq!(slow.of(&page, now + SHOWN_FOR).await, made_as(2));
    }

    #[tokio::test]
    async fn a_look_that_hangs_is_the_only_one_and_the_page_comes() {
        let mut slow =
            SlowSections { patience: Duration::from_millis(1), ..SlowSections::default() };
        let hanging = Arc::new(Page { goes_on: Some(Semaphore::new(0)), ..Page::default() });
        let page: Arc<dyn StatusPage> = Arc::clone(&hanging) as _;
        let (now, state) = (Instant::now(), "not made in 0 s".to_owned());
        for n in 0..3 {
            let shown = slow.of(&page, now + SHOWN_FOR * n).await;
            assert_eq!(shown, [Section::facts("More", [("state", state.clone())])]);
        }
        hanging.goes_on.as_ref().unwrap().add_permits(1);
        slow.patience = PATIENCE;
        assert_eq!(slow.of(&page, now + SHOWN_FOR * 3).await, made_as(1));
        assert_eq!(hanging.begun.load(Ordering::Relaxed), 1);
    }
}
