//! While one member is down, all members known to it leave, the leader by its own removal.

use crate::script::prelude::*;

/// The script, for the list.
pub const SCRIPT: Script = Script {
    name: "raft/members-change",
    about: "members come with everything and a vote; a leader removes itself; one that was away finds others",
    run,
};

fn run() -> Result<()> {
    let mut h = hosts(3, 2, 40)?;
    h.write_all(100)?;
    let leader = h.leader()?;
    let away = if leader == Host(0) { Host(1) } else { Host(0) };
    let mut known = [Host(0), Host(1), Host(2)].into_iter().filter(|host| *host != away);
    let (gone, other) = (known.next().context("one")?, known.next().context("two")?);
    h.kill([away])?;
    for new in [Host(3), Host(4)] {
        h.add(new)?;
        let restored = h.number(new, "snapshots_restored")?;
        ensure!(restored > 0, "the log reaches back to what {new} lacks");
    }
    h.agree(&[gone, other, Host(3), Host(4)])?;

    // The leader removes itself.
    h.expect("it leads", minutes(1), |h| {
        h.hand_over(gone)?;
        let leader = h.leader()?;
        ensure!(leader == gone, "{leader} leads");
        Ok(())
    })?;
    h.remove(gone)?;
    let next = h.another_leader(&[gone])?;
    ensure!(!h.votes(gone)?, "{gone} still votes");
    let term = h.number(next, "term")?;
    h.write_all(20)?;
    // It keeps running, and disturbs no member.
    h.expect_always("the leader stays", minutes(2), |h| {
        let (leader, now) = (h.leader()?, h.number(next, "term")?);
        ensure!(
            leader == next && now == term,
            "{leader} leads in term {now}, {next} did in term {term}"
        );
        Ok(())
    })?;

    // So does the last one that was a member when the other went down.
    h.remove(other)?;
    h.kill([gone, other])?;
    h.write_all(60)?;
    h.start([away])?;
    h.agree(&[away, Host(3), Host(4)])?;
    let members = h.members(away)?;
    ensure!(members.voters().count() == 3, "{away} has the members {members:?}");
    // It counts for the quorum: another one may fail.
    let (down, left) = if h.leader()? == Host(3) { (3, 4) } else { (4, 3) };
    h.kill([Host(down)])?;
    h.write_all(5)?;
    h.agree(&[away, Host(left)])
}
