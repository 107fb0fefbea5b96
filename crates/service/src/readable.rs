//! Numbers as people read them.

/// Bytes with a binary unit and three digits or so: `1.50 GB`, as Ozone's tools write them.
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
}
