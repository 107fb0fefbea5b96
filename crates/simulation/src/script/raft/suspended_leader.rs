//! The machine of a leader with a lease is suspended: its clock stands still meanwhile.

use crate::script::prelude::*;

/// The script, for the list.
pub const SCRIPT: Script = Script {
    name: "raft/suspended-leader",
    about: "a leader that was suspended holds no lease afterwards: no read at it is stale",
    run,
};

fn run() -> Result<()> {
    let all = [Host(0), Host(1), Host(2)];
    let mut h = hosts(3, 0, 1_000)?;
    // Requests wait at a suspended machine: it answers them before it receives anything else.
    let watch = h.watch();
    for round in 0..6 {
        let old = h.expect("a host leads", minutes(1), Hosts::leader)?;
        let before = watch.reads(old);
        h.expect("it is read", seconds(10), |_| {
            let reads = watch.reads(old) - before;
            ensure!(reads >= 10, "{old} answered {reads} reads");
            Ok(())
        })?;
        h.sleep(old)?;
        let next = h.another_leader(&[old])?;
        let (before, asleep) = (watch.writes(next), watch.reads(old));
        h.expect("the next leader writes", seconds(30), |_| {
            let writes = watch.writes(next) - before;
            ensure!(writes >= 100, "{next} acknowledged {writes} writes");
            Ok(())
        })?;
        ensure!(watch.reads(old) == asleep, "{old} is suspended and answers");
        h.wake(old)?;
        h.expect("it follows", minutes(1), |h| {
            let (applied, commit) = (h.number(old, "applied")?, h.number(next, "commit")?);
            ensure!(applied + 50 > commit, "{old} has applied {applied} of {commit}");
            Ok(())
        })?;
        watch.none_is_stale().with_context(|| format!("round {round}"))?;
    }
    watch.end(&mut h)?;
    h.agree(&all)
}
