//! Each seed is a whole life of a cluster. A seed that found a bug stays here; two that take most
//! of a minute each are in `scripts/test-long`, with many more new ones. cargo-nextest runs as many
//! of these tests at a time as there are processors (`.config/nextest.toml`).

use std::process::Command;
use std::sync::{Condvar, Mutex};

/// A scenario, its faults, where settings come from, its first seed and how many, simulated seconds
/// of faults.
struct Runs {
    scenario: &'static str,
    faults: &'static str,
    settings: &'static str,
    seed: u64,
    count: u64,
    seconds: u64,
}

/// Parallel runs: one for each processor, however many tests run at a time.
struct Processors {
    /// Numbers of those that no run has; `None` before the first.
    free: Mutex<Option<Vec<u64>>>,
    freed: Condvar,
}

static PROCESSORS: Processors = Processors { free: Mutex::new(None), freed: Condvar::new() };

impl Processors {
    fn with_one<T>(&self, f: impl FnOnce(u64) -> T) -> T {
        let all =
            || (0..std::thread::available_parallelism().map_or(1, usize::from) as u64).collect();
        let mut free = self.free.lock().expect("not poisoned");
        free.get_or_insert_with(all);
        let mut free = self
            .freed
            .wait_while(free, |free| free.as_ref().is_none_or(Vec::is_empty))
            .expect("not poisoned");
        let number = free.as_mut().and_then(Vec::pop).expect("one is free");
        drop(free);
        let result = f(number);
        self.free.lock().expect("not poisoned").get_or_insert_default().push(number);
        self.freed.notify_one();
        result
    }
}

/// Output of a successful `simulation run`. A failure prints the command that repeats it.
fn run(runs: &Runs) -> String {
    run_beside(runs, 0)
}

/// The same on another processor than a run beside it has.
fn run_beside(runs: &Runs, beside: u64) -> String {
    let once = |number| simulate(runs, &[], number, beside);
    judge(runs, PROCESSORS.with_one(once))
}

/// The same, and something must have been counted.
fn run_and_expect(runs: &Runs, counts: &[&str]) -> String {
    judge(runs, PROCESSORS.with_one(|number| simulate(runs, counts, number, 0)))
}

fn judge(runs: &Runs, (success, text, errors): (bool, String, String)) -> String {
    let Runs { scenario, faults, settings, seed, count, seconds } = runs;
    assert!(
        success,
        "{text}\n{errors}\nagain: make simulate SEED={seed} COUNT={count} \
         ARGS='--scenario {scenario} --faults {faults} --settings {settings} --seconds {seconds}'"
    );
    text
}

/// The processor of a run, modulo their number: parallel tests of cargo-nextest are processes with
/// a number each; elsewhere it is `number`.
pub fn processor(number: u64) -> u64 {
    let slot = std::env::var("NEXTEST_TEST_GROUP_SLOT").ok().and_then(|slot| slot.parse().ok());
    slot.unwrap_or(number)
}

fn simulate(runs: &Runs, counts: &[&str], number: u64, beside: u64) -> (bool, String, String) {
    let place = processor(number) + beside;
    let output = Command::new(env!("CARGO_BIN_EXE_simulation"))
        .env("SIMULATION_PROCESSOR", place.to_string())
        .args(["run", "--scenario", runs.scenario, "--faults", runs.faults])
        .args(["--settings", runs.settings])
        .args(counts.iter().flat_map(|name| ["--expect", *name]))
        .args(["--seed", &runs.seed.to_string(), "--count", &runs.count.to_string()])
        // Each keeps one processor busy, and further tests are beside it.
        .args(["--seconds", &runs.seconds.to_string(), "--jobs", "1"])
        .output()
        .expect("the simulation runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.success(), text(&output.stdout), text(&output.stderr))
}

/// Seeds that found a bug, a test each, with its description. They draw no settings, as when they
/// found it.
macro_rules! found {
    ($($name:ident: $scenario:ident $faults:ident $seed:literal x $count:literal,
       $seconds:literal s, $what:literal;)+) => {$(
        #[test]
        fn $name() {
            println!("{}", $what);
            run(&Runs {
                scenario: stringify!($scenario),
                faults: stringify!($faults),
                settings: "usual",
                seed: $seed,
                count: $count,
                seconds: $seconds,
            });
        }
    )+};
}

mod found {
    use super::{Runs, run};

    found! {
        raft_usual_2: raft usual 2 x 16, 120 s,
            "a log was refused after a full disk and a kill: the file made in vain was taken for the newest";
        raft_usual_1039: raft usual 1039 x 1, 120 s,
            "a replica that was restoring a snapshot when its leader went panicked as it asked for votes";
        cluster_usual_15: cluster usual 15 x 3, 120 s,
            "a client took \"no such key\" for success when it had sent its request twice, although another client had deleted or renamed the key";
        cluster_usual_604: cluster usual 604 x 1, 120 s,
            "RocksDB's threads of all machines ended with the first process that had opened a database: nobody flushed any more";
        cluster_usual_914: cluster usual 914 x 1, 120 s,
            "an OM with a full disk heard of its leader all the time, and answered local reads long after its bound";
        raft_disks_101: raft disks 101 x 1, 120 s,
            "a replica whose log was lost alone voted at once, its term and vote forgotten";
        raft_disks_108: raft disks 108 x 1, 120 s,
            "damage to what was synced last to a log was cut off as a torn tail, and the replica voted";
        raft_disks_122: raft disks 122 x 1, 120 s,
            "a replica that was restarted while it caught up after a wipe voted with a part of the log";
        raft_disks_5145: raft disks 5145 x 1, 120 s,
            "a log whose first file was never begun got one of another version, which was refused at the next start";
        raft_disks_878449708: raft disks 878_449_708 x 1, 120 s,
            "a read failed while a log was opened: what was behind it was cut off, synced or not";
        cluster_hostile_1: cluster hostile 1 x 1, 60 s,
            "a CommitKey of 2^64 - 1 bytes made apply panic on every OM, for ever";
        cluster_cuts_41007: cluster cuts 41_007 x 1, 120 s,
            "followers of a leader that no SCM heard closed their replicas and confirmed what they did not store; its disk was lost";
        cluster_fsyncs_43004: cluster fsyncs 43_004 x 1, 120 s,
            "a sync of a segment failed, the next one succeeded, and the log was trimmed: the replica lacked what it had confirmed";
        cluster_members_42004: cluster members 42_004 x 1, 120 s,
            "a node that was not heard of for a minute counted as serving: healthy replicas were deleted beside its own";
        cluster_fsyncs_43001: cluster fsyncs 43001 x 1, 120 s,
            "a pipeline was closed before it had a leader again, and the log had the only copy of bytes";
        raft_disks_2223330368: raft disks 2_223_330_368 x 1, 120 s,
            "a member whose disk was replaced and one that no leader had met yet began the group anew";
        erasure_usual_15: erasure usual 15 x 1, 60 s,
            "an SCM that had just started forgot the deletions of a node that had not registered yet";
        cluster_services_289694363: cluster services 289_694_363 x 1, 120 s,
            "an OM that was killed while its first start made its tables took them for Apache Ozone's, and never started again";
        cluster_erasure_4266624967: cluster erasure 4266624967 x 1, 120 s,
            "a host whose DataNode came back under another id could not be put back in service by its name";
        raft_disks_3749116143: raft disks 3749116143 x 1, 120 s,
            "a new log whose first sync failed before a loss of power was refused: that nothing of it was acknowledged could not be told";
        cluster_services_3816461467: cluster services 3816461467 x 1, 120 s,
            "an OM that joined waited for another one that was still to join, and that one for it";
        cluster_erasure_70100: cluster erasure 70_100 x 1, 120 s,
            "the primordial SCM lost its disk, reached no other SCM and made a second cluster";
    }
}

/// The first of the new seeds: another one for each commit, or what `SIMULATION_SEED` says.
pub fn new_seed() -> u64 {
    if let Some(seed) = std::env::var("SIMULATION_SEED").ok().and_then(|seed| seed.parse().ok()) {
        return seed;
    }
    let head = Command::new("git").args(["rev-parse", "HEAD"]).output();
    let head = head.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let of_commit = head.ok().and_then(|head| u64::from_str_radix(head.get(..8)?, 16).ok());
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    // Without a commit: the day.
    let of_day = since.map_or(0, |since| since.as_secs() / 86_400);
    1_000_000 + of_commit.unwrap_or(of_day)
}

/// Runs new seeds; `scripts/test-long` has those that draw settings.
fn explore(scenario: &'static str, faults: &'static str, count: u64, seconds: u64) {
    let settings = "usual";
    let text = run(&Runs { scenario, faults, settings, seed: new_seed(), count, seconds });
    println!("{}", text.lines().last().unwrap_or_default());
}

#[test]
fn new_seeds_of_groups_of_registers_stay_linearizable() {
    explore("raft", "usual", 16, 120);
}

#[test]
fn new_seeds_of_groups_with_bad_disks_stay_linearizable_and_come_back() {
    explore("raft", "disks", 8, 120);
}

#[test]
fn new_seeds_of_groups_whose_members_come_and_go_stay_linearizable() {
    explore("raft", "members", 4, 120);
}

#[test]
fn new_seeds_of_groups_whose_messages_are_mangled_stay_linearizable() {
    explore("raft", "mangled", 4, 120);
}

#[test]
fn new_seeds_of_groups_on_machines_that_are_suspended_stay_linearizable() {
    explore("raft", "suspends", 4, 120);
}

#[test]
fn new_seeds_of_groups_on_systems_that_do_all_they_may_stay_linearizable() {
    explore("raft", "hooks", 4, 120);
}

#[test]
fn new_seeds_of_state_machines_conform_after_losses_of_power() {
    explore("machines", "usual", 2, 30);
}

#[test]
fn new_seeds_of_state_machines_conform_on_systems_that_do_all_they_may() {
    explore("machines", "hooks", 1, 30);
}

#[test]
fn new_seeds_of_clusters_answer_as_one_copy_would_and_keep_what_they_acknowledged() {
    explore("cluster", "usual", 1, 120);
}

#[test]
fn new_seeds_of_leaving_nodes_lose_nothing() {
    explore("cluster", "members", 1, 120);
}

#[test]
fn new_seeds_of_erasure_coded_keys_keep_every_index() {
    explore("cluster", "erasure", 1, 120);
}

#[test]
fn new_seeds_of_services_whose_members_come_and_go_lose_nothing() {
    explore("cluster", "services", 1, 120);
}

#[test]
fn new_seeds_of_oms_that_compact_and_keep_snapshots_have_the_same_rows() {
    explore("cluster", "maintenance", 1, 120);
}

#[test]
fn new_seeds_of_s3_gateways_carry_out_one_of_many_conditional_writes() {
    explore("s3", "usual", 1, 60);
}

// Seeds of `storage` that stay the same: they are long. `scripts/test-long` runs new ones, and
// those of the other kinds.
#[test]
fn groups_that_are_away_while_scm_starts_lose_nothing() {
    let (scenario, faults, settings) = ("storage", "absent", "usual");
    run(&Runs { scenario, faults, settings, seed: 1000, count: 1, seconds: 60 });
}

#[test]
fn keys_follow_policies_that_change_and_nothing_is_lost() {
    let (scenario, faults, settings) = ("storage", "tiers", "drawn");
    let runs = Runs { scenario, faults, settings, seed: 1010, count: 1, seconds: 60 };
    run_and_expect(&runs, &["keys moved", "keys written again", "policies changed"]);
}

#[test]
fn a_seed_gives_the_same_run_again() {
    // In parallel with each other and with other tests: neither the directory nor the load may have
    // an effect.
    let once = |scenario, faults, beside| {
        let settings = "drawn";
        let runs = Runs { scenario, faults, settings, seed: 70_007, count: 1, seconds: 60 };
        let text = run_beside(&runs, beside);
        text.lines().find(|line| line.starts_with("result ")).map(str::to_owned)
    };
    let all = [("raft", "usual"), ("cluster", "usual"), ("cluster", "hooks"), ("s3", "usual")];
    for (scenario, faults) in all {
        let (first, second) = std::thread::scope(|scope| {
            let first = scope.spawn(|| once(scenario, faults, 1));
            let second = once(scenario, faults, 0);
            (first.join().expect("no panic"), second)
        });
        assert!(first.is_some());
        assert_eq!(first, second);
    }
}
