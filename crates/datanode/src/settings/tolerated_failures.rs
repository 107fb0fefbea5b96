//! Number of directories that may fail before a DataNode exits.

use config::Configuration;
use config::keys::datanode as dn;

/// Bounds on failed directories, by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tolerated {
    /// Bound of data directories, each with its database.
    pub data: Bound,
    /// Bound of Raft log directories.
    pub metadata: Bound,
}

/// A bound on failed directories.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// All but one may fail.
    AllButOne,
    /// At most this number.
    AtMost(usize),
}

impl Tolerated {
    /// Reads the keys. A data directory fails with its database: the smaller of the two bounds
    /// counts.
    pub(crate) fn read(conf: &Configuration) -> Self {
        let data = Bound::of(conf.get(&dn::HDDS_DATANODE_FAILED_DATA_VOLUMES_TOLERATED));
        let db = Bound::of(conf.get(&dn::HDDS_DATANODE_FAILED_DB_VOLUMES_TOLERATED));
        let metadata = Bound::of(conf.get(&dn::HDDS_DATANODE_FAILED_METADATA_VOLUMES_TOLERATED));
        Self { data: data.stricter(db), metadata }
    }
}

impl Bound {
    /// As Ozone's keys have it: any negative number is no bound except the last good directory.
    fn of(number: i32) -> Self {
        usize::try_from(number).map_or(Self::AllButOne, Self::AtMost)
    }

    fn stricter(self, other: Self) -> Self {
        match (self, other) {
            (Self::AtMost(one), Self::AtMost(two)) => Self::AtMost(one.min(two)),
            (Self::AtMost(one), Self::AllButOne) | (Self::AllButOne, Self::AtMost(one)) => {
                Self::AtMost(one)
            }
            (Self::AllButOne, Self::AllButOne) => Self::AllButOne,
        }
    }

    /// Returns the reason why `failed` directories of `all` are too many, if they are. One must
    /// always be good.
    pub(crate) fn exceeded(self, failed: usize, all: usize) -> Option<String> {
        if failed > 0 && failed >= all {
            return Some(format!("all {all} have failed"));
        }
        match self {
            Self::AtMost(bound) if failed > bound => {
                Some(format!("{failed} of {all} have failed, the limit is {bound}"))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_directory_must_be_good_whatever_is_tolerated() {
        for bound in [Bound::AllButOne, Bound::AtMost(5)] {
            assert_eq!(bound.exceeded(0, 3), None);
            assert_eq!(bound.exceeded(2, 3), None);
            assert!(bound.exceeded(3, 3).is_some());
        }
        assert!(Bound::AtMost(0).exceeded(1, 3).is_some());
        assert_eq!(Bound::AtMost(0).exceeded(0, 3), None);
        assert!(Bound::AtMost(1).exceeded(2, 3).is_some());
    }

    #[test]
    fn a_directory_fails_with_its_database() {
        let conf = Configuration::builder().build().expect("an empty configuration");
        let tolerated = Tolerated::read(&conf);
        assert_eq!((tolerated.data, tolerated.metadata), (Bound::AllButOne, Bound::AllButOne));
        let conf = conf
            .with("hdds.datanode.failed.data.volumes.tolerated", "2")
            .with("hdds.datanode.failed.db.volumes.tolerated", "1")
            .with("hdds.datanode.failed.metadata.volumes.tolerated", "0");
        let tolerated = Tolerated::read(&conf);
        assert_eq!((tolerated.data, tolerated.metadata), (Bound::AtMost(1), Bound::AtMost(0)));
    }
}
