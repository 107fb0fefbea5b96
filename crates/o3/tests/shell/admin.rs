//! `o3 admin`.

use crate::transcript::Transcript;

#[test]
fn datanodes_and_the_topology() {
    Transcript::of_cluster()
        .run_all(
            "admin datanode list
             admin datanode list --json
             admin datanode list --node-state DEAD
             admin datanode list --node-state DEAD --json
             admin datanode list --operational-state IN_SERVICE --ip 127.0.0.1
             admin datanode list --ip 127.0.0.2
             admin datanode usageinfo --most-used
             admin datanode usageinfo --least-used --count 1 --json
             admin datanode status
             admin datanode status --json
             admin datanode decommission absent.example.com
             admin datanode decommission 127.0.0.1
             admin datanode recommission 127.0.0.1
             admin datanode maintenance 127.0.0.1 --json
             admin datanode recommission 127.0.0.1
             admin printTopology
             admin printTopology --json
             admin print-topology --order
             admin datanode list --node-state TIRED
             admin datanode usageinfo
             admin datanode usageinfo --id not-a-uuid
             admin datanode status elsewhere
             admin datanode decommission",
        )
        .check("admin_datanode");
}

#[test]
fn the_balancer_of_disks() {
    Transcript::of_cluster()
        .run_all(
            "admin datanode diskbalancer status --in-service-datanodes
             admin datanode diskbalancer start --in-service-datanodes -t 5 -b 20 -s false
             admin datanode diskbalancer status --in-service-datanodes
             admin datanode diskbalancer update --in-service-datanodes -p 3 -c CLOSED --json
             admin datanode diskbalancer status --in-service-datanodes --json
             admin datanode diskbalancer stop --in-service-datanodes --json
             admin datanode diskbalancer stop --in-service-datanodes
             admin datanode diskbalancer status --in-service-datanodes
             admin datanode diskbalancer update --in-service-datanodes
             admin datanode diskbalancer start --in-service-datanodes -t 100
             admin datanode diskbalancer start --in-service-datanodes -c OPEN --json
             admin datanode diskbalancer status",
        )
        .check("admin_datanode_diskbalancer");
}

#[test]
fn pipelines() {
    Transcript::of_cluster()
        .run_all(
            "admin pipeline list
             admin pipeline list --json
             admin pipeline list --state CLOSED
             admin pipeline list --state CLOSED --json
             admin pipeline list -t RATIS -r THREE
             admin pipeline list --state BROKEN
             admin pipeline list -t CHAINED
             admin pipeline create -t RATIS --factor THREE
             admin pipeline close 00000000-0000-0000-0000-000000000000
             admin pipeline close not-a-uuid",
        )
        .check("admin_pipeline");
}

#[test]
fn containers() {
    let mut transcript = Transcript::of_cluster();
    std::fs::write(transcript.dir().join("hello"), "hello").unwrap();
    transcript
        .run_all(
            "admin container list
             admin container list --json
             admin container report
             admin container report --json
             sh volume create /vol1
             sh bucket create /vol1/bucket1
             sh key put /vol1/bucket1/key1 [DIR]/hello
             admin container info 999
             admin container info 1 999
             admin container info one
             admin container close 999
             admin container reconcile 1 999
             admin container reconcile --status 1 999
             admin container reconcile 0
             admin container reconcile
             admin container create
             admin container create -t RATIS -r ONE --owner ann
             admin container create -t EC -r rs-3-2-1024k
             admin container create -t EC
             admin container create --service-id none
             admin container list --state CLOSED
             admin container list --state HALF",
        )
        .check("admin_container");
}

#[test]
fn safe_mode_and_roles() {
    Transcript::of_cluster()
        .run_all(
            "admin safemode status
             admin safemode status --verbose
             admin safemode status --json
             admin safemode wait -t 5
             admin safemode exit
             admin replicationmanager status
             admin replicationmanager stop
             admin replicationmanager status --json
             admin replicationmanager start
             admin replicationmanager status
             admin om roles
             admin om roles --json
             admin om transfer -n om7
             admin om transfer
             admin om decommission --nodeid om1 --hostname localhost
             admin om compaction status
             admin om compaction run --table none
             admin om compaction run --bucket /vol1/bucket1
             admin om compaction run --table keyTable --bucket vol1
             admin om compaction run --table fileTable --bucket /vol1/none
             admin om compaction run --json
             admin scm roles
             admin scm roles --json
             admin scm transfer",
        )
        .check("admin_roles");
}
