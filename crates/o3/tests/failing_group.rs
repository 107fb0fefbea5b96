//! Processes whose Raft group fails exit with a status and a reason instead of running on.

use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use crate::process::{Daemon, KillOnDrop, o3, stderr};

/// `fdatasync` and `fsync` of Raft log files fail once the file `$BROKEN` exists.
const SHIM: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static int broken(int fd) {
    char name[64], path[4096];
    const char *flag = getenv("BROKEN");
    if (!flag || access(flag, F_OK) != 0) return 0;
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    ssize_t len = readlink(name, path, sizeof path - 1);
    if (len < 0) return 0;
    path[len] = 0;
    return strstr(path, ".raftlog") != NULL;
}
#define WRAP(call) \
    int call(int fd) { \
        static int (*real)(int); \
        if (!real) real = dlsym(RTLD_NEXT, #call); \
        if (broken(fd)) { errno = EIO; return -1; } \
        return real(fd); \
    }
WRAP(fdatasync)
WRAP(fsync)
"#;

fn role(name: &str, define: Vec<String>) -> Command {
    let mut args = vec![name.to_owned(), "--json".into()];
    args.extend(define.into_iter().flat_map(|d| ["-D".to_owned(), d]));
    o3(&args.iter().map(String::as_str).collect::<Vec<_>>())
}

fn scm(dir: &Path) -> Daemon {
    let mut define = vec![format!("ozone.scm.db.dirs={}", dir.join("scm").display())];
    for key in ["client.address", "block.client.address", "datanode.address", "http-address"] {
        define.push(format!("ozone.scm.{key}=127.0.0.1:0"));
    }
    Daemon::start(role("scm", define))
}

fn om(dir: &Path, scm: &Daemon) -> Command {
    let define = vec![
        format!("ozone.om.db.dirs={}", dir.join("om").display()),
        "ozone.om.address=127.0.0.1:0".into(),
        "ozone.om.grpc.port=0".into(),
        "ozone.om.http-address=127.0.0.1:0".into(),
        format!("ozone.scm.client.address={}", scm.address("client")),
        format!("ozone.scm.block.client.address={}", scm.address("block")),
    ];
    role("om", define)
}

fn wait(child: &mut std::process::Child) -> ExitStatus {
    testkit::until_blocking("the process to end", || child.try_wait().unwrap())
}

#[test]
fn an_om_whose_log_disk_fails_leaves_with_a_status_and_a_reason() {
    let dir = tempfile::tempdir().unwrap();
    let scm = scm(dir.path());
    let (source, shim) = (dir.path().join("shim.c"), dir.path().join("shim.so"));
    std::fs::write(&source, SHIM).unwrap();
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-o"]).arg(&shim).arg(&source).arg("-ldl");
    assert!(compiler.status().unwrap().success());
    let broken = dir.path().join("broken");
    let log = std::fs::File::create(dir.path().join("stderr")).unwrap();
    let mut command = om(dir.path(), &scm);
    command.env("LD_PRELOAD", &shim).env("BROKEN", &broken);
    let mut child = KillOnDrop(command.stdout(Stdio::piped()).stderr(log).spawn().unwrap());
    // It is ready when it prints its ready line.
    let mut line = String::new();
    let mut stdout = std::io::BufReader::new(child.0.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut stdout, &mut line).unwrap();
    let ready: serde_json::Value = serde_json::from_str(&line).unwrap();
    let address = ready["addresses"]["om"].as_str().unwrap().to_owned();
    std::fs::write(&broken, "").unwrap();
    // A write detects the failure.
    let define = format!("ozone.om.address={address}");
    let mut writer = o3(&["sh", "-D", &define, "volume", "create", "/vol1"]);
    let writer = writer.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let writer = KillOnDrop(writer);
    let status = wait(&mut child.0);
    drop(writer);
    let said = std::fs::read_to_string(dir.path().join("stderr")).unwrap();
    assert_eq!(status.code(), Some(1), "{said}");
    let last = said.lines().rev().find(|line| line.starts_with("o3: ")).unwrap_or_default();
    assert!(last.contains("raft group failed permanently"), "{said}");
    // With a working disk it starts again, with the acknowledged data.
    std::fs::remove_file(&broken).unwrap();
    let again = Daemon::start(om(dir.path(), &scm));
    assert!(again.terminate().success());
}

#[test]
fn an_om_that_cannot_write_its_log_says_so_in_one_line() {
    let dir = tempfile::tempdir().unwrap();
    let scm = scm(dir.path());
    // A file in the place of the directory.
    std::fs::write(dir.path().join("om"), "").unwrap();
    let output = om(dir.path(), &scm).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = stderr(&output);
    let lines: Vec<_> = said.lines().filter(|line| line.starts_with("o3: ")).collect();
    assert_eq!(lines.len(), 1, "{said}");
    assert!(lines[0].contains(dir.path().to_str().unwrap()), "{said}");
}
