//! Options of the program that starts a DataNode, in addition to the configuration.

use service::Shutdown;

/// Ties a DataNode to the program that starts it.
#[derive(Debug, Clone, Default)]
pub struct DatanodeOptions {
    /// The program's own shutdown: when it is triggered the DataNode stops taking part in the
    /// cluster. [`DatanodeHandle::shutdown`](crate::DatanodeHandle::shutdown) still is to be
    /// called.
    pub shutdown: Option<Shutdown>,
}
