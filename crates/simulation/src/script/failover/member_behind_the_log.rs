//! A member of a pipeline is down for a moment in which the others trim the pipeline's log.

use crate::script::prelude::*;

/// The script, for the list.
pub const SCRIPT: Script = Script {
    name: "failover/member-behind-the-log",
    about: "a follower comes back to a pipeline whose log was trimmed: it catches up, and counts",
    run,
};

/// Entries that were written to a DataNode's logs since it was started.
const LOGGED: &str = "datanode_raft_log_entries_total";

fn run() -> Result<()> {
    let setup = cluster(1, 1, 3).with("hdds.ratis.snapshot.threshold", "8");
    let mut c = setup.start()?;
    let writers = c.write(8);
    c.expect("clients write", minutes(1), |_| writers.reached(24))?;
    let pipelines = c.pipeline_ids()?;
    let newest = writers.keys().pop().context("there is no key")?;
    let pipeline = c.written_through(&newest)?;
    let (leader, followers) = (pipeline.leader()?, pipeline.followers()?);
    let (away, other) = (followers[0], followers[1]);

    let before = writers.keys().len();
    let logged = c.metric(leader, LOGGED)?;
    c.kill([away])?;
    c.advance(seconds(7))?;
    let missed = writers.keys().split_off(before);
    ensure!(missed.len() >= 16, "{} keys were written without {away}", missed.len());
    c.lack_replicas(&missed)?;
    c.start([away])?;
    c.expect("it has the keys that it missed", minutes(1), |c| c.whole(&missed))?;
    // What a snapshot gave it is not in its log.
    let by_log = c.metric(away, LOGGED)?;
    let all = c.metric(leader, LOGGED)? - logged;
    ensure!(by_log + 20.0 < all, "{away} got {by_log} of {all} entries by the log");

    // It takes part again: writes need it now that another one is down.
    c.kill([other])?;
    let before = writers.keys().len();
    c.expect("it counts", seconds(8), |_| writers.reached(before + 16))?;
    c.start([other])?;
    writers.end_well(&mut c)?;
    let keys = writers.keys();
    c.expect("all have all", minutes(1), |c| c.whole(&keys))?;
    ensure!(c.pipeline_ids()? == pipelines, "there are other pipelines than {pipelines:?}");
    ensure!(c.runs(leader), "{leader} has ended");
    c.read(&keys)
}
