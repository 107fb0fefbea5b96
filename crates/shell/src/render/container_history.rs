//! Events of a container.

use client::ContainerHistory;
use proto::container_location::ContainerEventProto;
use serde_json::{Value, json};

use super::time;

/// A line for each event, the oldest first.
pub(crate) fn lines(history: &ContainerHistory) -> Vec<String> {
    history.events.iter().map(line).collect()
}

fn line(event: &ContainerEventProto) -> String {
    let (first, last) = (time::millis(event.first), time::millis(event.last));
    match event.times {
        0 | 1 => format!("{first} {}", event.text),
        times => format!("{first} {} ({times} times, last {last})", event.text),
    }
}

/// The events as an array; times in milliseconds since 1970.
pub(crate) fn json(history: &ContainerHistory) -> Value {
    let event = |e: &ContainerEventProto| json!({ "first": e.first, "last": e.last, "times": e.times, "event": e.text });
    history.events.iter().map(event).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happened_several_times_says_so() {
        let event = |times, text: &str| ContainerEventProto {
            first: 1_795_260_199_531,
            last: 1_795_260_206_000,
            times,
            text: text.to_owned(),
        };
        let events = vec![event(1, "is CLOSED"), event(3, "ordered dn1 to close its replica")];
        let history = ContainerHistory { events, under_way: Vec::new() };
        assert_eq!(
            lines(&history),
            [
                "2026-11-21T11:23:19.531Z is CLOSED",
                "2026-11-21T11:23:19.531Z ordered dn1 to close its replica \
                 (3 times, last 2026-11-21T11:23:26Z)"
            ]
        );
        assert_eq!(json(&history)[1]["times"], 3);
    }
}
