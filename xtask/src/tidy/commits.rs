//! Subjects of commits: `scope: imperative`, at most 72 characters. The rule holds for commits
//! after [`LAST_WITHOUT`].

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::findings::Findings;

/// The last commit that the rule does not hold for.
const LAST_WITHOUT: &str = "e6077f0a557b3f89a4f89de82969677f77eff37c";
const LONGEST: usize = 72;
/// Verbs in the imperative that end as other forms do; those with `ss` are all imperatives.
const IMPERATIVES: &[&str] = &[
    "alias", "bias", "bring", "embed", "exceed", "feed", "focus", "need", "proceed", "seed",
    "shed", "speed", "spring", "string", "succeed",
];

/// Checks the subjects of all commits since the first that has the rule.
///
/// # Errors
/// When git cannot be asked in a clone. A tree without git, as of a released archive, has nothing
/// to check, and a warning says so.
pub fn check(root: &Path, findings: &mut Findings) -> Result<()> {
    if !root.join(".git").exists() {
        findings.warning("no clone: subjects of commits are not checked");
        return Ok(());
    }
    let known = git(root, &["cat-file", "-e", &format!("{LAST_WITHOUT}^{{commit}}")]).is_ok();
    let range = format!("{LAST_WITHOUT}..HEAD");
    let all = ["log", "--no-merges", "--format=%h %s", &range];
    // A shallow clone has the newest commits only.
    let few = ["log", "--no-merges", "--format=%h %s", "--max-count=1", "HEAD"];
    if !known {
        findings.warning("a clone without history: only the newest commit's subject is checked");
    }
    for line in git(root, if known { &all } else { &few })?.lines() {
        let (commit, subject) = line.split_once(' ').unwrap_or((line, ""));
        if let Some(problem) = problem(subject) {
            findings.error(format!("commit {commit}: {problem}: {subject}"));
        }
    }
    Ok(())
}

fn git(root: &Path, arguments: &[&str]) -> Result<String> {
    let output = Command::new("git").current_dir(root).args(arguments).output();
    let output = output.context("cannot run git")?;
    ensure!(
        output.status.success(),
        "git {}: {}",
        arguments.join(" "),
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The fault of a subject.
fn problem(subject: &str) -> Option<String> {
    let length = subject.chars().count();
    if length > LONGEST {
        return Some(format!("the subject has {length} characters, {LONGEST} at most are shown"));
    }
    let Some((scope, rest)) = subject.split_once(": ") else {
        return Some("the subject is not `scope: imperative`".to_owned());
    };
    let is_scope = |part: &str| {
        !part.is_empty()
            && part
                .chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_./".contains(c))
    };
    if !scope.split(", ").all(is_scope) {
        return Some(format!("the scope {scope:?} is not a crate or folder in lower case"));
    }
    let verb = rest.split(' ').next().unwrap_or_default();
    if verb.is_empty() || !verb.chars().all(|c| c.is_ascii_lowercase() || c == '-') {
        return Some(format!("{verb:?} is not a verb in lower case"));
    }
    let other_form = ["ed", "ing", "s"].iter().any(|ending| verb.ends_with(ending));
    let other_form = other_form && !verb.ends_with("ss");
    if (other_form && !IMPERATIVES.contains(&verb)) || ["a", "an", "the", "no"].contains(&verb) {
        return Some(format!("{verb:?} is not an imperative"));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_says_where_and_what_to_do() {
        for good in [
            "om: decide conditions of a delete at commit",
            "scripts, ci: build in one folder",
            "docs/dev: say how long each stage takes",
            "multiraft: pass the term to the follower",
            "om: revert \"decide conditions of a delete\"",
            "om: bypass the cache",
        ] {
            assert_eq!(problem(good), None, "{good}");
        }
        for bad in [
            "A first start of SCM that fails lets go of its port",
            "om: Decide conditions of a delete at commit",
            "om: decides conditions of a delete",
            "Revert \"om: decide conditions of a delete\"",
            "om: decided conditions of a delete",
            "om: the conditions of a delete",
            "OM: decide conditions of a delete",
            "om:decide conditions",
            "om: ",
            ": decide",
            "",
        ] {
            assert!(problem(bad).is_some(), "{bad}");
        }
        let long = format!("om: decide {}", "x".repeat(62));
        assert!(problem(&long).is_some_and(|said| said.contains("73 characters")), "{long}");
    }
}
