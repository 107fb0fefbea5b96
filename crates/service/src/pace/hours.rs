//! Hours of the day in a setting.

use chrono::{Local, Timelike};
use config::{Configuration, Key};

use super::PaceError;

/// Number of hours in a day.
const HOURS: u32 = 24;

/// A set of hours of the day, in the server's local time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Hours {
    /// One bit per hour.
    bits: u32,
}

impl Hours {
    /// Reads a list of hours and ranges of hours, `1,2` or `22-5`.
    ///
    /// # Errors
    /// If an entry is neither.
    pub fn read(conf: &Configuration, key: &'static Key<Vec<String>>) -> Result<Self, PaceError> {
        let mut bits = 0;
        for entry in conf.get(key) {
            bits |= parse(&entry).ok_or_else(|| PaceError {
                key: key.name(),
                value: entry.clone(),
                reason: "expected hours from 0 to 23, such as 1,2,3 or 22-5",
            })?;
        }
        Ok(Self { bits })
    }

    /// Returns `true` if the set contains an hour of the day.
    pub fn contains(&self, hour: u32) -> bool {
        self.bits & bit(hour) != 0
    }

    /// The current hour in the server's time zone.
    pub fn now() -> u32 {
        Local::now().hour()
    }
}

/// Parses `5`, or `22-5`, which includes both ends and may cross midnight.
fn parse(entry: &str) -> Option<u32> {
    let hour = |text: &str| text.trim().parse::<u32>().ok().filter(|hour| *hour < HOURS);
    let Some((first, last)) = entry.split_once('-') else { return hour(entry).map(bit) };
    let (first, last) = (hour(first)?, hour(last)?);
    let count = (last + HOURS - first) % HOURS + 1;
    Some((first..first + count).fold(0, |hours, hour| hours | bit(hour % HOURS)))
}

fn bit(hour: u32) -> u32 {
    1u32.checked_shl(hour).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_are_single_ones_and_ranges_over_midnight() {
        let table: [(&str, &[u32]); 8] = [
            ("0", &[0]),
            ("23", &[23]),
            ("1-3", &[1, 2, 3]),
            ("22-5", &[22, 23, 0, 1, 2, 3, 4, 5]),
            ("7-7", &[7]),
            (" 8 - 9 ", &[8, 9]),
            ("23-0", &[23, 0]),
            (
                "12-11",
                &[
                    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
                    22, 23,
                ],
            ),
        ];
        for (entry, expected) in table {
            let hours = Hours { bits: parse(entry).expect(entry) };
            for hour in 0..24 {
                assert_eq!(hours.contains(hour), expected.contains(&hour), "{entry}: {hour}");
            }
            assert!(!hours.contains(24) && !hours.contains(u32::MAX));
        }
        for wrong in ["", "-", "24", "1-24", "a", "1-", "-1", "1.5", "1-2-3"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
