//! The term of every entry, in compact form: terms only grow along a log, so runs of equal term
//! suffice.

/// Runs of equal term.
#[derive(Debug, Default)]
pub(crate) struct Terms {
    /// (first index, term), ascending in both.
    runs: Vec<(u64, u64)>,
}

impl Terms {
    /// Finds the runs of the entries `first..=last` with few reads, by bisection.
    pub(crate) fn load<E>(
        first: u64,
        last: u64,
        mut term: impl FnMut(u64) -> Result<u64, E>,
    ) -> Result<Self, E> {
        let mut terms = Self::default();
        if first > last {
            return Ok(terms);
        }
        let end = term(last)?;
        let mut at = first;
        let mut current = term(first)?;
        terms.runs.push((first, current));
        while current != end {
            // The first entry of a later term lies in (at, high].
            let (mut low, mut high) = (at, last);
            while high - low > 1 {
                let middle = low + (high - low) / 2;
                if term(middle)? == current { low = middle } else { high = middle }
            }
            at = high;
            current = term(at)?;
            terms.runs.push((at, current));
        }
        Ok(terms)
    }

    /// Records that the entry at `index` has `term` and is the last one.
    pub(crate) fn set_last(&mut self, index: u64, term: u64) {
        while self.runs.last().is_some_and(|(first, _)| *first >= index) {
            self.runs.pop();
        }
        if self.runs.last().is_none_or(|(_, last)| *last != term) {
            self.runs.push((index, term));
        }
    }

    /// The term at `index`, which must be in the log.
    pub(crate) fn get(&self, index: u64) -> Option<u64> {
        let after = self.runs.partition_point(|(first, _)| *first <= index);
        self.runs.get(after.checked_sub(1)?).map(|(_, term)| *term)
    }

    /// Start of the last run, if it has this `term`.
    pub(crate) fn first_of(&self, term: u64) -> Option<u64> {
        self.runs.last().filter(|(_, last)| *last == term).map(|(first, _)| *first)
    }

    /// Drops runs that end before `first`.
    pub(crate) fn trim(&mut self, first: u64) {
        let keep = self.runs.partition_point(|(start, _)| *start <= first).saturating_sub(1);
        self.runs.drain(..keep);
    }

    pub(crate) fn clear(&mut self) {
        self.runs.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(terms: &[u64]) -> Terms {
        let read = |index: u64| Ok::<_, ()>(terms[index as usize - 10]);
        Terms::load(10, 9 + terms.len() as u64, read).unwrap()
    }

    #[test]
    fn every_term_is_found_by_bisection() {
        for terms in
            [vec![1u64], vec![1, 1, 2], vec![1, 2, 3, 9], vec![4; 100], vec![1, 1, 5, 5, 5, 6]]
        {
            let found = log(&terms);
            for (n, term) in terms.iter().enumerate() {
                assert_eq!(found.get(10 + n as u64), Some(*term), "{terms:?} at {n}");
            }
        }
    }

    #[test]
    fn an_overwritten_tail_is_forgotten() {
        let mut terms = log(&[1, 1, 2, 2]);
        terms.set_last(11, 3);
        assert_eq!((terms.get(10), terms.get(11)), (Some(1), Some(3)));
        terms.trim(11);
        assert_eq!(terms.get(11), Some(3));
        assert_eq!(terms.get(9), None);
    }
}
