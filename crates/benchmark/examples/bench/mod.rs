//! What the benches share: a state machine that does nothing, arguments.

#![allow(dead_code, reason = "no bench uses all of it")]

mod nothing;

pub use nothing::Nothing;

/// The number behind `name`.
pub fn argument(name: &str, default: usize) -> usize {
    let mut arguments = std::env::args();
    let found = arguments.by_ref().any(|a| a == name).then(|| arguments.next()).flatten();
    found.and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// Whether `name` was given.
pub fn flag(name: &str) -> bool {
    std::env::args().any(|a| a == name)
}

/// Where data goes: the directory behind `--dir`, or this one.
pub fn directory() -> String {
    std::env::args().skip_while(|a| a != "--dir").nth(1).unwrap_or_else(|| ".".into())
}
