//! Metrics in Prometheus' format.

use std::time::{Duration, Instant};

use service::{MetricsRegistry, Role, RpcMetrics};

#[test]
fn every_kind_of_metric_is_encoded_under_the_roles_name() {
    let registry = MetricsRegistry::new(Role::new("scm", ""));
    registry.counter("containers_closed", "Containers closed").inc_by(3);
    registry.gauge("nodes", "Nodes").set(4);
    registry.gauges("disk_bytes", "Bytes", "disk").with("/d\"1").set(7);
    registry.gauge_fn("computed", "Worked out", || 0.5);
    registry.counter_fn("kept_elsewhere", "Read", || 11);
    registry.counters_fn("read_elsewhere", "Read", "disk", || vec![("disk1".into(), 12)]);
    registry.gauges_fn("space", "Space", "disk", || vec![("disk1".into(), 0.5)]);
    registry.histogram("wait_seconds", "Waiting").record(Duration::from_micros(3));
    let text = registry.encode();
    for line in [
        "scm_containers_closed_total 3",
        "scm_nodes 4",
        "scm_disk_bytes{disk=\"/d\\\"1\"} 7",
        "scm_computed 0.5",
        "scm_kept_elsewhere_total 11",
        "# HELP scm_read_elsewhere Read, by disk.",
        "scm_read_elsewhere_total{disk=\"disk1\"} 12",
        "# HELP scm_space Space, by disk.",
        "# TYPE scm_space gauge",
        "scm_space{disk=\"disk1\"} 0.5",
        "scm_wait_seconds_count 1",
        "scm_wait_seconds_bucket{le=\"0.000002\"} 0",
        "scm_wait_seconds_bucket{le=\"0.000004\"} 1",
        "scm_wait_seconds_bucket{le=\"+Inf\"} 1",
    ] {
        assert!(text.lines().any(|l| l == line), "{line} is missing from\n{text}");
    }
}

#[test]
fn a_family_without_values_is_described_with_its_label() {
    let registry = MetricsRegistry::new(Role::new("scm", ""));
    let family = registry.histograms("wait_seconds", "Waiting", "method");
    let text = registry.encode();
    for line in ["# HELP scm_wait_seconds Waiting, by method.", "# TYPE scm_wait_seconds histogram"]
    {
        assert!(text.lines().any(|l| l == line), "{line} is missing from\n{text}");
    }
    assert!(!text.contains("scm_wait_seconds_count"), "{text}");
    family.with("Read").record(Duration::from_micros(3));
    assert!(registry.encode().contains("scm_wait_seconds_count{method=\"Read\"} 1"));
}

#[test]
fn a_call_is_counted_while_it_waits_while_it_runs_and_when_it_ends() {
    let registry = MetricsRegistry::new(Role::new("om", ""));
    let rpc = RpcMetrics::new(&registry, "grpc");
    let has = |line: &str| registry.encode().lines().any(|l| l == line);
    let mut call = rpc.call("CreateKey", Instant::now());
    assert!(has("om_grpc_queue_length 1") && has("om_grpc_running_calls 0"));
    call.started();
    assert!(has("om_grpc_queue_length 0") && has("om_grpc_running_calls 1"));
    call.finish(true);
    assert!(has("om_grpc_running_calls 0"));
    drop(rpc.call("CreateKey", Instant::now()));
    assert!(has("om_grpc_queue_length 0") && has("om_grpc_failures_total{method=\"CreateKey\"} 1"));
    let summary = rpc.summary();
    assert_eq!(
        (summary[0].method.as_str(), summary[0].calls, summary[0].failures),
        ("CreateKey", 2, 1)
    );
}
