//! What tests of several crates need. Nothing that is shipped depends on it.
//!
//! * [`free_ports`]: ports that stay a server's own while it is down.
//! * [`log`]: what `RUST_LOG` asks to be seen of a test that fails.

mod log;
mod ports;

pub use log::log;
pub use ports::{free_addresses, free_ports};
