//! `o3 sh`.

use crate::process::{stderr, stdout};
use crate::transcript::Transcript;

#[test]
fn volumes() {
    let mut transcript = Transcript::of_cluster();
    transcript
        .run_all(
            "sh volume create /vol1 --space-quota 10GB --namespace-quota 100
             sh volume create o3:/vol2 -u bob
             sh volume info /vol1
             sh volume info vol2
             sh volume list --user ann
             sh volume list --user ann --prefix vol --length 1
             sh volume list --user bob --json
             sh volume list --user carol
             sh volume update --user carol /vol1
             sh volume setquota --space-quota 20GB /vol1
             sh volume clrquota --namespace-quota /vol1
             sh volume info /vol1
             sh volume delete /vol1
             sh volume info /vol1",
        )
        // Rejected commands.
        .run_all(
            "sh volume create /vol2
             sh volume create /Vol_2
             sh volume create /v
             sh volume create
             sh volume create /vol3/bucket1
             sh volume create http://vol3
             sh volume create /vol3 --space-quota 0
             sh volume create /vol3 --space-quota ten
             sh volume create /vol3 --namespace-quota -1
             sh volume setquota /vol2
             sh volume clrquota /vol2
             sh volume setquota --space-quota 1GB /absent
             sh volume list --length 0
             sh volume list --all --length 1
             sh volume info /absent
             sh volume info /absent --verbose
             sh volume update --user bob /absent
             sh volume delete /absent
             sh bucket create /vol2/bucket1
             sh volume delete /vol2
             sh volume delete -r -y /vol2
             sh volume list --user bob",
        )
        .check("sh_volume");
}

#[test]
fn buckets() {
    let mut transcript = Transcript::of_cluster();
    transcript
        .run_all(
            "sh volume create /vol1
             sh bucket create /vol1/plain
             sh bucket create /vol1/objects --layout OBJECT_STORE --space-quota 1GB
             sh bucket create /vol1/files -l fso -t RATIS -r ONE -u bob
             sh bucket link /vol1/objects /vol1/link
             sh bucket info /vol1/plain
             sh bucket info /vol1/objects
             sh bucket info /vol1/files
             sh bucket info /vol1/link
             sh bucket list /vol1
             sh bucket list /vol1 --prefix l --json
             sh bucket list /vol1 --length 1 --start files
             sh bucket update -u carol /vol1/plain
             sh bucket setquota --namespace-quota 7 /vol1/plain
             sh bucket set-replication-config -t RATIS -r ONE /vol1/plain
             sh bucket info /vol1/plain
             sh bucket clrquota --namespace-quota /vol1/plain
             sh bucket delete /vol1/link
             sh bucket delete /vol1/objects
             sh bucket list /vol1 --prefix o",
        )
        .run_all(
            "sh bucket create /vol1/plain
             sh bucket create /vol1/Upper
             sh bucket create /vol1/ab
             sh bucket create /absent/bucket1
             sh bucket create /vol1
             sh bucket create /vol1/bucket1/key1
             sh bucket create /vol1/other --layout ROUND
             sh bucket create /vol1/other -t RATIS -r SEVEN
             sh bucket info /vol1/absent
             sh bucket info /vol1/absent --verbose
             sh bucket list /absent
             sh bucket delete /vol1/absent
             sh bucket link /vol1/plain /absent/link
             sh bucket link /vol1/absent /vol1/dangling
             sh bucket info /vol1/dangling
             sh bucket setquota /vol1/plain
             sh bucket set-replication-config -t RATIS -r SEVEN /vol1/plain
             sh bucket nonsense /vol1",
        )
        .check("sh_bucket");
}

/// -r deletes the named bucket only: of a link, the link.
#[test]
fn deleting_links_leaves_what_they_stand_for() {
    let transcript = Transcript::of_cluster();
    std::fs::write(transcript.dir().join("hello"), "hello").unwrap();
    let run = |line: &str| {
        let output = transcript.output(line);
        assert!(output.status.success(), "{line}: {}", stderr(&output));
        stdout(&output)
    };
    run("sh volume create /vol1");
    run("sh volume create /vol2");
    for layout in ["fso", "obs"] {
        let source = format!("/vol1/{layout}");
        run(&format!("sh bucket create {source} --layout {layout}"));
        run(&format!("sh key put {source}/x/y [DIR]/hello"));
        run(&format!("sh bucket link {source} /vol2/{layout}"));
        run(&format!("sh bucket link /vol2/{layout} /vol2/{layout}2"));
        run(&format!("sh bucket delete -r -y /vol2/{layout}2"));
        assert_eq!(run(&format!("sh key cat {source}/x/y")), "hello");
    }
    // Links that form a loop can be deleted, too.
    run("sh bucket link /vol2/loop2 /vol2/loop1");
    run("sh bucket link /vol2/loop1 /vol2/loop2");
    run("sh bucket delete -r -y /vol2/loop1");
    run("sh volume delete -r -y /vol2");
    for layout in ["fso", "obs"] {
        assert_eq!(run(&format!("sh key cat /vol1/{layout}/x/y")), "hello");
    }
    run("sh volume delete -r -y /vol1");
    assert!(!run("sh volume list").contains("vol1"));
}

#[test]
fn keys() {
    let mut transcript = Transcript::of_cluster();
    let file = |name: &str, content: &str| {
        std::fs::write(transcript.dir().join(name), content).unwrap();
    };
    file("hello", "hello, keys\n");
    file("there", "left alone\n");
    transcript
        .run_all(
            "sh volume create /vol1
             sh bucket create /vol1/bucket1
             sh key put /vol1/bucket1/dir/hello [DIR]/hello
             sh key put /vol1/bucket1/empty - -t RATIS -r ONE
             sh key info /vol1/bucket1/dir/hello
             sh key list /vol1/bucket1
             sh key list /vol1/bucket1 --prefix dir/ --json
             sh key list /vol1/bucket1 --length 1
             sh key list /vol1
             sh key cat /vol1/bucket1/dir/hello
             sh key get /vol1/bucket1/dir/hello [DIR]/copy
             sh key get /vol1/bucket1/dir/hello [DIR]/there
             sh key get --force /vol1/bucket1/dir/hello [DIR]/there
             sh key cp /vol1/bucket1 dir/hello second
             sh key rename /vol1/bucket1 second third
             sh key rewrite -t RATIS -r ONE /vol1/bucket1/third
             sh key cat /vol1/bucket1/third
             sh key list /vol1/bucket1 --start dir/hello
             sh key delete /vol1/bucket1/third
             sh key list /vol1/bucket1 --all",
        )
        .run_all(
            "sh key put /vol1/bucket1/k [DIR]/absent
             sh key put /vol1/bucket1/k [DIR]
             sh key put /vol1/absent/k [DIR]/hello
             sh key put /vol1/bucket1 [DIR]/hello
             sh key put /vol1/bucket1/dir/hello [DIR]/hello --expectedGeneration 1
             sh key put -t CHAINED -r ONE /vol1/bucket1/k [DIR]/hello
             sh key get /vol1/bucket1/absent [DIR]/new
             sh key get /vol1/bucket1/dir/hello [DIR]/no/such/dir
             sh key cat /vol1/bucket1/absent
             sh key info /vol1/bucket1/absent
             sh key info /vol1/bucket1/absent --verbose
             sh key cp /vol1/bucket1 absent other
             sh key rename /vol1/bucket1 absent other
             sh key rewrite /vol1/bucket1/dir/hello
             sh key delete /vol1/bucket1/absent
             sh key list /vol1/absent
             sh key list /vol1/bucket1/dir
             sh key list /vol1/bucket1 --length 0",
        )
        .check("sh_key");
    let read = |name: &str| std::fs::read_to_string(transcript.dir().join(name));
    assert_eq!(read("copy").unwrap(), "hello, keys\n");
    assert_eq!(read("there").unwrap(), "hello, keys\n");
    assert!(read("new").is_err(), "a key that is not there leaves no file");
    let left = std::fs::read_dir(transcript.dir()).unwrap();
    let partial =
        left.filter(|e| e.as_ref().unwrap().file_name().to_string_lossy().contains("partial"));
    assert_eq!(partial.count(), 0);
}

#[test]
fn access_control_lists() {
    let mut transcript = Transcript::of_cluster();
    std::fs::write(transcript.dir().join("hello"), "hello").unwrap();
    transcript
        .run_all(
            "sh volume create /vol1
             sh bucket create /vol1/bucket1
             sh key put /vol1/bucket1/key1 [DIR]/hello
             sh volume getacl /vol1
             sh volume addacl -a user:bob:rw,group:staff:l /vol1
             sh volume addacl -a user:bob:rw /vol1
             sh volume getacl /vol1
             sh volume removeacl -a user:bob:w /vol1
             sh volume removeacl -a user:carol:a /vol1
             sh volume setacl -a user:ann:a -a world::r /vol1
             sh volume getacl /vol1
             sh bucket addacl -a user:bob:a[DEFAULT] /vol1/bucket1
             sh bucket getacl /vol1/bucket1
             sh bucket getacl /vol1/bucket1 --json
             sh key addacl -a user:bob:rwcd /vol1/bucket1/key1
             sh key getacl /vol1/bucket1/key1
             sh volume addacl -a user:bob /vol1
             sh volume addacl -a user:bob:z /vol1
             sh volume addacl -a robot:bob:r /vol1
             sh volume addacl -a user::r /vol1
             sh volume addacl /vol1
             sh volume getacl /absent
             sh bucket getacl /vol1/absent
             sh key getacl /vol1/bucket1/absent",
        )
        .check("sh_acl");
}

#[test]
fn a_cluster_that_is_not_there_is_said_so() {
    // No server listens there, and no other test uses the port concurrently.
    let taken = tokio::net::TcpSocket::new_v4().unwrap();
    taken.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let port = taken.local_addr().unwrap().port();
    let mut transcript = Transcript::without_cluster();
    let om = format!("-D ozone.om.address=127.0.0.1:{port} -D trioxide.client.deadline=1s");
    transcript.run(&format!("sh {om} volume list"));
    transcript.check("sh_unreachable");
}
