//! An operator has another SCM lead.

use crate::script::prelude::*;

/// The script, for the list.
pub const SCRIPT: Script = Script {
    name: "failover/scm-hands-over",
    about: "leadership of SCM is handed over to any other one, and to one that is named",
    run,
};

fn transfer(c: &mut Cluster, to: Option<String>) -> Result<()> {
    Ok(c.ask(move |it| async move { it.scm.transfer_leadership(to.as_deref()).await })??)
}

fn run() -> Result<()> {
    let mut c = cluster(3, 1, 3).start()?;
    let before = c.expect("an SCM leads", minutes(1), |c| c.scm_leader())?;
    transfer(&mut c, None)?;
    let other = c.scm_leader()?;
    ensure!(other != before, "{before} still leads");
    transfer(&mut c, Some(before.to_string()))?;
    ensure!(c.scm_leader()? == before, "{before} was named");
    let refused = transfer(&mut c, Some(Scm(8).to_string()));
    let refused = refused.err().map(|error| format!("{error:#}")).unwrap_or_default();
    ensure!(refused.contains("no SCM of this service is scm9"), "{refused}");
    let info = c.ask(|it| async move { it.scm.scm_info().await })??;
    let leaders = info.peer_roles.iter().filter(|role| role.contains(":LEADER:")).count();
    ensure!(info.peer_roles.len() == 3 && leaders == 1, "{:?}", info.peer_roles);
    let key = c.put("after", 300_000)?;
    c.read(&[key])
}
