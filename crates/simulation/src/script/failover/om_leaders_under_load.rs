//! The OM that leads is killed again and again while clients change the namespace.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use client::Client;
use parking_lot::Mutex;
use proto::ozone::{
    CreateVolumeRequest, DeleteVolumeRequest, InfoVolumeRequest, OmRequest, Status, Type,
    VolumeInfo,
};

use crate::script::prelude::*;

/// The script, for the list.
pub const SCRIPT: Script = Script {
    name: "failover/om-leaders-under-load",
    about: "clients make and delete volumes while leaders are killed: each call is done once, all OMs have all",
    run,
};

/// Clients that write.
const CLIENTS: usize = 4;
/// Delay between two writes of a client.
const PACE: Duration = Duration::from_millis(400);

fn create(volume: &str) -> OmRequest {
    let owner = String::from("owner");
    let volume_info = VolumeInfo {
        admin_name: owner.clone(),
        owner_name: owner,
        volume: volume.to_owned(),
        ..VolumeInfo::default()
    };
    OmRequest {
        cmd_type: Type::CreateVolume as i32,
        create_volume_request: Some(Box::new(CreateVolumeRequest { volume_info })),
        ..OmRequest::default()
    }
}

fn delete(volume: &str) -> OmRequest {
    OmRequest {
        cmd_type: Type::DeleteVolume as i32,
        delete_volume_request: Some(Box::new(DeleteVolumeRequest { volume_name: volume.into() })),
        ..OmRequest::default()
    }
}

fn info(volume: &str) -> OmRequest {
    OmRequest {
        cmd_type: Type::InfoVolume as i32,
        info_volume_request: Some(Box::new(InfoVolumeRequest { volume_name: volume.into() })),
        ..OmRequest::default()
    }
}

/// Responses to clients. Clones share it.
#[derive(Clone, Default)]
struct Told {
    there: Arc<Mutex<BTreeSet<String>>>,
    gone: Arc<Mutex<BTreeSet<String>>>,
    wrong: Arc<Mutex<Vec<String>>>,
    answers: Arc<AtomicUsize>,
    running: Arc<AtomicUsize>,
    is_over: Arc<AtomicBool>,
}

impl Told {
    /// Sends a call until it gets a response. Names are used once, so another response than OK
    /// means that it was executed twice.
    async fn call(&self, om: &Client, request: OmRequest) -> bool {
        let answer = om.submit(request.clone()).await;
        let is_done = answer.as_ref().is_ok_and(|answer| answer.status() == Status::Ok);
        if !is_done {
            self.wrong.lock().push(format!("{request:?}: {answer:?}"));
        }
        self.answers.fetch_add(1, Ordering::AcqRel);
        is_done
    }

    /// Makes volumes, and deletes every third again.
    async fn work(self, om: Client, number: usize) {
        for count in 0.. {
            if self.is_over.load(Ordering::Acquire) {
                break;
            }
            let volume = format!("volume-{number}-{count}");
            if self.call(&om, create(&volume)).await {
                self.there.lock().insert(volume.clone());
            }
            if count % 3 == 0 {
                self.there.lock().remove(&volume);
                if self.call(&om, delete(&volume)).await {
                    self.gone.lock().insert(volume);
                }
            }
            tokio::time::sleep(PACE).await;
        }
        self.running.fetch_sub(1, Ordering::AcqRel);
    }

    fn reached(&self, count: usize) -> Result<()> {
        let answers = self.answers.load(Ordering::Acquire);
        ensure!(answers >= count, "{answers} of {count} calls are answered");
        Ok(())
    }

    fn all_was_done_once(&self) -> Result<()> {
        let wrong = self.wrong.lock();
        ensure!(wrong.is_empty(), "{} calls, the first: {}", wrong.len(), wrong[0]);
        Ok(())
    }

    /// Checks that the leading OM has all acknowledged writes.
    fn is_there(&self, c: &mut Cluster) -> Result<()> {
        let expected = [(&self.there, Status::Ok), (&self.gone, Status::VolumeNotFound)];
        for (volumes, expected) in expected {
            let volumes = volumes.lock().clone();
            c.ask(move |it| async move {
                for volume in volumes {
                    let answer = it.om.submit(info(&volume)).await?;
                    ensure!(answer.status() == expected, "{volume}: {answer:?}");
                }
                Ok(())
            })??;
        }
        Ok(())
    }
}

fn run() -> Result<()> {
    let mut c = cluster(1, 3, 3).start()?;
    let told = Told::default();
    told.running.store(CLIENTS, Ordering::Release);
    for number in 0..CLIENTS {
        let of = told.clone();
        c.begin(move |it| of.work(it.om, number));
    }
    for round in 1..=4 {
        let before = told.answers.load(Ordering::Acquire);
        c.expect("calls are answered", minutes(1), |_| told.reached(before + 20))?;
        let leader = c.om_leader()?;
        c.kill([leader])?;
        c.expect("another OM leads", seconds(30), |c| {
            let next = c.om_leader()?;
            ensure!(next != leader, "{leader} is killed");
            Ok(())
        })?;
        let before = told.answers.load(Ordering::Acquire);
        let what = format!("calls are answered again in round {round}");
        c.expect(&what, minutes(1), |_| told.reached(before + 10))?;
        c.start([leader])?;
        c.expect("the former leader has all", minutes(2), |c| c.om_is_even(leader))?;
    }
    told.is_over.store(true, Ordering::Release);
    c.expect("all clients end", minutes(2), |_| {
        let running = told.running.load(Ordering::Acquire);
        ensure!(running == 0, "{running} calls have no answer");
        Ok(())
    })?;
    told.all_was_done_once()?;
    for om in [Om(0), Om(1), Om(2)] {
        c.expect("it has all", minutes(1), |c| c.om_is_even(om))?;
        c.expect("it leads", minutes(1), |c| c.have_om_lead(om))?;
        told.is_there(&mut c).with_context(|| om.to_string())?;
    }
    Ok(())
}
