//! An operator has another SCM lead.

use proto::container_location::{ContainerRequestProto, Type};
use types::ReplicationConfig;

use crate::script::prelude::*;
use crate::script::scms::of_type;

/// The script, for the list.
pub const SCRIPT: Script = Script {
    name: "failover/scm-hands-over",
    about: "leadership of SCM is handed over to any other one, and to one that is named",
    run,
};

fn transfer(c: &mut Cluster, to: Option<String>) -> Result<()> {
    Ok(c.ask(move |it| async move { it.scm.transfer_leadership(to.as_deref()).await })??)
}

/// Checks that an SCM, asked directly, creates a container: a write that its service has to commit.
fn writes(c: &mut Cluster, scm: Server) -> Result<()> {
    let of_three = ReplicationConfig::RATIS_THREE;
    let mut request = of_type(Type::AllocateContainer);
    request.container_request = Some(ContainerRequestProto {
        replication_type: of_three.wire_type() as i32,
        replication_factor: of_three.wire_factor().map(|factor| factor as i32),
        owner: format!("owner-{scm}"),
        ..ContainerRequestProto::default()
    });
    let made = c.ask_scm(scm, request)?.container_response;
    ensure!(made.is_some(), "{scm} makes no container");
    Ok(())
}

/// Waits until all SCMs report this one as the leader; only it writes.
fn leads(c: &mut Cluster, leader: Server) -> Result<()> {
    c.expect("all SCMs name the one that leads", seconds(30), |c| {
        let named = c.scms_agree()?;
        ensure!(named == leader, "they name {named}, not {leader}");
        Ok(())
    })?;
    writes(c, leader)?;
    for scm in [Scm(0), Scm(1), Scm(2)].into_iter().filter(|scm| *scm != leader) {
        let refused = writes(c, scm).err().map(|error| format!("{error:#}")).unwrap_or_default();
        ensure!(refused.contains("leader"), "{scm} follows {leader} and answers {refused:?}");
    }
    Ok(())
}

fn run() -> Result<()> {
    let mut c = cluster(3, 1, 3).start()?;
    let before = c.expect("all SCMs name one that leads", minutes(1), |c| c.scms_agree())?;
    leads(&mut c, before)?;
    transfer(&mut c, None)?;
    let other = c.expect("SCMs agree again", seconds(30), |c| c.scms_agree())?;
    ensure!(other != before, "{before} still leads");
    leads(&mut c, other)?;
    transfer(&mut c, Some(before.to_string()))?;
    leads(&mut c, before)?;
    let refused = transfer(&mut c, Some(Scm(8).to_string()));
    let refused = refused.err().map(|error| format!("{error:#}")).unwrap_or_default();
    ensure!(refused.contains("no SCM of this service is scm9"), "{refused}");
    leads(&mut c, before)?;
    let key = c.put("after", 300_000)?;
    c.read(&[key])
}
