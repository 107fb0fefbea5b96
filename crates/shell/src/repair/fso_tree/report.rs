//! Summary of a repair.

use std::fmt;

use namespace::Reach;

/// Counts of one category.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Figures {
    directories: u64,
    files: u64,
    bytes: u64,
}

/// The counts of all checked buckets.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Report {
    reachable: Figures,
    deleted: Figures,
    orphaned: Figures,
}

impl Report {
    pub(super) fn count_directory(&mut self, reach: Reach) {
        let figures = self.of(reach);
        figures.directories = figures.directories.saturating_add(1);
    }

    /// Counts a file of `bytes` bytes, without its copies.
    pub(super) fn count_file(&mut self, reach: Reach, bytes: u64) {
        let figures = self.of(reach);
        figures.files = figures.files.saturating_add(1);
        figures.bytes = figures.bytes.saturating_add(bytes);
    }

    fn of(&mut self, reach: Reach) -> &mut Figures {
        match reach {
            Reach::Reachable => &mut self.reachable,
            Reach::Deleted => &mut self.deleted,
            Reach::Orphaned => &mut self.orphaned,
        }
    }
}

/// The format of Ozone's tool.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (what, figures) in [
            ("Reachable", self.reachable),
            ("Unreachable (Pending to delete)", self.deleted),
            ("Unreferenced (Orphaned)", self.orphaned),
        ] {
            let Figures { directories, files, bytes } = figures;
            write!(
                f,
                "\n{what}:\n\tDirectories: {directories}\n\tFiles: {files}\n\tBytes: {bytes}"
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_looks_as_ozones() {
        let mut report = Report::default();
        report.count_directory(Reach::Orphaned);
        report.count_file(Reach::Reachable, 3000);
        report.count_file(Reach::Deleted, 5);
        assert_eq!(
            report.to_string(),
            "\nReachable:\n\tDirectories: 0\n\tFiles: 1\n\tBytes: 3000\n\
             Unreachable (Pending to delete):\n\tDirectories: 0\n\tFiles: 1\n\tBytes: 5\n\
             Unreferenced (Orphaned):\n\tDirectories: 1\n\tFiles: 0\n\tBytes: 0"
        );
    }
}
