//! The hours of the day in which scans may take another share of the disks.

use config::Configuration;
use config::keys::datanode as dn;

use crate::DatanodeError;

/// Hours of a day.
const HOURS: u32 = 24;

/// Hours of the day, and what rates are multiplied by in them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OffPeak {
    /// One bit for each hour.
    hours: u32,
    ratio: f64,
}

impl OffPeak {
    pub(super) fn read(conf: &Configuration) -> Result<Self, DatanodeError> {
        let mut hours = 0;
        for entry in conf.get(&dn::HDDS_CONTAINER_SCRUB_OFF_PEAK_HOUR) {
            hours |= parse(&entry).ok_or_else(|| DatanodeError::Setting {
                key: dn::HDDS_CONTAINER_SCRUB_OFF_PEAK_HOUR.name(),
                value: entry.clone(),
                reason: "expected hours from 0 to 23, such as 1,2,3 or 22-5",
            })?;
        }
        let ratio = conf.get(&dn::HDDS_CONTAINER_SCRUB_OFF_PEAK_RATIO);
        if ratio > 0.0 {
            return Ok(Self { hours, ratio });
        }
        Err(DatanodeError::Setting {
            key: dn::HDDS_CONTAINER_SCRUB_OFF_PEAK_RATIO.name(),
            value: ratio.to_string(),
            reason: "expected more than 0, such as 3",
        })
    }

    /// Whether an hour of the day is one of them.
    pub fn contains(&self, hour: u32) -> bool {
        self.hours & bit(hour) != 0
    }

    /// What rates are multiplied by in them.
    pub fn ratio(&self) -> f64 {
        self.ratio
    }
}

/// `5`, or `22-5` with both ends, over midnight when the first is the later one.
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
            let off_peak = OffPeak { hours: parse(entry).expect(entry), ratio: 1.0 };
            for hour in 0..24 {
                assert_eq!(off_peak.contains(hour), expected.contains(&hour), "{entry}: {hour}");
            }
            assert!(!off_peak.contains(24) && !off_peak.contains(u32::MAX));
        }
        for wrong in ["", "-", "24", "1-24", "a", "1-", "-1", "1.5", "1-2-3"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
