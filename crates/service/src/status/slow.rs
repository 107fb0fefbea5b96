//! The parts of a page that take reads of tables: made once in a while, by one request at a time.

use std::time::{Duration, Instant};

use tokio::sync::Mutex;

use super::{Section, StatusPage};

/// How long they are shown.
const SHOWN_FOR: Duration = Duration::from_secs(5);
/// How long they may take: a page comes, also where a disk hangs.
const PATIENCE: Duration = Duration::from_secs(5);

/// What was made last.
pub(super) struct SlowSections {
    last: Mutex<Option<(Instant, Vec<Section>)>>,
    patience: Duration,
}

impl Default for SlowSections {
    fn default() -> Self {
        Self { last: Mutex::default(), patience: PATIENCE }
    }
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
        let sections = match tokio::time::timeout(self.patience, page.slow_sections()).await {
            Ok(sections) => sections,
            Err(_) => {
                let why = format!("not made in {} s", self.patience.as_secs());
                vec![Section::facts("More", [("state", why)])]
            }
        };
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
        hangs: bool,
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
                if self.hangs {
                    std::future::pending::<()>().await;
                }
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

    #[tokio::test]
    async fn a_page_comes_although_they_do_not() {
        let slow = SlowSections { patience: Duration::ZERO, ..SlowSections::default() };
        let page = Page { hangs: true, ..Page::default() };
        let state = "not made in 0 s".to_owned();
        let shown = slow.of(&page, Instant::now()).await;
        assert_eq!(shown, [Section::facts("More", [("state", state)])]);
    }
}
