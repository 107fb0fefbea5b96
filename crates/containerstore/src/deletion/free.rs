//! Giving the space of deleted blocks back to the file system.

use std::sync::Arc;

use blockio::block_on;
use container::ContainerState;
use container::segment::space;
use futures::future::join_all;
use scheduling::Rests;
use types::LocalId;

use super::reclaim::pending;
use crate::containers::Container;
use crate::error::{Result, StorageError};
use crate::store::{Freed, Place};

/// Unlinks the blocks' files and punches their records out. The rows must be durably deleted.
pub(super) fn free_space(freed: &Freed, container: &Container, blocks: &[LocalId]) -> Result<()> {
    let io = &container.disk().io;
    let fail = StorageError::io(container.id());
    // Also for blocks without a row: chunks of an abandoned write.
    let files = blocks.iter().map(|local| container.block_path(*local).to_path_buf());
    block_on(io.unlink(files.collect())).map_err(&fail)?;
    let mut punches = Vec::new();
    for (number, dead) in &freed.dead {
        let holes = space::holes(dead.clone());
        if !holes.is_empty() {
            punches.push(io.punch(container.segment_path(*number), holes));
        }
    }
    block_on(join_all(punches)).into_iter().collect::<Result<(), _>>().map_err(fail)
}

/// Drops segments without live records, and copies half-dead ones if no more blocks of the
/// container are to be deleted after `end`; returns the numbers of both.
pub(super) fn tidy_segments(
    container: &Arc<Container>,
    end: Option<Place>,
    segment_size: u64,
    rests: &mut Rests,
) -> Result<(u64, u64)> {
    // While replay puts bytes back, places are fixed; and a damaged record cannot be copied.
    if container.is_replaying() || container.state() == ContainerState::Unhealthy {
        return Ok((0, 0));
    }
    container.seal_empty();
    let mut sparse = container.segments.lock().infos.clone();
    sparse.retain(|_, info| space::worth_compacting(info));
    // Blocks that will be deleted soon would be copied for nothing. A later run repeats this.
    if !sparse.is_empty() && !pending(container, end, 1)?.0.is_empty() {
        sparse.clear();
    }
    if !sparse.is_empty() {
        container.move_out_of(&sparse, segment_size, rests)?;
        // The copies, and the rows that point to them, before the originals go.
        container.disk().flush()?;
    }
    let infos = container.segments.lock().infos.clone();
    let mut dropped = 0;
    for (number, _) in infos.iter().filter(|(_, info)| space::worth_unlinking(info)) {
        if container.drop_segment(*number)? > 0 {
            dropped += 1;
        }
        rests.rest();
    }
    Ok((sparse.len() as u64, dropped))
}

impl Container {
    /// Seals the active segment if it has no live records: its space can be freed at once.
    fn seal_empty(&self) {
        let mut segments = self.segments.lock();
        if let Some(mut last) = segments.infos.last_entry() {
            let info = last.get_mut();
            info.sealed |= info.live_records == 0;
        }
    }
}
