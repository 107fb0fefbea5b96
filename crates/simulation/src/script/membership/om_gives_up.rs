//! An OM gets a snapshot of its leader while a reader has its tables for longer than it waits for
//! readers. It continues with its tables, and gets the missing entries from another one's log.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::script::prelude::*;
use crate::world::clock::SECOND;
use crate::world::disk::Late;
use crate::world::world;

/// The script, for the list.
pub const SCRIPT: Script = Script {
    name: "membership/om-gives-up",
    about: "an OM gives a snapshot up that a reader keeps out, catches up by a log, starts again",
    run,
};

/// The OM that is isolated.
const AWAY: Server = Om(0);
/// The one that leads, and trims its log often.
const LEADER: Server = Om(1);
/// The one whose log has all.
const PATIENT: Server = Om(2);
const THRESHOLD: &str = "ozone.om.ratis.snapshot.auto.trigger.threshold";
/// Duration of each read of the tables' files: an OM waits 60 s for its readers.
const READ_TIME: u64 = 110;

fn run() -> Result<()> {
    let setup = cluster(1, 3, 3).with("ozone.om.http.enabled", "true").with(THRESHOLD, "20");
    let mut c = setup.with_of(PATIENT, THRESHOLD, "400000").start()?;
    c.expect("it leads", minutes(1), |c| {
        c.transfer_om_leadership(LEADER)?;
        let leader = c.om_leader()?;
        ensure!(leader == LEADER, "{leader} leads");
        Ok(())
    })?;
    let mut keys = vec![c.put("before", 3_000)?];
    c.expect("all have all", minutes(1), |c| c.om_is_even(AWAY))?;
    c.cut(&[AWAY], &[LEADER, PATIENT])?;
    for number in 0..60 {
        keys.push(c.put(&format!("missed-{number}"), 100)?);
    }
    let machine = c.machines().number(AWAY)?;
    let late = Late { below: "db.checkpoints", lasts: READ_TIME * SECOND };
    world().machines[machine].disk.late = Some(late);
    let address = c.machines().address(AWAY)?;
    c.begin(move |_| async move {
        let _ = copy(&address).await;
    });
    c.advance(seconds(2))?;
    c.mend(&[AWAY], &[LEADER, PATIENT])?;
    c.advance(seconds(20))?;
    // The snapshot waits for the reader. No other one arrives after it is abandoned.
    c.cut(&[AWAY], &[LEADER])?;
    for number in 0..60 {
        keys.push(c.put(&format!("meanwhile-{number}"), 100)?);
    }
    c.advance(seconds(60))?;
    world().machines[machine].disk.late = None;
    c.kill([LEADER])?;
    c.expect("it has all by the log", minutes(3), |c| c.om_is_even(AWAY))?;
    for number in 0..60 {
        keys.push(c.put(&format!("later-{number}"), 100)?);
    }
    c.expect("it has all that came then", minutes(1), |c| c.om_is_even(AWAY))?;
    c.kill([AWAY])?;
    c.mend(&[AWAY], &[LEADER])?;
    c.start([AWAY])?;
    // Not restarted when it ends by itself: it has to start from its own state.
    c.let_end(AWAY)?;
    c.expect("it has all when it started again", minutes(1), |c| c.om_is_even(AWAY))?;
    c.start([LEADER])?;
    c.expect("it leads", minutes(1), |c| {
        c.transfer_om_leadership(AWAY)?;
        let leader = c.om_leader()?;
        ensure!(leader == AWAY, "{leader} leads");
        Ok(())
    })?;
    c.read(&keys)
}

/// Has a copy of an OM's tables made and sent.
async fn copy(address: &str) -> std::io::Result<()> {
    let mut stream = TcpStream::connect((address, 9874)).await?;
    stream.write_all(b"GET /dbCheckpoint HTTP/1.0\r\nHost: om\r\n\r\n").await?;
    stream.read_to_end(&mut Vec::new()).await.map(drop)
}
