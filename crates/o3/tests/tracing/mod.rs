//! Spans of several processes in a collector, and the log lines of slow requests.

mod collector;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::TcpStream;

use bytes::Bytes;
use prost::Message;
use proto::method;
use proto::ozone::{CreateVolumeRequest, OmRequest, OmResponse, Status, Type, VolumeInfo};

use crate::process::{Daemon, o3, run, server, stderr};
use collector::{Collector, Span};

fn as_strs(settings: &[String]) -> Vec<&str> {
    settings.iter().map(String::as_str).collect()
}

/// Runs `o3 sh` at a server, with settings of tracing.
fn sh(daemon: &Daemon, settings: &[String], args: &[&str]) {
    let om = format!("ozone.om.address={}", daemon.text("om"));
    let mut command = o3(&["sh", "-D", &om]);
    let output = command.args(settings).args(args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", stderr(&output));
}

/// The spans of the trace that put a key, once it is complete.
fn whole_put(spans: &[Span]) -> Option<Vec<Span>> {
    let trace = &spans.iter().find(|span| span.name == "CommitKey")?.trace;
    let of_trace: Vec<Span> = spans.iter().filter(|span| span.trace == *trace).cloned().collect();
    let ids: BTreeSet<&str> = of_trace.iter().map(|span| span.id.as_str()).collect();
    let is_whole = of_trace.iter().all(|s| s.parent.is_empty() || ids.contains(s.parent.as_str()));
    let stored = of_trace.iter().filter(|span| span.name == "store payload").count();
    // WriteChunk and PutBlock, on three replicas each.
    let has_all = of_trace.iter().any(|span| span.service == "o3 sh") && stored >= 6;
    (is_whole && has_all).then_some(of_trace)
}

#[test]
fn a_key_put_is_one_trace_of_client_om_scm_and_datanodes() {
    let dir = tempfile::tempdir().unwrap();
    let collector = Collector::start();
    let settings = collector.settings();
    let daemon = Daemon::start(server(dir.path(), &as_strs(&settings)));
    sh(&daemon, &[], &["volume", "create", "/vol1"]);
    sh(&daemon, &[], &["bucket", "create", "/vol1/bucket1"]);
    let file = dir.path().join("file");
    std::fs::write(&file, vec![7; 300_000]).unwrap();
    sh(&daemon, &settings, &["key", "put", "/vol1/bucket1/key1", file.to_str().unwrap()]);

    let spans = collector.wait("whole trace of a key put", whole_put);
    let roots: Vec<&Span> = spans.iter().filter(|span| span.parent.is_empty()).collect();
    assert_eq!(roots.len(), 1, "{spans:#?}");
    assert_eq!((roots[0].service.as_str(), roots[0].name.as_str()), ("o3 sh", "o3 sh"));
    let mut by_role = BTreeMap::<&str, BTreeSet<&str>>::new();
    for span in &spans {
        by_role.entry(&span.role).or_default().insert(&span.name);
        assert!(span.nanos <= roots[0].nanos, "{span:?} is longer than its root");
    }
    let has = |role: &str, name: &str| by_role.get(role).is_some_and(|names| names.contains(name));
    for (role, name) in [
        ("om", "CreateKey"),
        ("om", "CommitKey"),
        ("scm", "AllocateScmBlock"),
        ("datanode", "WriteChunk"),
        ("datanode", "PutBlock"),
        ("", "prepare"),
        ("", "replicate"),
        ("", "call om"),
        ("", "call datanode"),
    ] {
        assert!(has(role, name), "no {name} of {role:?} in {by_role:#?}");
    }
    // Background work is traced, too, in traces of its own.
    for own in ["NodeStateManager", "leader changed"] {
        collector.wait(own, |spans| {
            spans.iter().find(|span| span.name == own && span.parent.is_empty()).cloned()
        });
    }
}

/// SCM's span in a traced round of a DataNode: a heartbeat below that round.
fn round<'a>(spans: &'a [Span], name: &str, request: &str) -> Option<(&'a Span, &'a Span)> {
    let is_round = |span: &&Span| span.name == name && span.parent.is_empty();
    spans.iter().filter(is_round).find_map(|round| {
        let of_trace = |span: &&Span| span.trace == round.trace;
        let call = spans.iter().filter(of_trace).find(|span| span.name == "call scm")?;
        let at_scm = |span: &&Span| span.name == request && span.parent == call.id;
        Some((round, spans.iter().filter(of_trace).find(at_scm)?))
    })
}

#[test]
fn a_round_of_a_datanode_is_a_trace_that_scm_joins() {
    let dir = tempfile::tempdir().unwrap();
    let collector = Collector::start();
    let _daemon = Daemon::start(server(dir.path(), &as_strs(&collector.settings())));
    for (name, request) in [
        ("join", "GetVersion"),
        ("register", "Register"),
        ("report", "SendHeartbeat"),
        ("wait for commands", "SendHeartbeat"),
    ] {
        collector.wait(name, |spans| {
            let (round, at_scm) = round(spans, name, request)?;
            assert_eq!((round.role.as_str(), at_scm.role.as_str()), ("", "scm"));
            assert!(at_scm.nanos <= round.nanos, "{at_scm:?} is longer than {round:?}");
            Some(())
        });
    }
    collector.wait("command of SCM", |spans| {
        let is_command = |s: &&Span| s.name == "createPipelineCommand" && s.parent.is_empty();
        spans.iter().find(is_command).cloned()
    });
}

#[test]
fn a_request_to_the_gateway_joins_the_trace_of_its_client() {
    let dir = tempfile::tempdir().unwrap();
    let collector = Collector::start();
    let daemon = Daemon::start(server(dir.path(), &as_strs(&collector.settings())));
    let address = daemon.text("s3").replace("http://", "");
    let (trace, parent) = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7");
    let mut stream = TcpStream::connect(&address).unwrap();
    let header = format!("traceparent: 00-{trace}-{parent}-01");
    write!(stream, "GET / HTTP/1.1\r\nHost: {address}\r\n{header}\r\nConnection: close\r\n\r\n")
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
    let span = collector.wait("span of the gateway", |spans| {
        spans.iter().find(|span| span.trace == trace).cloned()
    });
    assert_eq!((span.role.as_str(), span.parent.as_str()), ("s3g", parent));
    assert_eq!(span.name, "ListBuckets");
}

#[test]
fn trace_ids_that_are_none_do_no_harm() {
    let dir = tempfile::tempdir().unwrap();
    let collector = Collector::start();
    let daemon = Daemon::start(server(dir.path(), &as_strs(&collector.settings())));
    let java = "traceparent=00-c64867b4abcf4da5beb40cd88a8cce09-62217fd04abe0263-03;".to_owned();
    let long = format!("{java}tracestate={};", "x".repeat(1 << 20));
    let garbage = "traceparent=00-;=;;\u{0}\u{7f}é".to_owned();
    let address = daemon.text("om");
    let answers = tokio::runtime::Runtime::new().unwrap().block_on(async {
        let om = framed::Client::new(address, framed::ClientOptions::default());
        let mut answers = Vec::new();
        for (n, trace_id) in [long, garbage, java].into_iter().enumerate() {
            let volume_info = VolumeInfo {
                admin_name: "root".into(),
                owner_name: "root".into(),
                volume: format!("volume{n}"),
                ..VolumeInfo::default()
            };
            let request = OmRequest {
                cmd_type: Type::CreateVolume as i32,
                client_id: "test".into(),
                trace_id: Some(trace_id.clone()),
                create_volume_request: Some(Box::new(CreateVolumeRequest { volume_info })),
                ..OmRequest::default()
            };
            let request = Bytes::from(request.encode_to_vec());
            let reply = om.call(method::OM, request, Bytes::new(), testkit::LIMIT).await.unwrap();
            answers.push((trace_id, OmResponse::decode(reply.header).unwrap()));
        }
        answers
    });
    for (trace_id, answer) in &answers {
        let shown = &trace_id[..trace_id.len().min(80)];
        assert_eq!(answer.status, Status::Ok as i32, "{shown}: {:?}", answer.message);
        let echoed = (trace_id.len() <= 1024).then_some(trace_id.as_str());
        assert_eq!(answer.trace_id.as_deref(), echoed, "{shown}");
    }
    let joined = collector.wait("span of the request of the Java client", |spans| {
        let trace = "c64867b4abcf4da5beb40cd88a8cce09";
        let of_trace: Vec<Span> = spans.iter().filter(|s| s.trace == trace).cloned().collect();
        of_trace.iter().any(|span| span.name == "CreateVolume").then_some(of_trace)
    });
    let requests: Vec<&Span> = joined.iter().filter(|span| span.role == "om").collect();
    assert_eq!(requests.len(), 1, "only one of them named a span: {joined:#?}");
    assert_eq!(requests[0].parent, "62217fd04abe0263");
}

#[test]
fn a_slow_request_is_logged_with_its_stages() {
    let dir = tempfile::tempdir().unwrap();
    let thresholds = [
        "-D",
        "trioxide.slow.request.threshold=1us",
        "-D",
        "hdds.datanode.slow.op.warning.threshold=1us",
        "-D",
        "trioxide.s3g.slow.request.threshold=1us",
    ];
    let daemon = Daemon::start(server(dir.path(), &thresholds));
    sh(&daemon, &[], &["volume", "create", "/vol1"]);
    sh(&daemon, &[], &["bucket", "create", "/vol1/bucket1"]);
    let file = dir.path().join("file");
    std::fs::write(&file, b"some bytes").unwrap();
    sh(&daemon, &[], &["key", "put", "/vol1/bucket1/key1", file.to_str().unwrap()]);
    let line = daemon.logged(&["slow request", "CreateVolume"]);
    for part in ["role=\"om\"", "answered=true", "took=", "prepare 0.", ", replicate ", "ms+"] {
        assert!(line.contains(part), "no {part} in {line}");
    }
    daemon.logged(&["slow request", "role=\"datanode\"", "PutSmallFile", "replicate "]);
    assert!(!line.contains("not done") && !line.contains("trace="), "{line}");

    let quiet = tempfile::tempdir().unwrap();
    let none = ["-D", "trioxide.slow.request.threshold=0"];
    let silent = Daemon::start(server(quiet.path(), &none));
    sh(&silent, &[], &["volume", "create", "/vol1"]);
    assert_eq!(silent.lines_with("role=\"om\""), 0);
}

#[test]
fn a_collector_that_is_away_costs_a_warning_and_no_request() {
    let dir = tempfile::tempdir().unwrap();
    // No server listens there.
    let address = testkit::free_addresses(1)[0];
    let endpoint = format!("ozone.tracing.endpoint=http://{address}");
    let settings = ["-D", "ozone.tracing.enabled=true", "-D", &endpoint];
    let daemon = Daemon::start(server(dir.path(), &settings));
    daemon.logged(&["dropping spans: the collector does not accept them"]);
    sh(&daemon, &[], &["volume", "create", "/vol1"]);
    sh(&daemon, &[], &["bucket", "create", "/vol1/bucket1"]);
    assert_eq!(daemon.lines_with("dropping spans: the collector does not accept them"), 1);
    assert_eq!(daemon.terminate().code(), Some(0));
}

#[test]
fn settings_of_tracing_that_cannot_be_kept_stop_the_start() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().to_str().unwrap();
    for wrong in [
        "ozone.tracing.endpoint=https://localhost:4317",
        "ozone.tracing.sampler=2",
        "ozone.tracing.span.sampling=CommitKey:often",
    ] {
        let on = "ozone.tracing.enabled=true";
        let output = run(&["server", "--dir", dir, "--json", "-D", on, "-D", wrong]);
        assert_eq!(output.status.code(), Some(1), "{wrong}");
        let (key, value) = wrong.split_once('=').unwrap();
        let said = stderr(&output);
        assert!(said.contains(&format!("{key} = '{value}' is refused")), "{said}");
    }
}
