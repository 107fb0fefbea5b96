//! A host is down for longer than the logs of the others reach back.

use crate::script::prelude::*;

/// The script, for the list.
pub const SCRIPT: Script = Script {
    name: "raft/behind-the-log",
    about: "a host that was away for longer than logs reach back is restored from a snapshot",
    run,
};

fn run() -> Result<()> {
    let all = [Host(0), Host(1), Host(2)];
    let mut h = hosts(3, 0, 40)?;
    let leader = h.leader()?;
    let away = if leader == Host(0) { Host(1) } else { Host(0) };
    h.kill([away])?;
    // More than a leader waits for a member.
    h.write_all(300)?;
    let leader = h.leader()?;
    h.expect("the log begins after the entries that it lacks", minutes(5), |h| {
        let first = h.number(leader, "first_index")?;
        ensure!(first > 50, "it begins at {first}");
        Ok(())
    })?;
    h.start([away])?;
    h.agree(&all)?;
    let restored = h.number(away, "snapshots_restored")?;
    ensure!(restored == 1, "it restored {restored} snapshots");
    // It continues with entries.
    h.write_all(20)?;
    h.agree(&all)?;
    let restored = h.number(away, "snapshots_restored")?;
    ensure!(restored == 1, "it restored {restored} snapshots");
    Ok(())
}
