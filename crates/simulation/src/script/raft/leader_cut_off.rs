//! A leader is cut off from the others while clients reach it.

use crate::history::register::Op;
use crate::script::prelude::*;

/// The script, for the list.
pub const SCRIPT: Script = Script {
    name: "raft/leader-cut-off",
    about: "a leader that is cut off acknowledges nothing, steps down, and its branch is lost",
    run,
};

fn run() -> Result<()> {
    let all = [Host(0), Host(1), Host(2)];
    let mut h = hosts(3, 0, 1_000)?;
    h.write_all(10)?;
    h.agree(&all)?;
    let old = h.leader()?;
    let rest: Vec<Server> = all.into_iter().filter(|host| *host != old).collect();
    h.cut(&[old], &rest)?;
    let branch = h.at(old, 5, Op::Append("lost".to_owned()));
    // It reports that it stepped down.
    let why = branch.as_ref().err().map(|error| format!("{error:#}")).unwrap_or_default();
    ensure!(why.contains("its outcome is unknown"), "{old} answers {branch:?} alone");
    h.another_leader(&[old])?;
    h.write_all(10)?;
    h.expect("it steps down", seconds(10), |h| {
        ensure!(h.number(old, "leads")? == 0, "{old} leads");
        Ok(())
    })?;
    let read = h.at(old, 0, Op::Read);
    ensure!(read.is_err(), "{old} is read: {read:?}");
    h.mend(&[old], &rest)?;
    h.agree(&all)
}
