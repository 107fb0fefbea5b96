//! `o3 admin service`.

use serde_json::Value;

use crate::process::{stderr, stdout};
use crate::transcript::Transcript;

const DATANODES: usize = 3;

fn cluster() -> Transcript {
    Transcript::of_settings(
        DATANODES,
        &[
            "ozone.acl.enabled=true",
            "ozone.administrators=ann",
            "ozone.readonly.administrators=reader",
        ],
    )
}

/// The servers in the output of a command.
fn servers(cluster: &Transcript, line: &str) -> Vec<Value> {
    let output = cluster.output(&format!("admin service {line} --json"));
    assert!(output.status.success(), "{line}: {}", stderr(&output));
    serde_json::from_str(&stdout(&output)).unwrap()
}

fn service<'a>(server: &'a Value, name: &str) -> &'a Value {
    let services = server["services"].as_array().unwrap();
    services.iter().find(|s| s["name"] == name).unwrap_or_else(|| panic!("no {name}: {server}"))
}

fn refusal(cluster: &Transcript, user: &str, line: &str) -> String {
    let mut command = cluster.command(&format!("admin service {line}"));
    let output = command.env("HADOOP_USER_NAME", user).output().unwrap();
    assert_eq!(output.status.code(), Some(255), "{user}: {line}: {}", stdout(&output));
    stderr(&output)
}

#[test]
fn every_role_lists_what_goes_on_by_itself_and_runs_pauses_and_resumes_it() {
    let cluster = cluster();
    let all = servers(&cluster, "list");
    let of = |role: &str| all.iter().filter(|server| server["role"] == role).count();
    assert_eq!((of("om"), of("scm"), of("datanode"), all.len()), (1, 1, DATANODES, DATANODES + 2));
    assert_eq!(service(&all[0], "KeyDeletingService")["state"], "idle");
    service(&all[1], "ReplicationManager");
    for node in &all[2..] {
        service(node, "BlockDeletingService");
        service(node, "ContainerDataScanner-disk0");
    }
    let text = stdout(&cluster.output("admin service list"));
    assert_eq!(text.matches(" BlockDeletingService ").count(), DATANODES, "{text}");

    // One node of three, by its id; one server of a role, by its address.
    let id = all[3]["nodeId"].as_str().unwrap();
    let paused = servers(&cluster, &format!("pause ContainerDataScanner --node {id}"));
    assert_eq!(paused.len(), 1);
    assert_eq!(paused[0]["nodeId"], all[3]["nodeId"]);
    for server in servers(&cluster, "list ContainerDataScanner-disk0 --role datanode") {
        let is_paused = server["nodeId"] == all[3]["nodeId"];
        let scanner = service(&server, "ContainerDataScanner-disk0");
        assert_eq!(scanner["paused"], is_paused, "{server}");
        assert_eq!(server["services"].as_array().unwrap().len(), 1);
    }
    let om = all[0]["address"].as_str().unwrap();
    let list = servers(&cluster, &format!("list --node {om}"));
    assert_eq!((list.len(), &list[0]["role"]), (1, &"om".into()));
}

#[test]
fn a_paused_service_runs_when_it_is_asked_to() {
    let cluster = cluster();
    let name = "BackgroundPipelineScrubber";
    let scrubber = |servers: Vec<Value>| {
        assert_eq!(servers.len(), 1);
        service(&servers[0], name).clone()
    };
    scrubber(servers(&cluster, &format!("pause {name}")));
    let list = || scrubber(servers(&cluster, &format!("list {name} --role scm")));
    let shown = |what: &str, holds: &dyn Fn(&Value) -> bool| {
        testkit::until_blocking(what, || {
            let scrubber = list();
            if holds(&scrubber) { Ok(scrubber) } else { Err(scrubber) }
        })
    };
    let before = shown("the run under way ends", &|s| s["state"] == "paused");
    let runs = before["runs"].as_u64().unwrap();
    scrubber(servers(&cluster, &format!("run {name}")));
    shown("it runs", &|s| s["state"] == "paused" && s["runs"].as_u64() == Some(runs + 1));
    let resumed = scrubber(servers(&cluster, &format!("resume {name}")));
    assert_eq!(resumed["paused"], false);
}

#[test]
fn what_is_not_there_and_who_may_not_is_refused() {
    let cluster = cluster();
    for (line, told) in [
        ("pause NoSuchService", "no server has a service NoSuchService"),
        ("run KeyDeletingService --role datanode", "no server has a service KeyDeletingService"),
        ("list --node nowhere.example.com", "there is no such server: --node nowhere.example.com"),
    ] {
        let refused = refusal(&cluster, "ann", line);
        assert!(refused.contains(told), "{line}: {refused}");
    }
    for line in
        ["pause KeyDeletingService", "run ReplicationManager", "resume BlockDeletingService"]
    {
        let refused = refusal(&cluster, "reader", line);
        assert!(refused.contains("Access denied for user reader"), "{line}: {refused}");
    }
    for role in ["om", "scm"] {
        let refused = refusal(&cluster, "bob", &format!("list --role {role}"));
        assert!(refused.contains("no server answered"), "{refused}");
    }
    let mut list = cluster.command("admin service list");
    let seen = list.env("HADOOP_USER_NAME", "reader").output().unwrap();
    assert!(stdout(&seen).contains(" KeyDeletingService "), "{}", stderr(&seen));
}
