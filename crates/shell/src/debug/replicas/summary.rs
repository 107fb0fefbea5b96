//! Summary of a verification, in Ozone's format.

use std::collections::BTreeMap;
use std::time::Duration;

use super::outcome::Check;

/// Counts so far.
#[derive(Debug, Default)]
pub(super) struct Summary {
    pub(super) volumes: u64,
    pub(super) buckets: u64,
    pub(super) keys: u64,
    pub(super) passed: u64,
    pub(super) failed: u64,
    pub(super) failed_by_check: BTreeMap<Check, u64>,
}

/// The arguments of the command.
pub(super) struct Asked<'a> {
    pub(super) scope: &'a str,
    pub(super) checks: &'a [Check],
    pub(super) address: &'a str,
}

const RULE: &str = "***************************************************";

impl Summary {
    /// Renders the summary; `error` is the reason if the verification ended early.
    pub(super) fn text(&self, asked: &Asked<'_>, took: Duration, error: Option<&str>) -> String {
        let status = match (error, self.failed) {
            (Some(_), _) => "Failed",
            (None, 0) => "Success",
            (None, _) => "Completed with failures",
        };
        let checks: Vec<_> = asked.checks.iter().map(|check| check.name()).collect();
        let mut out = format!(
            "\n{RULE}\nREPLICA VERIFICATION SUMMARY\n{RULE}\nStatus: {status}\n\
             Verification Scope: {}\nVerification Types: {}\nURI: {}\n\n\
             Number of Volumes processed: {}\nNumber of Buckets processed: {}\n\
             Number of Keys processed: {}\n\n\
             Keys passed verification: {}\nKeys failed verification: {}\n",
            asked.scope,
            checks.join(", "),
            asked.address,
            self.volumes,
            self.buckets,
            self.keys,
            self.passed,
            self.failed,
        );
        if self.failed > 0 {
            out.push('\n');
            for (check, count) in &self.failed_by_check {
                out += &format!("Keys failed {} verification: {count}\n", check.name());
            }
            out += "Note: A key may fail multiple verification types, so total may exceed overall \
                    failures.\n";
        }
        let (seconds, millis) = (took.as_secs(), took.subsec_millis());
        let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        out +=
            &format!("\nTotal Execution time: {hours:02}:{minutes:02}:{seconds:02},{millis:03}\n");
        if let Some(error) = error {
            out += &format!("\nException: {error}\n");
        }
        out + RULE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_reads_as_ozones() {
        let mut summary = Summary { buckets: 1, keys: 3, passed: 2, ..Summary::default() };
        let asked = Asked {
            scope: "Bucket",
            checks: &[Check::Checksum, Check::ContainerState],
            address: "/vol/ecb",
        };
        let took = Duration::from_millis(3_723_004);
        let text = summary.text(&asked, took, None);
        for line in [
            "Status: Success",
            "Verification Scope: Bucket",
            "Verification Types: checksum, containerState",
            "URI: /vol/ecb",
            "Number of Volumes processed: 0",
            "Keys passed verification: 2",
            "Total Execution time: 01:02:03,004",
        ] {
            assert!(text.lines().any(|other| other == line), "{line}: {text}");
        }
        summary.failed = 1;
        summary.failed_by_check.insert(Check::Checksum, 1);
        let text = summary.text(&asked, took, None);
        assert!(text.contains("Status: Completed with failures"), "{text}");
        assert!(text.contains("\n\nKeys failed checksum verification: 1\nNote: "), "{text}");
        let text = summary.text(&asked, took, Some("no leader"));
        assert!(text.contains("Status: Failed") && text.contains("Exception: no leader"), "{text}");
    }
}
