//! Help, version, and invalid arguments.

use serde_json::Value;

use crate::process::{run, stderr, stdout};

#[test]
fn every_command_has_help_with_examples() {
    for command in [
        vec!["server"],
        vec!["om"],
        vec!["scm"],
        vec!["datanode"],
        vec!["s3g"],
        vec!["config", "list"],
        vec!["config", "get"],
    ] {
        let mut args = command.clone();
        args.push("--help");
        let output = run(&args);
        assert!(output.status.success(), "{command:?}");
        let help = stdout(&output);
        assert!(
            help.contains("Examples:") && help.contains("-D <KEY=VALUE>"),
            "{command:?}: {help}"
        );
    }
}

#[test]
fn the_version_says_what_it_speaks() {
    assert!(stdout(&run(&["version"])).starts_with("Trioxide "));
    let json: Value = serde_json::from_str(&stdout(&run(&["version", "--json"]))).unwrap();
    assert_eq!(json["version"], env!("CARGO_PKG_VERSION"));
}

#[test]
fn what_is_not_understood_ends_with_2_and_a_hint() {
    let output = run(&["sever", "--dir", "x"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("server"), "{}", stderr(&output));
    assert_eq!(run(&["server"]).status.code(), Some(2));
}
