//! Disks of several types: keys are stored on disks of their policies, and the mover moves the
//! others.

use std::num::NonZeroU64;
use std::path::Path;
use std::time::Duration;

use client::{Client, CreateKey, KeyPath, MoveOutcome};
use config::Configuration;
use testkit::{S3Request, S3Signer};

use crate::process::{Daemon, run, server, stderr, stdout};

/// The types of the disks of each DataNode.
const TYPES: [&str; 3] = ["SSD", "DISK", "ARCHIVE"];

struct Cluster {
    dir: tempfile::TempDir,
    server: Daemon,
    nodes: usize,
}

impl Cluster {
    fn start(nodes: usize, types: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let types = format!("trioxide.server.storage.types={types}");
        let nodes_text = nodes.to_string();
        let more = ["--datanodes", &nodes_text, "--disks", "3", "-D", &types];
        let server = Daemon::start(server(&dir.path().join("data"), &more));
        Self { dir, server, nodes }
    }

    fn o3(&self, command: &str) -> std::process::Output {
        let conf = self.server.text("conf");
        let command = command.replace("[DIR]", &self.dir.path().display().to_string());
        let mut args: Vec<&str> = command.split_whitespace().collect();
        args.extend(["--conf", &conf]);
        run(&args)
    }

    /// Runs a command that must succeed; returns its output.
    fn ok(&self, command: &str) -> String {
        let output = self.o3(command);
        assert!(output.status.success(), "{command}: {}", stderr(&output));
        stdout(&output)
    }

    /// Waits until the disks of each type have this number of MiB of blocks, in all replicas: a put
    /// returns when most replicas are written.
    fn has_mib(&self, expected: [u64; 3]) {
        self.wait_mib(&format!("{expected:?}"), |mib| mib == expected);
    }

    /// Waits until the sizes satisfy `is_expected`.
    fn wait_mib(&self, expected: &str, is_expected: impl Fn([u64; 3]) -> bool) {
        testkit::until_blocking(format!("{expected} MiB on {TYPES:?}"), || {
            let mib = self.mib();
            if is_expected(mib) { Ok(()) } else { Err(mib) }
        });
    }

    /// Current MiB of blocks on the disks of each type, in all replicas.
    fn mib(&self) -> [u64; 3] {
        let mut sums = [0; 3];
        for node in 1..=self.nodes {
            for (at, sum) in sums.iter_mut().enumerate() {
                let name = if at == 0 { "data".to_owned() } else { format!("data{}", at + 1) };
                let disk = self.dir.path().join(format!("data/datanode{node}/{name}"));
                assert!(disk.is_dir(), "{}", disk.display());
                *sum += blocks_under(&disk);
            }
        }
        sums.map(|bytes| bytes >> 20)
    }
}

/// Bytes of the block files of containers.
fn blocks_under(dir: &Path) -> u64 {
    let mut sum = 0;
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            sum += blocks_under(&path);
        } else if path.extension().is_some_and(|of| of == "block") {
            sum += entry.metadata().unwrap().len();
        }
    }
    sum
}

#[test]
fn keys_lie_on_the_disks_of_their_policy_and_the_mover_brings_those_that_do_not() {
    let cluster = Cluster::start(5, "SSD,DISK,ARCHIVE");
    let data: Vec<u8> =
        (0..3 << 20).map(|n: u32| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    std::fs::write(cluster.dir.path().join("in"), &data).unwrap();
    cluster.ok("sh volume create /vol1");
    cluster.ok("sh bucket create /vol1/hot --storagepolicy HOT");
    cluster.ok(
        "sh bucket create /vol1/cold --storagepolicy cold --type EC --replication rs-3-2-1024k",
    );
    cluster.ok("sh bucket create /vol1/plain --layout obs");
    cluster.has_mib([0, 0, 0]);

    cluster.ok("sh key put /vol1/hot/a [DIR]/in");
    cluster.has_mib([9, 0, 0]);
    cluster.ok("sh key put /vol1/plain/a [DIR]/in");
    cluster.has_mib([9, 9, 0]);
    // Three cells, and two of parity.
    cluster.ok("sh key put /vol1/cold/a [DIR]/in");
    cluster.has_mib([9, 9, 5]);
    // A key's own policy takes precedence over its bucket's.
    cluster.ok("sh key put /vol1/hot/b [DIR]/in --storagepolicy COLD");
    cluster.has_mib([9, 9, 14]);
    assert!(cluster.ok("admin storagepolicy check /vol1").starts_with("0 of 4 keys"));

    cluster.ok("sh bucket update /vol1/plain --storagepolicy COLD");
    let check = cluster.ok("admin storagepolicy check /vol1");
    assert!(check.contains("/vol1/plain/a COLD: 3145728 on DISK"), "{check}");
    let dry = cluster.ok("admin mover /vol1/plain --dry-run");
    assert_eq!(dry.trim(), "1 keys, 1 to move (3145728 bytes), 0 moved (0 bytes)");
    let before = cluster.ok("sh key info /vol1/plain/a");
    let moved = cluster.ok("admin mover /vol1 --max-rate 100MB");
    assert_eq!(moved.trim(), "4 keys, 1 moved (3145728 bytes)");
    cluster.wait_mib("23 on ARCHIVE", |mib| mib[2] == 23);
    assert!(cluster.ok("admin storagepolicy check /vol1").starts_with("0 of 4 keys"));
    assert_eq!(cluster.ok("admin mover /vol1").trim(), "4 keys, 0 moved (0 bytes)");
    let line = |info: &str, name: &str| {
        info.lines().find(|line| line.contains(name)).map(ToOwned::to_owned).unwrap()
    };
    let after = cluster.ok("sh key info /vol1/plain/a");
    for field in ["owner", "creationTime", "dataSize"] {
        assert_eq!(line(&before, field), line(&after, field));
    }
    cluster.ok("sh key get /vol1/plain/a [DIR]/out");
    assert_eq!(std::fs::read(cluster.dir.path().join("out")).unwrap(), data);
    // Existing keys are deleted like any other.
    let usage = cluster.ok("admin storagepolicy usageinfo");
    for of in TYPES {
        assert!(usage.contains(&format!("  {of:<8}5 disks")), "{usage}");
    }
}

#[test]
fn a_storage_class_says_on_which_disks_an_object_is_and_is_told_again() {
    let cluster = Cluster::start(3, "SSD,DISK,ARCHIVE");
    let address = cluster.server.text("s3").replace("http://", "").parse().unwrap();
    let (access, secret) = (cluster.server.text("access_key"), cluster.server.text("secret_key"));
    let signer = S3Signer::new(&access, &secret);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let send = |request: &S3Request| {
        let answer = runtime.block_on(request.send(address, &signer));
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer
    };
    send(&S3Request::new("PUT", "/bucket"));
    let data = vec![5_u8; 3 << 20];
    let put = |name: &str| S3Request::new("PUT", name).body(data.clone());
    send(&put("/bucket/none"));
    cluster.has_mib([0, 9, 0]);
    send(&put("/bucket/standard").header("x-amz-storage-class", "STANDARD"));
    cluster.has_mib([9, 9, 0]);
    send(&put("/bucket/archive").header("x-amz-storage-class", "DEEP_ARCHIVE"));
    cluster.has_mib([9, 9, 9]);
    let copy = S3Request::new("PUT", "/bucket/copy")
        .header("x-amz-copy-source", "/bucket/standard")
        .header("x-amz-storage-class", "GLACIER");
    send(&copy);
    cluster.has_mib([9, 9, 18]);
    let class = |name: &str| {
        let answer = send(&S3Request::new("HEAD", name));
        answer.header("x-amz-storage-class").map(ToOwned::to_owned)
    };
    let archive = Some("GLACIER_IR".to_owned());
    assert_eq!([class("/bucket/none"), class("/bucket/standard")], [None, None]);
    assert_eq!([class("/bucket/archive"), class("/bucket/copy")], [archive.clone(), archive]);
    assert_eq!(send(&S3Request::new("GET", "/bucket/copy")).body, data);
    assert_eq!(
        send(&S3Request::new("GET", "/bucket?list-type=2")).elements("StorageClass"),
        ["GLACIER_IR", "GLACIER_IR", "STANDARD", "STANDARD"]
    );
}

#[test]
fn a_key_that_is_changed_while_it_is_moved_keeps_the_change() {
    let cluster = Cluster::start(3, "SSD,DISK");
    std::fs::write(cluster.dir.path().join("old"), vec![1_u8; 100_000]).unwrap();
    std::fs::write(cluster.dir.path().join("new"), vec![2_u8; 100_000]).unwrap();
    cluster.ok("sh volume create /vol1");
    cluster.ok("sh bucket create /vol1/warm --storagepolicy WARM");
    cluster.ok("sh key put /vol1/warm/a [DIR]/old");
    cluster.ok("sh bucket update /vol1/warm --storagepolicy HOT");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let conf = Configuration::builder()
        .define(format!("ozone.om.address={}", cluster.server.text("om")))
        .and_then(|b| b.define(format!("ozone.scm.client.address={}", cluster.server.text("scm"))))
        .and_then(|b| b.build())
        .unwrap();
    let client = Client::connect(&conf).unwrap();
    let path = KeyPath::new("vol1", "warm", "a");
    let storage = |path: KeyPath| {
        let client = client.clone();
        async move {
            let bucket = client.bucket_info("vol1", "warm").await.unwrap();
            client.key_storage(&path, &bucket, None).await.unwrap()
        }
    };
    let seen = runtime.block_on(storage(path.clone()));
    assert_eq!(seen.misplaced(), 100_000);
    // It is overwritten between the check and the move.
    cluster.ok("sh key put /vol1/warm/a [DIR]/new");
    let moved = runtime.block_on(client.move_to_its_storage(&path, &seen, None)).unwrap();
    assert_eq!(moved, MoveOutcome::Changed);
    cluster.ok("sh key get /vol1/warm/a [DIR]/out");
    let bytes = std::fs::read(cluster.dir.path().join("out")).unwrap();
    assert_eq!(bytes, vec![2_u8; 100_000]);
    // And during the write of its copy, which a slow rate makes take a second.
    let slow = NonZeroU64::new(100_000);
    cluster.ok("sh key put /vol1/warm/b [DIR]/old");
    let path = KeyPath::new("vol1", "warm", "b");
    let seen = runtime.block_on(storage(path.clone()));
    let (outcome, ()) = runtime.block_on(async {
        let change = async {
            tokio::time::sleep(Duration::from_millis(300)).await;
            let new = CreateKey::new(path.clone());
            client.put_key(new, vec![3_u8; 7].into()).await.unwrap();
        };
        tokio::join!(client.move_to_its_storage(&path, &seen, slow), change)
    });
    assert_eq!(outcome.unwrap(), MoveOutcome::Changed);
    let bytes = runtime.block_on(client.read_key(&path)).unwrap();
    assert_eq!(bytes, vec![3_u8; 7]);
    cluster.ok("sh key delete /vol1/warm/b");
    let gone = runtime.block_on(client.move_to_its_storage(&path, &seen, None)).unwrap();
    assert_eq!(gone, MoveOutcome::Changed);
}

#[test]
fn where_there_are_no_such_disks_keys_go_to_others_only_as_far_as_their_policy_allows() {
    let cluster = Cluster::start(3, "DISK");
    std::fs::write(cluster.dir.path().join("in"), vec![7_u8; 1 << 20]).unwrap();
    cluster.ok("sh volume create /vol1");
    cluster.ok("sh bucket create /vol1/hot --storagepolicy HOT");
    cluster
        .ok("sh bucket create /vol1/strict --storagepolicy HOT --allowFallBackStoragePolicy false");
    cluster.ok("sh key put /vol1/hot/a [DIR]/in");
    let (bytes, elsewhere) = (1 << 20, cluster.ok("admin storagepolicy check /vol1/hot"));
    assert!(elsewhere.contains(&format!("/vol1/hot/a HOT: {bytes} on DISK")), "{elsewhere}");
    for key in ["/vol1/strict/a", "/vol1/hot/b --storagepolicy COLD"] {
        let refused = cluster.o3(&format!("sh key put {key} [DIR]/in"));
        assert!(!refused.status.success());
        assert!(
            stderr(&refused).contains("no open RATIS/THREE pipeline on"),
            "{}",
            stderr(&refused)
        );
    }
    let hopeless = cluster.o3("admin mover /vol1/hot");
    assert!(!hopeless.status.success());
    assert!(stderr(&hopeless).contains("no space on disks of its policy"), "{}", stderr(&hopeless));
    assert!(!cluster.o3("sh bucket create /vol1/odd --storagepolicy ALL_SSD").status.success());
    cluster.ok("sh bucket update /vol1/hot --storagepolicy NONE");
    assert!(cluster.ok("admin storagepolicy check /vol1/hot").starts_with("0 of 1 keys"));
}
