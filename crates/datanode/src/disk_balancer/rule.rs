//! Choice of the next replica to move, and of its source and target disk.
//!
//! As in Ozone, a disk's usage is the used share of its capacity, and the node's disks are even if
//! none differs from the usage of all of them together by the threshold or more. The next move
//! takes a replica of the fullest disk to the emptiest one that has space for it and stays below
//! the threshold with it. Beyond Ozone's rule the two disks must be closer to each other
//! afterwards: every move makes the sum of the squares of the differences smaller, so that the
//! moves end.

// Ozone: DefaultContainerChoosingPolicy, DiskBalancerVolumeCalculation.

/// A disk, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Volume {
    /// Usable capacity.
    pub capacity: u64,
    /// Used part of that.
    pub used: u64,
    /// Writable bytes now.
    pub usable: u64,
    /// Bytes that open replicas on it may still take.
    pub committed: u64,
    /// Bytes that replicas moving to it will still take.
    pub coming: u64,
    /// Bytes freed when replicas that were moved from it, or are moving, are removed.
    pub leaving: u64,
}

/// A replica that may be moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Candidate<I> {
    /// Its id.
    pub id: I,
    /// The place of its disk among the volumes.
    pub volume: usize,
    /// Its bytes.
    pub bytes: u64,
}

/// A replica that is to be moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Move<I> {
    /// The replica.
    pub id: I,
    /// Source disk.
    pub from: usize,
    /// Target disk.
    pub to: usize,
    /// Its bytes.
    pub bytes: u64,
}

impl Volume {
    /// Returns the bytes that count as used.
    pub fn effective_used(&self) -> u64 {
        let taken = self.used.saturating_add(self.committed).saturating_add(self.coming);
        taken.saturating_sub(self.leaving).min(self.capacity)
    }

    /// The share of it that is used, 0 to 1; 0 of a disk without capacity.
    pub fn utilization(&self) -> f64 {
        share(self.effective_used(), self.capacity)
    }

    /// Returns the writable bytes after all committed ones are written.
    fn room(&self) -> u64 {
        self.usable.saturating_sub(self.committed.saturating_add(self.coming))
    }

    fn with(&self, bytes: u64) -> Self {
        Self { coming: self.coming.saturating_add(bytes), ..*self }
    }

    fn without(&self, bytes: u64) -> Self {
        Self { leaving: self.leaving.saturating_add(bytes), ..*self }
    }
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// Returns the usage of all disks together, 0 to 1.
pub(crate) fn ideal_usage(volumes: &[Volume]) -> f64 {
    let sum = |of: fn(&Volume) -> u64| volumes.iter().map(of).fold(0, u64::saturating_add);
    share(sum(Volume::effective_used), sum(|volume| volume.capacity))
}

/// The sum of how much each disk differs from all of them together.
pub(crate) fn density_sum(volumes: &[Volume]) -> f64 {
    let ideal = ideal_usage(volumes);
    counted(volumes).map(|(_, volume)| (volume.utilization() - ideal).abs()).sum()
}

/// Disks that count.
fn counted(volumes: &[Volume]) -> impl Iterator<Item = (usize, &Volume)> {
    volumes.iter().enumerate().filter(|(_, volume)| volume.capacity > 0)
}

/// Returns `true` if no disk differs by the threshold, which is a percentage.
pub(crate) fn is_even(volumes: &[Volume], threshold: f64) -> bool {
    let (ideal, bound) = (ideal_usage(volumes), threshold / 100.0);
    let within = |volume: &Volume| (volume.utilization() - ideal).abs() < bound;
    counted(volumes).count() < 2 || counted(volumes).all(|(_, volume)| within(volume))
}

/// Returns the least number of bytes that must move until the disks are even.
pub(crate) fn bytes_to_move(volumes: &[Volume], threshold: f64) -> u64 {
    if is_even(volumes, threshold) {
        return 0;
    }
    let (ideal, bound) = (ideal_usage(volumes), threshold / 100.0);
    let beyond = |difference: f64, volume: &Volume| {
        let share = (difference - bound).max(0.0);
        (share * volume.capacity as f64).round() as u64
    };
    let sum = |of: &dyn Fn(&Volume) -> u64| {
        counted(volumes).map(|(_, volume)| of(volume)).fold(0, u64::saturating_add)
    };
    let over = sum(&|volume| beyond(volume.utilization() - ideal, volume));
    let under = sum(&|volume| beyond(ideal - volume.utilization(), volume));
    over.max(under)
}

/// The next move, if there is one: `threshold` is a percentage between 0 and 100.
pub(crate) fn next_move<I: Copy + Ord>(
    volumes: &[Volume],
    threshold: f64,
    candidates: &[Candidate<I>],
) -> Option<Move<I>> {
    if is_even(volumes, threshold) {
        return None;
    }
    let upper = ideal_usage(volumes) + threshold / 100.0;
    let mut order: Vec<usize> = counted(volumes).map(|(at, _)| at).collect();
    order.sort_by(|a, b| volumes[*a].utilization().total_cmp(&volumes[*b].utilization()));
    let from = order.pop()?;
    let source = volumes[from];
    // The larger ones first: fewer of them need to move.
    let mut here: Vec<_> =
        candidates.iter().filter(|one| one.volume == from && one.bytes > 0).collect();
    here.sort_by(|a, b| b.bytes.cmp(&a.bytes).then(a.id.cmp(&b.id)));
    for to in order {
        let target = volumes[to];
        if target.utilization() >= source.utilization() {
            break;
        }
        let fits = |bytes: u64| {
            let (left, grown) = (source.without(bytes), target.with(bytes));
            let before = source.utilization() - target.utilization();
            let after = (left.utilization() - grown.utilization()).abs();
            bytes < target.room() && grown.utilization() < upper && after < before
        };
        if let Some(one) = here.iter().find(|one| fits(one.bytes)) {
            return Some(Move { id: one.id, from, to, bytes: one.bytes });
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn volume(capacity: u64, used: u64) -> Volume {
        Volume { capacity, used, usable: capacity.saturating_sub(used), ..Volume::default() }
    }

    fn candidates(sizes: &[(usize, u64)]) -> Vec<Candidate<usize>> {
        let one = |(id, (volume, bytes)): (usize, &(usize, u64))| Candidate {
            id,
            volume: *volume,
            bytes: *bytes,
        };
        sizes.iter().enumerate().map(one).collect()
    }

    #[test]
    fn disks_are_even_within_the_threshold_of_all_of_them() {
        // All together are full to 50 %.
        let volumes = [volume(1_000, 600), volume(1_000, 400)];
        assert_eq!(ideal_usage(&volumes), 0.5);
        assert!((density_sum(&volumes) - 0.2).abs() < 1e-9);
        for (threshold, even) in [(10.1, true), (9.9, false), (0.1, false), (99.0, true)] {
            assert_eq!(is_even(&volumes, threshold), even, "{threshold}");
        }
        assert_eq!(bytes_to_move(&volumes, 5.0), 50);
        assert_eq!(bytes_to_move(&volumes, 20.0), 0);
        // By shares, not by bytes.
        assert!(is_even(&[volume(1_000, 500), volume(10, 5)], 0.1));
        // One disk is always even, and so is a node whose other disks have failed.
        assert!(is_even(&[volume(1_000, 900)], 1.0));
        assert!(is_even(&[volume(1_000, 900), volume(0, 0)], 1.0));
        assert!(is_even(&[], 1.0));
    }

    #[test]
    fn the_fullest_disk_gives_to_the_emptiest_that_has_room() {
        let volumes = [volume(1_000, 500), volume(1_000, 900), volume(1_000, 100)];
        let all = candidates(&[(0, 90), (1, 90), (1, 300), (1, 120), (2, 50)]);
        let next = next_move(&volumes, 10.0, &all);
        assert_eq!(next, Some(Move { id: 2, from: 1, to: 2, bytes: 300 }));
        // Not if it would be too full with it, by the threshold or by the reserved space.
        let mut small = volumes;
        small[2].usable = 100;
        assert_eq!(next_move(&small, 10.0, &all).unwrap().id, 1);
        // A replica that is moving to a disk counts as if it were there.
        let mut busy = volumes;
        busy[2].coming = 450;
        busy[1].leaving = 450;
        assert_eq!(next_move(&busy, 10.0, &all), None, "they will be even");
        // The next one, if the emptiest has no space.
        let mut full = volumes;
        full[2].usable = 0;
        let to = next_move(&full, 10.0, &all);
        assert_eq!(to, Some(Move { id: 1, from: 1, to: 0, bytes: 90 }), "up to 60 % and no more");
        // Nothing that may be moved.
        assert_eq!(next_move(&volumes, 10.0, &candidates(&[(0, 90), (1, 0)])), None);
    }

    #[test]
    fn a_replica_that_would_only_change_places_stays() {
        // One large replica: wherever it is, that disk is the fullest.
        let volumes = [volume(1_000, 400), volume(1_000, 0)];
        assert_eq!(next_move(&volumes, 10.0, &candidates(&[(0, 400)])), None);
        assert_eq!(next_move(&volumes, 30.0, &candidates(&[(0, 400)])), None);
        let next = next_move(&volumes, 10.0, &candidates(&[(0, 250), (0, 150)]));
        assert_eq!(next.map(|next| next.bytes), Some(250));
    }

    proptest! {
        /// Whatever is on the disks: each move makes them closer, none makes a disk fuller than it
        /// may be, and they end.
        #[test]
        fn moves_make_disks_even_and_end(
            capacities in prop::collection::vec(1_000u64..100_000, 1..6),
            others in prop::collection::vec(0u64..500, 6),
            sizes in prop::collection::vec((0usize..6, 0u64..3_000), 0..60),
            threshold in 0.01f64..50.0,
        ) {
            let count = capacities.len();
            let mut all = candidates(&sizes);
            let mut volumes: Vec<_> =
                capacities.iter().zip(&others).map(|(c, used)| volume(*c, *used)).collect();
            for one in &mut all {
                one.volume %= count;
                let disk = &mut volumes[one.volume];
                if disk.used + one.bytes > disk.capacity {
                    one.bytes = 0;
                }
                disk.used += one.bytes;
                disk.usable = disk.capacity - disk.used;
            }
            let spread = |volumes: &[Volume]| {
                let ideal = ideal_usage(volumes);
                let square = |v: &Volume| v.capacity as f64 * (v.utilization() - ideal).powi(2);
                volumes.iter().map(square).sum::<f64>()
            };
            let total: u64 = volumes.iter().map(|v| v.used).sum();
            let (ideal, mut last, mut moves) = (ideal_usage(&volumes), spread(&volumes), 0);
            while let Some(next) = next_move(&volumes, threshold, &all) {
                prop_assert_eq!(all[next.id].volume, next.from);
                prop_assert_ne!(next.from, next.to);
                // While it is on its way, it counts as moved.
                let mut planned = volumes.clone();
                planned[next.from] = planned[next.from].without(next.bytes);
                planned[next.to] = planned[next.to].with(next.bytes);
                prop_assert!((ideal_usage(&planned) - ideal).abs() < 1e-9);
                volumes[next.from].used -= next.bytes;
                volumes[next.from].usable += next.bytes;
                volumes[next.to].used += next.bytes;
                volumes[next.to].usable -= next.bytes;
                all[next.id].volume = next.to;
                let there = volumes[next.to];
                prop_assert!(there.used <= there.capacity);
                prop_assert!(there.utilization() < ideal + threshold / 100.0);
                let now = spread(&volumes);
                prop_assert!(now < last, "{} is not less than {}", now, last);
                (last, moves) = (now, moves + 1);
                prop_assert!(moves < 10_000);
            }
            prop_assert_eq!(volumes.iter().map(|v| v.used).sum::<u64>(), total);
            prop_assert!(bytes_to_move(&volumes, threshold) == 0 || !is_even(&volumes, threshold));
        }
    }
}
