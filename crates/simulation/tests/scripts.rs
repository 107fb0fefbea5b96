//! Each script with one seed that stays the same and with one that is another for each commit: see
//! docs/dev/testing.md.

use std::process::Command;

use crate::seeds::{new_seed, processor};

/// The seed that stays the same.
const SEED: u64 = 1;

/// Runs a script; a failure says how to run the same again.
fn run(name: &str, seed: u64) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_simulation"))
        .env("SIMULATION_PROCESSOR", processor(0).to_string())
        .args(["script", name, "--seed", &seed.to_string()])
        .output()
        .expect("the simulation runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{text}\n{errors}\nagain: make script NAME={name} SEED={seed}"
    );
    text
}

/// A test of each script for each of the two seeds, and the names of all.
macro_rules! scripts {
    ($($subject:ident: $($script:ident $name:literal,)+;)+) => {
        $(mod $subject {
            $(mod $script {
                #[test]
                fn seed_of_every_run() {
                    crate::scripts::run($name, crate::scripts::SEED);
                }

                #[test]
                fn seed_of_this_commit() {
                    crate::scripts::run($name, crate::seeds::new_seed());
                }
            })+
        })+

        const NAMES: &[&str] = &[$($($name,)+)+];
    };
}

scripts! {
    failover:
        balancer_goes_on "failover/balancer-goes-on",
        datanode_back "failover/datanode-back",
        datanode_killed "failover/datanode-killed",
        follower_unheard "failover/follower-unheard",
        leader_unheard "failover/leader-unheard",
        member_away "failover/member-away",
        member_behind_the_log "failover/member-behind-the-log",
        members_apart "failover/members-apart",
        om_answers_once "failover/om-answers-once",
        om_leader_killed "failover/om-leader-killed",
        om_leaders_under_load "failover/om-leaders-under-load",
        om_local_reads "failover/om-local-reads",
        om_reads_anywhere "failover/om-reads-anywhere",
        pipeline_without_power "failover/pipeline-without-power",
        scm_hands_over "failover/scm-hands-over",
        scm_leader_killed "failover/scm-leader-killed",
        scm_unheard "failover/scm-unheard",
    ;
    membership:
        balancer "membership/balancer",
        decommission "membership/decommission",
        decommission_to "membership/decommission-to",
        om_away "membership/om-away",
        om_gives_up "membership/om-gives-up",
        om_joins "membership/om-joins",
        om_killed_while_joining "membership/om-killed-while-joining",
        om_wiped "membership/om-wiped",
        scm_first_start "membership/scm-first-start",
        scm_joins "membership/scm-joins",
        scm_wiped "membership/scm-wiped",
        scms_replaced "membership/scms-replaced",
    ;
    raft:
        all_without_power "raft/all-without-power",
        behind_the_log "raft/behind-the-log",
        handed_over "raft/handed-over",
        leader_cut_off "raft/leader-cut-off",
        leader_killed "raft/leader-killed",
        lost_log "raft/lost-log",
        members_change "raft/members-change",
        stale_leader "raft/stale-leader",
        suspended_leader "raft/suspended-leader",
        wiped "raft/wiped",
    ;
    repair:
        all_dead "repair/all-dead",
        coordinator_killed "repair/coordinator-killed",
        copy_meets_log "repair/copy-meets-log",
        dead_node "repair/dead-node",
        deleted_meanwhile "repair/deleted-meanwhile",
        lacking_member "repair/lacking-member",
        long_absence "repair/long-absence",
        lost_containers "repair/lost-containers",
        lost_disk "repair/lost-disk",
        lost_indexes "repair/lost-indexes",
        missed_writes "repair/missed-writes",
        no_spare_node "repair/no-spare-node",
        undecided "repair/undecided",
        whole_group_away "repair/whole-group-away",
    ;
    restore:
        machine_back "restore/machine-back",
        om_log_back "restore/om-log-back",
        om_tables_back "restore/om-tables-back",
        scm_tables_back "restore/scm-tables-back",
    ;
    s3:
        conditional_put_over_leader_change "s3/conditional-put-over-leader-change",
        multipart_over_leader_change "s3/multipart-over-leader-change",
    ;
    safe_mode:
        followers "safe-mode/followers",
        power_loss "safe-mode/power-loss",
    ;
}

#[test]
fn every_script_has_its_tests() {
    let output = Command::new(env!("CARGO_BIN_EXE_simulation")).args(["script", "--list"]).output();
    let list = String::from_utf8(output.expect("the simulation runs").stdout).expect("text");
    let mut listed: Vec<&str> = list.lines().filter_map(|line| line.split(' ').next()).collect();
    let mut tested = NAMES.to_vec();
    listed.sort_unstable();
    tested.sort_unstable();
    assert_eq!(listed, tested);
}

#[test]
fn a_script_takes_the_same_course_again_with_the_same_seed() {
    let course = || {
        let text = run(NAMES[0], new_seed());
        text.lines().find(|line| line.starts_with("result ")).map(str::to_owned)
    };
    let first = course();
    assert!(first.is_some());
    assert_eq!(first, course());
}
