//! Human-readable numbers and times.

use std::time::Duration;

/// Formats bytes with a binary unit and about three digits: `1.50 GB`, as in Ozone's tools.
pub fn readable_bytes(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["B", "KB", "MB", "GB", "TB", "PB"];
    let mut scaled = bytes as f64;
    let mut units = UNITS.iter();
    let mut unit = units.next().copied().unwrap_or_default();
    while scaled >= 1024.0 {
        let Some(next) = units.next() else { break };
        scaled /= 1024.0;
        unit = next;
    }
    if bytes < 1024 { format!("{bytes} B") } else { format!("{scaled:.2} {unit}") }
}

/// Formats a time with one unit: `61 s`, `5 h`.
pub fn readable_duration(time: Duration) -> String {
    let millis = time.as_millis();
    match millis {
        0..1_000 => format!("{millis} ms"),
        1_000..120_000 => format!("{} s", millis / 1_000),
        120_000..7_200_000 => format!("{} min", millis / 60_000),
        7_200_000..172_800_000 => format!("{} h", millis / 3_600_000),
        _ => format!("{} d", millis / 86_400_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_the_largest_unit_that_fits() {
        let cases = [
            (0, "0 B"),
            (1023, "1023 B"),
            (1536, "1.50 KB"),
            (5 << 30, "5.00 GB"),
            (u64::MAX, "16384.00 PB"),
        ];
        for (bytes, text) in cases {
            assert_eq!(readable_bytes(bytes), text);
        }
    }

    #[test]
    fn times_have_the_unit_that_fits() {
        let all = [0, 999, 1_000, 119_999, 120_000, 7_200_000, 172_800_000];
        let told: Vec<String> = all.map(|ms| readable_duration(Duration::from_millis(ms))).into();
        assert_eq!(told, ["0 ms", "999 ms", "1 s", "119 s", "2 min", "2 h", "2 d"]);
    }
}
