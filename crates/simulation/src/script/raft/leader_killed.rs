//! The leader of a group is killed.

use crate::script::prelude::*;

/// The script, for the list.
pub const SCRIPT: Script = Script {
    name: "raft/leader-killed",
    about: "a killed leader is replaced, and catches up from the log alone",
    run,
};

fn run() -> Result<()> {
    let all = [Host(0), Host(1), Host(2)];
    let mut h = hosts(3, 0, 1_000)?;
    for _ in 0..3 {
        h.write_all(50)?;
        let leader = h.leader()?;
        h.kill([leader])?;
        h.another_leader(&[leader])?;
        h.write_all(50)?;
        h.start([leader])?;
        h.agree(&all)?;
        for host in all {
            let restored = h.number(host, "snapshots_restored")?;
            ensure!(restored == 0, "{host} restored {restored} snapshots");
        }
    }
    Ok(())
}
