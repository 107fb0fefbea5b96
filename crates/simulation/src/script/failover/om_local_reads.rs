//! Follower OMs answer reads from their own state: duration for which an isolated one does.

use std::time::Duration;

use bytes::Bytes;
use framed::Code;
use prost::Message;
use proto::method;
use proto::ozone::{
    InfoVolumeRequest, OmRequest, OmResponse, ReadConsistencyHint, ReadConsistencyProto, Status,
    Type,
};

use crate::scenario::now;
use crate::script::prelude::*;
use crate::world::clock::SECOND;

/// The script, for the list.
pub const SCRIPT: Script = Script {
    name: "failover/om-local-reads",
    about: "an OM that is left alone answers local reads for as long as is promised, and no longer",
    run,
};

/// Default limit of a local read's lag (`ozone.om.follower.read.local.lease.time.ms`).
const BOUND: u64 = 5 * SECOND;
/// Allowance for clocks that drift, and for the request's transfer.
const TOLERANCE: u64 = SECOND / 100;
/// Time limit for an OM's response.
const TIMEOUT: Duration = Duration::from_secs(3);

/// Asks one OM only for an existing volume, from its own state.
fn local_read(c: &mut Cluster, om: Server) -> Result<Result<Status, Code>> {
    let hint = ReadConsistencyHint {
        read_consistency: Some(ReadConsistencyProto::LocalLease as i32),
        local_lease_context: None,
    };
    let asked = OmRequest {
        cmd_type: Type::InfoVolume as i32,
        info_volume_request: Some(Box::new(InfoVolumeRequest { volume_name: "there".into() })),
        read_consistency_hint: Some(Box::new(hint)),
        ..OmRequest::default()
    };
    let at = format!("{}:9862", c.machines().address(om)?);
    let answer = c.ask(move |it| async move {
        let header = Bytes::from(asked.encode_to_vec());
        it.pool.get(&at).call(method::OM, header, Bytes::new(), TIMEOUT).await
    })?;
    match answer {
        Ok(reply) => Ok(Ok(OmResponse::decode(reply.header)?.status())),
        Err(error) => {
            let code = error.status().map(|status| status.code);
            Ok(Err(code.with_context(|| format!("{om} does not answer: {error}"))?))
        }
    }
}

fn run() -> Result<()> {
    let setup = cluster(1, 3, 3).with("ozone.om.follower.read.local.lease.enabled", "true");
    let mut c = setup.start()?;
    c.ask(|it| async move { it.om.create_volume("there", None, -1, -1).await })??;
    let leader = c.om_leader()?;
    let mut followers = [Om(0), Om(1), Om(2)].into_iter().filter(|om| *om != leader);
    let (alone, other) = (followers.next().context("one")?, followers.next().context("two")?);
    c.expect("it has all", minutes(1), |c| c.om_is_even(alone))?;
    c.expect("it answers", seconds(10), |c| {
        let answer = local_read(c, alone)?;
        ensure!(answer == Ok(Status::Ok), "it answers {answer:?}");
        Ok(())
    })?;
    // Two heartbeats prove what it has.
    c.advance(seconds(5))?;
    c.kill([leader, other])?;
    let left = now();
    let mut answered = None;
    // Every few milliseconds, and not each second.
    let refused = loop {
        match local_read(&mut c, alone)? {
            Ok(status) => {
                ensure!(status == Status::Ok, "it answers {status:?}");
                answered = Some(now() - left);
            }
            Err(code) => break code,
        }
        c.advance(Duration::from_millis(20))?;
        ensure!(now() < left + 60 * SECOND, "it answers for a minute");
    };
    ensure!(refused == Code::NotLeader, "it is refused as {refused:?}");
    let answered = answered.context("it did not answer by itself")?;
    ensure!(answered > BOUND / 2, "it answered for {answered} ns only");
    ensure!(answered <= BOUND + TOLERANCE, "it answered for {answered} ns");
    c.expect_always("it is refused from now on", seconds(30), |c| {
        let answer = local_read(c, alone)?;
        ensure!(answer == Err(Code::NotLeader), "it answers {answer:?}");
        Ok(())
    })?;
    c.start([leader, other])?;
    c.expect("it answers again", minutes(1), |c| {
        let answer = local_read(c, alone)?;
        ensure!(answer == Ok(Status::Ok), "it answers {answer:?}");
        Ok(())
    })
}
