//! The client against servers that keep everything in memory and fail when told to.

mod datanode;
mod metadata;
mod om;
mod reads;
mod support;
mod writes;
