//! Adoption of a complete container from another node.

use std::collections::BTreeMap;
use std::sync::Arc;

use container::ContainerState;
use container::segment::SegmentInfo;
use rustc_hash::FxHashMap;
use types::ContainerId;

use super::file::ContainerFile;
use super::{Container, Fixed, Sealed, Segments, Sums};
use crate::disk::Disk;
use crate::error::Result;

impl Container {
    /// Writes the `.container` file of a folder that is in its place. `sums` are those of its rows;
    /// they are durable before the folder counts, also if the container has no blocks.
    pub(crate) fn adopt(
        disk: Arc<Disk>,
        id: ContainerId,
        state: ContainerState,
        fixed: Fixed,
        sums: &Sums,
        infos: BTreeMap<u32, SegmentInfo>,
    ) -> Result<Arc<Self>> {
        let sealed = Some(Sealed { bcsid: sums.bcsid, delete_tx: sums.delete_tx });
        let file = ContainerFile { id, state, fixed, sealed };
        file.write(&disk, &disk.container_dir(id))?;
        let highest = infos.last_key_value().map_or(0, |(number, _)| *number);
        let segments = Segments { infos, highest, ..Segments::default() };
        Ok(Self::assemble(disk, file, Sums::default(), segments, FxHashMap::default()))
    }

    /// The node that made it first.
    pub(crate) fn origin(&self) -> &str {
        &self.fixed.origin
    }
}
