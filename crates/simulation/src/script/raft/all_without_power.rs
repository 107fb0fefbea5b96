//! All hosts lose power at once.

use crate::script::prelude::*;

/// The script, for the list.
pub const SCRIPT: Script = Script {
    name: "raft/all-without-power",
    about: "all hosts lose power at once, four times: acknowledged writes are on each of them",
    run,
};

fn run() -> Result<()> {
    let all = [Host(0), Host(1), Host(2)];
    let mut h = hosts(3, 0, 1_000)?;
    for _ in 0..4 {
        h.write_all(60)?;
        h.power_off(all)?;
        h.start(all)?;
        h.agree(&all)?;
    }
    h.write_all(1)?;
    h.agree(&all)
}
