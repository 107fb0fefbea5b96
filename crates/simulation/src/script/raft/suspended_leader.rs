//! The machine of a leader with a lease is suspended: its clock stands still meanwhile.

use crate::history::register::{Answer, Op};
use crate::script::prelude::*;

/// The script, for the list.
pub const SCRIPT: Script = Script {
    name: "raft/suspended-leader",
    about: "a leader that was suspended holds no lease afterwards",
    run,
};

fn run() -> Result<()> {
    let all = [Host(0), Host(1), Host(2)];
    let mut h = hosts(3, 0, 1_000)?;
    for round in 0..4 {
        h.write_all(10 * round, 1)?;
        h.agree(&all)?;
        let old = h.leader()?;
        h.at(old, 0, Op::Read)?;
        h.sleep(old)?;
        h.another_leader(&[old])?;
        let value = format!("meanwhile-{round}");
        h.expect("another one writes", seconds(30), |h| h.write(0, &value))?;
        h.wake(old)?;
        // At once: it has not heard of the next leader.
        if let Ok(read) = h.at(old, 0, Op::Read) {
            ensure!(read == Answer::Value(Some(value)), "{old} is read: {read:?}");
        }
        h.agree(&all)?;
    }
    Ok(())
}
