//! Groups of real hosts over a network in memory, with real logs.

mod crash;
mod damage;
mod many;
mod over_tcp;
mod payload;
mod replicate;
mod single;
mod snapshot;
mod support;
