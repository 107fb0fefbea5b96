//! All roles in one process.
#![allow(clippy::unwrap_used, missing_docs)]

mod derive;
mod directory;
mod permissions;
mod s3;
mod scm_ha;
