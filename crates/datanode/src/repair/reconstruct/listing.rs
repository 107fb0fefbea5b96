//! The blocks of all sources, side by side.

use std::cmp::Ordering;
use std::collections::VecDeque;
use std::sync::Arc;

use futures::future::join_all;
use proto::datanode::BlockData;
use types::LocalId;

use super::source::Source;
use crate::repair::replica_source::SourceError;

/// A block as some sources list it.
pub(super) struct Listed {
    /// The block.
    pub local: LocalId,
    /// The sources, by their places, and their rows.
    pub rows: Vec<(usize, BlockData)>,
}

/// The blocks of all sources in the order of their keys.
pub(super) struct Listing {
    cursors: Vec<Cursor>,
}

/// Position in the listing of one source.
struct Cursor {
    source: Arc<Source>,
    place: usize,
    rows: VecDeque<(LocalId, BlockData)>,
    /// The last block that was read.
    last: Option<LocalId>,
    ended: bool,
}

/// Keys are decimal numbers as text: their order is not that of the numbers.
pub(super) fn by_key(a: LocalId, b: LocalId) -> Ordering {
    a.to_string().cmp(&b.to_string())
}

impl Listing {
    /// Lists the blocks of these sources after the block `after`.
    pub fn new(sources: Vec<(usize, Arc<Source>)>, after: Option<LocalId>) -> Self {
        let cursor = |(place, source)| Cursor {
            source,
            place,
            rows: VecDeque::new(),
            last: after,
            ended: false,
        };
        Self { cursors: sources.into_iter().map(cursor).collect() }
    }

    /// Returns the next block; `None` at the end. A source that fails is dropped, and returned with
    /// its failure.
    pub async fn next(&mut self) -> (Option<Listed>, Vec<(usize, SourceError)>) {
        let filled = join_all(self.cursors.iter_mut().map(Cursor::fill)).await;
        let mut failed = Vec::new();
        for (cursor, outcome) in self.cursors.iter().zip(filled) {
            if let Err(error) = outcome {
                failed.push((cursor.place, error));
            }
        }
        self.cursors.retain(|cursor| !failed.iter().any(|(place, _)| *place == cursor.place));
        let first = self.cursors.iter().filter_map(|cursor| cursor.rows.front());
        let Some(local) = first.map(|(local, _)| *local).min_by(|a, b| by_key(*a, *b)) else {
            return (None, failed);
        };
        let mut rows = Vec::with_capacity(self.cursors.len());
        for cursor in &mut self.cursors {
            if let Some((_, row)) = cursor.rows.pop_front_if(|(first, _)| *first == local) {
                rows.push((cursor.place, row));
            }
        }
        (Some(Listed { local, rows }), failed)
    }
}

impl Cursor {
    async fn fill(&mut self) -> Result<(), SourceError> {
        if !self.rows.is_empty() || self.ended {
            return Ok(());
        }
        for row in self.source.list(self.last).await? {
            let local = LocalId::from_wire(row.block_id.local_id);
            match self.last.map_or(Ordering::Less, |last| by_key(last, local)) {
                Ordering::Less => {
                    self.last = Some(local);
                    self.rows.push_back((local, row));
                }
                // Where it went on.
                Ordering::Equal => {}
                Ordering::Greater => {
                    return Err(SourceError::Odd(format!("block {local} out of order")));
                }
            }
        }
        self.ended = self.rows.is_empty();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_as_text() {
        let mut locals = [LocalId(9), LocalId(10), LocalId(100), LocalId(2)];
        locals.sort_by(|a, b| by_key(*a, *b));
        assert_eq!(locals, [LocalId(10), LocalId(100), LocalId(2), LocalId(9)]);
    }
}
