//! The engine's numbers of groups.
//!
//! These are not derived from the group: the engine never completely forgets a number (the record
//! of an erased group becomes an empty table in memory when old files are purged), so a process in
//! which groups come and go would grow forever. The numbers of erased groups are reused instead, so
//! that there are only as many as the largest number of groups at one time.

use rustc_hash::{FxHashMap, FxHashSet};

/// The engine's numbers of groups. Groups are identified by their folded ids.
#[derive(Debug, Default)]
pub(crate) struct Regions {
    of_group: FxHashMap<u64, u64>,
    of_region: FxHashMap<u64, u64>,
    /// Numbers in the engine that belong to no known group, or to one that is being erased: not to
    /// be used.
    reserved: FxHashSet<u64>,
    free: Vec<u64>,
    last: u64,
}

impl Regions {
    /// Loads the numbers in an engine, each with its group.
    pub(crate) fn load(held: impl IntoIterator<Item = (u64, Option<u64>)>) -> Self {
        let mut regions = Self::default();
        for (region, group) in held {
            match group {
                Some(group) => regions.bind(group, region),
                None => drop(regions.reserved.insert(region)),
            }
        }
        regions
    }

    fn bind(&mut self, group: u64, region: u64) {
        self.of_group.insert(group, region);
        self.of_region.insert(region, group);
    }

    /// The number of a group that the engine has records of.
    pub(crate) fn get(&self, group: u64) -> Option<u64> {
        self.of_group.get(&group).copied()
    }

    /// The group of a number.
    pub(crate) fn group(&self, region: u64) -> Option<u64> {
        self.of_region.get(&region).copied()
    }

    /// The number of a group; assigns one if it has none.
    pub(crate) fn claim(&mut self, group: u64) -> u64 {
        if let Some(region) = self.get(group) {
            return region;
        }
        let region = self.free.pop().unwrap_or_else(|| self.fresh());
        self.bind(group, region);
        region
    }

    fn fresh(&mut self) -> u64 {
        loop {
            self.last += 1;
            let taken = self.of_region.contains_key(&self.last);
            if !taken && !self.reserved.contains(&self.last) {
                return self.last;
            }
        }
    }

    /// Retires the number of a group that is being erased: later writes for that group are those of
    /// a new one. The number stays reserved.
    pub(crate) fn retire(&mut self, group: u64) -> Option<u64> {
        let region = self.of_group.remove(&group)?;
        self.of_region.remove(&region);
        self.reserved.insert(region);
        Some(region)
    }

    /// Releases the number of an erased group for reuse.
    pub(crate) fn release(&mut self, region: u64) {
        if self.reserved.remove(&region) {
            self.free.push(region);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_as_many_numbers_as_there_were_groups_at_a_time() {
        let mut regions = Regions::default();
        for group in 0..1000 {
            let region = regions.claim(group);
            assert_eq!((regions.get(group), regions.group(region)), (Some(region), Some(group)));
            assert_eq!(regions.claim(group), region, "it keeps its number");
            assert!(region <= 4);
            if group >= 2 {
                let retired = regions.retire(group - 2).unwrap();
                assert_ne!(regions.claim(group - 2), retired, "not before it is erased");
                let again = regions.retire(group - 2).unwrap();
                regions.release(again);
                regions.release(retired);
                assert_eq!(regions.get(group - 2), None);
            }
        }
    }

    #[test]
    fn numbers_that_are_in_the_engine_are_not_given_away() {
        let mut regions = Regions::load([(1, Some(77)), (2, None), (u64::MAX, Some(u64::MAX))]);
        assert_eq!((regions.get(77), regions.get(u64::MAX)), (Some(1), Some(u64::MAX)));
        assert_eq!((regions.claim(5), regions.claim(6)), (3, 4));
        assert_eq!(regions.retire(77), Some(1));
        regions.release(1);
        assert_eq!((regions.claim(7), regions.claim(8)), (1, 5));
        assert_eq!(regions.retire(1234), None);
    }
}
