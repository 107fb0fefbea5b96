//! The help of every command.

use crate::process::stdout;
use crate::transcript::Transcript;

/// The subcommands in a help text.
fn below(help: &str) -> Vec<String> {
    let Some((_, list)) = help.split_once("\nCommands:\n") else { return Vec::new() };
    let list = list.split("\n\n").next().unwrap_or_default();
    // A name is indented by two spaces; its description continues further right.
    let names = list.lines().filter_map(|line| line.strip_prefix("  "));
    let names = names.filter(|line| !line.starts_with(' '));
    names
        .filter_map(|line| line.split(' ').next())
        .filter(|n| *n != "help")
        .map(str::to_owned)
        .collect()
}

/// Records the help of a command and its subcommands.
fn note(transcript: &mut Transcript, command: &str) {
    let line = format!("{command} --help").trim_start().to_owned();
    let help = stdout(&transcript.output(&line));
    assert!(help.contains("Usage: "), "{line}: {help}");
    transcript.run(&line);
    for name in below(&help) {
        note(transcript, format!("{command} {name}").trim_start());
    }
}

/// A snapshot for each group of commands, so that a change is easy to locate.
#[test]
fn the_help_of_every_command_is_as_it_was_reviewed() {
    let all = Transcript::without_cluster();
    let top = stdout(&all.output("--help"));
    let mut transcript = Transcript::without_cluster();
    transcript.run_all("--help").check("help");
    let names = below(&top);
    assert!(names.len() >= 9, "{names:?}");
    for name in names {
        let groups = below(&stdout(&all.output(&format!("{name} --help"))));
        let mut transcript = Transcript::without_cluster();
        if !["sh", "admin"].contains(&name.as_str()) {
            note(&mut transcript, &name);
            transcript.check(&format!("help_{name}"));
            continue;
        }
        transcript.run(&format!("{name} --help")).check(&format!("help_{name}"));
        assert!(groups.len() >= 3, "{name}: {groups:?}");
        for group in groups {
            let mut transcript = Transcript::without_cluster();
            note(&mut transcript, &format!("{name} {group}"));
            transcript.check(&format!("help_{name}_{group}"));
        }
    }
}
