//! Names of checkpoints: the time at which they were made, as Hadoop's clients write and read it,
//! in the time zone of the process that does.

use chrono::{DateTime, Local, NaiveDate, NaiveDateTime, TimeZone, Utc};

/// Directory of newly deleted files.
pub(super) const CURRENT: &str = "Current";
/// Most checkpoints of one second.
const MOST_ALIKE: usize = 1000;

/// An unused name for a checkpoint made at `now`; `None` if all are in `taken`.
pub(super) fn name(now: DateTime<Utc>, taken: impl Fn(&str) -> bool) -> Option<String> {
    let name = now.with_timezone(&Local).format("%y%m%d%H%M%S").to_string();
    if !taken(&name) {
        return Some(name);
    }
    (1..MOST_ALIKE).map(|n| format!("{name}-{n}")).find(|name| !taken(name))
}

/// When the checkpoint of that name was made; `None` if it is none.
pub(super) fn made_at(name: &str) -> Option<DateTime<Utc>> {
    // Of several checkpoints of one second, all but the first have a number at the end.
    let (digits, number) = name.split_once('-').unwrap_or((name, "0"));
    number.parse::<u32>().ok()?;
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let time = match digits.len() {
        12 => parse(digits)?,
        // Without seconds: of Hadoop's first versions.
        10 => parse(&format!("{digits}00"))?,
        _ => return None,
    };
    // An hour that summer time leaves out, or has twice.
    let local = Local.from_local_datetime(&time).earliest();
    Some(local.map_or_else(|| time.and_utc(), |local| local.to_utc()))
}

/// `yyMMddHHmmss`.
fn parse(digits: &str) -> Option<NaiveDateTime> {
    let two = |at: usize| digits.get(at..at + 2)?.parse::<u32>().ok();
    let year = 2000 + i32::try_from(two(0)?).ok()?;
    NaiveDate::from_ymd_opt(year, two(2)?, two(4)?)?.and_hms_opt(two(6)?, two(8)?, two(10)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_the_time() {
        let now = Utc.timestamp_opt(1_795_000_000, 0).unwrap();
        let first = name(now, |_| false).unwrap();
        assert_eq!(made_at(&first), Some(now));
        let second = name(now, |taken| taken == first).unwrap();
        assert_eq!(second, format!("{first}-1"));
        assert_eq!(made_at(&second), Some(now));
        assert_eq!(name(now, |_| true), None);
        let minute = &first[..10];
        assert_eq!(made_at(minute), made_at(&format!("{minute}00")));
    }

    #[test]
    fn other_names_tell_none() {
        for name in
            ["Current", "", "films", "2611", "261301000000", "26112120190é", "261121201900-x"]
        {
            assert_eq!(made_at(name), None, "{name}");
        }
    }
}
