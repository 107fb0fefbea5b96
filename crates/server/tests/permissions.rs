//! Permissions of the directories of a whole cluster, and a cluster without S3.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use config::Configuration;
use server::{Server, ServerOptions};

#[tokio::test(flavor = "multi_thread")]
async fn what_roles_store_can_be_entered_by_their_user_alone() {
    testkit::log();
    let dir = tempfile::tempdir().unwrap();
    let fast = dir.path().join("fast");
    let conf = [
        "trioxide.server.ports=free".to_owned(),
        "ozone.s3g.http.enabled=false".to_owned(),
        format!("trioxide.datanode.cache.dirs={}", fast.display()),
    ];
    let conf = conf.iter().fold(Configuration::builder(), |b, line| b.define(line).unwrap());
    let conf = conf.build().unwrap();
    let start = |conf: Configuration| {
        Server::start(ServerOptions {
            dir: dir.path().to_owned(),
            oms: None,
            scms: None,
            datanodes: Some(1),
            disks: None,
            bind: "127.0.0.1".to_owned(),
            conf,
            credentials: None,
        })
    };
    let data = dir.path().join("datanode1/data");
    let guarded = [
        dir.path().join("om"),
        dir.path().join("scm"),
        dir.path().join("datanode1"),
        data.join("hdds"),
        data.join("ratis"),
        fast,
    ];
    let modes = || guarded.each_ref().map(|path| (path.clone(), mode(path)));
    let all = |mode: u32| guarded.each_ref().map(|path| (path.clone(), mode));

    let server = start(conf.clone()).await.unwrap();
    assert_eq!(server.endpoints().s3, None, "S3 is off");
    let pages: BTreeMap<_, _> = server.endpoints().pages.iter().cloned().collect();
    assert!(!pages.contains_key("S3 gateway"), "{pages:?}");
    server.shutdown().await;
    assert_eq!(modes(), all(0o700));

    // Existing directories receive the current permissions.
    let wider =
        ["ozone.om.db.dirs", "ozone.scm.db.dirs", "ozone.metadata.dirs", "hdds.datanode.data.dir"];
    let conf = wider.iter().fold(conf, |conf, key| conf.with(&format!("{key}.permissions"), "750"));
    start(conf).await.unwrap().shutdown().await;
    assert_eq!(modes(), all(0o750));
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}
