//! Times in the forms of S3 requests.

use std::time::SystemTime;

/// Formats a time for HTTP headers: `Sat, 31 Jan 2026 23:59:59 GMT`.
pub fn http_date(time: SystemTime) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let seconds = time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let day = DAYS[(seconds / 86_400 % 7) as usize];
    let text = amz_date(time);
    let month = text[4..6].parse::<usize>().map_or("Jan", |month| MONTHS[(month - 1) % 12]);
    let (year, date) = (&text[..4], &text[6..8]);
    format!("{day}, {date} {month} {year} {}:{}:{} GMT", &text[9..11], &text[11..13], &text[13..15])
}

/// Formats a time for signatures: `20260131T235959Z`.
pub fn amz_date(time: SystemTime) -> String {
    let seconds = time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Days since 0000-03-01, in years that begin in March, whose months are 153 days for five.
    let since_march = days + 719_468;
    let (era, day) = (since_march / 146_097, since_march % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let date = day - (153 * month + 2) / 5 + 1;
    let (year, month) =
        (year + era * 400 + u64::from(month >= 10), if month < 10 { month + 3 } else { month - 9 });
    let (hour, minute) = (second / 3600, second / 60 % 60);
    format!("{year:04}{month:02}{date:02}T{hour:02}{minute:02}{:02}Z", second % 60)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn dates_follow_the_calendar() {
        for (seconds, amz, http) in [
            (0, "19700101T000000Z", "Thu, 01 Jan 1970 00:00:00 GMT"),
            (951_868_799, "20000229T235959Z", "Tue, 29 Feb 2000 23:59:59 GMT"),
            (1_369_353_600, "20130524T000000Z", "Fri, 24 May 2013 00:00:00 GMT"),
            (4_107_542_400, "21000301T000000Z", "Mon, 01 Mar 2100 00:00:00 GMT"),
        ] {
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
            assert_eq!((amz_date(time).as_str(), http_date(time).as_str()), (amz, http));
        }
    }
}
