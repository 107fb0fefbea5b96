//! A host loses only its log.

use crate::script::prelude::*;

/// The script, for the list.
pub const SCRIPT: Script = Script {
    name: "raft/lost-log",
    about: "a host that lost its log alone is in no majority before it has what it had",
    run,
};

fn run() -> Result<()> {
    let all = [Host(0), Host(1), Host(2)];
    let mut h = hosts(3, 0, 1_000)?;
    h.write_all(20)?;
    h.agree(&all)?;
    let leader = h.leader()?;
    let others: Vec<Server> = all.into_iter().filter(|host| *host != leader).collect();
    let (lost, behind) = (others[0], others[1]);
    // New entries are on the leader and the one that is to lose its log.
    h.kill([behind])?;
    h.write_all(20)?;
    h.kill([leader])?;
    h.power_off([lost])?;
    h.wipe(lost, Part::Log)?;
    h.start([lost, behind])?;
    // Both together are two of three, and lack what was acknowledged.
    h.none_leads(&[lost, behind])?;
    h.start([leader])?;
    h.agree(&all)?;
    h.counts_again(lost)?;
    h.kill([behind])?;
    h.write_all(5)?;
    h.kill([leader])?;
    h.start([behind])?;
    h.write_all(5)?;
    h.agree(&[lost, behind])
}
