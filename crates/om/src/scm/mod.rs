//! OM's calls of SCM: blocks for new keys ([`BlockPool`]), locations of containers for reads
//! ([`Locations`]), and deletion of blocks ([`ScmClient`]).

mod blocks;
mod client;
mod locations;

pub(crate) use blocks::{BlockPool, FreshBlock, PoolOptions};
pub(crate) use client::{ScmAddresses, ScmClient, ScmError, ScmInfo};
pub(crate) use locations::Locations;
