//! Indexes of an erasure-coded key are lost, as many as there are parities, and then others.

use crate::script::prelude::*;

/// The script, for the list.
pub const SCRIPT: Script = Script {
    name: "repair/lost-indexes",
    about: "two of five indexes are rebuilt, then two others; replicas that come back are deleted",
    run,
};

fn is_whole(c: &mut Cluster, keys: &[Key], without: &[Server]) -> Result<()> {
    c.settled()?;
    for id in c.containers(keys)? {
        let there = c.replicas(id)?;
        let mut indexes: Vec<i64> = there.iter().map(|replica| replica.index).collect();
        indexes.sort_unstable();
        let is_away = |server: &Server| without.contains(server);
        ensure!(indexes == [1, 2, 3, 4, 5], "container {id}: {there:?}");
        ensure!(!there.iter().any(|replica| is_away(&replica.on)), "container {id}: {there:?}");
    }
    c.whole(keys)
}

fn run() -> Result<()> {
    let mut c = cluster(1, 1, 7).start()?;
    let mut keys = Vec::new();
    for (number, length) in [1, 700_000, 2 << 20].into_iter().enumerate() {
        keys.push(c.put_coded(&format!("coded-{number}"), length, "rs-3-2-512k")?);
    }
    c.delete(&keys.remove(0))?;
    c.close_containers()?;
    let all = |c: &mut Cluster| c.close_containers().and_then(|()| is_whole(c, &keys, &[]));
    c.expect("every index is there", minutes(5), all)?;

    let containers = c.containers(&keys)?;
    let holders = c.written_to(&keys[..1])?;
    let first = [holders[0], holders[1]];
    for server in first {
        c.holds(server, &containers)?;
    }
    c.power_off(first)?;
    for server in first {
        c.wipe(server, Part::All)?;
    }
    c.lack_replicas(&keys)?;
    c.read(&keys)?;
    c.expect("it is rebuilt elsewhere", minutes(10), |c| is_whole(c, &keys, &first))?;

    let second = [holders[2], holders[3]];
    for server in second {
        c.holds(server, &containers)?;
    }
    c.kill(second)?;
    c.lack_replicas(&keys)?;
    c.start(first)?;
    c.read(&keys)?;
    c.expect("it is rebuilt on new nodes", minutes(10), |c| is_whole(c, &keys, &second))?;

    for server in second {
        c.holds(server, &containers).context("nothing is too many")?;
    }
    c.start(second)?;
    c.expect("surplus replicas are deleted", minutes(10), |c| {
        is_whole(c, &keys, &[])?;
        c.are_on_disks(&containers, 5)
    })?;
    c.read(&keys)
}
