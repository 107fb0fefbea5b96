//! The log of a test.

use tracing_subscriber::EnvFilter;

/// Shows what `RUST_LOG` names with the output of the test. Tests of one process share it; only the
/// first call counts.
pub fn log() {
    let filter = EnvFilter::from_default_env();
    let _ = tracing_subscriber::fmt().with_env_filter(filter).with_test_writer().try_init();
}
