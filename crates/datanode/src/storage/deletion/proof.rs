//! Proof that a block was deleted, for another replica that looks for its bytes.

use types::BlockId;

use crate::storage::error::Result;
use crate::storage::store::ContainerStore;

impl ContainerStore {
    /// Whether this replica knows that the block, committed by the log entry that its block commit sequence id names,
    /// is deleted: it has come past that entry and has no such block. A replica that is not trusted knows nothing.
    ///
    /// # Errors
    /// When there is no such container, or its disk fails.
    pub fn knows_deleted(&self, block: BlockId) -> Result<bool> {
        use container::ContainerState::{Closed, Closing, Open, QuasiClosed};
        let container = self.container(block.container)?;
        // First the sum, then the row: a round writes its rows before it counts.
        let trusted = matches!(container.state(), Open | Closing | QuasiClosed | Closed);
        let past = block.bcsid > 0 && container.sums().bcsid >= block.bcsid;
        Ok(trusted && past && container.block_row(block.local)?.is_none())
    }
}
