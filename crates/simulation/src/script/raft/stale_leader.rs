//! A leader with a lease is cut off: it must not be read any more when others have another one.

use crate::history::register::{Answer, Op};
use crate::script::prelude::*;

/// The script, for the list.
pub const SCRIPT: Script = Script {
    name: "raft/stale-leader",
    about: "no read is served by a leader that others have replaced",
    run,
};

fn run() -> Result<()> {
    let all = [Host(0), Host(1), Host(2)];
    let mut h = hosts(3, 0, 1_000)?;
    for round in 0..6 {
        h.write_all(10 * round, 1)?;
        h.agree(&all)?;
        let old = h.leader()?;
        let before = h.at(old, 0, Op::Read)?;
        let rest: Vec<Server> = all.into_iter().filter(|host| *host != old).collect();
        h.cut(&[old], &rest)?;
        let next = h.another_leader(&[old])?;
        let value = format!("next-{round}");
        h.expect("the next leader writes", seconds(10), |h| h.write(0, &value))?;
        let read = h.at(old, 0, Op::Read);
        ensure!(read.as_ref().ok() != Some(&before), "{old} is read after {next}: {read:?}");
        let read = h.at(next, 0, Op::Read)?;
        ensure!(read == Answer::Value(Some(value)), "{read:?}");
        h.mend(&[old], &rest)?;
        h.agree(&all)?;
    }
    Ok(())
}
