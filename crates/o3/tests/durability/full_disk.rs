//! A full disk, and free space again.

use std::process::Command;

use client::{CreateKey, KeyPath};

use super::ledger::content;
use super::{BUCKET, VOLUME, client, make_bucket, runtime};
use crate::process::Daemon;

/// Bytes of the disk: small enough to fill, large enough to start on.
const DISK: &str = "700m";
const KEY: usize = 8 << 20;

/// `o3 server` on a small file system of its own, in a mount namespace that is removed with it.
fn on_a_small_disk(dir: &std::path::Path) -> Command {
    let mut command = Command::new("unshare");
    let script = format!(
        "mount -t tmpfs -o size={DISK} small \"$1\" && exec \"$2\" server --dir \"$1/data\" --json \
         --datanodes 3 -D trioxide.server.ports=free -D hdds.datanode.volume.min.free.space=100MB \
         -D hdds.datanode.dir.du.reserved.percent=0 -D ozone.block.deleting.service.interval=200ms \
         -D trioxide.om.deleted.blocks.kept=0s"
    );
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", &script, "sh"]);
    command.arg(dir).arg(env!("CARGO_BIN_EXE_o3")).stdin(std::process::Stdio::null());
    for variable in ["OZONE_CONF_DIR", "O3_ACCESS_KEY", "O3_SECRET_KEY", "RUST_LOG"] {
        command.env_remove(variable);
    }
    command
}

#[test]
fn a_full_disk_gives_a_clear_error_and_recovers_when_there_is_room() {
    let dir = tempfile::tempdir().unwrap();
    let runtime = runtime();
    let daemon = Daemon::start(on_a_small_disk(dir.path()));
    let client = client(&daemon);
    let path = |i: usize| KeyPath::new(VOLUME, BUCKET, format!("k{i}"));
    runtime.block_on(async {
        make_bucket(&client).await;
        let mut stored = 0;
        let refused = loop {
            let data = content("k", stored as u64, KEY);
            match client.put_key(CreateKey::new(path(stored)), data).await {
                Ok(_) => stored += 1,
                Err(e) => break e,
            }
            assert!(stored < 100, "the disk never filled");
        };
        assert!(stored > 2, "only {stored} keys fitted: {refused}");
        let said = refused.to_string().to_ascii_lowercase();
        assert!(said.contains("space"), "{said}");

        // Stored data still exists, and can be deleted.
        for i in 0..stored {
            client.key_info(&path(i)).await.unwrap();
        }
        for i in 0..stored {
            client.delete_key(&path(i)).await.unwrap();
        }
        testkit::until("room for a key", async || {
            client.put_key(CreateKey::new(path(1_000)), content("k", 1, KEY)).await.map(drop)
        })
        .await;
    });
}
