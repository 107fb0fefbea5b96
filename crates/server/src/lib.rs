//! All roles in one process: SCM, DataNodes, OM and S3 gateway on one runtime and one directory.
//!
//! Each role is started as by `o3 scm`, `o3 om` and so on, with a configuration derived from the
//! one given ([`mod@derive`]): directories below one directory, addresses on one interface, and the
//! addresses of the roles already started. Start reading at [`Server::start`].

pub mod derive;
mod directory;
mod endpoints;
mod error;
mod members;
mod ports;
mod roles;
mod start;

pub use directory::Directory;
pub use endpoints::{Credentials, Endpoints};
pub use error::ServerError;
pub use roles::Roles;
pub use start::{Server, ServerOptions};
