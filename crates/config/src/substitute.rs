//! `${...}` in values, as Hadoop's configuration does it.
//!
//! `${some.key}` is the value of that key, `${env.NAME}` an environment variable, with
//! `${env.NAME:-default}` and `${env.NAME-default}` as in a shell; `${user.name}`, `${user.home}`
//! and `${java.io.tmpdir}` are supported. An expression that cannot be resolved is kept unchanged.

/// Limit of nested substitutions, the same as Hadoop's.
const MAX_SUBSTITUTIONS: usize = 20;

/// Two substitutions that depend on each other.
#[derive(Debug)]
pub(crate) struct Circular;

/// Resolves every `${...}` in `value`, innermost first.
pub(crate) fn substitute(
    value: &str,
    lookup: &dyn Fn(&str) -> Option<String>,
) -> Result<String, Circular> {
    let mut text = value.to_string();
    let mut from = 0;
    for _ in 0..MAX_SUBSTITUTIONS {
        let Some((start, end)) = innermost(&text, from) else { return Ok(text) };
        let name = text.get(start + 2..end).unwrap_or_default().trim();
        match lookup(name) {
            Some(found) => {
                text.replace_range(start..=end, &found);
                from = 0;
            }
            None => from = end + 1,
        }
    }
    if innermost(&text, from).is_none() { Ok(text) } else { Err(Circular) }
}

/// Finds the first innermost `${...}` from `from` on: the positions of its `$` and its `}`.
fn innermost(text: &str, from: usize) -> Option<(usize, usize)> {
    let close = from + text.get(from..)?.find('}')?;
    match text.get(from..close)?.rfind("${") {
        Some(open) => Some((from + open, close)),
        None => innermost(text, close + 1),
    }
}

/// Resolves names that are not keys.
pub(crate) fn system(name: &str, env: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    match name {
        "user.name" => return env("USER"),
        "user.home" => return env("HOME"),
        "java.io.tmpdir" => return Some(env("TMPDIR").unwrap_or_else(|| "/tmp".into())),
        _ => {}
    }
    let variable = name.strip_prefix("env.")?;
    if let Some((variable, default)) = variable.split_once(":-") {
        return Some(env(variable).filter(|v| !v.is_empty()).unwrap_or_else(|| default.into()));
    }
    if let Some((variable, default)) = variable.split_once('-') {
        return Some(env(variable).unwrap_or_else(|| default.into()));
    }
    env(variable)
}
