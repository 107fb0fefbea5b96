//! A progress bar for long transfers, only on a terminal.

use std::io::{IsTerminal, stderr};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Minimum size of a transfer with a progress bar.
const SHOWN_FROM: u64 = 32 << 20;

/// A progress bar for `bytes` bytes; indeterminate if the length is unknown.
pub(crate) fn bar(bytes: Option<u64>) -> ProgressBar {
    if !stderr().is_terminal() || bytes.is_some_and(|b| b < SHOWN_FROM) {
        return ProgressBar::hidden();
    }
    let (bar, form) = match bytes {
        Some(bytes) => {
            let form = "{wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta} left";
            (ProgressBar::new(bytes), form)
        }
        None => (ProgressBar::no_length(), "{spinner} {bytes} {bytes_per_sec}"),
    };
    bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(8));
    if let Ok(style) = ProgressStyle::with_template(form) {
        bar.set_style(style);
    }
    bar
}
