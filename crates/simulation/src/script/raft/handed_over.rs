//! A leader is asked to hand over.

use crate::history::register::Op;
use crate::script::prelude::*;

/// The script, for the list.
pub const SCRIPT: Script = Script {
    name: "raft/handed-over",
    about: "leadership is handed over on request, and the former leader names the next one",
    run,
};

fn run() -> Result<()> {
    let all = [Host(0), Host(1), Host(2)];
    let mut h = hosts(3, 0, 1_000)?;
    for to in all {
        let old = h.leader()?;
        h.hand_over(to)?;
        h.expect("the host that was named leads", seconds(5), |h| {
            let leader = h.leader()?;
            ensure!(leader == to, "{leader} leads");
            Ok(())
        })?;
        if old != to {
            let refused = h.at(old, 1, Op::Write("lost".to_owned()));
            let refused = refused.err().map(|error| format!("{error:#}")).unwrap_or_default();
            ensure!(refused.contains("not the leader"), "{refused:?}");
        }
        h.write_all(1, 5)?;
    }
    h.agree(&all)
}
