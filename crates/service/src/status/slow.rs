//! The parts of a page that take reads of tables: made once in a while, and by one request at a time.

use std::time::{Duration, Instant};

use tokio::sync::Mutex;

use super::{Section, StatusPage};

/// How long they are shown.
const SHOWN_FOR: Duration = Duration::from_secs(5);

/// What was made last.
#[derive(Default)]
pub(super) struct SlowSections {
    last: Mutex<Option<(Instant, Vec<Section>)>>,
}

impl SlowSections {
    /// The slow parts of `page`, as they were a few seconds ago at most.
    pub(super) async fn of(&self, page: &dyn StatusPage, now: Instant) -> Vec<Section> {
        let mut last = self.last.lock().await;
        if let Some((at, sections)) = &*last
            && now.saturating_duration_since(*at) < SHOWN_FOR
        {
            return sections.clone();
        }
        let sections = page.slow_sections().await;
        *last = Some((now, sections.clone()));
        sections
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures::future::BoxFuture;

    use super::*;

    #[derive(Default)]
    struct Page {
        made: AtomicUsize,
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
                tokio::task::yield_now().await;
                let made = self.made.fetch_add(1, Ordering::Relaxed) + 1;
                vec![Section::facts("Slow", [("made", made.to_string())])]
            })
        }
    }

    #[tokio::test]
    async fn they_are_made_once_for_all_that_ask_and_anew_after_a_while() {
        let (slow, page, now) = (SlowSections::default(), Page::default(), Instant::now());
        let made = |n: &str| vec![Section::facts("Slow", [("made", n.to_owned())])];
        let both = tokio::join!(slow.of(&page, now), slow.of(&page, now));
        assert_eq!(both, (made("1"), made("1")));
        assert_eq!(slow.of(&page, now + SHOWN_FOR).await, made("2"));
    }
}
