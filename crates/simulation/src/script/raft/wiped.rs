//! A host's disk is lost: it comes back with an empty one.

use crate::script::prelude::*;

/// The script, for the list.
pub const SCRIPT: Script = Script {
    name: "raft/wiped",
    about: "a host with an empty disk gets everything, and gives no vote before",
    run,
};

fn run() -> Result<()> {
    let all = [Host(0), Host(1), Host(2)];
    let mut h = hosts(3, 0, 40)?;
    h.write_all(100)?;
    h.agree(&all)?;
    let leader = h.leader()?;
    let others: Vec<Server> = all.into_iter().filter(|host| *host != leader).collect();
    let (wiped, behind) = (others[0], others[1]);
    h.kill([behind])?;
    h.write_all(20)?;
    h.power_off([leader, wiped])?;
    h.wipe(wiped, Part::All)?;
    h.start([wiped, behind])?;
    // An empty host and one that lacks entries elect no leader.
    h.none_leads(&[wiped, behind])?;
    h.start([leader])?;
    h.agree(&all)?;
    h.counts_again(wiped)?;
    h.kill([leader])?;
    h.expect("the two others go on", minutes(1), Hosts::write)?;
    h.agree(&others)
}
