//! A member of a pipeline is down for a moment: shorter than it takes until SCM closes the
//! pipeline.

use crate::script::prelude::*;

/// The script, for the list.
pub const SCRIPT: Script = Script {
    name: "failover/member-away",
    about: "a leader, then a follower of a pipeline misses writes for 6 s: it gets them by the log",
    run,
};

fn run() -> Result<()> {
    let mut c = cluster(1, 1, 3).start()?;
    let writers = c.write(4);
    c.expect("clients write", minutes(1), |_| writers.reached(12))?;
    let pipelines = c.pipeline_ids()?;
    for leads in [true, false] {
        let victim = c.expect("a key was just written", minutes(1), |c| {
            let newest = writers.keys().pop().context("there is no key")?;
            let pipeline = c.written_through(&newest)?;
            if leads { pipeline.leader() } else { Ok(pipeline.followers()?[0]) }
        })?;
        let before = writers.keys().len();
        c.kill([victim])?;
        c.advance(seconds(6))?;
        let missed = writers.keys().split_off(before);
        ensure!(missed.len() >= 4, "{} keys were written without {victim}", missed.len());
        c.lack_replicas(&missed)?;
        c.start([victim])?;
        let what = format!("{victim} has the keys that it missed");
        c.expect(&what, minutes(1), |c| c.whole(&missed))?;
    }
    writers.end_well(&mut c)?;
    // Else SCM had the replicas copied.
    ensure!(c.pipeline_ids()? == pipelines, "there are other pipelines than {pipelines:?}");
    let keys = writers.keys();
    c.whole(&keys)?;
    c.read(&keys)
}
