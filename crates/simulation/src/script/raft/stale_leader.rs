//! A leader with a lease is cut off: it must not be read any more when others have another one.

use crate::history::register::Op;
use crate::script::prelude::*;

/// The script, for the list.
pub const SCRIPT: Script = Script {
    name: "raft/stale-leader",
    about: "no read at any host lacks what another leader acknowledged before it began",
    run,
};

/// Reads by which it is sure that a leader that was cut off has a lease.
const BY_LEASE: usize = 10;

fn run() -> Result<()> {
    let all = [Host(0), Host(1), Host(2)];
    let mut h = hosts(3, 0, 1_000)?;
    // At each host separately, a hundred times a second, until the end.
    let watch = h.watch();
    for round in 0..6 {
        let old = h.expect("a host leads", minutes(1), Hosts::leader)?;
        let before = watch.reads(old);
        h.expect("it is read", seconds(10), |_| {
            let reads = watch.reads(old) - before;
            ensure!(reads >= BY_LEASE, "{old} answered {reads} reads");
            Ok(())
        })?;
        let rest: Vec<Server> = all.into_iter().filter(|host| *host != old).collect();
        h.cut(&[old], &rest)?;
        let before = watch.reads(old);
        let next = h.another_leader(&[old])?;
        let by_lease = watch.reads(old) - before;
        ensure!(by_lease >= BY_LEASE, "{old} answered {by_lease} reads after it was cut off");
        let before = watch.writes(next);
        h.expect("the next leader writes", seconds(10), |_| {
            let writes = watch.writes(next) - before;
            ensure!(writes >= 10, "{next} acknowledged {writes} writes");
            Ok(())
        })?;
        watch.none_is_stale().with_context(|| format!("round {round}"))?;
        let read = h.at(old, 0, Op::Read);
        ensure!(read.is_err(), "{old} is read although {next} leads: {read:?}");
        h.mend(&[old], &rest)?;
        h.expect("it follows", minutes(1), |h| {
            let (applied, commit) = (h.number(old, "applied")?, h.number(next, "commit")?);
            ensure!(applied + 50 > commit, "{old} has applied {applied} of {commit}");
            Ok(())
        })?;
    }
    watch.end(&mut h)?;
    h.agree(&all)
}
