//! Members are added and removed, the leader and one that is away among them.

use crate::script::prelude::*;

/// The script, for the list.
pub const SCRIPT: Script = Script {
    name: "raft/members-change",
    about: "members come with everything and a vote; a leader removes itself; one that was away hears of it",
    run,
};

fn run() -> Result<()> {
    let mut h = hosts(3, 2, 40)?;
    h.write_all(0, 100)?;
    h.add(Host(3))?;
    h.agree(&[Host(0), Host(1), Host(2), Host(3)])?;
    // One is away while the others change.
    let leader = h.leader()?;
    let away = if leader == Host(0) { Host(1) } else { Host(0) };
    h.kill([away])?;
    h.add(Host(4))?;
    h.write_all(100, 100)?;
    // The leader goes by its own hand.
    let gone = h.leader()?;
    h.remove(gone)?;
    let next = h.another_leader(&[gone])?;
    ensure!(!h.votes(gone)?, "{gone} still votes");
    let term = h.number(next, "term")?;
    h.write_all(200, 20)?;
    h.start([away])?;
    let left: Vec<Server> = (0..5).map(Host).filter(|host| *host != gone).collect();
    h.agree(&left)?;
    // One that was removed and runs on disturbs nobody.
    h.expect_always("the leader stays", minutes(2), |h| {
        let (leader, now) = (h.leader()?, h.number(next, "term")?);
        ensure!(
            leader == next && now == term,
            "{leader} leads in term {now}, {next} did in {term}"
        );
        Ok(())
    })?;
    let members = h.members(away)?;
    ensure!(members.voters().count() == 4, "{away} knows {members:?}");
    Ok(())
}
