//! Each seed is a whole life of a cluster. A seed that found a bug stays here.

use std::process::Command;

/// A scenario, its first seed and how many, simulated seconds of faults.
struct Runs {
    scenario: &'static str,
    seed: u64,
    count: u64,
    seconds: u64,
}

/// What `simulation run` says, when it is content.
fn run(runs: &Runs) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_simulation"))
        .args(["run", "--scenario", runs.scenario])
        .args(["--seed", &runs.seed.to_string(), "--count", &runs.count.to_string()])
        .args(["--seconds", &runs.seconds.to_string()])
        .output()
        .expect("the simulation runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    text
}

/// Seeds that found something, with what it was.
const FOUND: [(Runs, &str); 7] = [
    (
        Runs { scenario: "raft", seed: 2, count: 16, seconds: 120 },
        "a log was refused after a full disk and a kill: the file made in vain was taken for the newest",
    ),
    (
        Runs { scenario: "raft", seed: 1039, count: 1, seconds: 120 },
        "a replica that was restoring a snapshot when its leader went panicked as it asked for votes",
    ),
    (
        Runs { scenario: "cluster", seed: 15, count: 3, seconds: 120 },
        "a client took \"no such key\" for success when it had asked twice, whoever had deleted or renamed the key",
    ),
    (
        Runs { scenario: "cluster", seed: 604, count: 1, seconds: 120 },
        "RocksDB's threads of all machines ended with the first process that had opened a database: nobody flushed any more",
    ),
    (
        Runs { scenario: "cluster", seed: 712, count: 1, seconds: 120 },
        "a DataNode with a full disk went on without the container of an entry, and closed it later with a block missing",
    ),
    (
        Runs { scenario: "cluster", seed: 914, count: 1, seconds: 120 },
        "an OM with a full disk heard of its leader all the time, and answered local reads long after its bound",
    ),
    (
        Runs { scenario: "cluster", seed: 1086, count: 1, seconds: 120 },
        "containers closed under an SCM whose calendar was ahead of the next leader's were not repaired before it was that late",
    ),
];

#[test]
fn seeds_that_found_something_find_nothing_any_more() {
    for (runs, what) in &FOUND {
        println!("{what}:\n{}", run(runs));
    }
}

#[test]
fn groups_of_registers_stay_linearizable() {
    let text = run(&Runs { scenario: "raft", seed: 1000, count: 40, seconds: 120 });
    println!("{}", text.lines().last().unwrap_or_default());
}

#[test]
fn clusters_answer_as_one_copy_would_and_keep_what_they_acknowledged() {
    let text = run(&Runs { scenario: "cluster", seed: 1, count: 6, seconds: 120 });
    println!("{}", text.lines().last().unwrap_or_default());
}

#[test]
fn a_seed_gives_the_same_run_again() {
    let once = |scenario, seconds| {
        let text = run(&Runs { scenario, seed: 7, count: 1, seconds });
        text.lines().find(|line| line.starts_with("result ")).map(str::to_owned)
    };
    let first = once("raft", 60);
    assert!(first.is_some());
    assert_eq!(first, once("raft", 60));
}
