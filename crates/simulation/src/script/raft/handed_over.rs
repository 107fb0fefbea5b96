//! A leader transfers its leadership on request.

use crate::history::register::Op;
use crate::scenario::raft::server::node_id;
use crate::script::prelude::*;

/// The script, for the list.
pub const SCRIPT: Script = Script {
    name: "raft/handed-over",
    about: "leadership is handed over on request, and the former leader names the next one",
    run,
};

fn run() -> Result<()> {
    let mut h = hosts(3, 0, 1_000)?;
    for number in 0..3 {
        let to = Host(number);
        let old = h.leader()?;
        let term = h.number(old, "term")?;
        h.hand_over(to)?;
        h.expect("the host that was named leads", seconds(5), |h| {
            let leader = h.leader()?;
            ensure!(leader == to, "{leader} leads");
            Ok(())
        })?;
        let now = h.number(to, "term")?;
        ensure!(now == term + u64::from(old != to), "it took the terms {term} to {now}");
        if old != to {
            let refused = h.at(old, 1, Op::Append("lost".to_owned()));
            let refused = refused.err().map(|error| format!("{error:#}")).unwrap_or_default();
            let names_it = refused.contains(&node_id(number).to_string());
            ensure!(refused.contains("not the leader") && names_it, "{to} leads: {refused:?}");
        }
        h.write_all(5)?;
    }
    h.agree(&[Host(0), Host(1), Host(2)])
}
