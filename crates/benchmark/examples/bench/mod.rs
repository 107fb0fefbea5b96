//! Common code of the benchmarks: a no-op state machine, arguments.

#![allow(dead_code, reason = "no bench uses all of it")]

mod nothing;

pub use nothing::Nothing;

/// The number after the argument `name`.
pub fn argument(name: &str, default: usize) -> usize {
    let mut arguments = std::env::args();
    let found = arguments.by_ref().any(|a| a == name).then(|| arguments.next()).flatten();
    found.and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// Returns `true` if the argument `name` is present.
pub fn flag(name: &str) -> bool {
    std::env::args().any(|a| a == name)
}

/// The data directory: the one after `--dir`, or the current one.
pub fn directory() -> String {
    std::env::args().skip_while(|a| a != "--dir").nth(1).unwrap_or_else(|| ".".into())
}
