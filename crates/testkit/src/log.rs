//! The log of a test.

use tracing_subscriber::EnvFilter;

/// Shows log lines selected by `RUST_LOG` with the output of the test. Tests of one process share
/// it; only the first call has an effect.
pub fn log() {
    let filter = EnvFilter::from_default_env();
    let _ = tracing_subscriber::fmt().with_env_filter(filter).with_test_writer().try_init();
}
