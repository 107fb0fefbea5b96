//! DataNodes: they register, serve and leave.

pub(crate) mod destination;
pub(crate) mod leave;
pub(crate) mod progress;
pub(crate) mod register;
pub(crate) mod serve;
pub(crate) mod watch;

pub use destination::{DestinationChoice, DestinationError};
pub use leave::{LeavingNode, Obstacles};
pub use progress::{Blocked, LeavingProgress, Refused};
pub use register::Registered;
pub use serve::ServeError;
pub use watch::Shift;

pub use crate::state::left_bytes::LeftBytes;
pub use crate::state::nodes::Destinations;
