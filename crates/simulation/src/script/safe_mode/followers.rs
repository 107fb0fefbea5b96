//! Safe mode of SCMs that do not lead.

use crate::script::prelude::*;

/// The script, for the list.
pub const SCRIPT: Script = Script {
    name: "safe-mode/followers",
    about: "each SCM leaves safe mode by its own DataNodes' reports, also one that never led",
    run,
};

fn all_are_out(c: &mut Cluster, scms: &[Server]) -> Result<()> {
    for scm in scms {
        let open = c.safe_mode_of(*scm)?;
        ensure!(open.is_none(), "{scm} is in safe mode: {open:?}");
    }
    Ok(())
}

fn run() -> Result<()> {
    let all = [Scm(0), Scm(1), Scm(2)];
    let mut c = cluster(3, 1, 3).start()?;
    let keys = [c.put("one", 300_000)?];
    let leader = c.expect("all SCMs have one leader", minutes(1), |c| c.scms_agree())?;
    c.expect("each SCM is out of safe mode", minutes(2), |c| all_are_out(c, &all))?;
    c.close_containers()?;

    // A follower restarts, and no DataNode runs that could report to it.
    let again = if leader == Scm(0) { Scm(1) } else { Scm(0) };
    let datanodes = [Datanode(0), Datanode(1), Datanode(2)];
    c.kill([again])?;
    c.cut(&[again], &datanodes)?;
    c.start([again])?;
    c.expect("it follows", minutes(1), |c| c.scms_agree())?;
    c.expect_always("it received no replica reports, the others did", minutes(2), |c| {
        let open = c.safe_mode_of(again)?.context("it is out of safe mode")?;
        let is_open = |name: &str| open.iter().any(|rule| rule.starts_with(name));
        ensure!(is_open("DataNodeSafeModeRule") && is_open("RatisContainer"), "{open:?}");
        ensure!(!is_open("StateMachineReadyRule"), "{open:?}");
        let open = c.safe_mode()?;
        ensure!(open.is_none(), "the leader is in safe mode: {open:?}");
        Ok(())
    })?;
    c.mend(&[again], &datanodes)?;
    c.expect("it is out of safe mode, too", minutes(2), |c| all_are_out(c, &all))?;
    c.read(&keys)
}
