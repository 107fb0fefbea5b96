//! A call that is retried at another leader is not executed twice.

use bytes::Bytes;
use proto::ozone::{CreateVolumeRequest, OmRequest, Status, Type, VolumeInfo};

use crate::script::prelude::*;

/// The script, for the list.
pub const SCRIPT: Script = Script {
    name: "failover/om-answers-once",
    about: "calls that clients send again at the next OM get their first answers",
    run,
};

/// Volumes that are made.
const CALLS: i32 = 40;

/// The same call each time: it is of one client and has one number.
fn create(number: i32) -> OmRequest {
    let owner = String::from("owner");
    let volume_info = VolumeInfo {
        admin_name: owner.clone(),
        owner_name: owner,
        volume: format!("once-{number}"),
        ..VolumeInfo::default()
    };
    OmRequest {
        cmd_type: Type::CreateVolume as i32,
        rpc_client_id: Some(Bytes::from_static(&[9; 16])),
        rpc_call_id: Some(number),
        create_volume_request: Some(Box::new(CreateVolumeRequest { volume_info })),
        ..OmRequest::default()
    }
}

fn call(c: &mut Cluster, number: i32) -> Result<()> {
    let answer = c.ask(move |it| async move { it.om.submit(create(number)).await })?;
    let answer = answer.with_context(|| format!("call {number}"))?;
    ensure!(answer.status() == Status::Ok, "call {number}: {answer:?}");
    Ok(())
}

fn run() -> Result<()> {
    let mut c = cluster(1, 3, 3).start()?;
    for number in 0..CALLS {
        call(&mut c, number)?;
    }
    for _ in 0..2 {
        let leader = c.om_leader()?;
        c.kill([leader])?;
        c.expect("another OM leads", seconds(30), |c| {
            ensure!(c.om_leader()? != leader, "{leader} is killed");
            Ok(())
        })?;
        // Another response than OK would mean that it was executed twice.
        for number in 0..CALLS {
            call(&mut c, number)?;
        }
        c.start([leader])?;
        c.expect("it has all", minutes(1), |c| c.om_is_even(leader))?;
    }
    Ok(())
}
