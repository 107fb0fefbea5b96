//! Valid names of snapshots, and the default name of one without a name.

use crate::error::OmError;
use crate::state::names;
use crate::state::settings::Settings;

/// # Errors
/// [`OmError::InvalidSnapshot`]
pub(crate) fn validate(name: &str, settings: &Settings) -> Result<(), OmError> {
    names::check_snapshot_name(name, settings.strict_s3_names).map_err(|fault| {
        OmError::InvalidSnapshot(format!("Invalid snapshot name: {name}\n{fault}"))
    })
}

/// `s20260131-235959.123`, the time in UTC, as Ozone names snapshots.
pub(crate) fn generated(now_ms: u64) -> String {
    const DAY: u64 = 86_400;
    let (seconds, millis) = (now_ms / 1000, now_ms % 1000);
    let (days, second) = (seconds / DAY, seconds % DAY);
    let (year, month, day) = date(days);
    let (hour, minute) = (second / 3600, second / 60 % 60);
    format!("s{year:04}{month:02}{day:02}-{hour:02}{minute:02}{:02}.{millis:03}", second % 60)
}

/// Year, month and day of the day `days` days after 1970-01-01.
fn date(days: u64) -> (u64, u64, u64) {
    // Years are counted from March of the year 0, so that a leap day is the last day of a year:
    // 719,468 days before 1970; an era is 400 years of 146,097 days.
    let days = days.saturating_add(719_468);
    let (era, of_era) = (days / 146_097, days % 146_097);
    let leaps = (of_era / 1460).saturating_add(of_era / 146_096);
    let year_of_era = of_era.saturating_add(of_era / 36_524).saturating_sub(leaps) / 365;
    let before = year_of_era.saturating_mul(365).saturating_add(year_of_era / 4);
    let of_year = of_era.saturating_sub(before.saturating_sub(year_of_era / 100));
    let month_from_march = of_year.saturating_mul(5).saturating_add(2) / 153;
    let day = of_year
        .saturating_sub(month_from_march.saturating_mul(153).saturating_add(2) / 5)
        .saturating_add(1);
    let month = match month_from_march {
        10.. => month_from_march.saturating_sub(9),
        _ => month_from_march.saturating_add(3),
    };
    let year = era.saturating_mul(400).saturating_add(year_of_era);
    (if month <= 2 { year.saturating_add(1) } else { year }, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_the_time() {
        assert_eq!(generated(0), "s19700101-000000.000");
        // 2024-02-29T23:59:59.007Z, 2026-11-24T05:47:59.123Z, 2000-03-01T00:00:00Z
        assert_eq!(generated(1_709_251_199_007), "s20240229-235959.007");
        assert_eq!(generated(1_795_499_279_123), "s20261124-054759.123");
        assert_eq!(generated(951_868_800_000), "s20000301-000000.000");
        let settings = Settings::default();
        assert!(validate(&generated(u64::MAX / 1_000_000), &settings).is_ok());
        assert!(validate("ab", &settings).is_err());
        let refused = validate("a/b", &settings).unwrap_err().to_string();
        let expected = "snapshot name has an unsupported character : /";
        assert_eq!(refused, format!("Invalid snapshot name: a/b\n{expected}"));
    }
}
