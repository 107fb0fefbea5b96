//! Generators over S3: the content of the gateway's volume afterwards.

use std::process::Output;

use super::{counts, listed, report, timed};
use crate::process::{stderr, stdout};
use crate::transcript::Transcript;

/// Runs a generator with the keys of the cluster.
fn s3(cluster: &Transcript, line: &str) -> Output {
    let endpoint = cluster.ready("s3");
    let mut command = cluster.command(&format!("freon {line} --json"));
    command.arg("-e").arg(endpoint);
    command.env("AWS_ACCESS_KEY_ID", cluster.ready("access_key"));
    command.env("AWS_SECRET_ACCESS_KEY", cluster.ready("secret_key")).output().unwrap()
}

#[test]
fn buckets_and_keys_are_created_over_s3() {
    let cluster = Transcript::of_cluster();
    let run = |line: &str| {
        let output = s3(&cluster, line);
        let (said, told) = (stdout(&output), stderr(&output));
        assert_eq!(output.status.code(), Some(0), "{line}: {said} {told}");
        report(&output)
    };
    let made = run("s3bg -n 4 -t 2 -p bucket");
    assert_eq!((counts(&made), timed(&made, "bucket-create")), ([4, 0, 0], 4));
    assert_eq!(listed(&cluster, "sh bucket list /s3v").len(), 4);
    let written = run("s3kg -n 9 -t 3 -s 3000 -b bucket0 -p run");
    assert_eq!((counts(&written), timed(&written, "key-create")), ([9, 0, 27_000], 9));
    let sizes = |bucket: &str| {
        let rows = listed(&cluster, &format!("sh key list /s3v/{bucket}"));
        let size = |row: &serde_json::Value| row["dataSize"].as_u64().unwrap();
        rows.iter().map(size).collect::<Vec<_>>()
    };
    assert_eq!(sizes("bucket0"), [3000; 9]);
    // A prefix may contain characters that must be encoded.
    let parts = "s3kg -n 2 -t 2 -s 5242880 --multi-part-upload --parts 2 -b bucket1 -p a+b=ü/é~";
    let written = run(parts);
    assert_eq!(counts(&written), [2, 0, 4 * 5_242_880], "{written}");
    assert_eq!(sizes("bucket1"), [2 * 5_242_880; 2]);
    let compared = cluster.output("freon ockv -n 2 -t 1 -v s3v -b bucket1 -p a+b=ü/é~ --json");
    assert_eq!(counts(&report(&compared)), [2, 0, 4 * 5_242_880], "{}", stderr(&compared));
}

#[test]
fn what_the_gateway_refuses_is_told() {
    let cluster = Transcript::of_cluster();
    let refused = s3(&cluster, "s3kg -n 1 -t 1 -b absent -p run");
    assert_eq!(refused.status.code(), Some(1));
    assert!(stderr(&refused).contains("NoSuchBucket"), "{}", stderr(&refused));
    let mut command = cluster.command("freon s3bg -n 1");
    let endpoint = cluster.ready("s3");
    command.args(["-e", &endpoint]).env_remove("AWS_ACCESS_KEY_ID");
    let unset = command.env("AWS_SECRET_ACCESS_KEY", "secret").output().unwrap();
    assert!(stderr(&unset).contains("AWS_ACCESS_KEY_ID is not set"), "{}", stderr(&unset));
    let mut command = cluster.command("freon s3bg -n 1 -t 1");
    command.args(["-e", &endpoint]).env("AWS_ACCESS_KEY_ID", "nobody");
    let stranger = command.env("AWS_SECRET_ACCESS_KEY", "secret").output().unwrap();
    assert!(stderr(&stranger).contains("403"), "{}", stderr(&stranger));
}
